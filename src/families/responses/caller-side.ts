// Shared by all families of responses: the caller's side of POST /v1/responses. It must never decide what a vendor is
// sent: that is in each family's own file.

import { type Static, Type } from '@sinclair/typebox'
import type { Model, OutputTokens, ParsedRequest, PlainForm, Quantities } from '../../contract/family'
import { hasPrice } from '../../contract/prices'
import { invalidRequest } from '../../lib/errors'
import { isObject } from '../../lib/objects'
import { optionalField, quotedOutput, USEFUL_OUTPUT_TOKENS } from '../shared-schemas'

const open = { additionalProperties: true }
const anyObject = Type.Object({}, open)

export const ResponsesBody = Type.Object(
  {
    model: Type.String({ description: 'Id from GET /v1/models.' }),
    input: optionalField(Type.Union([Type.String(), Type.Array(anyObject, { maxItems: 16_384 })])),
    instructions: optionalField(Type.String()),
    previous_response_id: optionalField(Type.String()),
    conversation: optionalField(Type.Union([Type.String(), anyObject])),
    store: optionalField(Type.Boolean()),
    background: optionalField(Type.Boolean()),
    stream: optionalField(Type.Boolean()),
    stream_options: optionalField(anyObject),
    include: optionalField(Type.Array(Type.String())),
    max_output_tokens: optionalField(Type.Integer({ minimum: 1, maximum: 100_000_000 })),
    max_tool_calls: optionalField(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
    temperature: optionalField(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: optionalField(Type.Number({ minimum: 0, maximum: 1 })),
    top_logprobs: optionalField(Type.Integer({ minimum: 0, maximum: 20 })),
    text: optionalField(anyObject),
    tools: optionalField(Type.Array(Type.Object({ type: Type.String() }, open))),
    tool_choice: optionalField(Type.Union([Type.String(), anyObject])),
    parallel_tool_calls: optionalField(Type.Boolean()),
    reasoning: optionalField(anyObject),
    truncation: optionalField(Type.String()),
    metadata: optionalField(anyObject),
    service_tier: optionalField(Type.String()),
    prompt_cache_key: optionalField(Type.String()),
    safety_identifier: optionalField(Type.String()),
    user: optionalField(Type.String()),
  },
  open,
)
export type ResponsesBody = Static<typeof ResponsesBody>

/** Tokens held for a part whose size its text does not show, such as a linked image. */
const IMAGE_TOKENS = 4_096
const MEDIA_TOKENS = 32_768

/** Checks what a schema cannot express. The input is complete by now: it includes the items of earlier answers. */
export function checkResponses({ input }: ResponsesBody): void {
  if (input !== undefined && input !== null && input.length > 0) return
  throw invalidRequest(
    'input',
    "Missing required parameter: 'input'. Send a text, or a non-empty list of items.",
    'missing_required_parameter',
  )
}

/** The maximum that a request can use. No tokenizer produces more tokens than the text has bytes. */
export function quoteResponses(parsed: ParsedRequest<ResponsesBody>, model: Model): Quantities {
  const { body, byteLength } = parsed
  const input = Math.min(byteLength + mediaTokens(body), model.contextTokens ?? Number.POSITIVE_INFINITY)
  return {
    // A vendor that charges for cache writes also writes prompts to its cache without being asked.
    [hasPrice(model.priceList, 'cache_write_token') ? 'cache_write_token' : 'input_token']: input,
    output_token: quotedOutput(body.max_output_tokens ?? undefined, parsed, model),
  }
}

export function outputOfResponses({ max_output_tokens: limit }: ResponsesBody, model: Model): OutputTokens {
  const most = limit ?? model.maxOutputTokens ?? Number.POSITIVE_INFINITY
  return { most, least: Math.min(most, USEFUL_OUTPUT_TOKENS), candidates: 1 }
}

/** Pictures and files of all items, including outputs of tools. */
function mediaTokens({ input }: ResponsesBody): number {
  if (!Array.isArray(input)) return 0
  let tokens = 0
  for (const item of input as Record<string, unknown>[]) {
    for (const parts of [item.content, item.output]) {
      if (!Array.isArray(parts)) continue
      for (const part of parts) {
        const type = isObject(part) ? part.type : undefined
        if (type === 'input_image' || type === 'computer_screenshot') tokens += IMAGE_TOKENS
        else if (type === 'input_file' || type === 'input_audio') tokens += MEDIA_TOKENS
      }
    }
    if (item.type === 'computer_call_output') tokens += IMAGE_TOKENS
  }
  return tokens
}

/** The texts of a request, counted if the vendor reports no usage. */
export function textsOfResponses({ instructions, input, tools }: ResponsesBody): string[] {
  const items = typeof input === 'string' ? [input] : (input ?? []).flatMap(textsOfItem)
  return [
    ...(instructions ? [instructions] : []),
    ...items,
    ...(tools && tools.length > 0 ? [JSON.stringify(tools)] : []),
  ]
}

function textsOfItem(item: object): string[] {
  const { content, output, summary, name, arguments: called, input } = item as Record<string, unknown>
  return [name, called, input, ...[content, output, summary].flatMap(textsOfParts)].filter(
    (text): text is string => typeof text === 'string',
  )
}

function textsOfParts(parts: unknown): unknown[] {
  if (!Array.isArray(parts)) return [parts]
  return parts.flatMap((part) => (isObject(part) ? [part.text, part.refusal] : []))
}

export const plainResponses: PlainForm = {
  fields: [],
  body: ({ text }) => ({ input: text }),
}
