// Differences that are wanted between older and newer families for callers of chat completions.

import type { Json } from '../scenario'
import type { WantedDifference } from './differences'

type Row = Omit<WantedDifference, 'pair'>

/** A text of pieces of a call, without what a call is given for want of arguments. */
const isBareInput = (event: Json): boolean =>
  event.data?.choices?.[0]?.delta?.tool_calls?.[0]?.function?.arguments === '{}'

/** The chunks of each candidate apart, with calls that have ids, and without empty objects of arguments. */
function candidatesIn(events: Json[]): Json {
  const byIndex = Map.groupBy(
    events.filter((event) => !isBareInput(event)),
    ({ data }) => data?.choices?.[0]?.index,
  )
  const text = JSON.stringify([...byIndex].toSorted(([one], [other]) => Number(one) - Number(other)))
  return text.replaceAll(/"id":"(?:call_ml[a-z0-9]+_\d+)?"/g, '"id":"given"')
}

const areSameByCandidate = (older: Json[], newer: Json[]): boolean =>
  candidatesIn(older) === candidatesIn(newer)

const ANSWER = /(?:reply|unpaid)\.choices\[\d+\]/.source
const DELTA = /events\[\d+\]\.data\.choices\[0\]/.source
const CALLED = /tool_calls\[\d+\]/.source

const onAll: Row[] = [
  {
    where: /bridge\.messages\[\]\.content\[\]\.type\.plain/,
    reason: 'sounds are refused by a row of their own, where a protocol has no form for them',
    matches: ({ newer }) => String(newer).endsWith('input_audio'),
  },
  {
    where:
      /bridge\.tools\[\]\.(?:function\.strict|cache_control)|bridge\.response_format\.json_schema\.strict/,
    reason: 'a field that was told of with its holder has a row of its own',
    matches: ({ older }) => older === undefined,
  },
  {
    where: /check\.refused\.message/,
    reason: 'one text for what the dialect refuses',
  },
  {
    where: /check(?:\.refused\.(?:code|param))?/,
    reason:
      'messages of the system and the assistant are texts only, whoever serves them, and the part is named',
    matches: ({ newer }) =>
      /texts only|^(?:invalid_value|messages\[\d+\]\.content\[\d+\]\.type)$/.test(
        newer.refused?.message ?? newer,
      ),
  },
  {
    where: /check\.refused\.(?:code|param)/,
    reason:
      'a text of another type, or none, is told apart in one way, and of two faults the first one is named',
    matches: ({ newer }) =>
      /^(?:missing_required_parameter|unsupported_\w+|unknown_parameter|verbosity|functions|moderation|reasoning|chat_template_kwargs|service_tier|thinking_budget|x_unknown|invalid_type|invalid_value|messages\b.*|tools\[.*|tool_choice.*|response_format.*|top_k|reasoning_effort)$/.test(
        newer,
      ),
  },
  {
    where: /check/,
    reason: 'a value of another type is refused, and not left out or left to the vendor',
    matches: ({ older, newer }) =>
      older === 'accepted' && /^(?:invalid_type|missing_required_parameter)$/.test(newer.refused?.code),
  },
  {
    where: new RegExp(`(?:${ANSWER}\\.message|${DELTA}\\.delta)\\.${CALLED}\\.id`),
    reason: 'a call that the vendor gave no id gets one, so that its result can be sent',
    matches: ({ older }) => older === '',
  },
  {
    where: /events\[\d+\.\.\.\]/,
    reason:
      'a call without arguments gets an empty object when it is whole, and none where it may be cut off',
    matches: ({ older, newer }) => areSameByCandidate(older, newer),
  },
  {
    where: /timing\[\d+\]/,
    reason: 'a call without arguments gets an empty object when something follows it',
  },
  {
    where: new RegExp(`(?:${ANSWER}|${DELTA})\\.finish_reason`),
    reason:
      'calls of tools are to be made, whatever the vendor says of the end, and a candidate that had ended keeps its reason',
    matches: ({ newer }) => [null, 'tool_calls', 'stop', 'content_filter', 'length'].includes(newer),
  },
  {
    where: new RegExp(`${DELTA}\\.(?:index|delta\\.${CALLED}.*|delta\\.tool_calls)`),
    reason:
      'a call without a name or arguments is written when it is whole: chunks of candidates change places, each keeps its order',
  },
  {
    where: /(?:call|limited|quote|output|ignored|showsUsage|callAfter|body)/,
    reason: 'what follows from a check',
    matches: ({ older, newer }) => older === undefined || newer === undefined,
  },
]

/** The rows of a pair. */
const of = (pair: string, rows: readonly Row[]): WantedDifference[] => rows.map((row) => ({ pair, ...row }))

export const wantedOfChat: readonly WantedDifference[] = [...of('chat-on-converse', onAll)]
