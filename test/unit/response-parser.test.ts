// Responses as servers write them, split in every way: the parser always finds the same head, the same bytes and the
// same end.

import { describe, expect, test } from 'bun:test'
import { MalformedResponse, type ResponseHead, ResponseParser } from '../../src/http-client/response-parser'
import { createRandom } from '../support/random'

interface Parsed {
  status: number
  type: string | null
  body: string
  /** Whether the connection may be reused. Undefined if the response did not end. */
  reusable: boolean | undefined
}

/** The responses in pieces from a connection that is closed after them. */
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
  // The parser may overwrite its input.
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
    '304 with the length of the body that it omits',
    'HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n',
    { body: '', reusable: false },
  ],
  [
    '204 with a length of 0',
    'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n',
    { body: '', reusable: true },
  ],
  [
    'in chunks',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n \r\n0005\r\nworld\r\n0\r\n\r\n',
    { body: 'hello world', reusable: true },
  ],
  [
    'in chunks with everything that is permitted around them',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n00a;name="v;\\"1";x;y=z\r\n\r\n\r\n012345\r\n0;x\r\nDigest: abc\r\nMore: d\r\n\r\n',
    { body: '\r\n\r\n012345', reusable: false },
  ],
  [
    'in chunks with extensions',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0;x="\té"\r\n\r\n',
    { body: 'ok', reusable: true },
  ],
  [
    'that asks to keep the connection',
    'HTTP/1.1 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok',
    { body: 'ok', reusable: true },
  ],
  [
    'with an unknown connection option',
    'HTTP/1.1 200 OK\r\nConnection: keep-alive, x\r\nContent-Length: 2\r\n\r\nok',
    { body: 'ok', reusable: false },
  ],
  [
    'that closes in a second Connection field',
    'HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok',
    { body: 'ok', reusable: false },
  ],
  [
    'that closes the proxy’s connection',
    'HTTP/1.1 200 OK\r\nProxy-Connection: close\r\nContent-Length: 2\r\n\r\nok',
    { body: 'ok', reusable: false },
  ],
  [
    'until the connection is closed',
    'HTTP/1.1 200 OK\r\n\r\nall of it',
    { body: 'all of it', reusable: false },
  ],
  [
    'that closes',
    'HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 2\r\n\r\nok',
    { body: 'ok', reusable: false },
  ],
  ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', { body: 'ok', reusable: false }],
  [
    'of HTTP/1.0 that keeps the connection',
    'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok',
    { body: 'ok', reusable: true },
  ],
  [
    'after interim responses',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok',
    { status: 201, body: 'ok', reusable: false },
  ],
  [
    'with more bytes after it than requested',
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

    test(`${name}, broken off anywhere, is never accepted as complete`, () => {
      const untilClose = expected.body === 'all of it'
      for (let end = 0; end < bytes.length; end++) {
        const [parsed] = parse([bytes.subarray(0, end)])
        if (!untilClose) expect(parsed?.reusable).toBeUndefined()
        else expect((expected.body as string).startsWith(parsed?.body ?? '')).toBe(true)
      }
    })
  }

  test('in random chunks, cut at random, has exactly its content', () => {
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

  test('on several lines are combined', () => {
    expect(head('Warning: a\r\nX: y\r\nwarning:\t b \r\nWARNING: c\r\n').get('warning')).toBe('a, b, c')
    expect(head('X-Empty:\r\nX-Blank: \t \r\n').get('x-empty')).toBe('')
    expect(head('X-Blank: \t \r\n').get('x-blank')).toBe('')
  })

  test('are not found inside other fields', () => {
    expect(head('X-Note: content-type: text/html\r\n').get('content-type')).toBeNull()
    expect(head('X-Content-Type: text/html\r\n').get('content-type')).toBeNull()
  })
})

describe('the parser refuses', () => {
  const ok = 'HTTP/1.1 200 OK\r\n'
  const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`
  const inHeads: Record<string, string> = {
    'a text that is not HTTP': 'SSH-2.0-OpenSSH_9.6\r\n',
    'HTTP/2': 'HTTP/2 200\r\n\r\n',
    'HTTP/1.2': 'HTTP/1.2 200\r\n\r\n',
    'an empty line before the head': `\r\n${ok}\r\n`,
    'a status of two digits': 'HTTP/1.1 20 OK\r\n\r\n',
    'a status of four digits': 'HTTP/1.1 2000 OK\r\n\r\n',
    'two spaces before the status': 'HTTP/1.1  200 OK\r\n\r\n',
    'NUL in the reason': 'HTTP/1.1 200 O\0K\r\n\r\n',
    'a switch to another protocol': 'HTTP/1.1 101 Switching Protocols\r\n\r\n',
    'an interim response with a length': `HTTP/1.1 103 Early\r\nContent-Length: 0\r\n\r\n${ok}\r\n`,
    'an interim response of HTTP/1.0': `HTTP/1.0 100 Continue\r\n\r\n${ok}\r\n`,
    'an interim response that closes': `HTTP/1.1 103 Early\r\nConnection: close\r\n\r\n${ok}\r\n`,
    'endless interim responses': 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(20),
    'lines that end with only a line feed': 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok',
    'lines that end with only a carriage return': 'HTTP/1.1 200 OK\rContent-Length: 2\r\rok',
    'a bare line feed in a field': `${ok}X: a\nb\r\n\r\n`,
    'a bare carriage return in a field': `${ok}X: a\rb\r\n\r\n`,
    'NUL in a field': `${ok}X: a\0b\r\n\r\n`,
    'DEL in a field': `${ok}X: a\x7fb\r\n\r\n`,
    'a folded line': `${ok}X: a\r\n b\r\n\r\n`,
    'a line without a colon': `${ok}nothing\r\n\r\n`,
    'a field without a name': `${ok}: a\r\n\r\n`,
    'a space before the colon': `${ok}Content-Length : 2\r\n\r\nok`,
    'a name with a space': `${ok}Content Length: 2\r\n\r\nok`,
    'a name that is not ASCII': `${ok}Länge: 2\r\n\r\nok`,
    'an endless head': `${ok}X-Long: ${'x'.repeat(70_000)}`,
    'a large head': `${ok}X-Long: ${'x'.repeat(70_000)}\r\n\r\n`,
  }
  const lengths = [
    '',
    '-1',
    '+1',
    '1, 2',
    '2, 2',
    '0x2',
    '2 2',
    '2\t',
    '2\v',
    '2\xa0',
    '\xa02',
    '2.0',
    '2_0',
    '2;',
    '9'.repeat(20),
  ]
  const codings = [
    '',
    'gzip',
    'identity',
    'x-chunked',
    'chunked, chunked',
    'gzip, chunked',
    'chunked, gzip',
    '"chunked"',
    'chunked;q=1',
    'chunked\t',
    'chunked\v',
    'chunked\xa0',
  ]
  const framings: Record<string, string> = {
    'two lengths': 'Content-Length: 2\r\nContent-Length: 3',
    'the same length twice': 'Content-Length: 2\r\ncontent-length: 2',
    'a coding and a length': 'Transfer-Encoding: chunked\r\nContent-Length: 2',
    'a length and a coding': 'Content-Length: 2\r\nTransfer-Encoding: chunked',
    'two codings on two lines': 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
    'a coding after chunked': 'Transfer-Encoding: chunked\r\nX: y\r\nTransfer-Encoding: identity',
  }
  const sizes = [
    '',
    ' ',
    '-5',
    '+5',
    ' 5',
    '5 ',
    '5\t',
    '0x5',
    '3g',
    '4_0',
    '5,',
    '5 ;a',
    '\xa05',
    '5\0',
    '5;',
    '5;=a',
    '5;a=',
    '5;a b',
    '5; a',
    '5;a="b',
    '5;a="b"c',
    '5;a\0',
    '5;a\n0',
    '5\n',
    '5\rx',
    'f'.repeat(13),
    '0'.repeat(13),
  ]
  const ends: Record<string, string> = {
    'a chunk longer than declared': '2\r\nhello\r\n0\r\n\r\n',
    'a chunk without a line break': '5\r\nhello0\r\n\r\n',
    'a chunk that ends with only a line feed': '5\r\nhello\n0\r\n\r\n',
    'an endless extension': `1;${'x'.repeat(20_000)}`,
    'endless trailers': `0\r\n${'a: b\r\n'.repeat(5_000)}`,
    'trailers that end with only a line feed': '0\r\na: b\r\n\n',
    'trailers whose lines end with only a line feed': '0\r\na: b\n\r\n',
    'an end with only a line feed': '0\r\n\n',
    'an end with only a carriage return': '0\r\n\rx',
    'a trailer without a colon': '0\r\nnothing\r\n\r\n',
    'a folded trailer': '0\r\na: b\r\n c\r\n\r\n',
    'NUL in a trailer': '0\r\na: \0\r\n\r\n',
    'a length in a trailer': '0\r\nContent-Length: 5\r\n\r\n',
    'a coding in a trailer': '0\r\nTransfer-Encoding: chunked\r\n\r\n',
  }
  const nonsense: [name: string, text: string][] = [
    ...Object.entries(inHeads),
    ...lengths.map((length): [string, string] => [
      `the length ${JSON.stringify(length)}`,
      `${ok}Content-Length: ${length}\r\n\r\nok`,
    ]),
    ...codings.map((coding): [string, string] => [
      `the coding ${JSON.stringify(coding)}`,
      `${ok}Transfer-Encoding: ${coding}\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
    ]),
    ...Object.entries(framings).map(([name, fields]): [string, string] => [name, `${ok}${fields}\r\n\r\nok`]),
    ['chunks in HTTP/1.0', chunked.replace('1.1', '1.0')],
    ...sizes.map((size): [string, string] => [
      `a chunk of the size ${JSON.stringify(size)}`,
      `${chunked}${size}\r\nhello\r\n0\r\n\r\n`,
    ]),
    ...Object.entries(ends).map(([name, text]): [string, string] => [name, chunked + text]),
  ]
  test.each(nonsense)('%s', (_name, text) => {
    const bytes = Buffer.from(text, 'latin1')
    expect(() => parse([bytes])).toThrow(MalformedResponse)
    expect(() => parse([...bytes].map((byte) => Buffer.from([byte])))).toThrow(MalformedResponse)
  })

  test.each([
    'SSH',
    'HTTP/1.1 2000\r\n',
    'HTTP/1.1 200 OK\n',
    'HTTP/1.1 200 OK\r\nnothing\r\n',
    'HTTP/1.1 200 OK\r\nX: \0',
    `${chunked}0x`,
    `${chunked}5;a\n`,
    `${chunked}5\r\nhello\n`,
    `${chunked}0\r\n\n`,
  ])('immediately, without waiting for more: %j', (text) => {
    expect(() => parse([Buffer.from(text, 'latin1')])).toThrow(MalformedResponse)
  })
})
