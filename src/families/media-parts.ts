// Parts of messages that hold audio or video: audio needs its own price, and a model that does not read a kind, by its
// `inputModalities`, never gets it. A model without such a list is judged only by its prices.

import type { FieldRule, Model } from '../contract/family'
import { GatewayError } from '../lib/errors'
import { asObject } from '../lib/objects'

/** Rules for the type of a part, and for the data of parts that hold files: some vendors accept audio as a file or a picture. */
export function soundParts(type: string, ...data: readonly string[]): FieldRule[] {
  return [
    { field: type, plain: /^(?!.*audio)/i, why: 'audio has its own price', price: 'input_audio_token' },
    ...soundFiles(...data),
  ]
}

/** Rules for the data of parts that hold files. */
export function soundFiles(...data: readonly string[]): FieldRule[] {
  return data.map((field) => ({
    field,
    plain: /^(?!data:audio)/i,
    why: 'audio has its own price',
    price: 'input_audio_token',
  }))
}

const KINDS = {
  audio: { named: 'sound', instead: 'Send the spoken words as text' },
  video: { named: 'films', instead: 'Send pictures of it' },
} as const

/**
 * Throws 400 for a part of messages or items that the model cannot read, judged by its type or by the data URL in it. `members` are
 * those that hold parts.
 */
export function checkParts(
  model: Model,
  list: unknown,
  name: 'messages' | 'input',
  members: readonly string[],
): void {
  // Most models do not list what they read.
  if (model.inputModalities === undefined || !Array.isArray(list)) return
  for (const [index, holder] of list.entries()) {
    for (const member of members) {
      const parts = asObject(holder)[member]
      if (!Array.isArray(parts)) continue
      parts.forEach((part, place) => {
        checkPart(model, part, `${name}[${index}].${member}[${place}]`)
      })
    }
  }
}

function checkPart(model: Model, part: unknown, place: string): void {
  const { type, file, file_data: data, image_url: image } = asObject(part)
  if (type === 'text') return
  checkKind(model, type, `${place}.type`)
  checkKind(model, dataType(data), `${place}.file_data`)
  checkKind(model, dataType(asObject(file).file_data), `${place}.file.file_data`)
  checkKind(model, dataType(image), `${place}.image_url`)
  checkKind(model, dataType(asObject(image).url), `${place}.image_url.url`)
}

/** The type of a data URL. */
function dataType(value: unknown): string | undefined {
  return typeof value === 'string' ? /^data:([a-z]+)/i.exec(value)?.[1] : undefined
}

function checkKind({ id, inputModalities }: Model, type: unknown, place: string): void {
  const [word] = typeof type === 'string' ? (/audio|video/i.exec(type) ?? []) : []
  const kind = word?.toLowerCase() as keyof typeof KINDS | undefined
  if (kind === undefined || inputModalities?.includes(kind)) return
  const { named, instead } = KINDS[kind]
  throw new GatewayError(400, {
    code: 'unsupported_value',
    message: `Unsupported value: '${place}': ${id} does not read ${named}. ${instead}, or choose another model.`,
    param: place,
  })
}
