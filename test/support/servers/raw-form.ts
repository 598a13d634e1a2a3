// Multipart forms written by hand: as clients write them, and as no client should.

export interface RawPart {
  /** Header lines; by default those of a text field. */
  head?: readonly string[]
  name?: string
  /** The file name; without it the part is a text field. */
  filename?: string
  contentType?: string
  content: string | Uint8Array
}

export const BOUNDARY = 'a-boundary-that-is-in-no-part'

/** A form of these parts, correctly closed. */
export function rawForm(parts: readonly RawPart[], boundary = BOUNDARY): Uint8Array<ArrayBuffer> {
  const pieces = parts.flatMap((part) => [
    Buffer.from(`--${boundary}\r\n${headOf(part).join('\r\n')}\r\n\r\n`),
    Buffer.from(part.content),
    Buffer.from('\r\n'),
  ])
  return new Uint8Array(Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]))
}

export function typeOf(boundary = BOUNDARY): string {
  return `multipart/form-data; boundary=${boundary}`
}

function headOf({ head, name, filename, contentType }: RawPart): readonly string[] {
  if (head) return head
  const file = filename === undefined ? '' : `; filename="${filename}"`
  const lines = [`Content-Disposition: form-data; name="${name}"${file}`]
  return contentType === undefined ? lines : [...lines, `Content-Type: ${contentType}`]
}
