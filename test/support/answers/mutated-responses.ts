// Responses as servers write them, damaged at random in the places where parsers disagree. A seed repeats them.

import type { Random } from '../random'

const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n'

const RESPONSES = [
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\nhello world',
  'HTTP/1.1 200 OK\r\nDate: Sun, 22 Nov 2026 05:38:21 GMT\r\nContent-Length: 2\r\nConnection: keep-alive\r\nServer: x\r\n\r\nok',
  'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.1 204 No Content\r\n\r\n',
  'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 7\r\n\r\n',
  `${CHUNKED}\r\n5\r\nhello\r\n1\r\n \r\n0005\r\nworld\r\n0\r\n\r\n`,
  `${CHUNKED}Content-Type: text/event-stream\r\n\r\n1a\r\ndata: {"a":"bcdefghijk"}\n\n\n\r\nE\r\ndata: [DONE]\n\n\r\n0\r\n\r\n`,
  `${CHUNKED}\r\n3;a=b;c="d e\\"f";g\r\nabc\r\n0;x\r\n\r\n`,
  `${CHUNKED}Trailer: Digest\r\n\r\n2\r\nok\r\n0\r\nDigest: abc\r\nX-More: d\r\n\r\n`,
  `HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
  'HTTP/1.1 200 OK\r\n\r\nall of it',
  'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 500 Oh No\r\nContent-Length: 2\r\n\r\nno',
] as const

const FRAGMENTS = [
  '\0',
  '\x01',
  '\t',
  '\n',
  '\x0b',
  '\r',
  '\r\n',
  '\n\n',
  '\r\n\r\n',
  ' ',
  '\x7f',
  '\x80',
  '\xa0',
  '\xff',
  ':',
  ';',
  ',',
  '"',
  '\\',
  '=',
  '_',
  '+',
  '-',
  '0',
  '1',
  '5',
  '9',
  'a',
  'g',
  '0x',
  '0x5',
  '3g',
  '4_0',
  '+5',
  ' 5',
  '5 ',
  '5\t',
  '5\x0b',
  '\xa05',
  '00000000000005',
  'ffffffffffffffff1',
  'HTTP/1.1 200 OK\r\n',
  'HTTP/1.0',
  'HTTP/2.0',
  '101',
  '102',
  '150',
  '204',
  '304',
  'close',
  'chunked',
  'x-chunked',
  'gzip, ',
  'identity',
  'Upgrade',
] as const

const LINES = [
  'Content-Length: 5\r\n',
  'Content-Length: 2\r\n',
  'Content-Length: 5, 5\r\n',
  'content-length:\r\n',
  'Content-Length : 5\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: gzip\r\n',
  'Transfer-Encoding: x-chunked\r\n',
  'Transfer-Encoding: chunked, identity\r\n',
  'Transfer-Encoding : chunked\r\n',
  'transfer-encoding:\tCHUNKED \r\n',
  'Transfer-Encoding:\x0bchunked\r\n',
  'Connection: close\r\n',
  'Connection: keep-alive\r\n',
  'Connection: keep-alive, close\r\n',
  'Connection: upgrade\r\nUpgrade: h2c\r\n',
  'Proxy-Connection: close\r\n',
  'X-Folded: a\r\n b\r\n',
  ' leading: space\r\n',
  'no colon\r\n',
  ': no name\r\n',
  'X-Null: a\0b\r\n',
  'X-Cr: a\rb\r\n',
  'X-Lf: a\nContent-Length: 7\r\n',
  'X-Empty:\r\n',
  'HTTP/1.1 200 OK\r\n\r\n',
] as const

/** A response with one to five faults in it, some with another one behind it. */
export function mutatedResponse(random: Random): Buffer {
  let text: string = random.pick(RESPONSES)
  if (random.chance(0.1)) text += random.pick(RESPONSES)
  for (let faults = 1 + random.below(random.chance(0.5) ? 1 : 5); faults > 0; faults--) {
    text = random.pick(MUTATIONS)(text, random)
  }
  return Buffer.from(text, 'latin1')
}

type Mutation = (text: string, random: Random) => string

const MUTATIONS: readonly Mutation[] = [
  (text, random) => replaceAt(text, random.below(text.length + 1), 0, random.pick(FRAGMENTS)),
  (text, random) => replaceAt(text, random.below(text.length + 1), 1, random.pick(FRAGMENTS)),
  (text, random) => replaceAt(text, random.below(text.length + 1), 1 + random.below(4), ''),
  (text, random) => replaceAt(text, random.below(text.length + 1), 1, String.fromCharCode(random.below(256))),
  // A line between two others.
  (text, random) => replaceAt(text, lineBreak(text, random) + 2, 0, random.pick(LINES)),
  (text, random) => replaceAt(text, text.indexOf('\r\n') + 2, 0, random.pick(LINES)),
  // Next to a line break, and instead of it.
  (text, random) => replaceAt(text, lineBreak(text, random), 0, random.pick(FRAGMENTS)),
  (text, random) => replaceAt(text, lineBreak(text, random) + 2, 0, random.pick(FRAGMENTS)),
  (text, random) => replaceAt(text, lineBreak(text, random), 2, random.pick(['\n', '\r', '\r\r\n', '\n\r'])),
  (text, random) => replaceAt(text, lineBreak(text, random), 2, random.pick(FRAGMENTS)),
  // Next to a colon.
  (text, random) => replaceAt(text, text.indexOf(':', random.below(text.length)), 0, random.pick(FRAGMENTS)),
  (text, random) =>
    replaceAt(text, text.indexOf(':', random.below(text.length)) + 1, 1, random.pick(FRAGMENTS)),
  // A line twice.
  (text, random) => {
    const from = lineBreak(text, random) + 2
    const until = text.indexOf('\r\n', from)
    return until === -1 ? text : replaceAt(text, from, 0, text.slice(from, until + 2))
  },
  (text, random) => text.slice(0, random.below(text.length + 1)),
  (text, random) => text + random.pick(FRAGMENTS),
  (text, random) => (random.chance(0.5) ? text.toLowerCase() : text.toUpperCase()),
]

/** The index of a line break somewhere in the text. */
function lineBreak(text: string, random: Random): number {
  return Math.max(
    0,
    text.indexOf('\r\n', random.chance(0.3) ? text.indexOf('\r\n\r\n') : random.below(text.length)),
  )
}

function replaceAt(text: string, at: number, length: number, fragment: string): string {
  const from = Math.max(0, at)
  return text.slice(0, from) + fragment + text.slice(from + length)
}
