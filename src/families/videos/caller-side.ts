// Shared by all video families: the fields of POST /v1/videos/generations that concern billing and the end of the task. The billed
// settings must never differ from those sent to the vendor.

import { Type } from '@sinclair/typebox'
import type { Durations, Model, PlainRequest, Quantities, TaskOutcome } from '../../contract/family'
import { hasPrice, variantsOf } from '../../contract/prices'
import type { ErrorCode } from '../../lib/error-codes'
import { invalidRequest } from '../../lib/errors'
import { parseSize, type Size } from '../../lib/file-formats/pixel-size'
import { optionalField } from '../shared-schemas'

/** Fields of the gateway that are never sent to a vendor. */
export const OWN_FIELDS = ['webhook_url', 'wait'] as const

export const ownFields = {
  model: Type.String({ description: 'Id from GET /v1/models.' }),
  webhook_url: optionalField(Type.String({ description: 'Called when the task has ended.' })),
  wait: optionalField(
    Type.Union([Type.Boolean(), Type.Number({ minimum: 0 }), Type.String({ pattern: '^(true|false)$' })], {
      description: 'Wait for the end of the task: true, or the most seconds to wait.',
    }),
  ),
}

/** The duration that lets the vendor choose. */
export const VENDOR_CHOOSES = -1

/** The durations of a model whose catalogue entry lists none. */
const ANY_DURATION: Durations = { min: 1, max: 60, default: 5 }

type Duration = number | null | undefined

/** The seconds to hold and bill: those requested, the model's default, or the maximum if the vendor chooses. */
export function secondsOf(duration: Duration, model: Model): number {
  const durations = model.durations ?? ANY_DURATION
  if (duration === undefined || duration === null) return durations.default
  return duration === VENDOR_CHOOSES ? durations.max : Math.ceil(duration)
}

export function quoteSeconds(duration: Duration, model: Model): Quantities {
  return { second: secondsOf(duration, model) }
}

/** Refuses an unsupported duration before anything is held. `field` is its place. */
export function checkDuration(duration: Duration, model: Model, field = 'duration'): void {
  const { min, max, vendorMayChoose } = model.durations ?? ANY_DURATION
  if (duration === undefined || duration === null) return
  if (duration === VENDOR_CHOOSES && vendorMayChoose) return
  if (duration >= min && duration <= max) return
  const choice = vendorMayChoose ? ', or -1 to leave it to the model' : ''
  throw invalidRequest(
    field,
    `Invalid '${field}': ${model.id} makes videos of ${min} to ${max} seconds${choice}, but got ${duration} instead.`,
  )
}

/** Refuses too many or too few reference images. `field` is their place. */
export function checkReferences(count: number, field: string, model: Model): void {
  const { referenceImages: allowed } = model
  if (!allowed || (count >= allowed.min && count <= allowed.max)) return
  const wanted = allowed.min === allowed.max ? `exactly ${allowed.min}` : `${allowed.min} to ${allowed.max}`
  throw invalidRequest(
    field,
    allowed.max === 0
      ? `'${field}' has an image, but ${model.id} makes videos from text alone.`
      : `Invalid '${field}': ${model.id} takes ${wanted} reference images, but got ${count}.`,
  )
}

/** Facts about a request on which vendors base the price of its video. */
interface Tier {
  /** True for a video without audio. */
  isSilent: boolean
  /** True for a video that is made from others. */
  isFromVideo?: boolean
}

/** The names of the price tier, most specific first: the first one that the model has a price for is used. */
export function tierNames(tier: string, { isSilent, isFromVideo = false }: Tier): string[] {
  const base = isFromVideo ? [`${tier} from video`, tier] : [tier]
  return base.flatMap((name) => (isSilent ? [`${name} silent`, name] : [name]))
}

/**
 * The quantities of the input of a video. The length of a linked video is unknown before the vendor has read it, so the maximum is
 * held: the model's, or `mostSeconds`. Pictures without their own price are included in the price per second.
 */
export function quoteInput(
  { videos, pictures }: { videos: number; pictures: number },
  { maxInputSeconds, priceList }: Model,
  mostSeconds: number,
): Quantities {
  return {
    ...(hasPrice(priceList, 'input_image') && { input_image: pictures }),
    ...(videos > 0 && { input_second: maxInputSeconds ?? mostSeconds }),
  }
}

/** A vendor's number; NaN, which no check accepts, if it is not a number. */
export function numberReported(value: unknown): number {
  return typeof value === 'number' ? value : Number.NaN
}

/** The seed in a request, for the end of the task: not every vendor returns it. */
export function requestedSeed(value: unknown): { seed?: number } {
  return typeof value === 'number' ? { seed: value } : {}
}

/** A vendor's text, if it is a string. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The end of a task whose video is at a URL, if the vendor's document has no `content` of its own. */
export function withVideo(
  document: object,
  videoUrl: string,
  quantities?: Quantities | false,
): Extract<TaskOutcome, { status: 'succeeded' }> {
  return {
    status: 'succeeded',
    videoUrl,
    document: { ...document, content: { video_url: videoUrl }, video_url: videoUrl },
    ...(quantities && { quantities }),
  }
}

/** The failure if a vendor reports success but no video. */
export function withoutVideo(document: object): TaskOutcome {
  const message = 'The upstream calls the task done but gave no video. Nothing was charged.'
  return { status: 'failed', document, error: { code: 'no_video' satisfies ErrorCode, message } }
}

/** The failure for a video that the vendor's moderation withheld. */
export function heldBack(document: object): TaskOutcome {
  const message =
    'The video was held back by the content moderation of the upstream. Nothing was charged; change the prompt or the image.'
  return { status: 'failed', document, error: { code: 'content_policy_violation', message } }
}

/** The largest number of pixels of each resolution that sizes are priced by. */
const RESOLUTIONS: readonly [name: string, pixels: number][] = [
  ['480p', 600_000],
  ['720p', 1_400_000],
  ['1080p', 3_000_000],
  ['4k', Number.POSITIVE_INFINITY],
]

/** The resolution that a size is priced as. */
export function resolutionOfSize({ width, height }: Size): string | undefined {
  return RESOLUTIONS.find(([, pixels]) => width * height <= pixels)?.[0]
}

const RESOLUTION = /^(\d+)(p|k)$/i
/** Lines of a resolution in thousands of columns: 2k has 1440, 4k has 2160. */
const LINES_PER_K: Record<string, number> = { '2': 1_440, '4': 2_160 }

/** The resolutions that a model has prices for, in the order of its price list; empty for a model with a single resolution. */
export function resolutionsOf({ priceList }: Model): string[] {
  const words = variantsOf(priceList).map((name) => name.split(' ', 1)[0] as string)
  return [...new Set(words.filter((word) => RESOLUTION.test(word)))]
}

/** The resolution that is sent and billed; undefined for a model with a single resolution. The first that has a price is the default. */
export function billedResolution(resolution: string | null | undefined, model: Model): string | undefined {
  const [first] = resolutionsOf(model)
  return first === undefined ? undefined : (resolution?.toLowerCase() ?? first)
}

/** Refuses a resolution without a price for the model: the vendor would bill another one than is held. */
export function checkResolution(resolution: string | null | undefined, model: Model): void {
  if (!resolution || billedResolution(resolution, model) !== undefined) return
  throw invalidRequest(
    'resolution',
    `Unsupported 'resolution': ${model.id} has one resolution. Leave it out.`,
    'unsupported_parameter',
  )
}

/** The priced resolution that is nearest to one of a plain request; undefined for a model with a single resolution. */
export function nearestResolution(asked: string, model: Model): string | undefined {
  const distance = (name: string) => Math.abs(Math.log(linesOf(name) / linesOf(asked)))
  const [first, ...others] = resolutionsOf(model)
  if (first === undefined || Number.isNaN(linesOf(asked))) return first && asked
  return others.reduce((best, next) => (distance(next) < distance(best) ? next : best), first)
}

function linesOf(resolution: string): number {
  const [, number = '', unit] = RESOLUTION.exec(resolution) ?? []
  return unit?.toLowerCase() === 'k' ? (LINES_PER_K[number] ?? Number.NaN) : Number(number || Number.NaN)
}

const RATIOS: readonly [name: string, value: number][] = [
  ['16:9', 16 / 9],
  ['9:16', 9 / 16],
  ['1:1', 1],
  ['4:3', 4 / 3],
  ['3:4', 3 / 4],
]

/** The picture settings of a plain request: `ratio` only if a size is given. */
export function plainPicture({ size: text, resolution }: PlainRequest): {
  size?: Size
  ratio?: string
  resolution?: string
} {
  if (text === undefined) return resolution === undefined ? {} : { resolution: resolution.toLowerCase() }
  const size = parseSize(text, 'x')
  if (!size) throw invalidRequest('size', `Invalid 'size': expected width and height such as '1280x720'.`)
  const distance = (value: number) => Math.abs(Math.log(size.width / size.height / value))
  const [ratio] = RATIOS.reduce(
    (best, next) => (distance(next[1]) < distance(best[1]) ? next : best),
    ['16:9', 16 / 9],
  )
  const asked = resolution?.toLowerCase() ?? resolutionOfSize(size)
  return { size, ratio, ...(asked !== undefined && { resolution: asked }) }
}
