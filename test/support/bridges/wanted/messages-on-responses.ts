// Differences that are wanted between messages-on-responses and the family in its place.

import { wordsInEvents, wordsInReply } from '../../matrix/told-words'
import { parsedCalls, wordsOfResponse, wordsOfResponseReply } from '../../matrix/words'
import type { Json } from '../../scenario'
import type { DifferenceContext } from '../differences'
import {
  CALL,
  CHECK,
  INPUT,
  inputsAt,
  namedFiles,
  partsOf,
  plainItems,
  type Row,
  resultsFirst,
  saysWhatIsSent,
  untilEnd,
  valueAt,
} from './responses-compared'

/** Events of a stream of messages without what is said: how it begins and ends, its calls' own ids, and what is sealed. */
function messageFrame(events: readonly Json[], ids: readonly string[]): Json {
  const frame: Json[] = []
  const known = new Set<Json>()
  for (const { data } of events) {
    const { type, content_block: block, delta } = data
    if (block && ids.includes(block.id)) known.add(block.id)
    if (block?.data) known.add(block.data)
    if (delta?.signature) known.add(delta.signature)
    if (type === 'message_delta') frame.push({ ...data, delta: null })
    else if (!/^content_block/.test(type)) frame.push(data)
  }
  return [frame, [...known].toSorted()]
}

const stopOf = (events: readonly Json[]): Json =>
  events.find(({ data }) => data.type === 'message_delta')?.data.delta

/** Whether blocks come one after another, each begun once and ended once. */
function isRow(events: readonly Json[]): boolean {
  let open: number | undefined
  let next = 0
  for (const { data } of events) {
    const { type, index } = data
    if (type === 'content_block_start') {
      if (open !== undefined || index !== next) return false
      open = index
      next++
    } else if (/^content_block/.test(type)) {
      if (index !== open) return false
      if (type === 'content_block_stop') open = undefined
    }
  }
  return open === undefined || events.at(-1)?.data.type !== 'message_stop'
}

/** The ids of functions that are called: the older family leaves out other calls. */
const calledIn = ({ events }: Json): string[] =>
  (events as Json[]).flatMap(({ item }) =>
    item?.type === 'function_call' && item.call_id ? [item.call_id] : [],
  )

function isMessageAlike({ older, newer, body }: DifferenceContext, ids = calledIn(body)): boolean {
  const [frame, other] = [older, newer].map(({ events }) => messageFrame(events, ids))
  return Bun.deepEquals(frame, other) && isRow(newer.events)
}

/** Whether it stops alike, but for what is known better: calls of custom tools, and refusals. */
function stopAlike({ older, newer, body }: DifferenceContext): boolean {
  const [stop, other] = [stopOf(older.events), stopOf(newer.events)]
  if (Bun.deepEquals(stop, other)) return true
  const text = JSON.stringify(body.sent)
  if (other.stop_reason === 'tool_use')
    return stop.stop_reason === 'end_turn' && text.includes('"custom_tool_call"')
  if (other.stop_reason === 'refusal') return /"(?:response\.)?refusal/.test(text)
  return stop.stop_reason === 'refusal' && !text.includes('"status":"incomplete"')
}

const hasFailed = ({ newer }: DifferenceContext): boolean => stopOf(newer.events) === undefined

function saysTheBeginning({ body, newer }: DifferenceContext): boolean {
  const told = wordsInEvents(newer.events)
  const sent = wordsOfResponse(untilEnd(body.sent[0]))
  return told.every(({ kind, name, text }, place) => {
    const of = sent[place]
    const isLast = place === told.length - 1
    return (
      of?.kind === kind &&
      of.name === name &&
      (isLast ? of.text.startsWith(text === '{}' ? '' : text) : of.text === text)
    )
  })
}

const STREAM = /(?:events|timing).*/

/** Instructions apart from the rest: those of the field, and those at the beginning of the input. */
function instructed({ instructions, input }: Json): Json {
  const items = plainItems(input)
  const results = items.slice(
    0,
    Math.max(
      0,
      items.findIndex(({ output }) => output === undefined),
    ),
  )
  const [first, ...others] = items.slice(results.length)
  const texts = instructions === undefined ? [] : [instructions]
  const parts = first?.role === 'user' ? [...first.content] : []
  for (let text = /^<system>\n(.*)\n<\/system>$/s.exec(parts[0]?.text); text; ) {
    texts.push(text[1])
    parts.shift()
    text = /^<system>\n(.*)\n<\/system>$/s.exec(parts[0]?.text)
  }
  const rest = parts.length > 0 ? [{ role: 'user', content: parts }] : first?.role === 'user' ? [] : [first]
  return [texts.join('\n\n'), [...results, ...rest, ...others]]
}

/** Without instructions that say nothing. */
const withoutEmptyInstructions = (items: Json[]): Json[] =>
  items.map((item) =>
    item.role === 'user'
      ? { ...item, content: partsOf(item.content).filter(({ text }) => text !== '<system>\n\n</system>') }
      : item,
  )

/** Files that are called PDF files whatever they are, by their type. */
const renamedFiles = (items: Json[]): Json[] =>
  namedFiles(
    JSON.parse(JSON.stringify(items), (_, value) =>
      value?.filename === 'document.pdf' ? { ...value, filename: '' } : value,
    ),
  )

const changes = [withoutEmptyInstructions, renamedFiles, resultsFirst]

export const messagesOnResponsesDifferences: readonly Row[] = [
  {
    where: /bridge\.tools\[\]\.strict\.treatment/,
    reason:
      'the table says of a protocol what it can say; schemas that are strict by other rules are sent as loose ones',
    matches: ({ older, newer }) => older === 'ignored' && newer === 'translated',
  },
  {
    where: /bridge\.tool_choice\.disable_parallel_tool_use/,
    reason: 'a field that was told of with its holder has a row of its own',
    matches: ({ older, newer }) => older === undefined && newer.treatment === 'translated',
  },
  {
    where: /check\.refused\.message/,
    reason: 'a limit of no tokens is refused by the dialect, in one text',
    matches: (_, { older: { check: older }, newer: { check: newer } }) =>
      older.refused.code === newer.refused.code &&
      older.refused.param === 'max_tokens' &&
      newer.refused.param === 'max_tokens',
  },
  {
    where: CHECK,
    reason: 'of two faults a limit of no tokens is named first',
    matches: (_, { older: { check: older }, newer: { check: newer } }) =>
      older.refused?.param !== 'max_tokens' && newer.refused?.code === 'integer_below_min_value',
  },
  {
    where: CHECK,
    reason: 'of two faults in a result its id is named first',
    matches: (_, { older: { check: older }, newer: { check: newer } }) => {
      const [, block] = /^(.*)\.tool_use_id$/.exec(newer.refused?.param) ?? []
      return block !== undefined && older.refused?.param.startsWith(`${block}.content`)
    },
  },
  ...[
    'a single text is a plain string, and messages of the user that only thinking stands between are one',
    'instructions without words are left out',
    'a file without a name is named by its type',
    'results without a call come before what the user says, as all results do',
  ].map(
    (reason, count): Row => ({
      where: INPUT,
      reason,
      matches: ({ where }, context) => {
        const [older, newer] = inputsAt(where, context)
        return Bun.deepEquals(
          plainItems(changes.slice(0, count).reduce((items, change) => change(items), older)),
          plainItems(newer),
        )
      },
    }),
  ),
  {
    where: new RegExp(`${CALL}\\.(?:instructions|input(?:\\[.*)?)`),
    reason: 'instructions before all turns are instructions, whatever their place in the request',
    matches: ({ where }, context) => {
      const place = where.slice(0, where.indexOf('.json.') + '.json'.length)
      const [older, newer] = [context.older, context.newer].map((outcome) => valueAt(outcome, place))
      const input = changes.reduce((items, change) => change(items), older.input)
      return Bun.deepEquals(instructed({ ...older, input }), instructed(newer))
    },
  },
  {
    where: /quote\[\d\]\.(?:input|cache_write|cache_write_1h)_token/,
    reason: 'a list of no servers makes the input no longer',
    matches: ({ older, newer }, { body }) => /"mcp_servers":(?:\[\]|null)/.test(body) && !(newer >= older),
  },
  {
    where: new RegExp(`${CALL}\\.(?:parallel_tool_calls|text\\.format\\.schema)`),
    reason: 'null is as good as absent',
    matches: ({ older, newer }, { body }) =>
      newer === undefined &&
      (older === true ? body.includes('"disable_parallel_tool_use":null') : older === null),
  },
  {
    where: /limited\[0\]\[0\]\.body\.json\.max_output_tokens/,
    reason: 'an account that cannot pay 16 tokens is refused before: fewer are never asked for',
    matches: ({ older, newer }) => older === 16 && newer === 1,
  },
  {
    where: /(?:reply|unpaid)\.content\[\d+\]\.id/,
    reason: 'a call that the vendor gave no id gets one, so that its result can be sent',
    matches: ({ older, newer }) => older === '' && /^toolu_ml/.test(newer),
  },
  {
    where: /(?:reply|unpaid)\.(?:content(?:\[.*)?|stop_reason)/,
    reason: 'calls of custom tools, which no caller of messages has, are calls, and not lost',
    matches: ({ where, older, newer }, context) =>
      JSON.stringify(context.body).includes('custom_tool_call') &&
      (where.endsWith('stop_reason') ? older === 'end_turn' && newer === 'tool_use' : true) &&
      Bun.deepEquals(
        parsedCalls(wordsInReply(context.newer[where.startsWith('reply') ? 'reply' : 'unpaid'])),
        parsedCalls(wordsOfResponseReply(context.body.reply)),
      ),
  },
  {
    where: /(?:reply|unpaid)\.stop_(?:reason|details)/,
    reason: 'details of an incomplete answer count where the answer is incomplete',
    matches: ({ older, newer }, { body }) =>
      body.reply.status !== 'incomplete' &&
      (older === 'refusal' || (older?.type === 'refusal' && newer === null)),
  },
  {
    where: STREAM,
    reason: 'a caller is told what the vendor sent, once, whatever of it came twice, late or without pieces',
    matches: (_, context) => isMessageAlike(context) && stopAlike(context) && saysWhatIsSent(context),
  },
  {
    where: STREAM,
    reason: 'where a stream fails, what waits for an item that has not ended is not told',
    matches: (_, context) => hasFailed(context) && isMessageAlike(context, []) && saysTheBeginning(context),
  },
  {
    where: STREAM,
    reason: 'a message whose beginning is left out begins with its first piece',
    matches: (_, { body, newer }) =>
      !body.sent[0].some(({ type }: Json) => type === 'response.created') &&
      newer.events.every(({ name }: Json) => name === 'error') &&
      wordsOfResponse(untilEnd(body.sent[0])).length === 0,
  },
]
