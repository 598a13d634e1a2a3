// Builders of replies and readers of keys that every simulator needs. It must never name a vendor.

import { printJson } from './json'
import type { EventFrame, Reply, VendorRequest } from './simulator'

export function jsonReply(status: number, value: unknown, headers: Record<string, string> = {}): Reply {
  return { status, headers, body: { kind: 'json', value } }
}

function bytesReply(bytes: Uint8Array, contentType: string): Reply {
  return { status: 200, headers: {}, body: { kind: 'bytes', bytes, contentType } }
}

/** A file as object stores serve it: whole, or the requested part. */
export function fileReply(
  { bytes, contentType }: { bytes: Uint8Array; contentType: string },
  range: string | undefined,
): Reply {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(range ?? '') ?? []
  const whole = bytesReply(bytes, contentType)
  if (first === '' && last === '') return { ...whole, headers: { 'accept-ranges': 'bytes' } }
  const start = first === '' ? Math.max(0, bytes.length - Number(last)) : Number(first)
  const end = first === '' || last === '' ? bytes.length : Math.min(Number(last) + 1, bytes.length)
  if (start >= end) {
    return { ...whole, status: 416, headers: { 'content-range': `bytes */${bytes.length}` } }
  }
  const headers = { 'accept-ranges': 'bytes', 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` }
  return { ...bytesReply(bytes.subarray(start, end), contentType), status: 206, headers }
}

/** A file that is sent while it is made. A failure breaks it off. */
export function growingFile(
  pieces: Iterable<Uint8Array>,
  contentType: string,
  headers: Record<string, string> = {},
): Reply {
  const frames = function* (): Generator<EventFrame> {
    for (const piece of pieces) yield { data: Buffer.from(piece).toString('base64') }
  }
  const encode = ({ data }: EventFrame) => Buffer.from(data, 'base64')
  const stream = { frames: frames(), failure: [], framing: { contentType, encode } }
  return { status: 200, headers, body: { kind: 'events', stream } }
}

export function jsonFrame(value: unknown, event?: string): EventFrame {
  const data = printJson(value)
  return event === undefined ? { data } : { event, data }
}

export function bearerToken(request: VendorRequest): string | undefined {
  return /^bearer\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
}

/** A key as vendors show it in an error: both ends and nothing in between. */
export function maskedKey(key: string): string {
  return key.length <= 8 ? '***' : `${key.slice(0, 5)}***${key.slice(-2)}`
}

export function hexId(length = 32): string {
  return crypto.randomUUID().replaceAll('-', '').slice(0, length)
}

export function retryAfterHeader(seconds: number | undefined): Record<string, string> {
  return seconds === undefined ? {} : { 'retry-after': String(seconds) }
}
