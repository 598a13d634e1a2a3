// Differences that are wanted between older and newer families for callers of messages.

import type { Json } from '../scenario'
import type { WantedDifference } from './differences'

const LIMIT_WORDS = /^Invalid 'max_tokens': integer below minimum value\./
/** An instruction without words. */
const NO_INSTRUCTION = '<system>\n\n</system>'

/** What is sent, in order: parts of messages in a row, whatever items they are spread over. */
function partsIn(items: Json): Json[] {
  const list = Array.isArray(items) ? items : [items]
  return list.flatMap((item: Json) => {
    if (typeof item === 'string') return [item]
    if (item?.type === 'input_text') return item.text === NO_INSTRUCTION ? [] : [item.text]
    if (item?.type === 'output_text') return [{ answer: item.text }]
    return item?.role === undefined ? [item] : partsIn(item.content)
  })
}

/** Events without empty pieces of arguments, places of blocks and ids that were made up; pieces in a row are one. */
function toldBy(events: Json): Json[] {
  const told: Json[] = []
  for (const { data } of events as Json[]) {
    const { index, ...event } = structuredClone(data)
    const { delta, content_block: block } = event
    if (delta?.partial_json === '' || delta?.partial_json === '{}') continue
    // Calls and refusals that are told of are the reason to end.
    if (event.type === 'message_delta') delete event.delta
    if (block?.id?.startsWith('toolu_')) block.id = ''
    const last = told.at(-1)
    if (delta?.type !== undefined && delta.type === last?.delta?.type) {
      for (const field of ['text', 'thinking', 'partial_json']) {
        if (field in delta) last.delta[field] += delta[field]
      }
    } else told.push(event)
  }
  return told
}

/** Whether all of one list is in another one, in order. */
function isWithin(list: readonly Json[], other: readonly Json[]): boolean {
  let found = 0
  for (const each of other) if (Bun.deepEquals(each, list[found])) found++
  return found === list.length
}

const hasCustomCalls = (body: Json) => JSON.stringify(body).includes('"custom_tool_call"')

/** Whether a vendor sends a call that it has not named. */
const hasNamelessCalls = (body: Json) =>
  JSON.stringify(body.events).includes('"call_id":"call_2","status":"in_progress"') ||
  /"type":"function_call"(?![^}]*"name":")/.test(JSON.stringify(body.events))

const KNOWN_ITEMS = new Set<Json>(['reasoning', 'message', 'function_call', 'custom_tool_call'])

/** How many calls a stream has. */
const callsIn = ({ events }: Json): number =>
  (events as Json[]).filter(
    ({ type, item }) => type === 'response.output_item.added' && item?.type === 'function_call',
  ).length

/** Whether a vendor leaves out the beginning or the end of an item or of the answer. */
function hasLooseItems({ events }: Json): boolean {
  const begun = new Set<Json>()
  const ended = new Set<Json>()
  const isLoose = (events as Json[]).some(({ type, output_index: place, item }, number) => {
    if (type === 'response.output_item.added' && KNOWN_ITEMS.has(item?.type)) begun.add(place)
    if (type === 'response.output_item.done') ended.add(place)
    const isOfItem = /\.(?:added|delta|done)$/.test(type)
    if (isOfItem && (typeof place !== 'number' || !begun.has(place))) return true
    return number === 0 && type !== 'response.created'
  })
  return isLoose || [...begun].some((place) => !ended.has(place))
}

/** Whether a result has no call in the request. */
function hasLoneResult(body: Json): boolean {
  const ids = (pattern: RegExp) => [...String(body).matchAll(pattern)].map(([, id]) => id)
  const called = ids(/"type":"tool_use","id":"([^"]*)"/g)
  return ids(/"tool_use_id":"([^"]*)"/g).some((id) => !called.includes(id))
}

/** Whether what is sent is the end of what was sent, whose beginning is instructions. */
function isWithoutInstructions(older: Json, newer: Json): boolean {
  const [sent, rest] = [partsIn(older), partsIn(newer)]
  const gone = sent.slice(0, sent.length - rest.length)
  const isGone = gone.every((part) => typeof part === 'string' && part.startsWith('<system>\n'))
  return isGone && Bun.deepEquals(sent.slice(gone.length), rest)
}

const INPUT = /(?:call\[0\]|limited\[\d\]\[0\]|callAfter\[\d\])\.body\.json\.input/.source

const onResponses: Omit<WantedDifference, 'pair'>[] = [
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
    matches: ({ older, newer }) => LIMIT_WORDS.test(older) && LIMIT_WORDS.test(newer),
  },
  {
    where: /check\.refused(?:\.(?:code|param|message))?/,
    reason: 'of two faults in a call or its result the first one is named: its id',
    matches: (_, { body }) => /"(?:tool_use_id|id)":(?!")/.test(body) || !/"tool_use_id":/.test(body),
  },
  {
    where: new RegExp(`${INPUT}(?:\\[\\d+\\]\\.content)?(?:\\[\\d+\\.\\.\\.\\])?`),
    reason:
      'a single text is a plain string, and messages of the user that only thinking stands between are one; instructions without words are left out',
    matches: ({ older, newer }) => Bun.deepEquals(partsIn(older), partsIn(newer)),
  },
  {
    where: new RegExp(`${INPUT}(?:\\[\\d+\\.\\.\\.\\]|\\[0\\]\\.content(?:\\[\\d+\\.\\.\\.\\])?)?`),
    reason: 'instructions before all turns are instructions, whatever their place in the request',
    matches: ({ older, newer }) => isWithoutInstructions(older, newer),
  },
  {
    where: new RegExp(INPUT.replace('input', 'instructions')),
    reason: 'instructions before all turns are instructions, whatever their place in the request',
    matches: ({ newer }, { body }) => newer !== undefined && body.includes('"role":"system"'),
  },
  {
    where: /quote\[\d\]\.input_token/,
    reason: 'a list of no servers makes the input no longer',
    matches: (_, { body }) => body.includes('"mcp_servers":[]'),
  },
  {
    where: new RegExp(`${INPUT}(?:\\[\\d+\\]\\.(?:role|type|call_id|output|content)|\\[\\d+\\.\\.\\.\\])`),
    reason: 'results without a call come before what the user says, as all results do',
    matches: (_, { body }) => hasLoneResult(body),
  },
  {
    where:
      /(?:call\[0\]|limited\[\d\]\[0\]|callAfter\[\d\])\.body\.json\.(?:parallel_tool_calls|text\.format\.schema)/,
    reason: 'null is as good as absent',
    matches: ({ newer }, { body }) =>
      newer === undefined && /"(?:disable_parallel_tool_use|schema)":null/.test(body),
  },
  {
    where: /limited\[0\]\[0\]\.body\.json\.max_output_tokens/,
    reason: 'an account that cannot pay 16 tokens is refused before: fewer are never asked for',
    matches: ({ older, newer }) => older === 16 && newer === 1,
  },
  {
    where: /(?:reply|unpaid)\.(?:content\[\d+\.\.\.\]|content|stop_reason)/,
    reason: 'calls of custom tools, which no caller of messages has, are calls, and not lost',
    matches: ({ older, newer }) =>
      newer === 'tool_use'
        ? older === 'end_turn'
        : Array.isArray(newer) &&
          newer.length > older.length &&
          newer.every(({ type }: Json) => type === 'tool_use'),
  },
  {
    where: /(?:reply|unpaid)\.content\[\d+\]\.id|events\[\d+\]\.data\.content_block\.id/,
    reason: 'a call that the vendor gave no id gets one, so that its result can be sent',
    matches: ({ older }) => older === '',
  },
  {
    where: /(?:(?:reply|unpaid)|events\[\d+\]\.data\.delta)\.stop_(?:reason|details)/,
    reason: 'details of an incomplete answer count where the answer is incomplete',
    matches: ({ older, newer }) => older === 'refusal' || (older?.type === 'refusal' && newer === null),
  },
  {
    where: /events\[\d+\.\.\.\]/,
    reason:
      'a call has an empty piece of arguments first, as for the vendor of messages, and none that are made up; nothing is lost that the vendor sends',
    matches: ({ older, newer }, { body }) =>
      hasCustomCalls(body) || hasLooseItems(body)
        ? isWithin(toldBy(older), toldBy(newer))
        : hasNamelessCalls(body) || Bun.deepEquals(toldBy(older), toldBy(newer)),
  },
  {
    where: /events\[0\.\.\.\]/,
    reason: 'a message whose beginning is left out begins with its first piece',
    matches: ({ newer }, { body }) => newer.length === 0 && hasLooseItems(body),
  },
  {
    where: /events\[\d+\.\.\.\]/,
    reason: 'an item whose end is left out holds those after it until the stream ends',
    matches: ({ older, newer }, { body }) => hasLooseItems(body) && isWithin(toldBy(newer), toldBy(older)),
  },
  {
    where: /events\[\d+\]\.(?:name|data\.(?:type|delta|index|content_block))/,
    reason: 'a call is told of when it has a name, or has ended',
    matches: (_, { body }) => hasNamelessCalls(body),
  },
  {
    where: /events\[\d+\]\.data\.delta\.partial_json/,
    reason: 'a call without arguments has an empty piece of them, as for the vendor of messages',
    matches: ({ older, newer }) => older === '{}' && newer === '',
  },
  {
    where: /timing\[\d+\]/,
    reason: 'a call begins with two events, and none of made-up arguments follows',
    matches: ({ older, newer }, { body }) =>
      Math.abs(newer - older) <= callsIn(body) ||
      hasCustomCalls(body) ||
      hasNamelessCalls(body) ||
      hasLooseItems(body),
  },
  {
    where: /events\[\d+\]\.data\.delta\.stop_(?:reason|details)/,
    reason: 'what was said of a refusal shows that it is one, also where the stream breaks off',
    matches: ({ newer }) => newer === 'refusal' || newer?.type === 'refusal',
  },
  {
    where: /events\[\d+\]\.data\.delta\.stop_details\.explanation/,
    reason: 'the explanation is what the caller has read of it',
    matches: ({ newer }) => typeof newer === 'string' && newer !== '',
  },
]

/** The rows of a pair. */
const of = (pair: string, rows: readonly Omit<WantedDifference, 'pair'>[]): WantedDifference[] =>
  rows.map((row) => ({ pair, ...row }))

export const wantedOfMessages: readonly WantedDifference[] = of('messages-on-responses', onResponses)
