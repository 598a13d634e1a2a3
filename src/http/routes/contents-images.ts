// Translates Google's generateContent to OpenAI's form of images, for every model that makes pictures and writes no text. Anything
// that the model does not support must be refused by name. https://ai.google.dev/api/generate-content,
// https://ai.google.dev/gemini-api/docs/image-generation

import type { Model } from '../../contract/family'
import { type GatewayError, invalidRequest } from '../../lib/errors'
import { pictureInBase64 } from '../../lib/file-formats/picture'
import { asObject, isObject } from '../../lib/objects'

type Fields = Record<string, unknown>

/** A request for pictures. */
export interface PictureRequest {
  /** Members in OpenAI's form, without the pictures. */
  body: Fields
  /** Data URLs of the pictures that are edited. */
  pictures: readonly string[]
  /** Fields that the model does not get, although clients send them by default. */
  ignored: readonly string[]
}

/** Names of OpenAI's fields in these requests. */
export const PICTURE_FIELDS: Readonly<Record<string, string>> = {
  prompt: 'contents',
  image: 'contents',
  n: 'generationConfig.candidateCount',
  size: 'generationConfig.imageConfig',
  aspect_ratio: 'generationConfig.imageConfig.aspectRatio',
  resolution: 'generationConfig.imageConfig.imageSize',
}

const CONFIG = 'generationConfig'
const IMAGE_CONFIG = `${CONFIG}.imageConfig`
const READ = ['model', 'contents', CONFIG]
const IGNORED = ['safetySettings', 'labels']
const READ_IN_CONFIG = ['responseModalities', 'candidateCount', 'imageConfig']
const IGNORED_IN_CONFIG = ['temperature', 'topP', 'topK']
const READ_IN_IMAGE_CONFIG = ['aspectRatio', 'imageSize']

/** The request in OpenAI's form. `model` is the first that may answer it. */
export function rewordPictures(body: Fields, model: Model): PictureRequest {
  const request = membersOf(body, '', [...READ, ...IGNORED])
  const config = membersOf(request[CONFIG], CONFIG, [...READ_IN_CONFIG, ...IGNORED_IN_CONFIG])
  checkModalities(config.responseModalities)
  const { prompt, pictures } = turnOf(request.contents)
  const size = sizeOf(
    membersOf(config.imageConfig, IMAGE_CONFIG, READ_IN_IMAGE_CONFIG),
    model,
    pictures.length > 0,
  )
  return {
    // The number is in every request: it distinguishes OpenAI's form from others.
    body: {
      model: body.model,
      prompt,
      n: config.candidateCount ?? 1,
      ...(size && { size }),
      response_format: 'b64_json',
    },
    pictures,
    ignored: [
      ...IGNORED.filter((name) => request[name] !== undefined),
      ...IGNORED_IN_CONFIG.filter((name) => config[name] !== undefined).map((name) => `${CONFIG}.${name}`),
    ],
  }
}

/** The members of an object by their names in camel case: Google accepts both spellings. Throws 400 for unknown ones. */
function membersOf(value: unknown, place: string, known: readonly string[]): Fields {
  if (value === undefined || value === null) return {}
  if (!isObject(value))
    throw invalidRequest(place, `Invalid type for '${place}': expected an object.`, 'invalid_type')
  const members: Fields = {}
  for (const [written, member] of Object.entries(value)) {
    if (member === null || (Array.isArray(member) && member.length === 0)) continue
    const name = written.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    if (!known.includes(name)) {
      const param = `${place && `${place}.`}${written.slice(0, 128)}`
      throw invalidRequest(
        param,
        `Unsupported parameter: '${param}' is not available for a model that only makes pictures. Leave it out, or choose another model.`,
        'unsupported_parameter',
      )
    }
    members[name] = member
  }
  return members
}

function checkModalities(wanted: unknown): void {
  if (wanted === undefined) return
  const words = [wanted].flat().map((word) => String(word).toUpperCase())
  if (words.includes('IMAGE') && words.every((word) => word === 'IMAGE' || word === 'TEXT')) return
  const param = `${CONFIG}.responseModalities`
  throw invalidRequest(
    param,
    `Invalid '${param}': this model only makes pictures. Send ["IMAGE"], or choose another model.`,
  )
}

/** The texts of the only turn, which are the prompt, and its pictures. */
function turnOf(contents: unknown): { prompt: string; pictures: string[] } {
  const [turn, ...others] = Array.isArray(contents) ? contents : []
  const { role, parts } = asObject(turn)
  const isOne = others.length === 0 && (role ?? 'user') === 'user' && Array.isArray(parts)
  if (!isOne) {
    throw invalidRequest(
      'contents',
      "Invalid 'contents': a model that only makes pictures reads a single turn of the user. Send its texts and pictures as parts of one content.",
    )
  }
  const read = parts.map((part, index) => partOf(asObject(part), `contents[0].parts[${index}]`))
  const prompt = read.flatMap(({ text }) => text ?? []).join('\n')
  if (prompt === '') {
    throw invalidRequest(
      'contents',
      "Missing text in 'contents': add a part with a `text` that says what to make.",
    )
  }
  return { prompt, pictures: read.flatMap(({ picture }) => picture ?? []) }
}

function partOf(part: Fields, place: string): { text?: string; picture?: string } {
  if (typeof part.text === 'string') return { text: part.text }
  const { data, ...file } = asObject(part.inlineData ?? part.inline_data)
  const type = file.mimeType ?? file.mime_type
  if (typeof data === 'string' && typeof type === 'string' && /^image\/[a-z0-9.+-]+$/i.test(type)) {
    // Google accepts base64 in both alphabets, and its SDKs write both.
    return { picture: `data:${type};base64,${data.replaceAll('-', '+').replaceAll('_', '/')}` }
  }
  throw invalidRequest(
    place,
    `Invalid '${place}': a model that makes pictures only reads parts with a \`text\`, and pictures as \`inlineData\` with \`mimeType\` and \`data\`.`,
  )
}

/** Maximum number of pixels of each named size: half way to the next, in powers of two. */
const CLASSES: Readonly<Record<string, { side: number; mostPixels: number }>> = {
  '1K': { side: 1_024, mostPixels: 2 * 1_024 * 1_024 },
  '2K': { side: 2_048, mostPixels: 8 * 1_024 * 1_024 },
  '4K': { side: 4_096, mostPixels: 32 * 1_024 * 1_024 },
}
/** Sides of pictures are multiples of this, in pixels. */
const SIDE_STEP = 16
/** Sizes that most models have for their shapes. */
const USUAL_SIZES = ['1024x1024', '1536x1024', '1024x1536']
/** Maximum factor between two shapes that count as equal: vendors round their sides. */
const SAME_SHAPE = 1.04

/** The size in pixels for a shape and a name such as `2K`; undefined for the model's own choice. */
function sizeOf({ aspectRatio, imageSize }: Fields, model: Model, edits: boolean): string | undefined {
  if (aspectRatio === undefined && imageSize === undefined) return undefined
  if (aspectRatio === undefined && edits) {
    throw unsupported(
      'imageSize',
      imageSize,
      'give `aspectRatio` too, because the size decides the shape of the edited picture',
    )
  }
  const ratio = aspectRatio === undefined ? 1 : ratioOf(String(aspectRatio))
  if (ratio === undefined) throw unsupported('aspectRatio', aspectRatio, 'expected a shape such as `16:9`')
  const wanted = imageSize === undefined ? undefined : CLASSES[String(imageSize).toUpperCase()]
  if (imageSize !== undefined && !wanted)
    throw unsupported('imageSize', imageSize, 'expected `1K`, `2K` or `4K`')
  const made = (model.family.plain.shapes?.(model) ?? model.sizes)?.filter(
    (shape) => ratioOf(shape) !== undefined,
  )
  const alike = made?.filter((shape) => isAlike(ratioOf(shape), ratio))
  if (alike?.length === 0) {
    throw unsupported(
      'aspectRatio',
      aspectRatio ?? '1:1',
      `${model.id} makes ${made?.join(', ').replaceAll('*', 'x')}`,
    )
  }
  const sizes = alike?.filter((shape) => !shape.includes(':')) ?? []
  if (sizes.length > 0) {
    const size = sizes.find((each) => isOf(wanted ?? CLASSES['1K'], each)) ?? (wanted ? undefined : sizes[0])
    if (size !== undefined) return size.replace('*', 'x')
    throw unsupported(
      'imageSize',
      imageSize,
      `${model.id} makes ${sizes.join(', ').replaceAll('*', 'x')} in this shape`,
    )
  }
  const { side } = wanted ?? { side: 1_024 }
  const usual = side === 1_024 && USUAL_SIZES.find((size) => ratioOf(size) === ratio)
  return usual || `${stepped(side * Math.sqrt(ratio))}x${stepped(side / Math.sqrt(ratio))}`
}

/** Never more than the side: some models make at most as many pixels as the square has. */
function stepped(side: number): number {
  return Math.floor(side / SIDE_STEP) * SIDE_STEP
}

/** Width by height of `16:9`, `1664*928` or `1536x1024`; undefined for any other text. */
function ratioOf(shape: string): number | undefined {
  const [, width, height] = /^(\d{1,5}(?:\.\d+)?)[:*x](\d{1,5}(?:\.\d+)?)$/.exec(shape) ?? []
  const ratio = Number(width) / Number(height)
  return ratio > 0 && Number.isFinite(ratio) ? ratio : undefined
}

function isAlike(one: number | undefined, other: number): boolean {
  return one !== undefined && Math.abs(Math.log(one / other)) <= Math.log(SAME_SHAPE)
}

/** Whether a size belongs to a class: it has more pixels than the previous class, and no more than the maximum of its own. */
function isOf({ mostPixels }: { mostPixels: number } = { mostPixels: 0 }, size: string): boolean {
  const [width = 0, height = 0] = size.split(/[*x]/).map(Number)
  return width * height <= mostPixels && width * height > mostPixels / 4
}

function unsupported(field: string, value: unknown, what: string): GatewayError {
  const param = `${IMAGE_CONFIG}.${field}`
  return invalidRequest(param, `Unsupported '${param}': ${what}, but got '${String(value).slice(0, 32)}'.`)
}

/** The 400 for pictures to edit, for a model that only makes new ones. */
export function editsNothing({ id }: Model): GatewayError {
  return invalidRequest(
    'contents',
    `Invalid 'contents': ${id} makes pictures from text alone. Leave the pictures out, or choose a model that edits.`,
  )
}

/** Google's answer, made from OpenAI's list: one candidate per picture. */
export function picturesInContents(answer: unknown, modelVersion: string, responseId: string): object {
  const { data, usage } = answer as { data?: unknown; usage?: unknown }
  const made = Array.isArray(data) ? data.map(asObject) : []
  return {
    candidates: made.map((picture, index) => ({
      content: { role: 'model', parts: [shownPart(picture)] },
      finishReason: 'STOP',
      index,
    })),
    usageMetadata: figuresOf(usage),
    modelVersion,
    responseId,
  }
}

function shownPart({ b64_json: base64, url }: Fields): object {
  const [, type, inline] = /^data:([^;]+);base64,(.*)$/s.exec(String(url ?? '')) ?? []
  const data = typeof base64 === 'string' ? base64 : inline
  if (data === undefined) return { fileData: { mimeType: 'image/png', fileUri: String(url) } }
  const format = pictureInBase64(data)?.format
  return { inlineData: { mimeType: format ? `image/${format}` : (type ?? 'image/png'), data } }
}

/** The figures in Google's terms; empty for a model that is priced per picture, which has no tokens. */
function figuresOf(usage: unknown): object {
  if (!isObject(usage)) return {}
  const { input_tokens: input, output_tokens: output, total_tokens: total } = usage
  return {
    promptTokenCount: input,
    candidatesTokenCount: output,
    totalTokenCount: total,
    ...detailsOf('promptTokensDetails', usage.input_tokens_details),
    ...detailsOf('candidatesTokensDetails', usage.output_tokens_details),
  }
}

function detailsOf(name: string, details: unknown): object {
  const { text_tokens: texts, image_tokens: images } = asObject(details)
  const counts = [
    { modality: 'TEXT', tokenCount: texts },
    { modality: 'IMAGE', tokenCount: images },
  ].filter(({ tokenCount }) => typeof tokenCount === 'number' && tokenCount > 0)
  return counts.length > 0 ? { [name]: counts } : {}
}
