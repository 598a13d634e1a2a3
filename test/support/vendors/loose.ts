// A vendor on plain sockets that repeats the text of each request, frames every second answer loosely, and sends more answers than
// requested. One customer's text must never appear in another's answer, however the vendor behaves.

import type { Socket } from 'node:net'
import { type ScriptedServer, startScriptedServer } from './scripted-server'
import { chunk, completion, DONE } from './vendor'

/** An answer with this body, as the vendor frames it; `next` is another whole answer that may be hidden inside. */
export interface Framing {
  name: string
  frame(body: string, next: string): string
  /** Strict readers accept this answer: only the bytes around it are wrong. */
  isProper?: true
}

/** Further bytes and when they are sent: with the answer, as the next packet, or later. */
export const extras = {
  'nothing more': undefined,
  'more in the same packet': 'same packet',
  'more in the next packet': 0,
  'more 3 ms later': 3,
  'more 40 ms later': 40,
} as const

export type Extra = (typeof extras)[keyof typeof extras]

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n`
const hex = (text: string) => Buffer.byteLength(text).toString(16)
const chunked = (body: string) => `${hex(body)}\r\n${body}\r\n0\r\n\r\n`

/** Well-formed, with other fields in its head. */
function withFields(fields: string): Framing['frame'] {
  return (body) => `${HEAD}${fields}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

/** In one chunk, whose size is written in an unusual way. */
function withSize(size: (digits: string) => string): Framing['frame'] {
  return (body, next) => `${CHUNKED}\r\n${size(hex(body))}\r\n${body}\r\n0\r\n\r\n${next}`
}

/** A length that is too short, in some disguise, in addition to the true one. */
function withLengths(fields: (short: string, long: string) => string): Framing['frame'] {
  return (body, next) =>
    `${HEAD}${fields(`${Buffer.byteLength(body)}`, `${Buffer.byteLength(body + next)}`)}\r\n\r\n${body}${next}`
}

export const framings: readonly Framing[] = [
  { name: 'with a length', frame: withFields(''), isProper: true },
  { name: 'in chunks', frame: (body) => `${CHUNKED}\r\n${chunked(body)}`, isProper: true },
  {
    name: 'with two lengths',
    frame: withLengths((short, long) => `Content-Length: ${short}\r\nContent-Length: ${long}`),
  },
  {
    name: 'with two lengths, the longer first',
    frame: withLengths((short, long) => `Content-Length: ${long}\r\nContent-Length: ${short}`),
  },
  {
    name: 'with one length twice',
    frame: withLengths((short) => `Content-Length: ${short}\r\nContent-Length: ${short}`),
  },
  { name: 'with VT in the length', frame: withLengths((short) => `Content-Length: \v${short}`) },
  { name: 'with NBSP in the length', frame: withLengths((short) => `Content-Length: ${short}\xa0`) },
  { name: 'with a chunk of 0x5', frame: withSize((digits) => `0x${digits}`) },
  { name: 'with a chunk of 3g', frame: withSize((digits) => `${digits}g`) },
  { name: 'with a chunk of 4_0', frame: withSize((digits) => `${digits[0]}_${digits.slice(1)}`) },
  { name: 'with LF in an extension', frame: withSize((digits) => `${digits};a\n0`) },
  { name: 'with NUL in an extension', frame: withSize((digits) => `${digits};a\0`) },
  {
    name: 'with trailers that end on a line feed',
    frame: (body, next) => `${CHUNKED}\r\n${hex(body)}\r\n${body}\r\n0\r\nDigest: a\n\n${next}`,
  },
  {
    name: 'with x-chunked',
    frame: (body, next) => `${HEAD}Transfer-Encoding: x-chunked\r\n\r\n${chunked(body)}${next}`,
  },
  {
    name: 'with two codings',
    frame: (body, next) => `${CHUNKED}Transfer-Encoding: identity\r\n\r\n${chunked(body)}${next}`,
  },
  {
    name: 'with a coding and a length',
    frame: (body, next) =>
      `${CHUNKED}Content-Length: ${Buffer.byteLength(chunked(body)) - 5}\r\n\r\n${chunked(body)}${next}`,
  },
  {
    name: 'that closes on a second line',
    frame: withFields('Connection: keep-alive\r\nConnection: close\r\n'),
    isProper: true,
  },
  { name: 'with a folded line', frame: withFields('X-Folded: a\r\n Content-Length: 3\r\n') },
  { name: 'with NUL in the head', frame: withFields('X-Null: \0\r\n') },
  { name: 'with a bare return in the head', frame: withFields('X-Return: a\rContent-Length: 3\r\n') },
  { name: 'with a bare line feed in the head', frame: withFields('X-Feed: a\nContent-Length: 3\r\n') },
  { name: 'with a line without a colon', frame: withFields('nothing at all\r\n') },
]

/** Between a request and its answer, so that late bytes may meet the next request. */
const ANSWER_MS = 5

export async function startLooseVendor(framing: Framing, extra: Extra): Promise<ScriptedServer> {
  const vendor = await startScriptedServer()
  let answers = 0
  vendor.answer = (socket, request) => {
    // Every second answer is correct, because the gateway would otherwise soon stop sending requests.
    const isLoose = answers++ % 2 === 0
    const said = /said by \w+/.exec(request)?.[0] ?? ''
    const isStream = request.includes('"stream":true')
    const body = (text: string) =>
      isStream ? chunk(text) + chunk('', 'stop') + DONE : JSON.stringify(completion(text, 10, 20))
    const proper = withFields('')(body(`${said}, properly`), '')
    setTimeout(() => {
      if (!isLoose) return void socket.write(proper)
      const loose = Buffer.from(framing.frame(body(`${said}, loosely`), proper), 'latin1')
      if (extra === 'same packet') return void socket.write(Buffer.concat([loose, Buffer.from(proper)]))
      socket.write(loose)
      if (extra !== undefined) later(socket, proper, extra)
    }, ANSWER_MS)
  }
  return vendor
}

function later(socket: Socket, text: string, delayMs: number): void {
  setTimeout(() => {
    if (!socket.destroyed) socket.write(text)
  }, delayMs)
}
