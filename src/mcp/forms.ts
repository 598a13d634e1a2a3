// Builds the forms of operations that take files from a tool's arguments. It must never fetch a URL from a caller.

import type { Model, Upload } from '../contract/family'
import type { Form } from '../contract/form'
import { invalidRequest } from '../lib/errors'
import { pictureOf } from '../lib/file-formats/picture'
import { checkedOptions, rewordPlain } from './fields'

/** A form to edit images, for models that edit uploaded files. */
export async function formOfEdit(args: Record<string, unknown>, model: Model): Promise<Form> {
  const { images, mask, options, ...plain } = args
  const uploads = await Promise.all(
    (images as string[]).map((image, index) => pictureUpload(`images[${index}]`, image)),
  )
  const own = Object.entries({ ...rewordPlain({ ...plain, uploads }, model), ...checkedOptions(options) })
  const texts = own.filter(([, value]) => value !== uploads)
  const files = own.flatMap(([name, value]) => (value === uploads ? [[name, uploads] as const] : []))
  const masks = mask === undefined ? [] : [['mask', [await pictureUpload('mask', mask)]] as const]
  return formInMemory(Object.fromEntries(texts), Object.fromEntries([...files, ...masks]), [images, mask])
}

/** A form in memory during the call. `sources` are the arguments from which its files were made. */
export function formInMemory(
  members: Readonly<Record<string, unknown>>,
  files: Readonly<Record<string, readonly Upload[]>>,
  sources: unknown,
): Form {
  const fields = new Map<string, string | readonly string[]>()
  for (const [name, value] of Object.entries(members)) {
    if (value === undefined || value === null) continue
    fields.set(name, Array.isArray(value) ? value.map(textOf) : textOf(value))
  }
  const texts = [...fields.values()].flat()
  return {
    fields,
    files: new Map(Object.entries(files)),
    textBytes: texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
    hash: new Bun.CryptoHasher('sha256').update(JSON.stringify([...fields, sources])).digest('hex'),
    dispose: async () => {},
  }
}

/** A picture of a data URL, with its size. */
export async function pictureUpload(name: string, source: unknown): Promise<Upload> {
  const upload = uploadOf(name, source, 'data:image/png;base64,…')
  return { ...upload, picture: await pictureOf(upload.bytes) }
}

/** The bytes of a data URL. `example` is the beginning of one. */
export function uploadOf(name: string, source: unknown, example: string): Upload {
  const [, contentType = '', base64 = ''] =
    /^data:([a-z]+\/[a-z0-9.+-]+);base64,(.*)$/is.exec(String(source)) ?? []
  if (base64 === '') {
    throw invalidRequest(
      name,
      `Invalid '${name}': this model takes files. Give each as a data URL such as ${example}`,
    )
  }
  const bytes = new Blob([Buffer.from(base64, 'base64')], { type: contentType })
  return { filename: '', contentType, bytes }
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
