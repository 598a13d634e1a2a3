// OpenAI's form of images for models whose vendor has another: the request in a neutral form, translated by the vendor's own
// family, and the list of pictures that OpenAI's clients read. It must never decide for a vendor: rules of a single vendor are in
// its own file.

import { type Static, Type } from '@sinclair/typebox'
import {
  type BridgedField,
  bridgedFields,
  type Call,
  type DataUrls,
  type JsonFamily,
  type MadeFamily,
  type Model,
  type ParsedRequest,
  type PlainField,
  type PlainForm,
  type Quantities,
  type Unit,
  type Upload,
} from '../../contract/family'
import { inputTokensOf, outputTokensOf } from '../../contract/units'
import { invalidRequest } from '../../lib/errors'
import type { Edit } from '../../lib/json/json'
import { uploadsIn } from '../forms'
import { optionalField } from '../shared-schemas'
import { addresses } from '../vendor-state'
import { checkUploads } from './uploads'

/** A picture in a vendor's reply: its address, or its bytes as base64 with their media type. */
export interface Picture {
  url?: string
  b64_json?: string
  type?: string
  size?: string
  revised_prompt?: string
}

/** How a vendor's family treats OpenAI's form. */
export interface OwnForm<Body> {
  family: JsonFamily<Body> | MadeFamily<Body>
  /** Whether a request for a picture has OpenAI's form, for a vendor with another form. */
  takes?(body: Readonly<Record<string, unknown>>, model: Model): boolean
  /** How fields other than the common ones are treated. */
  fields: readonly BridgedField[]
  /** Completes the translation with fields that the neutral form does not have. */
  complete?(own: Record<string, unknown>, asked: OpenaiBody): Record<string, unknown>
  /** True if one call makes all `n` pictures. Absent: there is one call per picture. */
  makesSeveral?: true
  /** Maximum number of reference images in a request. */
  references(model: Model): { min: number; max: number }
  pictures(reply: unknown): Picture[]
}

const words = <Word extends string>(...list: Word[]) => Type.Union(list.map((word) => Type.Literal(word)))
const open = { additionalProperties: true }

/** Maximum number of pictures per request. */
const MAX_PICTURES = 10
/** Maximum number of bytes of all files of a request: as base64 they are part of a JSON text. */
const MAX_UPLOAD_BYTES = 20 * 1024 * 1024

const fields = {
  model: Type.String({ description: 'Id from GET /v1/models.' }),
  prompt: Type.String({ minLength: 1 }),
  n: optionalField(Type.Integer({ minimum: 1, maximum: MAX_PICTURES })),
  size: optionalField(Type.String({ description: 'Width and height such as `1536x1024`, or `auto`.' })),
  quality: optionalField(words('auto', 'low', 'medium', 'high', 'xhigh', 'max', 'standard', 'hd')),
  response_format: optionalField(words('url', 'b64_json')),
  output_format: optionalField(words('png', 'jpeg', 'webp')),
  stream: optionalField(Type.Boolean()),
  user: optionalField(Type.String()),
}
const Address = Type.String({ minLength: 1 })
const OpenaiBody = Type.Object(
  {
    ...fields,
    image: optionalField(
      Type.Union([Address, Type.Array(Address)], {
        description: 'Reference images: addresses (https) or data URLs.',
      }),
    ),
  },
  open,
)
const EditBody = Type.Object(
  {
    ...fields,
    image: Type.Unknown({ description: 'PNG, JPEG or WebP; several where the model takes several.' }),
  },
  open,
)
type OpenaiBody = Static<typeof OpenaiBody>
type EditBody = Static<typeof EditBody>

const commonFields: readonly BridgedField[] = [
  ...bridgedFields(
    'translated',
    ['prompt', "the vendor's own field"],
    ['n', 'that many pictures'],
    ['size', 'the nearest that the model makes'],
    ['image', 'reference images'],
    [
      'response_format',
      '`b64_json`: the bytes of the picture, fetched if the vendor returns a URL; `url`: its URL',
    ],
  ),
  ...bridgedFields('ignored', ['moderation', 'the vendor applies its own rules']),
  ...bridgedFields(
    'refused',
    ['stream', 'the vendor sends no partial pictures', [false]],
    ['partial_images', 'the vendor sends no partial pictures', [0]],
    ['background', 'the model cannot make transparent pictures', ['auto', 'opaque']],
    ['output_compression', 'the vendor has no such setting', [100]],
    ['style', 'the vendor has no such setting', ['vivid']],
    ['input_fidelity', 'the vendor has no such setting', ['low']],
    ['mask', 'the model edits whole images only'],
  ),
]

/** Fields without effect for a vendor that has no qualities and no names of users. */
export const ONE_QUALITY = bridgedFields('ignored', ['quality', 'the model has one quality'])
export const NO_USER = bridgedFields('ignored', ['user', 'the vendor has no such field'])
/** The qualities, for a vendor that makes larger pictures instead. */
export const QUALITY_IS_SIZE = bridgedFields('translated', [
  'quality',
  '`high`, `xhigh`, `max` and `hd` increase the resolution',
])

/** Placeholder for a file until it is read: no check and no price depends on its bytes. */
const STAND_IN = 'data:image/png;base64,AAAA'

/** The family that makes pictures of a request in OpenAI's form. */
export function openaiImagesOn<Body>(name: string, own: OwnForm<Body>): MadeFamily<OpenaiBody> {
  return {
    ...sharedOf(own, (body: OpenaiBody) => imagesOf(body)),
    name: `openai-images-on-${name}`,
    operation: 'image',
    body: OpenaiBody,
    ...(own.takes && { takes: own.takes }),
    plain: {
      ...plainOf(own, 'images'),
      body: ({ text, images, ...options }) => ({
        prompt: text,
        ...options,
        ...(images && { image: images }),
      }),
    },
  }
}

/** The family that edits uploaded pictures. */
export function openaiEditsOn<Body>(name: string, own: OwnForm<Body>): MadeFamily<EditBody> {
  const uploads = (body: EditBody) => uploadsIn(body, 'image')
  const shared = sharedOf<Body, EditBody>(own, (body, dataUrls) =>
    uploads(body).map((upload) => dataUrls?.get(upload) ?? STAND_IN),
  )
  return {
    ...shared,
    name: `openai-image-edits-on-${name}`,
    operation: 'image-edit',
    body: EditBody,
    serves: (model) => own.references(model).max > 0,
    uploads,

    check(body, model) {
      checkUploads(body, { ...model, referenceImages: own.references(model) })
      checkUploadBytes(uploads(body))
      shared.check(body, model)
    },

    plain: {
      ...plainOf(own, 'uploads'),
      body: ({ text, uploads, ...options }) => ({ prompt: text, image: uploads, ...options }),
    },
  }
}

function plainOf<Body>({ family }: OwnForm<Body>, images: PlainField): Omit<PlainForm, 'body'> {
  const { fields: own, shapes } = family.plain
  const fields: PlainField[] = [
    'n',
    'size',
    ...(own.includes('quality') ? (['quality'] as const) : []),
    images,
  ]
  return { fields, ...(shapes && { shapes }) }
}

/** The members shared by new and edited pictures. `images` are the references as addresses or data URLs. */
function sharedOf<Body, RequestBody extends OpenaiBody | EditBody>(
  own: OwnForm<Body>,
  images: (body: RequestBody, dataUrls?: DataUrls) => string[],
) {
  const { family, pictures } = own
  const translated = (parsed: ParsedRequest<RequestBody>, model: Model, dataUrls?: DataUrls) => ({
    ...parsed,
    body: translate(own, parsed.body, images(parsed.body, dataUrls), model),
  })
  const callsOf = ({ n }: RequestBody) => (own.makesSeveral ? 1 : (n ?? 1))
  return {
    kind: 'made' as const,
    isSeparable: true as const,
    units: family.units,
    dialect: 'openai' as const,
    over: family.name,
    fieldRules: addresses('image', 'image[]'),
    bridge: [...commonFields, ...own.fields],

    check(body: RequestBody, model: Model): void {
      const references = images(body)
      checkReferences(references, own.references(model), model)
      family.check?.(translate(own, body, references, model), model)
    },

    ...(family.tier && {
      tier: (body: RequestBody, model: Model) =>
        (family.tier as NonNullable<typeof family.tier>)(translate(own, body, images(body), model), model),
    }),

    quote(parsed: ParsedRequest<RequestBody>, model: Model): Quantities {
      const each = family.quote(translated(parsed, model), model)
      const calls = callsOf(parsed.body)
      return Object.fromEntries(Object.entries(each).map(([unit, count]) => [unit as Unit, count * calls]))
    },

    ...(family.texts && {
      // Each call has all references.
      texts: (body: RequestBody, model: Model) => {
        const texts = family.texts?.(translate(own, body, images(body), model), model)
        return texts && Array.from({ length: callsOf(body) }, () => texts).flat()
      },
    }),

    call(parsed: ParsedRequest<RequestBody>, model: Model, dataUrls?: DataUrls): Call[] {
      const own = translated(parsed, model, dataUrls)
      const [call] = [family.call(own, model)].flat()
      if (!call) return []
      const json = jsonOf(own.body as Record<string, unknown>, call)
      return Array.from({ length: callsOf(parsed.body) }, () => ({ ...call, body: { json }, stream: false }))
    },

    read: (reply: unknown, parsed: ParsedRequest<RequestBody>, model: Model) =>
      family.read(reply, translated(parsed, model), model),

    ...answersOf<RequestBody>(pictures),
  }
}

/** The members that turn the vendor's replies into an answer. */
function answersOf<RequestBody extends OpenaiBody | EditBody>(pictures: (reply: unknown) => Picture[]) {
  return {
    files: (replies: readonly unknown[], body: RequestBody) =>
      deliveryOf(body) === 'b64_json' ? replies.flatMap(pictures).flatMap(({ url }) => url ?? []) : [],

    reply(
      replies: unknown[],
      { body, at }: ParsedRequest<RequestBody>,
      model: Model,
      usage: Quantities,
      base64: ReadonlyMap<string, string>,
    ) {
      const made = replies.flatMap(pictures)
      if (made.length === 0) throw nothingMade(model)
      const size = made[0]?.size
      return {
        created: Math.floor(at / 1000),
        data: made.map((picture) => shownPicture(picture, body, base64)),
        ...(size !== undefined && { size }),
        ...usageOf(usage),
      }
    },

    links: (reply: unknown, body: RequestBody) =>
      deliveryOf(body) === 'b64_json'
        ? []
        : pictures(reply).flatMap((picture) => shownPicture(picture, body).url ?? []),
  }
}

/** The form of each picture in the answer. Edits return bytes unless an address is requested; otherwise the vendor decides. */
function deliveryOf(body: OpenaiBody | EditBody): 'url' | 'b64_json' | undefined {
  return body.response_format ?? (isUpload(body.image) ? 'b64_json' : undefined)
}

/** Whether a field holds files in a form. */
function isUpload(image: unknown): boolean {
  return Array.isArray(image) && image.some((item) => typeof item === 'object')
}

function imagesOf({ image }: OpenaiBody): string[] {
  return image === undefined || image === null ? [] : [image].flat()
}

/** The request in the vendor's form. */
function translate<Body>(
  { family, complete, makesSeveral }: OwnForm<Body>,
  asked: OpenaiBody | EditBody,
  images: readonly string[],
  model: Model,
): Body {
  const { prompt, n, size, quality } = asked
  const takesQuality = family.plain.fields.includes('quality')
  const own = family.plain.body(
    {
      text: prompt,
      ...(makesSeveral && n && { n }),
      ...(size && size !== 'auto' && { size }),
      ...(takesQuality && quality && { quality }),
      ...(images.length > 0 && { images }),
    },
    model,
  )
  const whole = { ...own, model: asked.model }
  const delivery = deliveryOf(asked)
  const wanted = { ...asked, ...(delivery && { response_format: delivery }) } as OpenaiBody
  return (complete?.(whole, wanted) ?? whole) as Body
}

/** The JSON of a call whose body is an edit of the caller's own text in the family's own form. */
function jsonOf(own: Record<string, unknown>, { body }: Call): unknown {
  if (!body || !('edit' in body)) return own
  const { set = {}, drop = [] }: Edit = body.edit
  const kept = Object.entries(own).filter(([name]) => !drop.includes(name))
  const edited = Object.entries(set).map(([name, text]) => [name, JSON.parse(text)])
  return Object.fromEntries([...kept, ...edited])
}

function shownPicture(
  { b64_json: bytes, type = 'image/png', size: _, url, ...rest }: Picture,
  body: OpenaiBody | EditBody,
  base64?: ReadonlyMap<string, string>,
): Omit<Picture, 'type' | 'size'> {
  if (bytes !== undefined && deliveryOf(body) === 'url')
    return { url: `data:${type};base64,${bytes}`, ...rest }
  const fetched = url === undefined ? undefined : base64?.get(url)
  if (bytes !== undefined || fetched !== undefined) return { b64_json: bytes ?? fetched ?? '', ...rest }
  return url === undefined ? rest : { url, ...rest }
}

/** The figures in OpenAI's form, for models that are priced by token. */
function usageOf(usage: Quantities): object {
  const [input, output] = [inputTokensOf(usage), outputTokensOf(usage)]
  if (input + output === 0) return {}
  const [images, made] = [usage.input_image_token ?? 0, usage.output_image_token ?? 0]
  return {
    usage: {
      input_tokens: input,
      input_tokens_details: { text_tokens: input - images, image_tokens: images },
      output_tokens: output,
      output_tokens_details: { text_tokens: output - made, image_tokens: made },
      total_tokens: input + output,
    },
  }
}

function checkReferences(
  images: readonly string[],
  { min, max }: { min: number; max: number },
  { id }: Model,
) {
  if (images.length < min || images.length > max) {
    const wanted =
      max === 0
        ? `${id} makes images from text alone: leave it out, or choose a model that edits`
        : `${id} needs ${min === max ? min : `${min} to ${max}`} reference images, but got ${images.length}`
    throw invalidRequest('image', `Invalid 'image': ${wanted}.`)
  }
  if (images.every((image) => /^(https:\/\/|data:image\/)\S+$/.test(image))) return
  throw invalidRequest(
    'image',
    "Invalid 'image': expected an https URL that the public internet can reach, or a data URL of an image.",
  )
}

function checkUploadBytes(uploads: readonly Upload[]): void {
  const bytes = uploads.reduce((sum, upload) => sum + upload.bytes.size, 0)
  if (bytes <= MAX_UPLOAD_BYTES) return
  throw invalidRequest(
    'image',
    `Invalid 'image': the images of a request may have ${MAX_UPLOAD_BYTES} bytes together, and these have ${bytes}. Send smaller ones.`,
  )
}

function nothingMade({ id }: Model) {
  return invalidRequest(
    'prompt',
    `${id} made no picture, perhaps because its moderation withheld it. Nothing is charged; change the prompt or the reference image.`,
    'content_policy_violation',
  )
}
