// What all video families share: the caller's side of POST /v1/videos/generations (spec) that is about billing and
// the end of the task, and the checks that what is billed is what the vendor is asked for.

import { type TSchema, Type } from '@sinclair/typebox'
import type { Durations, Model, PlainRequest, Quantities, TaskOutcome } from '../../contract/family'
import { invalidRequest } from '../../lib/errors'
import { parseSize, type Size } from '../../lib/pixel-size'

/** Absent and null mean the same to the SDKs. */
export const optional = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]))

/** Fields of ours that no vendor is sent. */
export const OWN_FIELDS = ['webhook_url', 'wait'] as const

export const ownFields = {
  model: Type.String({ description: 'Id from GET /v1/models.' }),
  webhook_url: optional(Type.String({ description: 'Called when the task has ended.' })),
  wait: optional(
    Type.Union([Type.Boolean(), Type.Number({ minimum: 0 }), Type.String({ pattern: '^(true|false)$' })], {
      description: 'Wait for the end of the task: true, or at most so many seconds.',
    }),
  ),
}

/** In place of a duration: the vendor chooses it. */
export const VENDOR_CHOOSES = -1

/** Of a model whose catalogue entry does not say. */
const ANY_DURATION: Durations = { min: 1, max: 60, default: 5 }

type Duration = number | null | undefined

/** The seconds to hold and bill: those asked for, the model's default, or the most where the vendor chooses. */
export function secondsOf(duration: Duration, model: Model): number {
  const durations = model.durations ?? ANY_DURATION
  if (duration === undefined || duration === null) return durations.default
  return duration === VENDOR_CHOOSES ? durations.max : Math.ceil(duration)
}

export function quoteSeconds(duration: Duration, model: Model): Quantities {
  return { second: secondsOf(duration, model) }
}

/** Refuses a duration that the model does not make, before anything is held. */
export function checkDuration(duration: Duration, model: Model): void {
  const { min, max, vendorMayChoose } = model.durations ?? ANY_DURATION
  if (duration === undefined || duration === null) return
  if (duration === VENDOR_CHOOSES && vendorMayChoose) return
  if (duration >= min && duration <= max) return
  const choice = vendorMayChoose ? ', or -1 to leave it to the model' : ''
  throw invalidRequest(
    'duration',
    `Invalid 'duration': ${model.id} makes videos of ${min} to ${max} seconds${choice}, but got ${duration} instead.`,
  )
}

/** Refuses too many or too few reference images. `field` is where they stand. */
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

/** Of what was not heard to be heard, its price is of the duration without sound, if the model has such a price. */
export function tierNames(tier: string, isSilent: boolean): string[] {
  return isSilent ? [`${tier} silent`, tier] : [tier]
}

/** What a vendor says of the seconds that it made: no number is none at all. */
export function secondsReported(value: unknown): Quantities {
  return { second: typeof value === 'number' ? value : Number.NaN }
}

/** The seed that a request names, for the task's end: not every vendor repeats it. */
export function seedAsked(value: unknown): { seed?: number } {
  return typeof value === 'number' ? { seed: value } : {}
}

/** A vendor's text, where it is one. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The vendor says that it is done, but there is nothing to show. */
export function withoutVideo(document: object): TaskOutcome {
  const message = 'The upstream calls the task done but gave no video. Nothing was charged.'
  return { status: 'failed', document, error: { code: 'no_video', message } }
}

/** The largest number of pixels of each resolution that sizes are priced by. */
const RESOLUTIONS: readonly [name: string, pixels: number][] = [
  ['480p', 600_000],
  ['720p', 1_400_000],
  ['1080p', Number.POSITIVE_INFINITY],
]

/** The resolution that a size is priced as. */
export function resolutionOfSize({ width, height }: Size): string | undefined {
  return RESOLUTIONS.find(([, pixels]) => width * height <= pixels)?.[0]
}

const RATIOS: readonly [name: string, value: number][] = [
  ['16:9', 16 / 9],
  ['9:16', 9 / 16],
  ['1:1', 1],
  ['4:3', 4 / 3],
  ['3:4', 3 / 4],
]

/** What a request in plain words asks of the picture: `ratio` only where a size says it. */
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
