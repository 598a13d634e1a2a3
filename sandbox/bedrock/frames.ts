// Writes frames of AWS event streams: https://smithy.io/2.0/aws/amazon-eventstream.html. It must never share code with the parser
// that reads them.

import { crc32 } from 'node:zlib'

/** A frame with headers that are texts. */
export function frameOf(headers: Readonly<Record<string, string>>, payload: Uint8Array): Uint8Array {
  const lines = Object.entries(headers).map(([name, value]) => {
    const length = Buffer.alloc(2)
    length.writeUInt16BE(Buffer.byteLength(value))
    return Buffer.concat([
      Buffer.of(Buffer.byteLength(name)),
      Buffer.from(name),
      Buffer.of(7),
      length,
      Buffer.from(value),
    ])
  })
  const head = Buffer.concat(lines)
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(16 + head.length + payload.length, 0)
  prelude.writeUInt32BE(head.length, 4)
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
  const message = Buffer.concat([prelude, head, payload])
  const end = Buffer.alloc(4)
  end.writeUInt32BE(crc32(message))
  return Buffer.concat([message, end])
}

export function eventFrame(type: string, value: unknown): Uint8Array {
  const headers = { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' }
  return frameOf(headers, Buffer.from(JSON.stringify(value)))
}

export function exceptionFrame(type: string, message: string): Uint8Array {
  const headers = {
    ':exception-type': type,
    ':content-type': 'application/json',
    ':message-type': 'exception',
  }
  return frameOf(headers, Buffer.from(JSON.stringify({ message })))
}
