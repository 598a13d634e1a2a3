// Differences that are wanted between older and newer families for models of Converse.

import type { Json } from '../scenario'
import type { WantedDifference } from './differences'

type Row = Omit<WantedDifference, 'pair'>

const SENT = /(?:call|limited\[\d\])\[\d+\]\.body\.json/.source
const CONTENT = `${SENT}\\.messages\\[\\d+\\]\\.content`
const ANSWER = /(?:reply|unpaid)/.source

/** An instruction among turns. */
const INSTRUCTION = /^<system>\n.*\n<\/system>$/s

/** The blocks of messages, or of one, in no order; without cache points, and without instructions. */
function blocksIn(list: Json): string[] {
  const blocks = (list as Json[]).flatMap((item) => (item.role === undefined ? [item] : item.content))
  return blocks
    .filter((block) => !('cachePoint' in block) && !INSTRUCTION.test(block.text ?? ''))
    .map((block) => JSON.stringify(withoutOddInput(block)))
    .toSorted()
}

/** A block without the input of a call that is no object, as one or as a text. */
function withoutOddInput({ text, toolUse, ...block }: Json): Json {
  if (text !== undefined) return { text: text.replace(/^(Call \S+ of \S*): (?!\{(?!"_raw")).*/s, '$1') }
  const isOdd =
    toolUse && (typeof toolUse.input !== 'object' || Array.isArray(toolUse.input) || toolUse.input._raw)
  return isOdd ? { ...toolUse, input: undefined } : { ...block, ...toolUse }
}

const haveSameBlocks = (older: Json, newer: Json): boolean => Bun.deepEquals(blocksIn(older), blocksIn(newer))

const messagesIn = (body: Json): Json[] => JSON.parse(body).messages ?? []
const contentOf = ({ content }: Json): Json[] => (Array.isArray(content) ? content : [{ text: content }])

/** Whether a block of the assistant is sent. */
const isSpoken = ({ type, text }: Json): boolean =>
  text === undefined ? !/thinking|fallback/.test(type) : text.trim() !== ''

/** Whether a side says something before the results of its calls. */
function hasLateResult(body: Json): boolean {
  let hasSpoken = false
  for (const message of messagesIn(body)) {
    const blocks = contentOf(message)
    if (message.role === 'assistant') hasSpoken &&= !blocks.some(isSpoken)
    else {
      for (const { type } of blocks) {
        if (type === 'tool_result' && hasSpoken) return true
        hasSpoken ||= type !== 'tool_result'
      }
    }
  }
  return false
}

/** Whether nothing is said before the first instruction among the messages. */
function beginsWithInstruction(body: Json): boolean {
  const first = messagesIn(body).find(({ role, content }) => role === 'system' || content.length > 0)
  return first?.role === 'system'
}

const KINDS: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  input_json_delta: 'tool_use',
}

/** An answer as the caller reads it: its blocks with their words, however they are cut, and its end without the reason. */
function toldBy(events: Json): Json[] {
  const told: Json[] = []
  const signatures: string[] = []
  for (const { data } of events as Json[]) {
    const { type, delta, content_block: block } = data
    if (type === 'content_block_stop' || type === 'message_start') continue
    if (type === 'content_block_start') {
      told.push({ kind: block.type, name: block.name, redacted: block.data, words: '' })
    } else if (delta?.type === 'signature_delta') signatures.push(delta.signature)
    else if (type === 'content_block_delta') {
      const kind = KINDS[delta.type]
      const last = told.at(-1)
      if (last?.kind !== kind) told.push({ kind, words: '' })
      told.at(-1).words += delta.text ?? delta.thinking ?? delta.partial_json
    } else if (type === 'message_delta') told.push({ ...data, delta: undefined })
    else told.push(type === 'error' ? data.error.message : data)
  }
  const shown = told.filter(({ words, name, redacted }) => words !== '' || name !== undefined || redacted)
  return [...shown, { signature: signatures.join('') }]
}

/** Whether the same is told by other events. A signature is lost where its block is cut off. */
function isToldBy(older: Json, newer: Json): boolean {
  const [before, now] = [toldBy(older), toldBy(newer)]
  const [signed, shown] = [before.pop(), now.pop()]
  return Bun.deepEquals(before, now) && (shown.signature === '' || shown.signature === signed.signature)
}

/** Whether the vendor leaves out that an answer begins: it does with its first words. */
const lacksBeginning = ({ events }: Json): boolean => events[0]?.messageStart === undefined

/** Whether a vendor sends a call without a name, or with an id that is no text. */
const hasNamelessCalls = ({ events, reply }: Json): boolean =>
  [...(events ?? []), ...(reply?.output?.message?.content ?? [])].some((block: Json) => {
    const { toolUse } = block?.contentBlockStart?.start ?? block ?? {}
    if (toolUse === undefined) return false
    return typeof toolUse?.name !== 'string' || toolUse.name === '' || typeof toolUse.toolUseId !== 'string'
  })

/** Whether a signature is in a block of its own, without the thinking that it is of. */
const hasLoneSignature = ({ events }: Json): boolean =>
  (events as Json[]).some(({ contentBlockDelta: piece }, place) => {
    const before = events[place - 1]?.contentBlockDelta
    const isSignature = piece?.delta?.reasoningContent?.signature !== undefined
    return isSignature && !before?.delta?.reasoningContent
  })

/** Whether a filter of the vendor has kept an answer back. */
const isFiltered = (body: Json): boolean =>
  /"stopReason":"(?:guardrail_intervened|content_filtered)"/.test(JSON.stringify(body))

/** Whether pieces of an answer are worded by other events: calls, signatures, redacted thinking, and texts that say nothing. */
const isReworded = ({ events }: Json): boolean =>
  /"toolUse"|"signature"|"redactedContent"|"(?:text|input)":""/.test(JSON.stringify(events))

/** Rows of every dialect. */
const onAll: Row[] = [
  {
    where: /(?:call|limited|quote|output|mediaTokens|ignored|showsUsage|body)/,
    reason: 'what follows from a check',
    matches: ({ older, newer }) => older === undefined || newer === undefined,
  },
  {
    where: /timing\[\d+\]/,
    reason:
      'a call begins with two events for callers of messages, a signature comes when its block ends, and an answer that breaks off begins and ends',
    matches: ({ older, newer }, { body }) => newer - older === 1 || isReworded(body) || lacksBeginning(body),
  },
]

const onMessages: Row[] = [
  {
    where: /seals/,
    reason: 'one dialect says for all protocols that its callers carry what is sealed; here nothing is',
    matches: ({ newer }) => newer === true,
  },
  {
    where: /check\.refused\.message/,
    reason: 'one text for what the dialect refuses, and for files that Converse has no form for',
  },
  {
    where: /check\.refused\.param/,
    reason: 'the member that holds an address is named, and the source of a file of another type',
    matches: ({ older, newer }) =>
      newer === `${older}.url` || (/\.source$/.test(newer) && older === `${newer}.media_type`),
  },
  {
    where: /check(?:\.refused\.(?:param|code))?/,
    reason: 'the assistant writes texts and calls: blocks of other types are refused, as for all protocols',
    matches: ({ newer }, { body }) => {
      const [, place] = /^messages\[(\d+)\]\.content\[\d+\]$/.exec(newer.refused?.param ?? newer) ?? []
      return newer === 'unsupported_value' || messagesIn(body)[Number(place)]?.role === 'assistant'
    },
  },
  {
    where: /check\.refused\.(?:param|code)/,
    reason:
      'of two faults that is named first which nobody could read, that of a result before those in it, and that of a name before an id',
    matches: ({ older, newer }, { body }) =>
      body.includes('"type":"url"') ||
      /^unsupported_value$|(?:\.text|\.source\.media_type|\.content\[\d+\])$/.test(older) ||
      /^messages$|\.(?:tool_use_id|name)$/.test(newer),
  },
  {
    where: /check\.refused\.param/,
    reason: 'the beginning of an answer is counted among the messages that are sent',
    matches: ({ older, newer }) => /^messages\[\d+\]$/.test(older) && /^messages\[\d+\]$/.test(newer),
  },
  {
    where: /check/,
    reason:
      'tools are read where none may be called too, and a conversation in which nobody speaks is refused',
    matches: ({ older, newer }) =>
      older === 'accepted' && /^(?:tools\[\d+\]\.(?:name|input_schema)|messages)$/.test(newer.refused?.param),
  },
  {
    where: /check/,
    reason: 'a message without words does not stand between the assistant and the answer',
    matches: ({ newer }, { body }) =>
      /ends with a message of the assistant/.test(newer.refused?.message) &&
      messagesIn(body).at(-1).role !== 'assistant',
  },
  {
    where: new RegExp(`${CONTENT}\\[\\d+\\]\\.(?:text|toolUse\\.input)`),
    reason: 'an input that is no object is kept in one: models of Converse take objects only',
    matches: ({ newer }) => newer?._raw !== undefined || /^Call .*"_raw"/.test(newer),
  },
  {
    where: new RegExp(`${SENT}\\.messages\\[\\d+(?:\\]\\.content\\[\\d+)?\\.\\.\\.\\]`),
    reason:
      'results come before what a side says, messages without words are none, instructions before all turns are of the system, and a mark within a result comes after it',
    matches: ({ older, newer }) => haveSameBlocks(older, newer),
  },
  {
    where: new RegExp(`${CONTENT}\\[\\d+\\].*`),
    reason: 'results come before what a side says',
    matches: (_, { body }) => hasLateResult(body),
  },
  {
    where: new RegExp(`${SENT}\\.(?:messages\\[0.*|system(?:\\[0\\]\\.text)?)`),
    reason: 'instructions before all turns are of the system, whatever their place in the request',
    matches: (_, { body }) => beginsWithInstruction(body),
  },
  {
    where: new RegExp(
      `${SENT}\\.toolConfig\\.tools\\[\\d+\\]\\.toolSpec\\.(?:description|inputSchema\\.json\\.type)`,
    ),
    reason: 'a description that is no text is none, and a schema without a type is one of an object',
    matches: ({ older, newer }) =>
      newer === undefined ? typeof older !== 'string' : older === undefined && newer === 'object',
  },
  {
    where: /quote\[\d\]\.input_token/,
    reason: 'a list of no servers makes the input no longer',
    matches: (_, { body }) => body.includes('"mcp_servers":[]'),
  },
  {
    where: new RegExp(`${SENT}\\.outputConfig(?:\\.effort)?`),
    reason:
      'thinking that is turned off is off, whatever effort is named, and there is no word for `minimal`',
    matches: ({ older, newer }, { body }) =>
      body.includes('"thinking":{"type":"disabled"}') || (older === 'minimal' && newer === 'low'),
  },
  {
    where: new RegExp(`${SENT}\\.inferenceConfig\\.(?:temperature|topP)`),
    reason: 'of two settings that exclude each other the one that changes nothing is left out',
    matches: ({ older, newer }) => (older === 1 && newer === undefined) || older === undefined,
  },
  {
    where: new RegExp(`${SENT}\\.inferenceConfig\\.stopSequences\\[\\d+\\.\\.\\.\\]`),
    reason: 'a text of blanks, which Claude refuses, ends no answer',
    matches: ({ older, newer }, { model }) =>
      newer.length === 0 &&
      older.every((text: string) => text === '' || (text.trim() === '' && model.includes('claude'))),
  },
  {
    where: new RegExp(`(?:${ANSWER}|events\\[\\d+\\]\\.data\\.delta)\\.stop_details`),
    reason: 'details of a refusal are told where there are any, as by the vendor of messages',
    matches: ({ newer }) => newer === null || newer.type === 'refusal',
  },
  {
    where: new RegExp(`${ANSWER}\\.content\\[\\d+\\]\\.id|events\\[\\d+\\]\\.data\\.content_block\\.id`),
    reason: 'a call that the vendor gave no id gets one, so that its result can be sent',
    matches: ({ older }) => older === '',
  },
  {
    where: new RegExp(`${ANSWER}\\.content\\[\\d+\\]\\.input`),
    reason: 'an input that is no object is kept in one, and parsed by its caller',
    matches: ({ newer }) => newer._raw !== undefined,
  },
  {
    where: new RegExp(`${ANSWER}\\.content\\[\\d+\\.\\.\\.\\]`),
    reason: 'a block without words is none',
    matches: ({ older, newer }) =>
      newer.length === 0 &&
      older.every(({ text, thinking, signature }: Json) =>
        [text, thinking, signature].every((each) => !each),
      ),
  },
  {
    where: new RegExp(`(?:${ANSWER}|events\\[\\d+\\]\\.data\\.delta)\\.stop_reason`),
    reason:
      'calls of tools are to be made, whatever the vendor says of the end, and none where there are none',
    matches: ({ older, newer }) =>
      newer === 'tool_use' ? older === 'end_turn' : older === 'tool_use' && newer === 'end_turn',
  },
  {
    where: /events\[\d+\.\.\.\]/,
    reason:
      'a call has an empty piece first, a signature comes last, what has no words is no block, open blocks end, and a call without a name waits',
    matches: ({ older, newer }, { body }) => isToldBy(older, newer) || hasNamelessCalls(body),
  },
  {
    where: /events\[\d+\]\.(?:name|data\.(?:type|index|delta|content_block).*)/,
    reason: 'a call has an empty piece first, a signature comes last, and what has no words is no block',
    matches: (_, { body }) => isReworded(body),
  },
  {
    where: /events\[0\]\.data\.message\.usage\.input_tokens/,
    reason: 'a message begins with an estimate also where it is cut before the vendor has begun',
  },
  {
    where: /events\[\d+\]\.data\.error\.type/,
    reason: 'an error has a type that clients of messages know',
    matches: ({ newer }) => newer === 'api_error',
  },
]

/** Rows of callers whose requests became those of messages first. */
const onOthers: Row[] = [
  {
    where: new RegExp(`${SENT}\\.inferenceConfig\\.(?:temperature|topP)`),
    reason:
      'a value of 1 is not what every model does by itself, and Converse takes both settings where the model does',
    matches: ({ older, newer }, { body }) => {
      const { temperature, top_p: share } = JSON.parse(body)
      return older === undefined && (newer === Math.min(temperature, 1) || newer === share)
    },
  },
  {
    where: new RegExp(`${SENT}\\.outputConfig\\.textFormat\\.structure\\.jsonSchema\\.(?:name|description)`),
    reason: 'a schema keeps its name and its description, which messages have no place for',
    matches: ({ older, newer }, { body }) =>
      (older === undefined || older === 'output') && body.includes(JSON.stringify(newer)),
  },
  {
    where: new RegExp(`${SENT}\\.messages\\[\\d+(?:\\]\\.content\\[\\d+)?\\.\\.\\.\\]`),
    reason: 'messages without words are none, and a mark within a result comes after it',
    matches: ({ older, newer }) => haveSameBlocks(older, newer),
  },
]

const onChat: Row[] = [
  {
    where: /output\.least/,
    reason:
      'Converse is told no budget: thinking takes of the limit what the caller allows for it, and nothing else',
    matches: ({ older, newer }, { body }) => newer < older || body.includes('"budget_tokens"'),
  },
  {
    where: /bridge\.messages\[\]\.content\[\]\.(?:image_url\.url|file\.file_data)/,
    reason: 'addresses of files are refused where they are written, by their places',
    matches: ({ older, newer }) => older.treatment === 'refused' && newer === undefined,
  },
  {
    where: /bridge\.(?:tools\[\]|tool_choice)\.type\.plain/,
    reason: 'custom tools are refused by a row of their own, and of allowed tools only those are sent',
    matches: ({ newer }) => /^function,custom(?:,allowed_tools)?$/.test(newer),
  },
  {
    where: /check\.refused\.param/,
    reason: 'of two faults that of a table is named first',
    matches: ({ older }) => /\.(?:image_url\.url|file_data)$/.test(older),
  },
  {
    where: /check/,
    reason:
      'a conversation in which nobody speaks is refused, a tool that other models have called has a name, and a message without words begins no answer',
    matches: ({ older, newer }) =>
      newer.refused?.param === 'messages' ||
      (newer === 'accepted' && /^messages\[\d+\](?:\.tool_calls\[\d+\])?$/.test(older.refused.param)),
  },
  {
    where: new RegExp(`${SENT}\\.system\\[1\\.\\.\\.\\]`),
    reason: 'a mark of instructions is kept',
    matches: ({ older, newer }) => older.length === 0 && newer[0].cachePoint !== undefined,
  },
  {
    where: new RegExp(`${SENT}\\.outputConfig(?:\\.effort)?`),
    reason: 'an effort says more than `thinking`, the field of messages',
    matches: (_, { body }) => /"thinking":\{/.test(body) && body.includes('"reasoning_effort"'),
  },
  {
    where: new RegExp(`${SENT}\\.inferenceConfig\\.stopSequences(?:\\[\\d+\\.\\.\\.\\])?`),
    reason: 'a text of blanks ends an answer, of models other than Claude',
    matches: ({ newer }, { model }) => newer.includes(' ') && !model.includes('claude'),
  },
  {
    where: new RegExp(`${SENT}\\.toolConfig\\.tools\\[\\d+\\]\\.toolSpec\\.inputSchema\\.json\\.type`),
    reason: 'a schema without a type is one of an object',
    matches: ({ older, newer }) => older === undefined && newer === 'object',
  },
  {
    where: new RegExp(`${ANSWER}\\.choices\\[\\d+\\]\\.message\\.annotations`),
    reason: 'a message has its list of sources, as for the vendor of chat completions',
    matches: ({ newer }) => Bun.deepEquals(newer, []),
  },
  {
    where: /events\[\d+\.\.\.\]/,
    reason: 'the pieces of a call without a name wait for its end, and an id that is no text is none',
    matches: (_, { body }) => hasNamelessCalls(body),
  },
]

const onResponses: Row[] = [
  {
    where: /bridge\.(?:tools\[\]\.strict|tool_choice\.tools)/,
    reason: 'a field that was told of with its holder has a row of its own',
    matches: ({ older, newer }) => older === undefined && newer.treatment === 'translated',
  },
  {
    where: /bridge\.input\[\]\.(?:content|output)\[\]\.(?:image_url|file_data|file_url)/,
    reason: 'addresses of files are refused where they are written, by their places',
    matches: ({ older, newer }) => older.treatment === 'refused' && newer === undefined,
  },
  {
    where: new RegExp(`${CONTENT}\\[\\d+\\](?:\\.toolResult\\.content\\[\\d+\\])?\\.(?:text|document)`),
    reason: 'a file of text is a document of Converse, which has formats for texts',
    matches: ({ older, newer }, { body }) =>
      /data:text\//.test(body) && (older === undefined ? newer.format === 'txt' : newer === undefined),
  },
  {
    where: /check/,
    reason: 'a conversation in which nobody speaks is refused',
    matches: ({ newer }) => newer.refused?.param === 'input',
  },
  {
    where: /check\.refused\.message/,
    reason: 'one text for what the dialect refuses, and for files that Converse has no form for',
  },
  {
    where: /check\.refused\.code/,
    reason: 'the address of a file is a value without a form, whatever the field that holds it',
    matches: ({ older, newer }) => older === 'unsupported_parameter' && newer === 'unsupported_value',
  },
  {
    where: /check\.refused\.(?:param|code)/,
    reason: 'of two faults that is named first which nobody could read',
    matches: ({ older }, { body }) =>
      /^(?:unsupported_\w+|invalid_value|input)$|\.(?:image_url|file_data|file_url)$/.test(older) &&
      /"(?:image_url|file_\w+)":|"content":""/.test(body),
  },
  {
    where: /timing\[\d+\]/,
    reason: 'what a filter keeps back is not told as a refusal of the model',
    matches: (_, { body }) => isFiltered(body),
  },
  {
    where: /events\[\d+\].*/,
    reason: 'thinking that is only signed ends what was said before when its own block ends',
    matches: (_, { body }) => hasLoneSignature(body),
  },
  {
    where: new RegExp(`(?:(?:${ANSWER}|answer)\\.output|events\\[\\d+(?:\\.\\.\\.\\]|\\])).*`),
    reason: 'a call without a name comes when the answer ends, and an id that is no text is none',
    matches: (_, { body }) => hasNamelessCalls(body),
  },
  {
    where: new RegExp(
      `${ANSWER}\\..*|(?:answer|events\\[\\d+\\]\\.data\\.response)\\.(?:status|incomplete_details|completed_at|error|usage|output.*)`,
    ),
    reason: 'what a filter keeps back is not told as a refusal of the model: the answer is incomplete',
    matches: (_, { body }) => isFiltered(body),
  },
  {
    where: /events\[\d+(?:\.\.\.\]|\]\..*)/,
    reason: 'what a filter keeps back is not told as a refusal of the model: the answer is incomplete',
    matches: (_, { body }) => isFiltered(body),
  },
  {
    where: new RegExp(`${ANSWER}\\.output\\[\\d+\\]\\.arguments`),
    reason: 'an input that is no object is given as it came',
    matches: ({ older }) => older === '{}',
  },
  {
    where: /.*\.encrypted_content/,
    reason: 'thinking without a signature is not sealed: the vendor does not take it back',
    matches: ({ older, newer }) => older.includes('"signature":""') && !newer.includes('"signature":""'),
  },
]

/** The rows of a pair. */
const of = (pair: string, rows: readonly Row[]): WantedDifference[] => rows.map((row) => ({ pair, ...row }))

export const wantedOfConverse: readonly WantedDifference[] = [
  ...of('bedrock-converse', [...onAll, ...onMessages]),
  ...of('chat-on-converse', [...onOthers, ...onChat]),
  ...of('responses-on-converse', [...onAll, ...onOthers, ...onResponses]),
]
