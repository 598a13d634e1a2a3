// Images of Qwen-Image on DashScope, `qnx-image-*` in gateway.config.ts: one user message of blocks with a text or an
// image each. The caller's text passes through with single fields edited; the vendor's reply, flat errors included, must
// never be changed.

import { type Static, Type } from '@sinclair/typebox'
import { nativeCall } from '../../contract/call'
import { bridgedFields, type FieldRule, type JsonFamily, type Model } from '../../contract/family'
import { usageReading } from '../../contract/reading'
import { invalidRequest } from '../../lib/errors'
import type { Edit } from '../../lib/json/json'
import { addresses } from '../vendor-state'
import { NO_USER, ONE_QUALITY, type OwnForm, openaiEditsOn, openaiImagesOn } from './openai-form'
import { nearestSize, readPixels } from './shapes'

/** Sizes that this gateway offers. The first is the default, which differs from the vendor's own. */
const SIZES = [
  '1024*1024',
  '1664*928',
  '1472*1140',
  '1328*1328',
  '1140*1472',
  '928*1664',
  '1280*720',
  '720*1280',
]

const open = { additionalProperties: true }

const Block = Type.Object(
  { text: Type.Optional(Type.String({ minLength: 1 })), image: Type.Optional(Type.String({ minLength: 1 })) },
  open,
)

const Body = Type.Object(
  {
    model: Type.String({ description: 'Id from GET /v1/models.' }),
    input: Type.Object(
      {
        messages: Type.Array(
          Type.Object({ role: Type.Literal('user'), content: Type.Array(Block, { minItems: 1 }) }, open),
          { minItems: 1, maxItems: 1 },
        ),
      },
      {
        ...open,
        description:
          'One message, such as `{"messages": [{"role": "user", "content": [{"text": "A fox"}]}]}`.',
      },
    ),
    parameters: Type.Optional(
      Type.Object(
        {
          size: Type.Optional(Type.String({ description: 'Width*height, such as 1664*928.' })),
          n: Type.Optional(Type.Integer({ minimum: 1, maximum: 1 })),
          seed: Type.Optional(Type.Integer()),
          watermark: Type.Optional(Type.Boolean()),
          negative_prompt: Type.Optional(Type.String()),
          prompt_extend: Type.Optional(Type.Boolean()),
        },
        open,
      ),
    ),
  },
  open,
)
type Body = Static<typeof Body>

const PUBLIC_ONLY = 'Use an https URL that the public internet can reach.'

/** Fields with which other models of the vendor make several images, or a text as well. */
const fieldRules: readonly FieldRule[] = [
  ...['enable_interleave', 'enable_sequential', 'max_images'].map((name) => ({
    field: `parameters.${name}`,
    plain: [false, 1],
    why: 'each image is billed, and only one may be requested',
  })),
  ...addresses('input.messages[].content[].image').map((rule) => ({ ...rule, instead: PUBLIC_ONLY })),
]

export const dashscopeImages: JsonFamily<Body> = {
  kind: 'json',
  name: 'dashscope-images',
  operation: 'image',
  units: [['image']],
  dialect: 'flat',
  body: Body,
  fieldRules,

  check(body, model) {
    checkBlocks(body)
    checkImages(body, model)
    const size = body.parameters?.size
    const sizes = sizesOf(model)
    if (size !== undefined && !sizes.includes(size)) {
      throw invalidRequest(
        'parameters.size',
        `Unsupported size for 'parameters.size': ${model.id} makes ${sizes.join(', ')}.`,
      )
    }
  },

  quote: () => ({ image: 1 }),

  call({ body }, model) {
    const set: Edit['set'] = { model: JSON.stringify(model.upstreamModel) }
    // An edited image has the shape of the last reference unless the caller chooses another.
    if (body.parameters?.size === undefined && !isEditor(model)) {
      set.parameters = JSON.stringify({ ...body.parameters, size: sizesOf(model)[0] })
    }
    return nativeCall('/services/aigc/multimodal-generation/generation', { edit: { set } })
  },

  read(reply) {
    const { code, usage } = reply as Reply
    const made = imagesIn(reply).length
    // The vendor may answer 200 with an error inside; an answer without an image counts as an error.
    if ((typeof code === 'string' && code !== '') || made === 0) return { end: 'failed' }
    const counted = usage?.image_count ?? usage?.output_image_count ?? made
    return {
      output: { kind: 'shown', counted: { image: made } },
      usage: usageReading(counted === made ? { image: made } : 'invalid'),
      end: 'finished',
    }
  },

  links: imagesIn,

  plain: {
    fields: ['size', 'images'],
    shapes: sizesOf,
    body: ({ text, size, images = [] }, model) => ({
      input: { messages: [{ role: 'user', content: [...images.map((image) => ({ image })), { text }] }] },
      ...(size !== undefined && { parameters: { size: madeSize(size, model) } }),
    }),
  },
}

/** Fields of `parameters` that may be combined with OpenAI's form. */
const OWN_FIELDS = ['negative_prompt', 'prompt_extend', 'seed', 'watermark'] as const

const openaiForm: OwnForm<Body> = {
  family: dashscopeImages,
  takes: ({ prompt, input }) => prompt !== undefined && input === undefined,
  fields: [
    ...bridgedFields('translated', ...OWN_FIELDS.map((name) => [name, `\`parameters.${name}\``] as const)),
    ...ONE_QUALITY,
    ...NO_USER,
    ...bridgedFields('refused', ['output_format', 'the model makes only PNG', ['png']]),
  ],
  complete({ parameters, ...own }, asked) {
    const given = Object.entries(asked).filter(([name]) => (OWN_FIELDS as readonly string[]).includes(name))
    const all = { ...(parameters as object | undefined), ...Object.fromEntries(given) }
    return { ...own, ...(Object.keys(all).length > 0 && { parameters: all }) }
  },
  references: ({ referenceImages }) => referenceImages ?? { min: 0, max: 0 },
  pictures(reply) {
    const { width, height } = (reply as Reply).usage ?? {}
    const size = Number.isInteger(width) && Number.isInteger(height) ? { size: `${width}x${height}` } : {}
    return imagesIn(reply).map((url) => ({ url, ...size }))
  },
}
export const openaiImagesOnDashscope = openaiImagesOn('dashscope', openaiForm)
export const openaiImageEditsOnDashscope = openaiEditsOn('dashscope', openaiForm)

interface Reply {
  code?: unknown
  output?: { choices?: { message?: { content?: { image?: unknown }[] } | null }[] | null } | null
  /** Usage. Newer models have another name for the count. */
  usage?: { image_count?: unknown; output_image_count?: unknown; width?: unknown; height?: unknown } | null
}

function contentOf(body: Body) {
  return body.input.messages[0]?.content ?? []
}

/** The size that is made for one such as `1536x1024`: itself if supported, otherwise the nearest. */
function madeSize(size: string, model: Model): string {
  const [own, sizes] = [size.replace('x', '*'), sizesOf(model)]
  return sizes.includes(own) ? own : nearestSize(readPixels(size), sizes)
}

function sizesOf(model: Model): readonly string[] {
  return model.sizes ?? SIZES
}

function isEditor({ referenceImages }: Model): boolean {
  return (referenceImages?.max ?? 0) > 0
}

function checkBlocks(body: Body): void {
  for (const [index, { text, image }] of contentOf(body).entries()) {
    if ((text === undefined) === (image === undefined)) {
      const param = `input.messages[0].content[${index}]`
      throw invalidRequest(param, `Invalid '${param}': give each block either a \`text\` or an \`image\`.`)
    }
    if (image !== undefined && !/^(https:\/\/|data:image\/)\S+$/.test(image)) {
      const param = `input.messages[0].content[${index}].image`
      throw invalidRequest(
        param,
        `Invalid '${param}': expected an https URL that the public internet can reach, or a data URL of an image.`,
      )
    }
  }
  if (contentOf(body).every(({ text }) => text === undefined)) {
    throw invalidRequest(
      'input.messages[0].content',
      "Missing text in 'input.messages[0].content': add a block with a `text` that says what to make.",
    )
  }
}

function checkImages(body: Body, model: Model): void {
  const count = contentOf(body).filter(({ image }) => image !== undefined).length
  const { min, max } = model.referenceImages ?? { min: 0, max: 0 }
  if (count >= min && count <= max) return
  const wanted =
    max === 0
      ? `${model.id} makes images from text alone: leave the \`image\` blocks out, or choose a model that edits`
      : `${model.id} needs ${min === max ? min : `${min} to ${max}`} reference images, each in an \`image\` block, but got ${count}`
  throw invalidRequest('input.messages[0].content', `Invalid 'input.messages[0].content': ${wanted}.`)
}

/** The addresses of the images. It never throws, whatever the reply. */
function imagesIn(reply: unknown): string[] {
  const { output } = reply as Reply
  const choices = Array.isArray(output?.choices) ? output.choices : []
  return choices.flatMap((choice) => {
    const content = choice?.message?.content
    if (!Array.isArray(content)) return []
    return content.flatMap((part) =>
      typeof part?.image === 'string' && part.image !== '' ? [part.image] : [],
    )
  })
}
