// Reads a form with files, multipart/form-data: texts into memory, files to disk, whatever their names and sizes say. It must never
// hold a whole file in memory, or leave one behind when the form is refused or its sender disconnects.

import type { Upload } from '../contract/family'
import type { Form } from '../contract/form'
import { GatewayError, invalidRequest } from '../lib/errors'
import { pictureOf } from '../lib/file-formats/picture'
import type { AudioReader } from '../media/audio'
import type { SavedFile, Uploads } from '../media/uploads'
import { boundaryOf, invalidForm, type MultipartPart, readParts } from './multipart-parts'

const KIBIBYTE = 1024
const MEBIBYTE = 1024 * KIBIBYTE
const MAX_TEXTS = 100
const MAX_TEXT_BYTES = 256 * KIBIBYTE
/** Maximum size of all texts together, in bytes. */
const MAX_TEXTS_BYTES = MEBIBYTE
/** Sixteen images, the maximum that a vendor accepts, and a mask. */
const MAX_FILES = 17
const MAX_FILE_BYTES = 50 * MEBIBYTE
const MAX_NAME_LENGTH = 128
/** Encodings of a part's content. Others, such as base64, belong to mail: no HTTP client writes them. */
const PLAIN_ENCODINGS = ['7bit', '8bit', 'binary']

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Dependencies for reading a form: the store of its files, and the reader of their durations. */
export interface FormTools {
  uploads: Uploads
  audioReader: Pick<AudioReader, 'read'>
}

/**
 * Reads a form from `pieces`, the body of the request. Throws the errors of the pieces, 400, 413, 415, and 503 if the
 * files do not fit.
 */
export async function readForm(
  request: Request,
  tools: FormTools,
  pieces: AsyncIterable<Uint8Array>,
): Promise<Form> {
  const boundary = boundaryOf(request.headers.get('content-type'))
  const draft = new Draft(tools, request.signal)
  try {
    await readParts(boundary, pieces, (part) => draft.take(part), {
      parts: MAX_TEXTS + MAX_FILES,
      partBytes: MAX_FILE_BYTES,
      tooLarge: ({ name = '' }) => tooLarge(fieldOf(name).name, 'file', MAX_FILE_BYTES),
    })
    return draft.form()
  } catch (error) {
    await draft.dispose()
    throw error
  }
}

/** A text field, or several with one bracketed name. */
interface DraftText {
  isList: boolean
  items: { index: number; text: string }[]
}

interface DraftFile {
  /** The number in `image[2]`; -1 for a name without a number. */
  index: number
  /** Both undefined until the file is on disk, and for an empty part. */
  saved?: SavedFile
  upload?: Upload
}

/** The form while its parts arrive; several may arrive at once. */
class Draft {
  readonly #texts = new Map<string, DraftText>()
  readonly #files = new Map<string, DraftFile[]>()
  readonly #tools: FormTools
  readonly #signal: AbortSignal
  #textCount = 0
  #fileCount = 0
  #textBytes = 0

  constructor(tools: FormTools, signal: AbortSignal) {
    this.#tools = tools
    this.#signal = signal
  }

  async take(part: MultipartPart): Promise<void> {
    const field = fieldOf(checkedName(part))
    if (isFile(part)) return this.#takeFile(field, part)
    return this.#takeText(field, part)
  }

  async #takeText({ name, index, isList }: FieldName, { content }: MultipartPart): Promise<void> {
    const before = this.#texts.get(name)
    if (this.#files.has(name) || (before && !(before.isList && isList))) throw duplicate(name)
    if (++this.#textCount > MAX_TEXTS) throw invalidForm(`The form has more than ${MAX_TEXTS} fields.`)
    const item = { index, text: '' }
    this.#texts.set(name, { isList, items: [...(before?.items ?? []), item] })
    const pieces: Uint8Array[] = []
    let bytes = 0
    for await (const piece of content as AsyncIterable<Uint8Array>) {
      bytes += piece.byteLength
      this.#textBytes += piece.byteLength
      if (bytes > MAX_TEXT_BYTES) throw tooLarge(name, 'field', MAX_TEXT_BYTES)
      if (this.#textBytes > MAX_TEXTS_BYTES) throw allTooLarge(name)
      pieces.push(piece)
    }
    item.text = decode(name, Buffer.concat(pieces))
  }

  async #takeFile({ name, index }: FieldName, part: MultipartPart): Promise<void> {
    if (this.#texts.has(name)) throw duplicate(name)
    if (++this.#fileCount > MAX_FILES) throw invalidForm(`The form has more than ${MAX_FILES} files.`)
    const file: DraftFile = { index }
    this.#files.set(name, [...(this.#files.get(name) ?? []), file])
    const saved = await this.#tools.uploads.save(part.content)
    file.saved = saved
    if (saved.file.size === 0) {
      // Browsers and some SDKs send an empty part without a name for a file that was not chosen.
      if (!part.filename) return
      throw invalidRequest(name, `The file '${name}' is empty.`, 'empty_file')
    }
    const { audioReader } = this.#tools
    file.upload = await describe(name, part, saved.file, (bytes) => audioReader.read(bytes, this.#signal))
  }

  form(): Form {
    const fields = new Map([...this.#texts].map(([name, { items }]) => [name, textOf(items)]))
    const contents: [name: string, ...content: string[]][] = [...fields].map(([name, text]) => [
      name,
      ...(typeof text === 'string' ? [text] : text),
    ])
    const files = new Map<string, Upload[]>()
    for (const [name, all] of this.#files) {
      const inOrder = all.filter(({ upload }) => upload).sort((a, b) => a.index - b.index)
      if (inOrder.length === 0) continue
      files.set(
        name,
        inOrder.map(({ upload }) => upload as Upload),
      )
      contents.push([name, ...inOrder.map(({ saved }) => saved?.sha256 ?? '')])
    }
    const dispose = () => this.dispose()
    return { fields, files, textBytes: this.#textBytes, hash: hashOf(contents), dispose }
  }

  async dispose(): Promise<void> {
    await Promise.all([...this.#files.values()].flat().map(({ saved }) => saved?.remove()))
  }
}

interface FieldName {
  name: string
  /** The number in `image[2]`; -1 for a name without a number. */
  index: number
  /** True if the name has brackets, so that there may be several. */
  isList: boolean
}

/**
 * The field of a part's name, without the brackets that mark one of several: `image[]` and `image[0]` are both `image`.
 * Brackets within a field stay.
 */
function fieldOf(name: string): FieldName {
  const [, field, index] = /^([^[\]]+)\[(\d{0,4})\]$/.exec(name) ?? []
  return {
    name: (field ?? name).slice(0, MAX_NAME_LENGTH),
    index: index ? Number(index) : -1,
    isList: field !== undefined,
  }
}

/** The texts in the order of their numbers; a single one is not a list. */
function textOf(items: DraftText['items']): string | readonly string[] {
  const [first, ...others] = items.toSorted((a, b) => a.index - b.index).map(({ text }) => text)
  return others.length === 0 ? (first ?? '') : [first ?? '', ...others]
}

function checkedName({ name, encoding, contentType }: MultipartPart): string {
  if (!name) throw invalidForm('A part of the form has no name.')
  if (name.length > MAX_NAME_LENGTH) {
    throw invalidForm(`A part of the form has a name of more than ${MAX_NAME_LENGTH} characters.`)
  }
  const { name: field } = fieldOf(name)
  if (!PLAIN_ENCODINGS.includes(encoding)) {
    throw invalidRequest(
      field,
      `The part '${field}' has a Content-Transfer-Encoding: send its bytes as they are.`,
      'unsupported_encoding',
    )
  }
  if (contentType.startsWith('multipart/')) {
    throw invalidRequest(
      field,
      `The part '${field}' is a nested form: send each file as a part of the outer form.`,
      'unsupported_encoding',
    )
  }
  return name
}

/** Whether a part is a file. A part with a file name is one; some clients omit the name. */
function isFile({ filename, contentType }: MultipartPart): boolean {
  return (
    filename !== undefined ||
    contentType === 'application/octet-stream' ||
    /^(image|audio|video)\//.test(contentType)
  )
}

async function describe(
  name: string,
  { filename, contentType }: MultipartPart,
  bytes: Blob,
  readAudio: (bytes: Blob) => Promise<Upload['audio']>,
): Promise<Upload> {
  const picture = await pictureOf(bytes)
  const audio = picture ? undefined : await readAudio(bytes)
  const format = picture?.format ?? audio?.format
  return {
    filename: filename || `${name}.${format ?? 'bin'}`,
    // Many clients send any file as application/octet-stream, which vendors refuse.
    contentType: picture ? `image/${picture.format}` : contentType,
    bytes,
    picture,
    audio,
  }
}

function decode(name: string, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw invalidRequest(name, `The field '${name}' is not valid UTF-8. A file needs a \`filename\`.`)
  }
}

/** The hash of names and contents, independent of their order: some clients reorder the fields of a retry. */
function hashOf(contents: [name: string, ...content: string[]][]): string {
  const sorted = contents.sort(([a], [b]) => (a < b ? -1 : 1))
  return new Bun.CryptoHasher('sha256').update(JSON.stringify(sorted)).digest('hex')
}

function duplicate(name: string): GatewayError {
  return invalidRequest(name, `The form has the field '${name}' twice.`, 'duplicate_field')
}

function tooLarge(name: string, what: 'field' | 'file', maxBytes: number): GatewayError {
  const limit = maxBytes < MEBIBYTE ? `${maxBytes / KIBIBYTE} KiB` : `${maxBytes / MEBIBYTE} MiB`
  return new GatewayError(413, {
    code: `${what}_too_large`,
    message: `The ${what} '${name}' is larger than ${limit}, the limit of one.`,
    param: name,
  })
}

function allTooLarge(name: string): GatewayError {
  return new GatewayError(413, {
    code: 'fields_too_large',
    message: `With the field '${name}' the texts of the form are larger than ${MAX_TEXTS_BYTES / MEBIBYTE} MiB together, the limit.`,
    param: name,
  })
}
