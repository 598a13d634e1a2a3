// Images of Gemini models through Google's Interactions API. The caller's text passes through with the model edited; the vendor's
// bytes come back unchanged, whole or as a stream. It must never accept anything that would be charged outside the answer, or after
// it.

import { type Static, Type } from '@sinclair/typebox'
import { bridgedFields, type FieldRule, type JsonFamily, type Quantities } from '../../contract/family'
import { HIDDEN, type Made, type Reading, SHOWN, usageReading } from '../../contract/reading'
import { isErrorShape } from '../../lib/error-shapes'
import { invalidRequest } from '../../lib/errors'
import { pictureInBase64 } from '../../lib/file-formats/picture'
import { holdsText, isObject } from '../../lib/objects'
import { ABSURD_FIGURE, optionalField, reportedCount } from '../shared-schemas'
import { laterAnswers, otherModels, serviceTier } from '../surcharges'
import { addresses, documentStores, earlierAnswers, namedCaches } from '../vendor-state'
import {
  NO_USER,
  type OwnForm,
  openaiEditsOn,
  openaiImagesOn,
  type Picture,
  QUALITY_IS_SIZE,
} from './openai-form'
import { nearestShape, readPixels, shortened } from './shapes'

const open = { additionalProperties: true }

const Tool = Type.Object({ type: optionalField(Type.String()) }, open)

const Body = Type.Object(
  {
    model: Type.String({ description: 'Id from GET /v1/models.' }),
    input: Type.Union(
      [
        Type.String({ minLength: 1 }),
        Type.Array(Type.Object({ type: optionalField(Type.String()) }, open), { minItems: 1 }),
        Type.Object({}, open),
      ],
      { description: 'A text, parts of content such as texts and images, or the steps of a conversation.' },
    ),
    stream: optionalField(Type.Boolean()),
    response_format: Type.Optional(
      Type.Unknown({
        description: 'Such as `{"type": "image", "aspect_ratio": "16:9", "image_size": "2K"}`.',
      }),
    ),
    generation_config: optionalField(
      Type.Object(
        { max_output_tokens: optionalField(Type.Integer({ minimum: 1, maximum: 100_000_000 })) },
        open,
      ),
    ),
    tools: optionalField(Type.Array(Tool)),
    previous_interaction_id: optionalField(Type.String()),
    service_tier: optionalField(Type.String()),
    system_instruction: Type.Optional(Type.Unknown()),
    background: optionalField(Type.Boolean()),
    agent: Type.Optional(Type.Unknown()),
  },
  open,
)
type Body = Static<typeof Body>

const NO_AUDIO = /^(?!audio)/
const AUDIO = 'audio has its own price'
const OTHER_OUTPUT = 'this kind of output has its own price'
const SEARCHES = 'each question is billed'

/** Places of a part of the input: alone, in a list, in a step, and in the result of a function. */
const partPlaces = [
  'input',
  'input[]',
  'input.content[]',
  'input[].content',
  'input[].content[]',
  'input.result[]',
  'input[].result[]',
]

/** The vendor accepts both spellings of its field names. */
const state: readonly FieldRule[] = [
  ...earlierAnswers(
    'previous_interaction_id',
    'previousInteractionId',
    'continuation_token',
    'continuationToken',
  ),
  {
    field: 'environment',
    why: "it names an environment in the vendor's account, where code runs",
    instead: 'Leave it out.',
    state: true,
  },
  ...namedCaches('cached_content', 'cachedContent'),
  ...addresses(...partPlaces.flatMap((place) => [`${place}.uri`, `${place}.file_uri`, `${place}.fileUri`])),
  ...documentStores(
    'tools[].file_search_store_names',
    'tools[].fileSearchStoreNames',
    'tools[].vertex_ai_search_config',
    'tools[].rag_store_config',
  ),
]

const fieldRules: readonly FieldRule[] = [
  serviceTier,
  ...otherModels,
  ...laterAnswers,
  ...state,
  { field: 'agent', why: 'this endpoint serves models only', always: true },
  { field: 'tools[].type', plain: /^(?!google_search)/, why: SEARCHES },
  {
    field: 'tools[].type',
    plain: /^(function|code_execution|url_context|computer_use|mcp_server|google_search.*)$/,
    why: 'tools that the vendor runs are billed per use',
  },
  { field: 'input.type', plain: NO_AUDIO, why: AUDIO },
  { field: 'input[].type', plain: NO_AUDIO, why: AUDIO },
  { field: 'input[].content[].type', plain: NO_AUDIO, why: AUDIO },
  { field: 'response_modalities[]', plain: /^(text|image)$/i, why: OTHER_OUTPUT },
  { field: 'response_format.type', plain: /^(text|image|json.*|object)$/i, why: OTHER_OUTPUT },
  { field: 'response_format[].type', plain: /^(text|image|json.*|object)$/i, why: OTHER_OUTPUT },
]

type TokensByClass = Readonly<Record<string, number>>
/** Tokens of one image of each size class, from the largest of the vendor's tables. */
const IMAGE_TOKENS: TokensByClass = { '512': 747, '1K': 1_290, '2K': 1_680, '4K': 2_520 }
const MAX_IMAGE_TOKENS = 2_520
/** The tokens of Gemini 3.1 Flash Image, by its page at docs.cloud.google.com (2026-11-24). */
const USUAL_TOKENS: TokensByClass = { '512': 747, '1K': 1_120, '2K': 1_680, '4K': 2_520 }
/**
 * Token counts that differ by model: Gemini 3 Pro Image costs $0.134 up to 2K and $0.24 at 4K, at $120 for a million (litellm
 * 1.110.2, HeyPuter/puter#2562); Gemini 2.5 Flash Image makes one size.
 */
const OTHER_TOKENS: readonly [models: RegExp, tokens: TokensByClass][] = [
  [/^gemini-3-pro-image/, { '512': 1_120, '1K': 1_120, '2K': 1_120, '4K': 2_000 }],
  [/^gemini-2\.5-flash-image/, { '512': 1_290, '1K': 1_290, '2K': 1_290, '4K': 1_290 }],
]
/**
 * Tokens held for a part of the input whose size its text does not show: an image at the highest resolution, longer audio or video.
 */
const INPUT_MEDIA_TOKENS: ReadonlyMap<unknown, number> = new Map([
  ['image', 2_240],
  ['document', 32_768],
  ['audio', 32_768],
  ['video', 32_768],
])
/** Input tokens if the vendor does not count: an image has 1,120 at the usual resolution (docs.cloud.google.com). */
const COUNTED_MEDIA_TOKENS: ReadonlyMap<unknown, number> = new Map([...INPUT_MEDIA_TOKENS, ['image', 1_120]])
/** Tokens held for an earlier interaction, which only the vendor has, if the model's limit is unknown. */
const HISTORY_TOKENS = 65_536

export const geminiImages: JsonFamily<Body> = {
  kind: 'json',
  name: 'gemini-images',
  operation: 'image',
  units: [['input_token', 'output_token', 'output_image_token']],
  dialect: 'openai',
  body: Body,
  fieldRules,
  fields: [
    'labels',
    'response_mime_type',
    'response_modalities',
    'safety_settings',
    'store',
    'webhook_config',
  ],

  quote({ body, byteLength }, model) {
    const media = mediaIn(body.input)
    const history = body.previous_interaction_id ? (model.contextTokens ?? HISTORY_TOKENS) : 0
    // No tokenizer produces more tokens than the text has bytes, once the media in it are counted separately.
    const input = byteLength - media.textLength + media.tokens + history
    return {
      input_token: Math.min(input, model.contextTokens ?? Number.POSITIVE_INFINITY),
      output_token: body.generation_config?.max_output_tokens ?? model.reserveOutputTokens,
      // One image is held per requested image. A story with more images is charged as the vendor counts it.
      output_image_token: imageFormats(body).reduce<number>((sum, format) => sum + tokensOfImage(format), 0),
    }
  },

  call({ body }, model) {
    const set = { model: JSON.stringify(model.upstreamModel) }
    return {
      path: '/interactions',
      protocol: 'native',
      body: { edit: { set } },
      stream: body.stream === true,
    }
  },

  read(reply, { body }, { upstreamModel }) {
    const { status, usage, service_tier: tier } = reply as Interaction
    const figures = usageOf(usage)
    const parts = partsOf(reply as Interaction)
    const pictures = parts.filter(({ type }) => type === 'image')
    const uncounted = figures !== 'invalid' && !figures?.output_image_token && pictures.length > 0
    const [, table] = OTHER_TOKENS.find(([models]) => models.test(upstreamModel)) ?? []
    const [asked] = imageFormats(body)
    const output = outputOf(parts, usage, {
      input_token: mediaIn(body.input, COUNTED_MEDIA_TOKENS).tokens,
      ...(pictures.length > 0 && {
        output_image_token: sumOf(pictures, (picture) => tokensMade(picture, asked, table)),
      }),
    })
    return {
      output,
      usage: usageReading(uncounted ? figures && 'invalid' : figures),
      serviceTier: typeof tier === 'string' ? tier : undefined,
      // A reply without a picture and without text counts as an error.
      end: isFailure(status) || !output ? 'failed' : 'finished',
    }
  },

  stream: {
    // Some versions of the API close the stream after the completed interaction.
    end: '[DONE]',
    showsUsage: () => true,
    read: readEvent,
  },

  texts: ({ input, system_instruction: instruction }) => textsIn([instruction, input]),

  plain: {
    fields: ['size', 'quality', 'images'],
    shapes: () => ASPECT_RATIOS,
    body: ({ text, size, quality, images = [] }) => {
      const format = formatOf(size, quality)
      return {
        input: [...images.map(imagePart), { type: 'text', text }],
        ...(format && { response_format: { type: 'image', ...format } }),
      }
    },
  },
}

/**
 * "The value 'image/png' is not supported for 'response_format.mime_type'. Supported values: 'image/jpeg'."
 * (Drakonis96/nodus#307, 2026-07-31; `ImageResponseFormatMimeType` of @google/genai 3.3).
 */
const JPEG_ONLY = 'the model makes only JPEG'

const openaiForm: OwnForm<Body> = {
  family: geminiImages,
  takes: ({ prompt, input }) => prompt !== undefined && input === undefined,
  fields: [
    ...bridgedFields('refused', ['output_format', JPEG_ONLY, ['jpeg']]),
    ...QUALITY_IS_SIZE,
    ...NO_USER,
  ],
  references: ({ referenceImages }) => referenceImages ?? { min: 0, max: MAX_REFERENCES },
  pictures: (reply) =>
    partsOf(reply as Interaction).flatMap(({ type, data, uri, mime_type: mimeType }): Picture[] => {
      if (type !== 'image') return []
      if (typeof data === 'string' && data !== '')
        return [{ b64_json: data, ...(typeof mimeType === 'string' && { type: mimeType }) }]
      return typeof uri === 'string' && uri !== '' ? [{ url: uri }] : []
    }),
}
export const openaiImagesOnGemini = openaiImagesOn('gemini', openaiForm)
export const openaiImageEditsOnGemini = openaiEditsOn('gemini', openaiForm)

/** Maximum number of reference images for a model without its own figure. */
const MAX_REFERENCES = 14
const ASPECT_RATIOS = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9']
/** The upper limit of pixels of each class: half way to the next, in powers of two. */
const MAX_PIXELS = { '1K': 2 * 1024 * 1024, '2K': 8 * 1024 * 1024, '4K': 32 * 1024 * 1024 }
/** Maximum number of pixels per class; the smallest class ends half way to 1K. */
const CLASS_PIXELS: Readonly<Record<string, number>> = { '512': 512 * 1024, ...MAX_PIXELS }

/** The shape and the class of a size such as `1536x1024` or `2K`; undefined for the vendor's default. */
function formatOf(size: string | undefined, quality: string | undefined): Record<string, string> | undefined {
  // High quality is more pixels here.
  if (size === undefined) return /^(x?high|max|hd)$/.test(quality ?? '') ? { image_size: '2K' } : undefined
  if (/^(512|[124]k)$/i.test(size)) return { image_size: size.toUpperCase() }
  const { width, height } = readPixels(size)
  const [name] = Object.entries(MAX_PIXELS).find(([, most]) => width * height <= most) ?? []
  if (name === undefined) {
    throw invalidRequest(
      'size',
      `Invalid value for 'size': ${shortened(size)} is more than a 4K picture has.`,
    )
  }
  const ratio = nearestShape({ width, height }, ASPECT_RATIOS)
  return { aspect_ratio: ratio, ...(name !== '1K' && { image_size: name }) }
}

/** A part with an address, or with the picture itself for a data URL, which the vendor cannot fetch. */
function imagePart(address: string): Record<string, unknown> {
  const [, type, data] = /^data:([a-z]+\/[a-z0-9.+-]+);base64,(.*)$/is.exec(address) ?? []
  return data === undefined
    ? { type: 'image', uri: address }
    : { type: 'image', data, mime_type: type?.toLowerCase() }
}

/** The vendor's reply: `steps` since 2026, `outputs` before. */
interface Interaction {
  status?: unknown
  service_tier?: unknown
  usage?: unknown
  steps?: unknown
  outputs?: unknown
}

interface StreamEvent {
  event_type?: unknown
  usage?: unknown
  delta?: unknown
  interaction?: Interaction
  status?: unknown
  error?: unknown
}

function readEvent(event: unknown): Reading {
  const { event_type: type, delta, interaction, status, error } = event as StreamEvent
  const output = isObject(delta) ? outputOfDelta(delta) : undefined
  if (type === 'error' || isObject(error) || isFailure(status) || isFailure(interaction?.status)) {
    return { output, end: 'failed' }
  }
  // The figures may be in an update of the status only (`InteractionStatusUpdate` of @google/genai 3.3).
  const usage = interaction?.usage ?? (event as StreamEvent).usage
  const figures = usageOf(usage)
  const counted = figures && { kind: 'total' as const, figures, reported: usage }
  if (typeof type === 'string' && type.startsWith('interaction.complete')) {
    const { service_tier: tier } = interaction ?? {}
    return {
      output: output ?? outputOf(partsOf(interaction ?? {}), usage),
      usage: counted,
      serviceTier: typeof tier === 'string' ? tier : undefined,
      end: 'finished',
    }
  }
  if (counted) return { output, usage: counted, ...(status === 'completed' && { end: 'finished' }) }
  const isError = type === undefined && delta === undefined && isErrorShape(event)
  return isError ? { end: 'failed-disguised' } : { output }
}

/** The output of parts. `counted` is charged if the vendor does not count; it includes a count of the texts. */
function outputOf(parts: Record<string, unknown>[], usage: unknown, counted?: Quantities): Made | undefined {
  if (!parts.some(isOutput)) return thinks(usage) ? HIDDEN : undefined
  return counted ? { kind: 'shown', text: textsIn(parts).join(''), counted } : SHOWN
}

function outputOfDelta(delta: Record<string, unknown>): Made | undefined {
  if (typeof delta.data === 'string' || typeof delta.uri === 'string')
    return isOutput(delta) ? { kind: 'shown', counted: { output_image_token: tokensMade(delta) } } : undefined
  if (delta.type === 'text' && typeof delta.text === 'string')
    return delta.text === '' ? undefined : { kind: 'words', text: delta.text }
  return isOutput(delta) ? HIDDEN : undefined
}

/** The parts that the model made: the contents of its steps, or the step itself if it is a thought or a call. */
function partsOf({ outputs, steps }: Interaction): Record<string, unknown>[] {
  const made = objectsIn(steps).filter(({ type, error }) => type !== 'user_input' && !error)
  return [outputs, ...made.map((step) => step.content ?? [step])].flatMap(objectsIn)
}

function isOutput(part: Record<string, unknown>): boolean {
  return holdsText(part, 'mime_type')
}

/** Whether the vendor counts thinking. */
function thinks(usage: unknown): boolean {
  return isObject(usage) && (usage.total_thought_tokens as number) > 0
}

function isFailure(status: unknown): boolean {
  return status === 'failed' || status === 'cancelled'
}

/** The formats of the requested images: at least one, because the model always makes images. */
function imageFormats({ response_format: format, generation_config: config }: Body): unknown[] {
  const images = objectsIn(Array.isArray(format) ? format : [format]).filter(({ type }) => type === 'image')
  // The form used in 2025.
  return images.length > 0
    ? images
    : [(config as { image_config?: unknown } | null | undefined)?.image_config]
}

/**
 * Tokens of a picture if the vendor does not count: by the size in its bytes, otherwise by the requested class. The hold bounds
 * what is charged.
 */
function tokensMade(
  { data }: Record<string, unknown>,
  asked?: unknown,
  table: TokensByClass = USUAL_TOKENS,
): number {
  const size = typeof data === 'string' ? pictureInBase64(data) : undefined
  const pixels = size && size.width * size.height
  const [name] = pixels
    ? (Object.entries(CLASS_PIXELS).find(([, most]) => pixels <= most) ?? ['4K'])
    : [isObject(asked) && asked.image_size ? String(asked.image_size).toUpperCase() : '1K']
  return table[name] ?? MAX_IMAGE_TOKENS
}

/** Strings of text in an input or an answer, in any form. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  if (!isObject(value)) return []
  const { text, content, result, arguments: called } = value
  return [
    ...(typeof text === 'string' ? [text] : []),
    ...textsIn(content),
    ...textsIn(result),
    ...(isObject(called) ? [JSON.stringify(called)] : []),
  ]
}

function sumOf<Each>(list: readonly Each[], figure: (each: Each) => number): number {
  return list.reduce((sum, each) => sum + figure(each), 0)
}

function tokensOfImage(format: unknown): number {
  const size = isObject(format) ? format.image_size : undefined
  if (size === undefined || size === null) return IMAGE_TOKENS['1K'] as number
  return IMAGE_TOKENS[String(size).toUpperCase()] ?? MAX_IMAGE_TOKENS
}

/** The tokens of the media in an input, and the length of their text in the JSON. */
function mediaIn(input: unknown, tokensOf = INPUT_MEDIA_TOKENS): { tokens: number; textLength: number } {
  if (Array.isArray(input)) {
    const found = input.map((item) => mediaIn(item, tokensOf))
    return {
      tokens: found.reduce((sum, { tokens }) => sum + tokens, 0),
      textLength: found.reduce((sum, { textLength }) => sum + textLength, 0),
    }
  }
  if (!isObject(input)) return { tokens: 0, textLength: 0 }
  const tokens = tokensOf.get(input.type)
  if (tokens === undefined) return mediaIn(Object.values(input), tokensOf)
  return {
    tokens,
    textLength: typeof input.data === 'string' ? input.data.length : 0,
  }
}

/**
 * The vendor's usage in our units. Images are the only kind that is always listed; the rest is text. Thoughts are reported outside
 * the output in some replies and inside it in others, so output is the total without the input.
 */
function usageOf(usage: unknown): Quantities | 'invalid' | undefined {
  if (!isObject(usage) || (usage.total_input_tokens ?? null) === null) return undefined
  const input = reportedCount(usage.total_input_tokens)
  const cached = reportedCount(usage.total_cached_tokens)
  const forTools = reportedCount(usage.total_tool_use_tokens)
  const output = reportedCount(usage.total_output_tokens)
  const made =
    (usage.total_tokens ?? null) === null
      ? output + reportedCount(usage.total_thought_tokens)
      : Math.max(output, reportedCount(usage.total_tokens) - input - forTools)
  const images = objectsIn(usage.output_tokens_by_modality)
    .filter(({ modality }) => String(modality).toLowerCase() === 'image')
    .reduce((sum, { tokens }) => sum + reportedCount(tokens), 0)
  const sane = [input, cached, forTools, made, images].every((tokens) => tokens <= ABSURD_FIGURE)
  if (!sane || cached > input || images > made) return 'invalid'
  return {
    input_token: input - cached + forTools,
    ...(cached > 0 ? { cached_input_token: cached } : {}),
    output_token: made - images,
    ...(images > 0 ? { output_image_token: images } : {}),
  }
}

function objectsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}
