// The tools that make audio and pictures: speak, generate_image and edit_image. They must never know a vendor: the operations of
// the model decide how a picture is edited.

import { Type } from '@sinclair/typebox'
import { resolveModels } from '../catalogue/models'
import type { Model } from '../contract/family'
import { operationOf } from '../contract/operations'
import { invalidRequest } from '../lib/errors'
import {
  bodyFields,
  checkedOptions,
  modelField,
  optionsField,
  paidFields,
  plainFieldsOf,
  rewordPlain,
} from './fields'
import { formOfEdit } from './forms'
import { collectPictures, type Shown, showLink, showMedium } from './media'
import { type Answer, costOutput, type PaidTool, type Prepared } from './paid-tool'
import { type McpCall, type McpResult, optionalArgument, type ToolWorld } from './tool'

const speechFields = bodyFields('speech', ['input', 'voice', 'response_format', 'instructions'])

const Place = Type.Object({
  url: Type.Optional(Type.String({ description: 'Where it lies for a while.' })),
  mime_type: Type.Optional(Type.String()),
  bytes: Type.Optional(Type.Integer()),
  inline: Type.Optional(Type.Boolean({ description: 'It is in the content of this answer.' })),
})
const imageOutput = Type.Object({ images: Type.Array(Place), ...costOutput })
const prompt = Type.String({ minLength: 1, description: 'Description of the picture.' })

export const speak: PaidTool = {
  name: 'speak',
  title: 'Speak a text',
  description: 'Makes an audio file of a spoken text. A short one comes in the answer, a long one as a link.',
  input: Type.Object({ model: modelField, ...speechFields, options: optionsField, ...paidFields }),
  output: Type.Object({
    audio: Place,
    error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() })),
    ...costOutput,
  }),
  prepare({ options, ...fields }) {
    const body = { ...checkedOptions(options), ...fields }
    return { operation: operationOf('speech'), content: Buffer.from(JSON.stringify(body)) }
  },
  async answer({ response, facts }, world, call) {
    const mimeType = response.headers.get('content-type') ?? 'audio/mpeg'
    const { bytes, isWhole } = await readSound(response)
    const shown = await showMedium({ kind: 'audio', mimeType, bytes }, world, call)
    return {
      structured: { audio: shown.facts, ...(!isWhole && { error: BROKEN }), ...facts },
      content: [shown.content],
      failed: !isWhole,
    }
  },
}

export const generateImage: PaidTool = {
  name: 'generate_image',
  title: 'Make an image',
  description:
    'Makes images from a prompt, with reference images where the model takes them. list_models says what each model takes.',
  input: Type.Object({
    model: modelField,
    prompt,
    ...plainFieldsOf('image'),
    options: optionsField,
    ...paidFields,
  }),
  output: imageOutput,
  prepare: (args) => plainImage(args),
  answer: showImages,
}

export const editImage: PaidTool = {
  name: 'edit_image',
  title: 'Edit images',
  description:
    'Makes a new image out of one or several given ones, as the prompt says. A mask shows what is to be changed, for models that take one.',
  input: Type.Object({
    model: modelField,
    prompt,
    ...plainFieldsOf('image', 'image-edit'),
    images: Type.Array(Type.String({ minLength: 1 }), {
      minItems: 1,
      maxItems: 16,
      description: 'Data URLs of the images; addresses (https) too where the model fetches them itself.',
    }),
    mask: optionalArgument(
      Type.String({ description: 'Data URL of a PNG: its transparent area is what is to be changed.' }),
    ),
    options: optionsField,
    ...paidFields,
  }),
  output: imageOutput,
  async prepare({ mask, ...args }, world, { key }) {
    const model = editorOf(world, key, args.model)
    if (model) {
      return { operation: operationOf('image-edit'), content: await formOfEdit({ ...args, mask }, model) }
    }
    if (mask === undefined) return plainImage(args)
    throw invalidRequest(
      'mask',
      `Unsupported argument: ${String(args.model).slice(0, 128)} edits whole images and does not accept a 'mask'. Leave it out, or choose another model.`,
      'unsupported_parameter',
    )
  },
  answer: showImages,
}

function plainImage(args: Record<string, unknown>): Prepared {
  return {
    operation: operationOf('image'),
    content: Buffer.from(JSON.stringify(args)),
    reword: rewordPlain,
  }
}

const BROKEN = {
  code: 'sound_cut',
  message: 'The audio ended early. The part that arrived is returned, and charged as over HTTP.',
}

/** The audio of an answer. It is paid, so it is returned even if the rest is missing. */
async function readSound({ body }: Response): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const pieces: Uint8Array[] = []
  try {
    for await (const piece of body ?? []) pieces.push(piece)
    return { bytes: Buffer.concat(pieces), isWhole: true }
  } catch {
    return { bytes: Buffer.concat(pieces), isWhole: false }
  }
}

/** The model as an editor of uploaded files; undefined if its vendor accepts images in another way. */
function editorOf(world: ToolWorld, key: McpCall['key'], id: unknown): Model | undefined {
  try {
    const [model] = resolveModels(world.catalogue, key, operationOf('image-edit'), id, world)
    return model.family.over === undefined ? model : undefined
  } catch {
    // The other way is tried next, and reports the fault of the id.
    return undefined
  }
}

async function showImages({ response, facts }: Answer, world: ToolWorld, call: McpCall): Promise<McpResult> {
  const shown: Shown[] = []
  for (const picture of collectPictures(await response.json())) {
    shown.push('url' in picture ? showLink(picture.url, 'image') : await showMedium(picture, world, call))
  }
  return {
    structured: { images: shown.map(({ facts }) => facts), ...facts },
    content: shown.map(({ content }) => content),
  }
}
