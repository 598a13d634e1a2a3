// Differences that are wanted between chat-on-messages and the family in its place.

import type { Json } from '../../scenario'
import { hasNamelessCalls, isAmong, isSentWhole, placeIn, type Row } from './messages-sent'

const isNamed = ({ name }: Json): boolean => name !== ''

/** What a candidate has said: words, calls without ids, and why it ended. */
interface Told {
  content: string
  thinking: string
  calls: { name: string; arguments: string }[]
  finish: string | null
}

/** What chunks say, by their candidates. */
function toldBy(chunks: Json[]): Told[] {
  const told: Told[] = []
  for (const { data } of chunks) {
    for (const { index, delta, finish_reason: finish } of data.choices ?? []) {
      told[index] ??= { content: '', thinking: '', calls: [], finish: null }
      const candidate = told[index] as Told
      candidate.content += delta.content ?? ''
      candidate.thinking += delta.reasoning_content ?? ''
      candidate.finish ??= finish
      for (const { index: place, function: called } of delta.tool_calls ?? []) {
        candidate.calls[place] ??= { name: called.name, arguments: '' }
        ;(candidate.calls[place] as Json).arguments += called.arguments
      }
    }
  }
  return told
}

/** A chunk without what differs by itself: made-up ids of calls, and the mark and the reason of an end after calls. */
function plainChunk({ data }: Json): Json {
  const [choice] = data.choices ?? []
  if (!choice) return data
  const { delta, finish_reason: finish } = choice
  const calls = delta.tool_calls?.map((call: Json) => ({ ...call, id: call.id?.replace(MADE_ID, '') }))
  return {
    ...data,
    ...(calls && { gateway: undefined }),
    choices: [
      {
        ...choice,
        delta: { ...delta, tool_calls: calls },
        finish_reason: finish === 'stop' ? 'tool_calls' : finish,
      },
    ],
  }
}

const MADE_ID = /^call_ml[a-z0-9]+_\d+$/

/** Chunks apart by their candidates, without objects of no arguments. */
function chunksByCandidate(chunks: Json[]): Json {
  const isBare = ({ choices }: Json) => choices?.[0]?.delta.tool_calls?.[0].function.arguments === '{}'
  const plain = chunks.map(plainChunk).filter((data) => !isBare(data))
  const byIndex = Map.groupBy(plain, ({ choices }) => choices?.[0]?.index ?? -1)
  return [...byIndex].toSorted(([one], [other]) => one - other)
}

/** Whether the reason of an end follows the calls that were told of. */
const isReasonOf = (reason: string, calls: Json[] = []): boolean =>
  reason === (calls.length > 0 ? 'tool_calls' : 'stop')

const hasFailed = ({ events }: Json): boolean => !events.some(({ data }: Json) => data === '[DONE]')

/** Whether each candidate says the same, but for calls that are meant to differ. */
function areToldAlike(older: Json, newer: Json, areMeant: (before: Json[], now: Json[]) => boolean): boolean {
  const [before, now] = [toldBy(older.events), toldBy(newer.events)]
  return before.every(({ calls, finish, ...words }, place) => {
    const { calls: newCalls = [], finish: newFinish, ...newWords } = now[place] ?? {}
    const isSame = finish === newFinish || isReasonOf(newFinish ?? '', newCalls)
    return isSame && Bun.deepEquals(words, newWords) && areMeant(calls, newCalls)
  })
}

const REQUEST = /(?:call|limited\[\d\])\[\d+\]\.body\.json/.source
const MESSAGE = /(?:reply|unpaid)\.choices\[\d+\]/.source
const CHUNKS = /events\[\d+(?:\.\.\.\]|\].*)|timing\[\d+\]/.source

/** The fields of a chat completion in the order in which faults are found. */
const READ_IN_ORDER = [
  /^tools\b/,
  /^messages\b/,
  /^tool_choice\b/,
  /^(?:top_k|response_format|verbosity)\b/,
  /^/,
]

const orderOf = (place: string): number => READ_IN_ORDER.findIndex((pattern) => pattern.test(place))

/** Whether the fault is found before another one of the same request, or is the same in another code. */
function isFoundFirst(before: Json, now: Json): boolean {
  if (before.param === now.param)
    return /^(?:missing_required_parameter|invalid_(?:type|value))$/.test(now.code)
  // Calls of custom tools, and a request that says nothing, are refused once all is read.
  if (/there is nothing to answer|expected an (?:'id'|http or https address)/.test(before.message))
    return true
  return orderOf(now.param) <= orderOf(before.param)
}

/** The share of the limit that thinking may take. */
const MOST_OF_LIMIT = 0.75

const REFUSED_NOW =
  /^(?:missing_required_parameter|invalid_type)$|texts only\.$|this model reads PDF files and texts\.$/

export const chatOnMessagesDifferences: readonly Row[] = [
  {
    where: /bridge\.(?:messages\[\]\.content\[\]|tools\[\]|tool_choice)\.type\.plain/,
    reason:
      'sounds and custom tools are refused by rows of their own, where a protocol has no form for them; lists of allowed tools are taken, as from callers of responses',
    matches: ({ newer }) => /,input_audio$|^function,custom(?:,allowed_tools)?$/.test(newer),
  },
  {
    where: /bridge\.(?:tools\[\]\.(?:function\.strict|cache_control)|tool_choice\.tools)/,
    reason: 'a field that was told of with its holder has a row of its own',
    matches: ({ older, newer }) => older === undefined && newer.treatment === 'translated',
  },
  {
    where: /check\.refused\.message/,
    reason: 'one text for what the protocol refuses',
    matches: ({ older, newer }) => placeIn(older) === placeIn(newer),
  },
  {
    where: /check\.refused\.(?:code|param|message)/,
    reason:
      'of two faults the one is named that is found first; a text of another type, or none, is told apart',
    matches: (_, { older, newer }) => isFoundFirst(older.check.refused, newer.check.refused),
  },
  {
    where: /check/,
    reason:
      'a value of another type is refused, and not left out or left to the vendor, who takes texts only of the assistant, and PDF files only as bytes',
    matches: ({ older, newer }) =>
      older === 'accepted' &&
      [newer.refused.code, newer.refused.message].some((word) => REFUSED_NOW.test(word)),
  },
  {
    where: /check/,
    reason: 'lists of allowed tools are taken, as from callers of responses',
    matches: ({ older, newer }, { body }) =>
      newer === 'accepted' &&
      older.refused.param === 'tool_choice.type' &&
      JSON.parse(body).tool_choice.type === 'allowed_tools',
  },
  {
    where: /(?:call|limited|quote|output|ignored|showsUsage|body)/,
    reason: 'what follows from a check',
    matches: ({ older, newer }, { older: { check: before }, newer: { check: now } }) =>
      (older === undefined || newer === undefined) && (before === 'accepted') !== (now === 'accepted'),
  },
  {
    where: /limited\[\d\]\[\d+\]\.body\.json\.(?:thinking\.(?:type|budget_tokens|display)|temperature|top_p)/,
    reason:
      'thinking fits into a lower limit, or is left out: the vendor refuses a budget of as much as the limit',
    matches: ({ where }, { older, newer, body }) => {
      const [, number, candidate] = /^limited\[(\d)\]\[(\d+)\]/.exec(where) ?? []
      const [before, now] = [older, newer].map(
        ({ limited }) => limited[Number(number)][Number(candidate)].body.json,
      )
      const fits = ({ thinking, max_tokens: most }: Json) =>
        thinking.type === 'disabled' || thinking.budget_tokens <= most * MOST_OF_LIMIT
      const { temperature, top_p: topP } = JSON.parse(body)
      const isAsked =
        [undefined, temperature].includes(now.temperature) && [undefined, topP].includes(now.top_p)
      return !fits(before) && fits(now) && isAsked
    },
  },
  {
    where: new RegExp(`${REQUEST}\\.messages.*\\.source\\.(?:type|media_type|data)`),
    reason: 'a file of text is sent as a text: the vendor takes only PDF files as bytes',
    matches: ({ where, older, newer }) =>
      where.endsWith('.data')
        ? newer === Buffer.from(older, 'base64').toString()
        : newer === (where.endsWith('.type') ? 'text' : 'text/plain'),
  },
  {
    where: new RegExp(`${REQUEST}\\.tools\\[\\d+\\]\\.input_schema\\.type`),
    reason: 'a schema without a type is one of an object, which the vendor requires',
    matches: ({ older, newer }) => older === undefined && newer === 'object',
  },
  {
    where: new RegExp(`${REQUEST}\\.(?:messages|tools).*\\.cache_control(?:\\.type)?`),
    reason: 'a mark has the one type that there is, and one that is no object is none',
    matches: ({ older, newer }) => newer === 'ephemeral' || (Array.isArray(older) && newer === undefined),
  },
  {
    where: new RegExp(`${REQUEST}\\.stop_sequences`),
    reason: 'no texts to stop at are none',
    matches: ({ older, newer }) => older.length === 0 && newer === undefined,
  },
  {
    where: new RegExp(`${MESSAGE}\\.message\\.annotations`),
    reason: 'a message has its list of sources, as for the vendor of chat completions',
    matches: ({ newer }) => Bun.deepEquals(newer, []),
  },
  {
    where: /(?:reply|unpaid)\.service_tier/,
    reason: 'the tier that served the request is told, as for models of responses',
    matches: ({ older, newer }, { body: { reply } }) => {
      const { service_tier: tier, speed } = reply.usage
      return (
        older === undefined && newer === (speed === 'fast' ? speed : tier === 'standard' ? 'default' : tier)
      )
    },
  },
  {
    where: new RegExp(`${MESSAGE}\\.message\\.tool_calls\\[\\d+\\]\\.id`),
    reason: 'a call that the vendor gave no id gets one, so that its result can be sent',
    matches: ({ older, newer }) => older === '' && /^call_ml[a-z0-9]+_\d+$/.test(newer),
  },
  {
    where: new RegExp(`${MESSAGE}\\.message\\.tool_calls\\[\\d+\\]\\.function\\.arguments`),
    reason: 'an input that is no object is none',
    matches: ({ older, newer }) => !older.startsWith('{') && newer === '{}',
  },
  {
    where: new RegExp(CHUNKS),
    reason:
      'calls have ids, and those without arguments get an empty object when something follows: each candidate has the same chunks',
    matches: (_, { older, newer }) =>
      Bun.deepEquals(chunksByCandidate(older.events), chunksByCandidate(newer.events)),
  },
  {
    where: /(?:reply|unpaid)\.choices\[\d+\]\.finish_reason/,
    reason:
      'calls of tools are to be made, whatever the vendor says of the end, and where there are none it ended by itself',
    matches: ({ older, newer, where }, { newer: { reply } }) => {
      const choice = reply.choices[Number(/\d+/.exec(where)?.[0])]
      return /^(?:stop|tool_calls)$/.test(older) && isReasonOf(newer, choice.message.tool_calls)
    },
  },
  {
    where: /events\[\d+\]\.data\.choices\[0\]\.finish_reason/,
    reason:
      'calls of tools are to be made, whatever the vendor says of the end, and where there are none it ended by itself',
    matches: ({ older, newer, where }, { newer: { events } }) => {
      const [{ index }] = events[Number(/\d+/.exec(where)?.[0])].data.choices
      return /^(?:stop|tool_calls)$/.test(older) && isReasonOf(newer, toldBy(events)[index]?.calls)
    },
  },
  {
    where: new RegExp(CHUNKS),
    reason:
      'a call without a name, which nobody can make, is told of when it is whole, and not where the stream fails before',
    matches: (_, { body, older, newer }) =>
      hasNamelessCalls(body) &&
      areToldAlike(older, newer, (before, now) => {
        const kept = hasFailed(newer) ? before.filter(isNamed) : before
        return isAmong(kept, now) && isAmong(now, before)
      }),
  },
  {
    where: new RegExp(CHUNKS),
    reason:
      'a call whose input came at once is whole, also where another block begins before its end, and does not get it twice',
    matches: (_, { body: { events }, older, newer }) =>
      areToldAlike(older, newer, (before, now) =>
        now.every(
          (call, place) =>
            Bun.deepEquals(call, before[place]) ||
            (isSentWhole(call.arguments, events) &&
              ['', call.arguments.repeat(2)].includes(before[place]?.arguments)),
        ),
      ),
  },
]
