// Builds the form for models that edit uploaded files from a tool's arguments. It must never fetch an address that a
// caller names.

import type { Model, Upload } from '../contract/family'
import type { Form } from '../contract/form'
import { invalidRequest } from '../lib/errors'
import { pictureOf } from '../media/picture'
import { checkedOptions, rewordPlain } from './fields'

/** The texts and files of the form, in memory for the time of the call. */
export async function formOfEdit(args: Record<string, unknown>, model: Model): Promise<Form> {
  const { images, mask, options, ...plain } = args
  const uploads = await Promise.all(
    (images as string[]).map((image, index) => uploadOf(`images[${index}]`, image)),
  )
  const own = rewordPlain({ ...plain, uploads }, model)
  const members = { ...own, ...checkedOptions(options) }
  const files = new Map<string, readonly Upload[]>()
  const fields = new Map<string, string>()
  for (const [name, value] of Object.entries(members)) {
    if (value === uploads) files.set(name, uploads)
    else if (value !== undefined && value !== null) fields.set(name, textOf(value))
  }
  if (mask !== undefined) files.set('mask', [await uploadOf('mask', mask as string)])
  const texts = [...fields.values()]
  return {
    fields,
    files,
    textBytes: texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
    hash: new Bun.CryptoHasher('sha256').update(JSON.stringify([...fields, images, mask])).digest('hex'),
    dispose: async () => {},
  }
}

async function uploadOf(name: string, text: string): Promise<Upload> {
  const [, contentType = '', base64 = ''] = /^data:([a-z]+\/[a-z0-9.+-]+);base64,(.*)$/is.exec(text) ?? []
  if (base64 === '') {
    throw invalidRequest(
      name,
      `Invalid '${name}': this model edits files. Give each as a data URL such as data:image/png;base64,…`,
    )
  }
  const bytes = new Blob([Buffer.from(base64, 'base64')], { type: contentType })
  return { filename: '', contentType, bytes, picture: await pictureOf(bytes) }
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
