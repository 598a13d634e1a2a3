// Simulates Google's Interactions API with its image models: steps with a thought before the picture, usage by kind,
// and the same as events, where a picture is one piece. It must never work in the background: the sandbox has no way to
// fetch the result.

import { withoutDirectives } from '../directives'
import { asArray, asObject, asObjects, asString, isGiven, type JsonObject } from '../json'
import { picture } from '../pictures'
import { countTokens, cutIntoPieces } from '../pieces'
import { hexId, jsonFrame, jsonReply } from '../replies'
import type { EventFrame, EventStream, Reply, VendorRequest } from '../simulator'
import { reportUsage } from '../usage'
import { googleError, googleHeaders, unknownFields } from './errors'

/** Tokens of an image by its class. */
const models: Readonly<Record<string, { [size: string]: number }>> = {
  'gemini-3.1-flash-image': { '512': 747, '1K': 1_120, '2K': 1_680, '4K': 2_520 },
  'gemini-3-pro-image': { '1K': 1_120, '2K': 1_120, '4K': 2_000 },
  // $0.039 for a picture at $30 for a million: litellm 1.110.2.
  'gemini-2.5-flash-image': { '1K': 1_290 },
  // $0.0336 for a picture of 1K at $30 for a million: github.com/BerriAI/litellm/discussions/44983, 2026-10.
  'gemini-nano-banana-2.1': { '512': 747, '1K': 1_120, '2K': 1_680, '4K': 2_520 },
  // One size: ai.google.dev/gemini-api/docs/models/gemini-3.1-flash-lite-image, 2026-06.
  'gemini-3.1-flash-lite-image': { '1K': 1_120 },
}
export const interactionModels = Object.keys(models)

const FIELDS = [
  'model',
  'input',
  'system_instruction',
  'tools',
  'response_format',
  'response_modalities',
  'response_mime_type',
  'generation_config',
  'previous_interaction_id',
  'store',
  'stream',
  'background',
  'service_tier',
  'labels',
  'safety_settings',
  'webhook_config',
]
const RATIOS = '1:1 2:3 3:2 3:4 4:3 4:5 5:4 9:16 16:9 21:9 1:8 8:1 1:4 4:1'.split(' ')
const TOKENS_PER_INPUT_IMAGE = 1_120
const THOUGHT_TOKENS = 51
/** Tokens for a reference to an earlier interaction: its prompt and its picture. */
const TOKENS_OF_HISTORY = 1_200

export function interact(request: VendorRequest, body: JsonObject): Reply {
  const name = asString(body.model) ?? ''
  const unknown = Object.keys(body).find((field) => !FIELDS.includes(field))
  if (unknown !== undefined) return unknownFields(request, [unknown], '')
  const sizes = Object.hasOwn(models, name) ? models[name] : undefined
  if (!sizes) return googleError(request, 404, `models/${name} is not found for API version v1beta.`)
  const words = textsIn(body.input)
  if (words.length === 0 && mediaIn(body.input) === 0) {
    return googleError(request, 400, 'The input of an interaction must not be empty.')
  }
  const formats = formatsOf(body, request.directives.images)
  const fault = formats.map((format) => formatFault(format, Object.keys(sizes))).find(isGiven)
  if (fault) return googleError(request, 400, fault)
  const interaction = interactionOf(request, body, words, formats, sizes)
  if (body.stream === true) {
    return { status: 200, headers: googleHeaders, body: { kind: 'events', stream: streamOf(interaction) } }
  }
  return jsonReply(200, interaction, googleHeaders)
}

/**
 * The requested images, in today's form or in that of the first version of the API. `count` is how many the model makes of each,
 * such as for an illustrated story.
 */
function formatsOf(body: JsonObject, count = 1): JsonObject[] {
  const { response_format: format } = body
  const images = asObjects(asArray(format) ?? [format]).filter(({ type }) => type === 'image')
  const wanted = images.length > 0 ? images : [asObject(asObject(body.generation_config)?.image_config) ?? {}]
  return wanted.flatMap((format) => Array<JsonObject>(count).fill(format))
}

function formatFault(format: JsonObject, sizes: string[]): string | undefined {
  const { image_size: size, aspect_ratio: ratio, mime_type: type } = format
  if (isGiven(type) && type !== 'image/jpeg')
    return `The value '${type}' is not supported for 'response_format.mime_type'. Supported values: 'image/jpeg'.`
  if (isGiven(size) && !sizes.includes(String(size)))
    return `Invalid image_size: ${size}. Expected one of: ${sizes.join(', ')}.`
  if (isGiven(ratio) && !RATIOS.includes(String(ratio))) return `Invalid aspect_ratio: ${ratio}.`
  return undefined
}

function interactionOf(
  request: VendorRequest,
  body: JsonObject,
  words: string[],
  formats: JsonObject[],
  sizes: { [size: string]: number },
): JsonObject {
  const { directives } = request
  const said = withoutDirectives(words.at(-1) ?? '')
  const text = `Here is your picture: ${said}`.trim()
  const content = directives.empty ? [] : [{ type: 'text', text }, ...formats.map(() => image())]
  const imageTokens = formats.reduce(
    (sum, { image_size: size }) => sum + (sizes[String(size ?? '1K')] ?? 0),
    0,
  )
  const history = isGiven(body.previous_interaction_id) ? TOKENS_OF_HISTORY : 0
  const counted =
    words.reduce((sum, one) => sum + countTokens(one), 0) +
    mediaIn(body.input) * TOKENS_PER_INPUT_IMAGE +
    history
  const usage = usageOf({
    input: directives.promptTokens ?? counted,
    cached: directives.cached ?? 0,
    text: directives.empty ? 0 : countTokens(text),
    images: directives.empty ? 0 : imageTokens,
    thoughts: directives.reasoning ?? THOUGHT_TOKENS,
  })
  const reported = reportUsage(usage, directives.usage)
  const now = new Date().toISOString()
  return {
    ...(body.store === false ? {} : { id: `v1_${hexId(24)}` }),
    object: 'interaction',
    model: asString(body.model),
    status: 'completed',
    created: now,
    updated: now,
    service_tier: 'standard',
    steps: [
      { type: 'thought', signature: Buffer.from('signed by the sandbox').toString('base64') },
      { type: 'model_output', content },
    ],
    ...(reported ? { usage: reported } : {}),
  }
}

interface Counts {
  input: number
  cached: number
  text: number
  images: number
  thoughts: number
}

/** Usage as in real replies: text is in the totals only, and thoughts are not part of the output. */
function usageOf({ input, cached, text, images, thoughts }: Counts): JsonObject {
  const entered = Math.max(input, cached)
  return {
    total_tokens: entered + text + images + thoughts,
    total_input_tokens: entered,
    input_tokens_by_modality: [{ modality: 'text', tokens: entered }],
    total_cached_tokens: cached,
    total_output_tokens: text + images,
    ...(images > 0 ? { output_tokens_by_modality: [{ modality: 'image', tokens: images }] } : {}),
    total_tool_use_tokens: 0,
    total_thought_tokens: thoughts,
  }
}

function image(): JsonObject {
  const made = picture('jpeg')
  return { type: 'image', mime_type: made.contentType, data: Buffer.from(made.bytes).toString('base64') }
}

function streamOf(interaction: JsonObject): EventStream {
  return {
    frames: eventsOf(interaction),
    last: { event: 'done', data: '[DONE]' },
    failure: frame('error', {
      error: { message: 'Deadline expired before operation could complete.', code: 'gateway_timeout' },
    }),
  }
}

function frame(type: string, rest: JsonObject): EventFrame {
  return jsonFrame({ ...rest, event_type: type }, type)
}

function* eventsOf(interaction: JsonObject): Generator<EventFrame> {
  const { steps, usage, ...begun } = interaction
  yield frame('interaction.created', { interaction: { ...begun, status: 'in_progress' } })
  for (const [index, { type, content, signature }] of asObjects(steps).entries()) {
    yield frame('step.start', { index, step: { type } })
    if (signature) yield frame('step.delta', { index, delta: { type: 'thought_signature', signature } })
    for (const part of asObjects(content)) {
      const text = asString(part.text)
      const deltas =
        text === undefined ? [part] : cutIntoPieces(text).map((piece) => ({ type: 'text', text: piece }))
      for (const delta of deltas) yield frame('step.delta', { index, delta })
    }
    yield frame('step.stop', { index })
  }
  yield frame('interaction.completed', { interaction: { ...begun, ...(usage ? { usage } : {}) } })
}

/** The texts of an input in any form. */
function textsIn(input: unknown): string[] {
  if (typeof input === 'string') return input === '' ? [] : [input]
  if (Array.isArray(input)) return input.flatMap(textsIn)
  const part = asObject(input)
  if (!part) return []
  return [...(asString(part.text) ? [String(part.text)] : []), ...textsIn(asArray(part.content))]
}

/** The number of pictures in an input. */
function mediaIn(input: unknown): number {
  if (Array.isArray(input)) return input.reduce<number>((sum, item) => sum + mediaIn(item), 0)
  const part = asObject(input)
  if (!part) return 0
  return part.type === 'image' ? 1 : mediaIn(asArray(part.content))
}
