// Writes a form for a vendor as multipart/form-data, reading each file from disk. It must never hold a whole file in
// memory.

import type { FormPart } from '../contract/family'
import type { EncodedForm } from '../contract/upstream'

/** Number of bytes of a file in memory at once. */
const PIECE_BYTES = 64 * 1024

/** Encodes the parts. `boundary` must not occur in them: a random one does not. */
export function encodeForm(parts: readonly FormPart[], boundary: string): EncodedForm {
  const pieces: (Uint8Array | Blob)[] = []
  for (const part of parts) {
    pieces.push(Buffer.from(`--${boundary}\r\n${headOf(part)}\r\n\r\n`))
    pieces.push('upload' in part ? part.upload.bytes : Buffer.from(part.value), Buffer.from('\r\n'))
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`))
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    byteLength: pieces.reduce((sum, piece) => sum + sizeOf(piece), 0),
    stream: () => streamOf(pieces),
  }
}

function headOf(part: FormPart): string {
  const disposition = `Content-Disposition: form-data; name="${escapeName(part.name)}"`
  if (!('upload' in part)) return disposition
  const { filename, contentType } = part.upload
  return `${disposition}; filename="${escapeName(filename)}"\r\nContent-Type: ${contentType.replaceAll(UNSAFE, '')}`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a header may have none of them
const UNSAFE = /["\x00-\x1f\x7f]/g

/** A name, escaped as browsers do, so that it cannot end its line or its quotes. */
function escapeName(name: string): string {
  return name.replaceAll(UNSAFE, (character) => encodeURIComponent(character))
}

function sizeOf(piece: Uint8Array | Blob): number {
  return piece instanceof Uint8Array ? piece.byteLength : piece.size
}

function streamOf(pieces: readonly (Uint8Array | Blob)[]): ReadableStream<Uint8Array> {
  const bytes = read(pieces)
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await bytes.next()
        if (next.done) controller.close()
        else controller.enqueue(next.value)
      },
      async cancel() {
        await bytes.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
}

async function* read(pieces: readonly (Uint8Array | Blob)[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    if (piece instanceof Uint8Array) {
      yield piece
      continue
    }
    for (let at = 0; at < piece.size; at += PIECE_BYTES) yield await piece.slice(at, at + PIECE_BYTES).bytes()
  }
}
