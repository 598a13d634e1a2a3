// Differences that are wanted between older and newer families whose vendors speak chat completions.

import type { Json } from '../scenario'
import type { DifferenceContext, WantedDifference } from './differences'

type Row = Omit<WantedDifference, 'pair'>

const REQUEST = /(?:call\[0\]|limited\[\d\]\[0\])\.body\.json/.source
const NO_INSTRUCTION = '<system>\n\n</system>'
const OPENAI_MODEL = /^openai\/(?:gpt-|o\d)/

/** The requests of both families, that with a lower limit if the place is in it. */
function requestsAt(where: string, { older, newer }: DifferenceContext): [older: Json, newer: Json] {
  const number = /^limited\[(\d)\]/.exec(where)?.[1]
  const requestOf = ({ call, limited }: Json) =>
    (number === undefined ? call : limited[Number(number)])[0].body.json
  return [requestOf(older), requestOf(newer)]
}

/** Results, texts in their order and other parts, which one side says before the other one does. */
interface Said {
  side: 'user' | 'assistant'
  results: Json[]
  text: string
  others: string[]
  /** Reasoning that the vendor gets back. */
  returned: Json
}

/** A text without the marks of instructions, and without those that have no words. */
function wordsOf(text: string): string {
  const spoken = text
    .replaceAll(`${NO_INSTRUCTION}\n\n`, '')
    .replace(`\n\n${NO_INSTRUCTION}`, '')
    .replace(NO_INSTRUCTION, '')
  return spoken.replaceAll(/<system>\n|\n<\/system>/g, '')
}

/** All that messages say, whoever gives instructions, and wherever a picture stands in what a user says. */
function saidIn(messages: Json[]): Json[] {
  const said: Said[] = []
  for (const message of messages) {
    const { role, content, tool_calls: calls = [], ...rest } = message
    const side = role === 'assistant' ? role : 'user'
    const all = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
    const parts = all
      .map((part: Json) => (part.type === 'text' ? { ...part, text: wordsOf(part.text) } : part))
      .filter(({ text }: Json) => text !== '')
    if (parts.length + calls.length === 0) continue
    if (said.at(-1)?.side !== side) said.push({ side, results: [], text: '', others: [], returned: {} })
    const open = said.at(-1) as Said
    if (role === 'tool') {
      open.results.push(message)
      continue
    }
    open.results.push(...calls)
    for (const [name, value] of Object.entries(rest)) {
      const before = open.returned[name]
      open.returned[name] =
        typeof value === 'string' ? (before ?? '') + value : Object.assign([], before, value)
    }
    for (const part of parts) {
      if (part.type === 'text') open.text += `\n\n${part.text}`
      else open.others.push(JSON.stringify(part))
    }
  }
  return said.map((each) => ({ ...each, others: each.others.toSorted() }))
}

/** Whether instructions stand where a model takes them: first, or in messages of the developer for models of OpenAI. */
function isInstructed(messages: Json[], model: string): boolean {
  const isOpenai = OPENAI_MODEL.test(model)
  return messages.every(({ role }, place) =>
    role === 'developer' ? isOpenai : role !== 'system' || (place === 0 && !isOpenai),
  )
}

/** Whether a request says the same in messages that its model takes. */
function saysTheSame(where: string, context: DifferenceContext): boolean {
  const [older, newer] = requestsAt(where, context)
  const isSame = Bun.deepEquals(saidIn(older.messages), saidIn(newer.messages))
  return isSame && isInstructed(newer.messages, context.model)
}

/** The blocks of a stream's message, without their places; a text that goes on in another block is one. */
function blocksIn(events: Json[]): Json[] {
  const blocks: Json[] = []
  for (const { data } of events) {
    const { type, delta, content_block: begun } = data
    const last = blocks.at(-1)
    if (type === 'content_block_start') {
      if (begun.type !== 'text' || last?.type !== 'text') blocks.push({ ...begun, pieces: '' })
    } else if (type === 'content_block_delta') {
      for (const piece of Object.values(delta).slice(1)) last.pieces += piece
    } else if (type !== 'content_block_stop') blocks.push(data)
  }
  return blocks
}

/** Whether a stream has told as many events as another one at each place, or more, but for some that it never tells. */
function isToldBy(older: number[], newer: number[], fewer = 0): boolean {
  const soFar = (counts: number[], place: number) =>
    counts.slice(0, place + 1).reduce((sum, count) => sum + count, 0)
  return older.every((_, place) => soFar(newer, place) + fewer >= soFar(older, place))
}

/** Whether a vendor refuses, or leaves out the name of a call. */
function hasLateBlocks(body: Json, { events }: Json): boolean {
  const isNameless = ({ data }: Json) => data?.content_block?.name === ''
  return JSON.stringify(body.events).includes('"refusal":"') || events.some(isNameless)
}

/** Ids of calls that were made up, whose numbers are no part of what is said. */
const withoutMadeUpIds = (value: Json): string =>
  JSON.stringify(value ?? null).replaceAll(/call_a1(?:a1)+\d+/g, 'call_given')

/** All that a stream says of one item: its pieces by their kinds, and its other events without those at the end of a call. */
interface StreamedItem {
  pieces: Record<string, string>
  others: Json[]
}

/** Whether an event comes when a call ends; most calls are not shown before. */
const isOfCallEnd = ({ type, item }: Json): boolean =>
  /^response\.(?:function_call_arguments\.done|custom_tool_call_input\.)/.test(type) ||
  (item?.call_id !== undefined && (type.endsWith('.done') || item.type !== 'function_call'))

/** The items of a stream of a response, and its events about none, with calls of which nobody knows whether they have ended. */
function itemsIn(events: Json[]): { items: StreamedItem[]; rest: Json[] } {
  const items: StreamedItem[] = []
  const rest: Json[] = []
  for (const { data } of events) {
    const { sequence_number: _, type, output_index: place, delta, ...event } = structuredClone(data)
    for (const item of event.response?.output ?? []) if (item.call_id) delete item.status
    if (place === undefined) {
      if (type !== 'keepalive') rest.push({ type, ...event })
      continue
    }
    if (isOfCallEnd(data)) continue
    items[place] ??= { pieces: {}, others: [] }
    const item = items[place]
    if (delta !== undefined) item.pieces[type] = (item.pieces[type] ?? '') + delta
    else item.others.push({ type, ...event })
  }
  return { items, rest }
}

/** Whether two streams say the same, though their calls end at other places. */
const saySame = (older: Json, newer: Json): boolean => {
  const said = ({ events, answer }: Json) => withoutMadeUpIds([itemsIn(events), withoutStates(answer)])
  return said(older) === said(newer)
}

/** Whether an older stream says the same, but for pieces that it adds to calls that were whole. */
function saysMore(older: Json, newer: Json): boolean {
  const argumentsIn = ({ answer, events }: Json): string[] =>
    (answer ?? events.at(-1).data.response)?.output?.map((item: Json) => item.arguments ?? item.input ?? '')
  const [longer, shorter] = [argumentsIn(older), argumentsIn(newer)]
  return (
    longer?.length === shorter?.length &&
    longer.every((text, place) => text.startsWith(shorter[place] as string)) &&
    longer.some((text, place) => text !== shorter[place] && isWhole(shorter[place] as string))
  )
}

function isWhole(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

/** A response without the states of calls. */
function withoutStates(response: Json): Json {
  const copy = structuredClone(response)
  for (const item of copy?.output ?? []) if (item.call_id) delete item.status
  return copy
}

const ofMessages: Row[] = [
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
    where: new RegExp(`${REQUEST}\\.messages\\b.*`),
    // OpenAI's reference: "With o1 models and newer, `developer` messages replace the previous `system` messages."; of older ones its
    // staff: https://community.openai.com/t/how-is-developer-message-better-than-system-prompt/1062784/2.
    reason:
      "instructions before all turns are the first message; OpenAI's own models get all as messages of the developer; those without words are left out",
    matches: ({ where }, context) =>
      /"role":"system"|"system":/.test(context.body) && saysTheSame(where, context),
  },
  {
    where: new RegExp(`${REQUEST}\\.messages\\b.*`),
    reason: 'a message that says nothing, or nothing that a model reads, does not part what one side says',
    matches: ({ where }, context) =>
      /"(?:text|data|content)":(?:""|\[\])/.test(context.body) && saysTheSame(where, context),
  },
  {
    where: new RegExp(`${REQUEST}\\.prompt_cache_key`),
    reason:
      "requests of one user are looked for in one cache of OpenAI's own models: the key has replaced `user`, and models of responses get it too",
    matches: ({ older, newer }, { body, model }) =>
      older === undefined &&
      OPENAI_MODEL.test(model) &&
      newer === new Bun.CryptoHasher('sha256').update(JSON.parse(body).metadata.user_id).digest('hex'),
  },
  {
    where: new RegExp(`${REQUEST}\\.tools\\[\\d+\\]\\.function\\.description`),
    reason: 'a description that is no text is left out, as for models of responses',
    matches: ({ older, newer }) => typeof older !== 'string' && newer === undefined,
  },
  {
    where: new RegExp(`${REQUEST}\\.(?:parallel_tool_calls|response_format\\.json_schema\\.schema)`),
    reason: 'null is as good as absent',
    matches: ({ newer }, { body }) =>
      newer === undefined && /"(?:disable_parallel_tool_use|schema)":null/.test(body),
  },
  {
    where: /quote\[\d\]\.(?:input|cache_write|cache_write_1h)_token/,
    reason: 'a list of no servers makes the input no longer',
    matches: (_, { body }) => /"mcp_servers":(?:\[\]|null)/.test(body),
  },
  {
    where: /events\[\d+(?:\.\.\.\]|\].*)/,
    reason:
      'a refusal after a text is a block of its own, as in a whole message; a call that is whole and has no name does not wait for one',
    matches: (_, { body, older, newer }) =>
      hasLateBlocks(body, older) && Bun.deepEquals(blocksIn(older.events), blocksIn(newer.events)),
  },
  {
    where: /timing\[\d+\]/,
    reason:
      'a refusal after a text begins with two events more; a call that is whole and has no name does not wait for one',
    matches: (_, { body, older, newer }) =>
      hasLateBlocks(body, older) && isToldBy(older.timing, newer.timing),
  },
]

const PAIRED = /(?:call|limited|quote|output|ignored|showsUsage|body|mediaTokens|texts)/

const ofResponses: Row[] = [
  {
    where: /bridge\.input\[\]\.content\[\] input_audio/,
    reason: 'sounds are told of by the type of their part',
    matches: ({ older, newer }) => older.treatment === 'translated' && newer === undefined,
  },
  {
    where:
      /bridge\.(?:input\[\]\.content\[\]\.(?:detail|type)|tools\[\]\.strict|tool_choice\.tools|text\.format\.strict)/,
    reason: 'a field that was told of with its holder has a row of its own',
    matches: ({ older, newer }) => older === undefined && newer.treatment === 'translated',
  },
  {
    where: /check/,
    // OpenAI refuses it (https://github.com/vercel/ai/issues/7266), and OpenRouter reads it (protocols/openai-chat/write.ts).
    reason: 'an address in place of the data of a file is refused, where its vendor reads none',
    matches: ({ older, newer }, { body }) =>
      older === 'accepted' &&
      newer.refused?.code === 'unsupported_value' &&
      newer.refused.param.endsWith('.file_data') &&
      /"file_data":"[a-z]+:\/\//.test(body),
  },
  {
    where: /check/,
    reason: 'a picture or a file of which nothing is said is refused, and not sent as none',
    matches: ({ older, newer }, { body }) =>
      older === 'accepted' &&
      newer.refused?.code === 'missing_required_parameter' &&
      /\.(?:image_url|file_data)$/.test(newer.refused.param) &&
      /"(?:image_url|file_data)":""/.test(body),
  },
  {
    where: /check\.refused\.(?:code|param|message)/,
    reason: 'of two faults the one that is read first is named',
    matches: (_, { older, newer }) => {
      const before = older.check.refused.param
      const { code, param } = newer.check.refused
      return (
        before !== param &&
        (code === 'missing_required_parameter' ||
          param.endsWith('.file_url') ||
          (param === 'tool_choice' && /^(?:reasoning\.effort|text\.verbosity)$/.test(before)))
      )
    },
  },
  {
    where: PAIRED,
    reason: 'what follows from a check',
    matches: ({ older, newer }, context) =>
      (older === undefined || newer === undefined) &&
      (context.older.check === 'accepted') !== (context.newer.check === 'accepted'),
  },
  {
    where: /events\[\d+(?:\.\.\.\]|\].*)|answer\..*/,
    reason: 'a call that is whole ends when something else has come, and not only with the answer',
    matches: (_, { older, newer }) => saySame(older, newer),
  },
  {
    where: /timing\[\d+\]/,
    reason:
      'a call that is whole ends when something else has come; pieces of a call that came together are one event',
    matches: (_, { older, newer }) => {
      const pieces = ({ events }: Json) =>
        events.filter(({ name }: Json) => name === 'response.function_call_arguments.delta').length
      return saySame(older, newer) && isToldBy(older.timing, newer.timing, pieces(older) - pieces(newer))
    },
  },
  {
    where: /(?:events\[\d+(?:\.\.\.\]|\].*)|answer\..*|timing\[\d+\])/,
    reason: 'nothing is added to the arguments of a call that is whole',
    matches: (_, { older, newer }) => saysMore(older, newer),
  },
  {
    where: /(?:reply|unpaid)\.output\[\d+\.\.\.\]/,
    reason: 'calls that came whole are as many as there are, and no two are taken for one',
    matches: (_, { body, newer }) => {
      const calls = newer.reply.output.filter((item: Json) => item.call_id !== undefined)
      return calls.length === body.reply.choices[0].message.tool_calls.length
    },
  },
  {
    where: /(?:reply|unpaid)\.output\[\d+\]\.(?:call_id|encrypted_content)/,
    reason:
      'a call that the vendor gave no id gets one, by the place that is next when its first piece is read',
    matches: ({ older, newer }) => older !== newer && withoutMadeUpIds(older) === withoutMadeUpIds(newer),
  },
]

/** The rows of a pair. */
const of = (pair: string, rows: readonly Row[]): WantedDifference[] => rows.map((row) => ({ pair, ...row }))

export const wantedOnChat: readonly WantedDifference[] = [
  ...of('messages-on-chat', ofMessages),
  ...of('responses-on-chat', ofResponses),
]
