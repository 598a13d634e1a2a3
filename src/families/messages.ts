// What all families of messages share: the caller's side of POST /v1/messages (spec), and how a reply and an event of that
// form are read. It must never decide what a vendor is sent: that is in the family's own file.

import { type Static, Type } from '@sinclair/typebox'
import type { Ask, Model, PlainForm, Quantities, Reading } from '../family'

const open = { additionalProperties: true }

export const MessagesBody = Type.Object(
  {
    model: Type.String({ description: 'Id from GET /v1/models.' }),
    max_tokens: Type.Integer({ minimum: 0, maximum: 100_000_000 }),
    messages: Type.Array(
      Type.Object(
        {
          role: Type.Union([Type.Literal('user'), Type.Literal('assistant'), Type.Literal('system')]),
          content: Type.Union([
            Type.String(),
            Type.Array(Type.Object({ type: Type.String() }, open), { maxItems: 16_384 }),
          ]),
        },
        open,
      ),
      { minItems: 1, maxItems: 100_000 },
    ),
    system: Type.Optional(
      Type.Union([Type.String(), Type.Array(Type.Object({ type: Type.String() }, open)), Type.Null()]),
    ),
    stream: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
    temperature: Type.Optional(Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()])),
    top_p: Type.Optional(Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()])),
    top_k: Type.Optional(Type.Union([Type.Integer({ minimum: 0 }), Type.Null()])),
    stop_sequences: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
    tools: Type.Optional(Type.Union([Type.Array(Type.Object({}, open)), Type.Null()])),
    tool_choice: Type.Optional(Type.Union([Type.Object({ type: Type.String() }, open), Type.Null()])),
    thinking: Type.Optional(Type.Union([Type.Object({ type: Type.String() }, open), Type.Null()])),
    metadata: Type.Optional(Type.Union([Type.Object({}, open), Type.Null()])),
  },
  open,
)
export type MessagesBody = Static<typeof MessagesBody>

export function quoteMessages({ body, byteLength }: Ask<MessagesBody>, model: Model): Quantities {
  return {
    // No tokenizer makes more tokens than the text has bytes, and the JSON is never shorter than the text in it.
    input_token: Math.min(byteLength + mediaTokens(body), model.contextTokens ?? Number.POSITIVE_INFINITY),
    output_token: body.max_tokens,
  }
}

export function readMessage(reply: unknown): Reading {
  const { type, content, usage } = reply as Message
  return {
    ...usageOf(usage),
    text: Array.isArray(content) ? content.map(textOfBlock).join('') : '',
    failed: type === 'error',
    finished: true,
  }
}

/** The texts of a request, to be counted when the vendor reports no usage. */
export const textsOfMessages = (body: MessagesBody): string[] => [
  ...(typeof body.system === 'string' ? [body.system] : blocksIn(body.system).map(textOfBlock)),
  ...body.messages.flatMap(({ content }) =>
    typeof content === 'string' ? [content] : blocksIn(content).map(textOfBlock),
  ),
  ...(body.tools ? [JSON.stringify(body.tools)] : []),
]

export const plainMessages: PlainForm = {
  fields: [],
  body: ({ text }, model) => ({
    max_tokens: model.reserveOutputTokens,
    messages: [{ role: 'user', content: text }],
  }),
}

/** Tokens held for a block whose size its text does not show: the largest picture, a document of some ten pages. */
const IMAGE_TOKENS = 4_784
const DOCUMENT_TOKENS = 32_768

function mediaTokens({ messages }: MessagesBody): number {
  const tokensOf = (block: unknown): number => {
    if (!isObject(block)) return 0
    if (block.type === 'image') return IMAGE_TOKENS
    if (block.type === 'document') return DOCUMENT_TOKENS
    return blocksIn(block.content).reduce<number>((sum, inner) => sum + tokensOf(inner), 0)
  }
  return messages.reduce((sum, message) => sum + tokensOf(message), 0)
}

interface Message {
  type?: unknown
  content?: unknown
  usage?: unknown
}

/** One event of a stream. The first one brings the input, a later one the output, and perhaps the input anew. */
export function readMessageEvent(event: unknown): Reading {
  const { type, message, delta, content_block: block, usage } = event as Record<string, unknown>
  if (type === 'message_start') {
    const { usage: first } = isObject(message) ? message : {}
    return { ...usageOf(first), partial: true, reported: first }
  }
  if (type === 'content_block_start') return { text: textOfBlock(block) }
  if (type === 'content_block_delta') return { text: textOfDelta(delta) }
  if (type === 'message_delta') return { ...usageOf(usage), partial: true }
  if (type === 'message_stop') return { finished: true }
  return { failed: type === 'error' }
}

/** More tokens than any model can have: a figure beyond it is a fault of the vendor. */
const ABSURD_TOKENS = 100_000_000

/** Figures in our units, as many as there are. Cached tokens stand beside input_tokens, not inside. */
function usageOf(usage: unknown): { usage?: Quantities | 'invalid' } {
  if (!isObject(usage)) return {}
  const fields = [
    ['input_token', usage.input_tokens],
    ['cached_input_token', usage.cache_read_input_tokens],
    ['cache_write_token', usage.cache_creation_input_tokens],
    ['output_token', usage.output_tokens],
  ] as const
  const quantities: Quantities = {}
  for (const [unit, count] of fields) {
    if (count === undefined || count === null) continue
    if (!Number.isSafeInteger(count) || (count as number) < 0 || (count as number) > ABSURD_TOKENS) {
      return { usage: 'invalid' }
    }
    quantities[unit] = count as number
  }
  // Figures under no name that is known are none: they must not make an answer free.
  return Object.keys(quantities).length > 0 ? { usage: quantities } : {}
}

function textOfDelta(delta: unknown): string {
  const { text, thinking, partial_json: json } = isObject(delta) ? delta : {}
  return [text, thinking, json].filter((part) => typeof part === 'string').join('')
}

/** What a model wrote or reads in a block; pictures and documents are not text. */
function textOfBlock(block: unknown): string {
  if (!isObject(block)) return ''
  const { type, text, thinking, name, input, content } = block
  if (type === 'tool_use') return `${typeof name === 'string' ? name : ''}${JSON.stringify(input ?? {})}`
  if (type === 'tool_result') {
    return typeof content === 'string' ? content : blocksIn(content).map(textOfBlock).join('')
  }
  return typeof text === 'string' ? text : typeof thinking === 'string' ? thinking : ''
}

function blocksIn(content: unknown): unknown[] {
  return Array.isArray(content) ? content : []
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
