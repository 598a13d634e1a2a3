// Writes the heads of requests to one server (RFC 9112, section 3). It must never let a path or a field introduce a line break.

import { authorizationLine } from './proxy'
import type { HttpRequest } from './transport'

/** The route through a proxy that reads requests and passes them on. */
interface ProxiedWay {
  /** The server's origin, which precedes each path. */
  origin: string
  authorization: string | undefined
}

export class RequestHeads {
  private readonly host: string
  private readonly way: ProxiedWay | undefined
  /** Header lines that were written before, by their object. */
  private readonly known = new WeakMap<object, string>()

  constructor(host: string, way?: ProxiedWay) {
    this.host = host
    this.way = way
  }

  /** The request line and all fields, with the empty line after them. */
  of({ method, path, headers, body }: HttpRequest): string {
    if (!/^\/[!-~]*$/.test(path)) throw new Error(`not a path: ${JSON.stringify(path)}`)
    const start = `${method} ${this.way?.origin ?? ''}${path} HTTP/1.1\r\n${this.linesOf(headers)}`
    if (typeof body === 'string') return `${start}content-length: ${Buffer.byteLength(body)}\r\n\r\n`
    return body === null && (method === 'POST' || method === 'PUT')
      ? `${start}content-length: 0\r\n\r\n`
      : `${start}\r\n`
  }

  private linesOf(headers: HttpRequest['headers']): string {
    let lines = this.known.get(headers)
    if (lines === undefined) {
      const proof = this.way ? authorizationLine(this.way) : ''
      lines = `host: ${this.host}\r\n${proof}${linesFor(headers)}`
      this.known.set(headers, lines)
    }
    return lines
  }
}

/** Header lines, one for each field. */
function linesFor(headers: Readonly<Record<string, string>>): string {
  let lines = ''
  for (const [name, text] of Object.entries(headers)) {
    // A key from a file often ends with a line break.
    const value = text.trim()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a field may have none of them
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || /[\x00-\x08\x0a-\x1f\x7f]/.test(value)) {
      throw new Error(`not a header: ${name}`)
    }
    lines += `${name}: ${value}\r\n`
  }
  return lines
}
