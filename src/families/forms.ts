// Shared by families whose requests have files: which files a field has, and how texts and files are sent to the
// vendor. It must never read a file's bytes: the type of a file was detected when it arrived.

import type { FormPart, Upload } from '../contract/family'
import { invalidRequest } from '../lib/errors'

/** The files in a form's field. A text instead of them is refused; `example` is the file of the curl sample. */
export function uploadsIn(body: object, field: string, example = 'picture.png'): readonly Upload[] {
  const value = (body as Record<string, unknown>)[field] ?? []
  if (isUploads(value)) return value
  throw invalidRequest(
    field,
    `Invalid type for '${field}': expected a file. Send its bytes as \`curl -F ${field}=@${example}\` does: URLs and base64 are not accepted here.`,
    'invalid_type',
  )
}

/**
 * Texts of a form, in order. Fields without a value are omitted; names of lists of texts end with brackets, as servers expect.
 */
export function textParts(fields: Readonly<Record<string, unknown>>): FormPart[] {
  return Object.entries(fields).flatMap(([name, value]): FormPart[] => {
    if (value === undefined || value === null || isUploads(value)) return []
    if (!Array.isArray(value)) return [{ name, value: textOf(value) }]
    return value.map((each) => ({ name: `${name}[]`, value: textOf(each) }))
  })
}

/** Files of a form, field by field. Names of fields with several files end with brackets too. */
export function fileParts(fields: Readonly<Record<string, unknown>>): FormPart[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (!isUploads(value)) return []
    const field = value.length > 1 ? `${name}[]` : name
    return value.map((upload) => ({ name: field, upload: named(upload, name) }))
  })
}

function isUploads(value: unknown): value is readonly Upload[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'object' && item && 'bytes' in item)
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

type Format = NonNullable<Upload['picture'] | Upload['audio']>['format']

/** File name endings, the usual one first. */
const EXTENSIONS: Record<Format, readonly string[]> = {
  png: ['png'],
  jpeg: ['jpeg', 'jpg'],
  webp: ['webp'],
  wav: ['wav'],
  mp3: ['mp3', 'mpga', 'mpeg'],
  mp4: ['m4a', 'mp4'],
  ogg: ['ogg', 'oga', 'opus'],
  flac: ['flac'],
  webm: ['webm'],
  aac: ['aac'],
}

/**
 * An upload with the correct type and name. Servers trust these, but clients omit or invent them; the type of the bytes is known.
 */
function named(upload: Upload, field: string): Upload {
  const { picture, audio, filename, contentType } = upload
  const format = picture?.format ?? audio?.format
  if (!format) return upload
  const [usual, ...others] = EXTENSIONS[format]
  const isRight = [usual, ...others].some((extension) => filename.toLowerCase().endsWith(`.${extension}`))
  return {
    ...upload,
    contentType: picture ? `image/${picture.format}` : contentType,
    filename: isRight ? filename : `${filename || field}.${usual}`,
  }
}
