// Differences that are wanted between chat-on-responses and the family in its place.

import { wordsInReply } from '../../matrix/told-words'
import { type Run, wordsOfResponseReply } from '../../matrix/words'
import type { Json } from '../../scenario'
import type { DifferenceContext } from '../differences'
import {
  CALL,
  CHECK,
  hasNamelessCalls,
  INPUT,
  idsIn,
  inputsAt,
  isOfOne,
  namedFiles,
  ofLastCalls,
  plainItems,
  type Row,
  refusedNow,
  resultsFirst,
  saysWhatIsSent,
  valueAt,
  withoutSilence,
} from './responses-compared'

/** Events of a stream of chat without what is said: how each candidate begins, its calls' own ids, sources and figures. */
function chatFrame(events: readonly Json[], ids: readonly string[]): Json {
  const candidates = new Map<unknown, Json>()
  const others: Json[] = []
  for (const { data } of events) {
    const [choice] = data.choices ?? []
    if (!choice) {
      others.push(data)
      continue
    }
    const { index, delta, finish_reason: reason } = choice
    const of = candidates.get(index) ?? { ids: new Set(), sources: new Set() }
    candidates.set(index, of)
    if (delta.role) of.begins = { ...data, choices: null, gateway: null }
    if (reason !== null) of.ends = { ...data, choices: null }
    for (const { id } of delta.tool_calls ?? []) if (ids.includes(id)) of.ids.add(id)
    for (const source of delta.annotations ?? []) of.sources.add(JSON.stringify(source))
  }
  return [[...candidates].toSorted(([one], [other]) => Number(one) - Number(other)), others]
}

const endsOf = (events: readonly Json[]): Json[] =>
  events.flatMap(({ data }) => (data.choices?.[0]?.finish_reason ? [data.choices[0]] : []))

function isFramedAlike({ older, newer, body }: DifferenceContext, ids = idsIn(body)): boolean {
  const [frame, other] = [older, newer].map(({ events }) => chatFrame(events, ids))
  return Bun.deepEquals(frame, other)
}

/** Whether candidates end for the same reasons: those that had ended before a cut keep their own. */
function endAlike({ older, newer, body }: DifferenceContext): boolean {
  const [ends, others] = [endsOf(older.events), endsOf(newer.events)]
  return (
    ends.length === others.length &&
    ends.every(
      (end, place) =>
        Bun.deepEquals(end, others[place]) || (end.finish_reason === 'length' && hasEnded(body, end.index)),
    )
  )
}

const hasEnded = ({ sent }: Json, candidate: number): boolean =>
  sent[candidate].some(({ type }: Json) => /^response\.(?:completed|incomplete)$/.test(type))

const saidIn = (runs: readonly Run[]): string =>
  runs.flatMap(({ kind, text }) => (kind === 'said' ? [text] : [])).join('')

/** Without calls that have no name, which are told last, or not at all if the stream fails: calls may change places. */
const namedCalls = (runs: readonly Run[]): Run[] => [
  ...runs.filter(({ kind }) => kind !== 'call'),
  ...runs.filter(({ name }) => name).toSorted((one, other) => (one.text < other.text ? -1 : 1)),
]

export const chatOnResponsesDifferences: readonly Row[] = [
  {
    where: /bridge\.messages\[\]\.content\[\]\.type\.plain/,
    reason: 'sounds are refused by a row of their own, where a protocol has no form for them',
    matches: ({ older, newer }) => newer === `${older},input_audio`,
  },
  {
    where: /bridge\.(?:tools\[\]\.function\.strict|response_format\.json_schema\.strict)/,
    reason: 'a field that was told of with its holder has a row of its own',
    matches: ({ older, newer }) => older === undefined && newer.treatment === 'translated',
  },
  {
    where: /bridge\.thinking\.treatment/,
    reason: 'a budget of thinking is an effort, as for callers of messages',
    matches: ({ older, newer }) => older === 'refused' && newer === 'translated',
  },
  {
    where: /bridge\.prompt_cache_options\.ttl/,
    reason: 'what a vendor charges for is refused by a rule, and what it cannot say by the table',
    matches: ({ older, newer }) => older.treatment === 'refused' && newer === undefined,
  },
  {
    where: /rules\.prompt_cache_options\.ttl/,
    reason: 'what a vendor charges for is refused by a rule, and what it cannot say by the table',
    matches: ({ older, newer }) => older === undefined && newer.includes('plain,30m,'),
  },
  {
    where: /check\.refused\.message/,
    reason: 'one text for what the dialect refuses',
    matches: (_, { older: { check: older }, newer: { check: newer } }) =>
      older.refused.code === newer.refused.code && older.refused.param === newer.refused.param,
  },
  {
    where: CHECK,
    reason: 'a value of another type is refused, and not left out or left to the vendor',
    matches: (_, context) => /^(?:invalid_type|missing_required_parameter)$/.test(refusedNow(context)?.code),
  },
  {
    where: CHECK,
    reason: 'efforts, choices of tools and verbosities that are none are refused here too',
    matches: (_, context) => /^(?:reasoning_effort|tool_choice|verbosity)$/.test(refusedNow(context)?.param),
  },
  {
    where: CHECK,
    reason: 'messages of the system are texts only, whoever serves them',
    matches: (_, { newer }) => /messages of the system are texts only/.test(newer.check.refused?.message),
  },
  {
    where: CHECK,
    reason: 'a budget of thinking is an effort, as for callers of messages; another fault may remain',
    matches: (_, { older }) => older.check.refused?.param === 'thinking',
  },
  {
    where: CHECK,
    reason: 'a refusal of the assistant that somebody else repeats is a text; another fault may remain',
    matches: (_, { older }) => /not refusal/.test(older.check.refused?.message),
  },
  {
    where: CHECK,
    reason:
      'of two faults that of the tools, their choice and the format is named first, and that of an effort or of too many streams last',
    matches: (_, { older: { check: older }, newer: { check: newer } }) =>
      (/^(?:reasoning_effort|n)$/.test(older.refused?.param) && newer.refused !== undefined) ||
      (/^(?:messages\[|tool_choice$)/.test(older.refused?.param) &&
        /^(?:tools\[|tool_choice$|response_format)/.test(newer.refused?.param)),
  },
  {
    where: /call|limited|quote|output|ignored|showsUsage|callAfter|body|texts|mediaTokens/,
    reason: 'what follows from a check',
    matches: ({ older, newer }, context) =>
      isOfOne(context) && (older === undefined) !== (newer === undefined),
  },
  {
    where: /quote\[\d\]\.output_token|output\.(?:most|least)/,
    reason: 'models of responses are sent no prediction',
    matches: ({ older, newer }, { body }) => body.includes('"prediction"') && newer <= older,
  },
  {
    where: /quote\[\d\]\.output_token|output\.(?:most|least)/,
    reason: 'of two limits the one that is sent counts',
    matches: ({ where, older, newer }, { body }) => {
      const { max_completion_tokens: sent, max_tokens: other, n } = JSON.parse(body)
      return (
        typeof sent === 'number' &&
        typeof other === 'number' &&
        newer <= older &&
        (n > 1 || !where.endsWith('most') || newer === Math.max(sent, 16))
      )
    },
  },
  {
    where: /quote\[\d\]\.(?:input_token|cache_write_token)/,
    reason: 'a refusal that is repeated is a text, and not a file of unknown length',
    matches: ({ newer }, { body }) => body.includes('"type":"refusal"') && newer >= body.length,
  },
  {
    where: new RegExp(`${CALL}\\.tool_choice\\.type`),
    reason: 'a choice that has no type but a function is one of a function',
    matches: ({ older, newer }, { body }) =>
      newer === 'function' && older !== 'custom' && body.includes('"tool_choice":{'),
  },
  {
    where: new RegExp(`${CALL}\\.tool_choice(?:\\.tools\\[\\d+\\])?\\.type`),
    reason: 'a choice of a tool that is not among the tools is one of a function',
    matches: ({ where, newer }, context) => {
      const { name } = valueAt(context.older, where.slice(0, -'.type'.length))
      const { tools } = JSON.parse(context.body)
      return (
        newer === 'function' &&
        !tools.some(({ function: called, custom }: Json) => (called ?? custom)?.name === name)
      )
    },
  },
  {
    where: new RegExp(`${CALL}\\.tool_choice\\..*`),
    reason: 'a single tool that is allowed and required is the one that must be called',
    matches: ({ where }, context) => {
      const place = where.slice(0, where.indexOf('.tool_choice') + '.tool_choice'.length)
      const { mode, tools = [] } = valueAt(context.older, place)
      return (
        mode === 'required' && tools.length === 1 && Bun.deepEquals(tools[0], valueAt(context.newer, place))
      )
    },
  },
  ...[
    'messages of one side in a row are one, without texts that say nothing; results that are texts are one text',
    'a file at an address is one, and a file without a name gets one, without which it is refused',
    'results come before what the user says beside them',
    'a user who says nothing is not named',
    'of several calls of one id a result is that of the last one',
  ].map(
    (reason, count): Row => ({
      where: INPUT,
      reason,
      matches: ({ where }, context) => {
        const [older, newer] = inputsAt(where, context)
        const expected = [namedFiles, resultsFirst, withoutSilence, ofLastCalls].slice(0, count)
        return Bun.deepEquals(
          plainItems(expected.reduce((items, change) => change(items), older)),
          plainItems(newer),
        )
      },
    }),
  ),
  {
    where: /(?:reply|unpaid)\.choices\[\d+\]\.message\.tool_calls\[\d+\]\.id/,
    reason: 'a call that the vendor gave no id gets one, so that its result can be sent',
    matches: ({ older, newer }) => older === '' && /^call_ml/.test(newer),
  },
  {
    where: /(?:reply|unpaid)\.choices\[\d+\]\.message\.(?:content|refusal)/,
    reason: 'a text of the assistant is one, whatever the vendor calls its type',
    matches: ({ where }, { body, newer }) => {
      const [, outcome = '', index] = /^(\w+)\.choices\[(\d+)/.exec(where) ?? []
      return saidIn(wordsInReply(newer[outcome], Number(index))) === saidIn(wordsOfResponseReply(body.reply))
    },
  },
  {
    where: /(?:events|timing).*/,
    reason:
      'each candidate is told what the vendor sent, once, whatever of it came twice, late or without pieces; a call without an id gets one, and one without arguments those of an empty object',
    matches: (_, context) => isFramedAlike(context) && endAlike(context) && saysWhatIsSent(context),
  },
  {
    where: /(?:events|timing).*/,
    reason: 'a call is told of when it has a name, or has ended',
    matches: (_, context) =>
      hasNamelessCalls(context.body) &&
      isFramedAlike(context, []) &&
      endAlike(context) &&
      saysWhatIsSent(context, namedCalls),
  },
]
