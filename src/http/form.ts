// Reads a form with files, multipart/form-data: texts into memory, files to the disk, whatever their names and sizes say.
// It must never hold a whole file in memory, nor leave one behind when the form is refused or its sender leaves.

import type { Upload } from '../contract/family'
import type { Form } from '../contract/form'
import { GatewayError, invalidRequest } from '../lib/errors'
import { pictureOf } from '../media/picture'
import type { SavedFile, Uploads } from '../media/uploads'
import { boundaryOf, invalidForm, type Part, readParts } from './multipart-parts'

const KIBIBYTE = 1024
const MEBIBYTE = 1024 * KIBIBYTE
const MAX_TEXTS = 100
const MAX_TEXT_BYTES = 256 * KIBIBYTE
/** Of all texts together. */
const MAX_TEXTS_BYTES = MEBIBYTE
/** Sixteen images, the most that a vendor takes, and a mask. */
const MAX_FILES = 17
const MAX_FILE_BYTES = 50 * MEBIBYTE
const MAX_NAME_LENGTH = 128
/** Of a part's content. Others, such as base64, are of mail: no HTTP client writes them. */
const PLAIN_ENCODINGS = ['7bit', '8bit', 'binary']

const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * `pieces` are the body of the request. Throws what they throw, 400, 413, 415, and 503 where there is no room for the files.
 */
export async function readForm(
  request: Request,
  uploads: Uploads,
  pieces: AsyncIterable<Uint8Array>,
): Promise<Form> {
  const boundary = boundaryOf(request.headers.get('content-type'))
  const draft = createDraft(uploads)
  try {
    await readParts(boundary, pieces, draft.take, {
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

interface DraftFile {
  /** The number in `image[2]`; -1 where there is none. */
  index: number
  /** Both undefined until it is on the disk, and for an empty part. */
  saved?: SavedFile
  upload?: Upload
}

/** The form while its parts come in, several of which may be under way at a time. */
function createDraft(uploads: Uploads) {
  const texts = new Map<string, string>()
  const files = new Map<string, DraftFile[]>()
  let fileCount = 0
  let textBytes = 0

  async function take(part: Part): Promise<void> {
    const { name, index } = fieldOf(checkedName(part))
    if (isFile(part)) return takeFile(name, index, part)
    return takeText(name, part)
  }

  async function takeText(name: string, { content }: Part): Promise<void> {
    if (texts.has(name) || files.has(name)) throw duplicate(name)
    if (texts.size === MAX_TEXTS) throw invalidForm(`The form has more than ${MAX_TEXTS} fields.`)
    texts.set(name, '')
    const pieces: Uint8Array[] = []
    let bytes = 0
    for await (const piece of content as AsyncIterable<Uint8Array>) {
      bytes += piece.byteLength
      textBytes += piece.byteLength
      if (bytes > MAX_TEXT_BYTES) throw tooLarge(name, 'field', MAX_TEXT_BYTES)
      if (textBytes > MAX_TEXTS_BYTES) throw allTooLarge(name)
      pieces.push(piece)
    }
    texts.set(name, decode(name, Buffer.concat(pieces)))
  }

  async function takeFile(name: string, index: number, part: Part): Promise<void> {
    if (texts.has(name)) throw duplicate(name)
    if (++fileCount > MAX_FILES) throw invalidForm(`The form has more than ${MAX_FILES} files.`)
    const file: DraftFile = { index }
    files.set(name, [...(files.get(name) ?? []), file])
    const saved = await uploads.save(part.content)
    file.saved = saved
    if (saved.file.size === 0) {
      // Browsers and some SDKs send an empty part without a name for a file that was not chosen.
      if (!part.filename) return
      throw invalidRequest(name, `The file '${name}' is empty.`, 'empty_file')
    }
    file.upload = await describe(name, part, saved.file)
  }

  return {
    take,
    form(): Form {
      const uploadsByField = new Map<string, Upload[]>()
      const contents: [name: string, ...content: string[]][] = [...texts]
      for (const [name, all] of files) {
        const inOrder = all.filter(({ upload }) => upload).sort((a, b) => a.index - b.index)
        if (inOrder.length === 0) continue
        uploadsByField.set(
          name,
          inOrder.map(({ upload }) => upload as Upload),
        )
        contents.push([name, ...inOrder.map(({ saved }) => saved?.sha256 ?? '')])
      }
      return { fields: texts, files: uploadsByField, textBytes, hash: hashOf(contents), dispose }
    },
    dispose,
  }

  async function dispose(): Promise<void> {
    await Promise.all([...files.values()].flat().map(({ saved }) => saved?.remove()))
  }
}

/** The name of a part without what says that it is one of several: `image[]` and `image[0]` are both `image`. Inside of a field it stays. */
function fieldOf(name: string): { name: string; index: number } {
  const [, field, index] = /^([^[\]]+)\[(\d{0,4})\]$/.exec(name) ?? []
  return { name: (field ?? name).slice(0, MAX_NAME_LENGTH), index: index ? Number(index) : -1 }
}

function checkedName({ name, encoding, contentType }: Part): string {
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
      `The part '${field}' is a form of its own: send each file as a part of the outer form.`,
      'unsupported_encoding',
    )
  }
  return name
}

/** What has a file's name is a file; some clients leave it out. */
function isFile({ filename, contentType }: Part): boolean {
  return (
    filename !== undefined || contentType === 'application/octet-stream' || contentType.startsWith('image/')
  )
}

async function describe(name: string, { filename, contentType }: Part, bytes: Blob): Promise<Upload> {
  const picture = await pictureOf(bytes)
  return {
    filename: filename || `${name}.${picture?.format ?? 'bin'}`,
    // Many clients send any file as application/octet-stream, which vendors refuse.
    contentType: picture ? `image/${picture.format}` : contentType,
    bytes,
    picture,
  }
}

function decode(name: string, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw invalidRequest(name, `The field '${name}' is not valid UTF-8. A file needs a \`filename\`.`)
  }
}

/** Of names and contents, in an order that does not depend on how they came: some clients shuffle the fields of a retry. */
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
    message: `The ${what} '${name}' is larger than ${limit}, the most that is read of one.`,
    param: name,
  })
}

function allTooLarge(name: string): GatewayError {
  return new GatewayError(413, {
    code: 'fields_too_large',
    message: `With the field '${name}' the texts of the form are larger than ${MAX_TEXTS_BYTES / MEBIBYTE} MiB together, the most that is read.`,
    param: name,
  })
}
