// Records the body of one request and the answer that was delivered, for an operator who has enabled bodies. It exists only in that
// case. It must never change or delay an answer.

import type { Key } from '../accounts/keys'
import { knownError } from '../contract/error-answer'
import type { Form } from '../contract/form'
import { type Dialect, errorBody, GatewayError } from '../lib/errors'
import type { BodyLog } from '../request-log/bodies'
import { redacted } from '../request-log/redaction'
import type { RequestLogRow } from '../request-log/row'
import type { Backlog } from './stream/backlog'
import { wholeAnswer } from './stream/paced-body'

/** How much of a body is read to find the part to keep: media before the text may take most of it. */
const MAX_READ = 4 * 1024 * 1024
/** Bytes of a stream per stored byte: its frames are longer than their content. */
const STREAM_TIMES = 4

export class BodyRecord {
  private request: string | null = null
  private isWanted = false
  private isFollowed = false

  constructor(
    private readonly bodies: BodyLog,
    private readonly logRow: RequestLogRow,
    private readonly backlog: Backlog,
  ) {}

  /** Records the request, if its key is known. */
  requested(content: Uint8Array | Form, key: Key): void {
    this.isWanted = this.bodies.isKeyWanted(key)
    if (!this.isWanted) return
    this.request = ArrayBuffer.isView(content)
      ? this.kept(content)
      : redacted(JSON.stringify(fieldsOf(content)), this.bodies.rules)
  }

  /** Records the answer, unless it is a stream that is followed. */
  async answered(response: Response): Promise<Response> {
    if (!this.isWanted || this.isFollowed) return response
    const bytes = await response.bytes()
    this.write(this.shown(bytes, response.headers.get('content-type')))
    const { status, headers } = response
    return wholeAnswer(this.backlog, bytes, { status, headers })
  }

  failed(error: unknown, dialect: Dialect): void {
    const known = knownError(error)
    if (known instanceof GatewayError) {
      const body = JSON.stringify(errorBody(known, known.dialect ?? dialect, this.logRow.id))
      this.write(redacted(body, this.bodies.rules))
    } else this.write(null)
  }

  /** The stream. Everything that its reader receives is recorded. */
  followed(body: ReadableStream<Uint8Array>, contentType: string | undefined): ReadableStream<Uint8Array> {
    if (!this.isWanted) return body
    this.isFollowed = true
    const reader = body.getReader()
    const delivered = new Delivered(this.bodies)
    const end = () => {
      const { bytes, length } = delivered.end()
      this.write(this.shown(bytes, contentType ?? null, length))
    }
    return new ReadableStream<Uint8Array>(
      {
        async pull(output) {
          try {
            const { done, value } = await reader.read()
            if (!done) {
              delivered.add(value)
              return output.enqueue(value)
            }
            end()
            output.close()
          } catch (error) {
            end()
            output.error(error)
          }
        },
        cancel(reason) {
          end()
          return reader.cancel(reason)
        },
      },
      { highWaterMark: 0 },
    )
  }

  private write(answer: string | null): void {
    if (!this.isWanted) return
    // Writes the record once, whatever follows.
    this.isWanted = false
    this.bodies.write(this.logRow, { request: this.request, answer })
  }

  private shown(bytes: Uint8Array, contentType: string | null, length = bytes.byteLength): string {
    if (/^(?:text\/|application\/json)/.test(contentType ?? 'text/')) return this.kept(bytes, length)
    return `[${contentType}, ${length} bytes]`
  }

  private kept(bytes: Uint8Array, length = bytes.byteLength): string {
    const read = Math.min(bytes.byteLength, MAX_READ)
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, read).toString()
    // Sizes are in bytes, and a text has fewer characters.
    return redacted(text, this.bodies.rules, read < length ? length : text.length)
  }
}

/** The part of a stream that is read, from its beginning. */
class Delivered {
  private readonly pieces: Uint8Array[] = []
  private heldBytes = 0
  private length = 0
  private isEnded = false

  constructor(private readonly bodies: BodyLog) {}

  add(bytes: Uint8Array): void {
    const room = this.bodies.rules.maxLength * STREAM_TIMES - this.heldBytes
    const part = bytes.byteLength <= room ? bytes : bytes.subarray(0, room)
    const isGapless = this.length === this.heldBytes
    this.length += bytes.byteLength
    if (part.byteLength === 0 || !isGapless || !this.bodies.takeMemory(part.byteLength)) return
    this.heldBytes += part.byteLength
    // A copy: the buffer of a piece may be much larger.
    this.pieces.push(Uint8Array.from(part))
  }

  end(): { bytes: Uint8Array; length: number } {
    if (!this.isEnded) this.bodies.giveBack(this.heldBytes)
    this.isEnded = true
    return { bytes: Buffer.concat(this.pieces), length: this.length }
  }
}

/** The fields of a form, and a description of its files. */
function fieldsOf({ fields, files }: Form): Record<string, unknown> {
  const described = [...files].map(([name, uploads]) => [
    name,
    uploads.map(({ filename, contentType, bytes }) => `[${contentType} ${filename}, ${bytes.size} bytes]`),
  ])
  return Object.fromEntries([...fields, ...described])
}
