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

const CALL = /(?:call|limited\[\d\]|callAfter\[\d\])(?:\[0\])?\.body\.json/.source
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

const onMessages: Row[] = [
  {
    where: /bridge\.(?:prompt_cache_(?:key|retention|options)|include_reasoning)\.treatment/,
    reason: 'the table says of a protocol what it can express, whoever asks for it',
    matches: ({ older, newer }) => older === 'ignored' && newer === 'translated',
  },
  {
    where: /bridge\.(?:tools\[\]|tool_choice)\.type\.plain/,
    reason: 'custom tools and lists of allowed tools are taken, as from callers of responses',
    matches: ({ newer }) => String(newer).startsWith('function,custom'),
  },
  {
    where: new RegExp(`${CALL}\\.(?:messages|tools).*\\.cache_control(?:\\.type)?`),
    reason: 'a mark has the one type that there is',
    matches: ({ newer }) => newer === 'ephemeral' || newer?.type === 'ephemeral',
  },
  {
    where: /output\.least/,
    reason: 'a caller who asks to read of the thinking is shown it',
    matches: (_, { body }) => body.includes('"include_reasoning"'),
  },
  {
    where: /events\[\d+\]\.data\.gateway/,
    reason: 'the rest of a call is written before the events of a cut, which alone are marked',
    matches: ({ newer }) => newer === undefined,
  },
  {
    where: new RegExp(`${ANSWER}\\.message\\.annotations`),
    reason: 'a message has its list of sources, as for the vendor of chat completions',
    matches: ({ newer }) => Bun.deepEquals(newer, []),
  },
  {
    where: /(?:reply|unpaid)\.service_tier/,
    reason: 'the tier that served the request is told, as for models of responses',
    matches: ({ older }) => older === undefined,
  },
  {
    where: new RegExp(`${CALL}\\.stop_sequences`),
    reason: 'no texts to stop at are none',
    matches: ({ older, newer }) => older.length === 0 && newer === undefined,
  },
  {
    where: new RegExp(`${CALL}\\.messages.*\\.source\\.(?:type|media_type|data)`),
    reason: 'a file of text is sent as a text: the vendor takes only PDF files as bytes',
    matches: ({ newer }, { body }) => newer !== 'base64' && body.includes('data:text/'),
  },
  {
    where: new RegExp(`${CALL}\\.tools\\[\\d+\\]\\.input_schema\\.type`),
    reason: 'a schema without a type is one of an object, which the vendor requires',
    matches: ({ older, newer }) => older === undefined && newer === 'object',
  },
  {
    where: new RegExp(`${CALL}\\.(?:thinking|output_config).*`),
    reason: 'a caller who asks to read of the thinking is shown it',
    matches: (_, { body }) => body.includes('"include_reasoning"'),
  },
  {
    where: /limited\[\d\]\[\d+\]\.body\.json\.(?:thinking.*|temperature|top_p)/,
    reason:
      'a lower limit is in the request before it is fitted to the model: thinking fits into it, or is left out',
  },
  {
    where: new RegExp(`${ANSWER}\\.message\\.${CALLED}\\.function\\.arguments`),
    reason: 'an input that is no object is none',
    matches: ({ newer }) => newer === '{}',
  },
  {
    where: /check/,
    reason: 'a custom tool is a function with one text, as for callers of responses',
    matches: ({ older, newer }) =>
      newer === 'accepted' &&
      /^(?:tools\[\d+\]\.type|tool_choice\.type|messages\[\d+\]\.tool_calls\[\d+\])$/.test(
        older.refused.param,
      ),
  },
]

/** The rows of a pair. */
const of = (pair: string, rows: readonly Row[]): WantedDifference[] => rows.map((row) => ({ pair, ...row }))

export const wantedOfChat: readonly WantedDifference[] = [
  ...of('chat-on-messages', [...onAll, ...onMessages]),
  ...of('chat-on-converse', onAll),
]
