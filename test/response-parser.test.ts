// Responses as servers write them, cut in every way: always the same head, the same bytes and the same end.

import { describe, expect, test } from 'bun:test'
import { MalformedResponse, type ResponseHead, ResponseParser } from '../src/http-client/response-parser'
import { createRandom } from './support/random'

interface Parsed {
  status: number
  type: string | null
  body: string
  /** Whether the connection may be used again; undefined where the response did not end. */
  reusable: boolean | undefined
}

/** What these pieces are read as, with the connection closed after them. */
function parse(pieces: readonly Buffer[]): Parsed[] {
  const parsed: Parsed[] = []
  const last = () => parsed.at(-1) as Parsed
  const parser = new ResponseParser({
    head(head: ResponseHead) {
      parsed.push({ status: head.status, type: head.get('content-type'), body: '', reusable: undefined })
    },
    data(bytes) {
      expect(bytes.length).toBeGreaterThan(0)
      last().body += bytes.toString('latin1')
    },
    end(reusable) {
      last().reusable = reusable
    },
  })
  // The parser may overwrite what it is given.
  for (const piece of pieces) parser.push(Buffer.from(piece))
  parser.close()
  return parsed
}

function cutAt(bytes: Buffer, ...places: number[]): Buffer[] {
  const ends = [...places, bytes.length]
  return ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end))
}

const JSON_TYPE = 'Content-Type: application/json\r\n'

const rows: [name: string, response: string, parsed: Partial<Parsed>][] = [
  [
    'with a length',
    `HTTP/1.1 200 OK\r\n${JSON_TYPE}Content-Length: 11\r\n\r\nhello world`,
    { status: 200, type: 'application/json', body: 'hello world', reusable: true },
  ],
  ['without a reason', 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok', { body: 'ok', reusable: true }],
  ['that is empty', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', { body: '', reusable: true }],
  ['204', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204, body: '', reusable: true }],
  [
    '304 with a length',
    'HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n',
    { body: '', reusable: true },
  ],
  [
    'in chunks',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n \r\n0005\r\nworld\r\n0\r\n\r\n',
    { body: 'hello world', reusable: true },
  ],
  [
    'in chunks with all that may stand around them',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, Chunked\r\n\r\n00a;name="v;1"\r\n\r\n\r\n012345\r\n0 ;x\r\nDigest: abc\r\nMore: d\r\n\r\n',
    { body: '\r\n\r\n012345', reusable: true },
  ],
  [
    'in chunks and with a length, which does not count',
    'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nlonger\r\n0\r\n\r\n',
    { body: 'longer', reusable: false },
  ],
  ['until the end', 'HTTP/1.1 200 OK\r\n\r\nall of it', { body: 'all of it', reusable: false }],
  [
    'that closes',
    'HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 2\r\n\r\nok',
    { body: 'ok', reusable: false },
  ],
  ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', { body: 'ok', reusable: false }],
  [
    'of HTTP/1.0 that stays',
    'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok',
    { body: 'ok', reusable: true },
  ],
  [
    'after interim ones',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok',
    { status: 201, body: 'ok', reusable: true },
  ],
  [
    'with more behind it than was asked for',
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n',
    { body: 'ok', reusable: false },
  ],
]

describe('a response', () => {
  for (const [name, text, expected] of rows) {
    const bytes = Buffer.from(text, 'latin1')

    test(`${name}, in one piece`, () => {
      expect(parse([bytes])).toMatchObject([expected])
    })

    if (name.startsWith('with more')) continue
    test(`${name}, cut at every byte and at every two`, () => {
      const whole = parse([bytes])
      for (let first = 0; first <= bytes.length; first++) {
        expect({ first, parsed: parse(cutAt(bytes, first)) }).toEqual({ first, parsed: whole })
        for (let second = first; second <= bytes.length; second += 3) {
          expect(parse(cutAt(bytes, first, second))).toEqual(whole)
        }
      }
      expect(parse([...bytes].map((byte) => Buffer.from([byte])))).toEqual(whole)
    })

    test(`${name}, broken off anywhere, is never taken for a whole one`, () => {
      const untilClose = expected.body === 'all of it'
      for (let end = 0; end < bytes.length; end++) {
        const [parsed] = parse([bytes.subarray(0, end)])
        if (!untilClose) expect(parsed?.reusable).toBeUndefined()
        else expect((expected.body as string).startsWith(parsed?.body ?? '')).toBe(true)
      }
    })
  }

  test('in random chunks, cut at random: the content and nothing else', () => {
    const random = createRandom(7)
    for (let round = 0; round < 300; round++) {
      let body = ''
      let text = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
      for (let chunks = random.below(12); chunks >= 0; chunks--) {
        const content = Array.from({ length: 1 + random.below(300) }, () =>
          random.pick(['\r', '\n', '0', 'a', 'é', '\r\n0\r\n\r\n']),
        ).join('')
        body += content
        text += `${content.length.toString(16)}\r\n${content}\r\n`
      }
      const bytes = Buffer.from(`${text}0\r\n\r\n`, 'latin1')
      const places = Array.from({ length: random.below(8) }, () => random.below(bytes.length)).sort(
        (a, b) => a - b,
      )
      expect(parse(cutAt(bytes, ...places))).toEqual([{ status: 200, type: null, body, reusable: true }])
    }
  })

  test('one after another on the same connection', () => {
    const one = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none')
    const two = Buffer.from('HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n')
    expect(parse([one, two, one])).toMatchObject([
      { status: 200, body: 'one', reusable: true },
      { status: 404, body: 'two', reusable: true },
      { status: 200, body: 'one', reusable: true },
    ])
  })
})

describe('fields', () => {
  const head = (fields: string) => {
    let found: ResponseHead | undefined
    const parser = new ResponseParser({
      head(given) {
        found = given
      },
      data() {},
      end() {},
    })
    parser.push(Buffer.from(`HTTP/1.1 200 OK\r\n${fields}Content-Length: 0\r\n\r\n`, 'latin1'))
    return found as ResponseHead
  }

  test('are found whatever their case, without the space around them', () => {
    const found = head('Retry-AFTER:\t 7 \r\nX-Name: é\r\n')
    expect(found.get('retry-after')).toBe('7')
    expect(found.get('x-name')).toBe('é')
    expect(found.get('name')).toBeNull()
    expect(found.get('after')).toBeNull()
  })

  test('are not found inside others', () => {
    expect(head('X-Note: content-type: text/html\r\n').get('content-type')).toBeNull()
    expect(head('X-Content-Type: text/html\r\n').get('content-type')).toBeNull()
  })
})

describe('what is refused', () => {
  const nonsense: [name: string, text: string][] = [
    ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n\r\n'],
    ['HTTP/2', 'HTTP/2 200\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a switch to another protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
    ['a negative length', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n'],
    ['two lengths in one', 'HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n'],
    ['a length beyond all numbers', `HTTP/1.1 200 OK\r\nContent-Length: ${'9'.repeat(20)}\r\n\r\n`],
    ['a chunk without a size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n'],
    ['a chunk of a strange size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n'],
    [
      'a chunk beyond all numbers',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'f'.repeat(13)}\r\n`,
    ],
    [
      'a chunk longer than it says',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n',
    ],
    ['a chunk size on a bare line feed', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\rx'],
    ['a head without an end', `HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(70_000)}`],
    ['a large head', `HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(70_000)}\r\n\r\n`],
    [
      'an extension without an end',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(20_000)}`,
    ],
    [
      'trailers without an end',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${'a: b\r\n'.repeat(5_000)}`,
    ],
  ]
  test.each(nonsense)('%s', (_name, text) => {
    const bytes = Buffer.from(text)
    expect(() => parse([bytes])).toThrow(MalformedResponse)
    expect(() => parse([...bytes].map((byte) => Buffer.from([byte])))).toThrow(MalformedResponse)
  })
})
