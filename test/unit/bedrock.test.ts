// Our reader of Amazon's frames and our signatures, compared with Amazon's own code: random frames, whole, cut, and
// damaged in every byte, and random requests.

import { describe, expect, test } from 'bun:test'
import { Sha256 } from '@aws-crypto/sha256-js'
import { EventStreamCodec } from '@smithy/eventstream-codec'
import { SignatureV4 } from '@smithy/signature-v4'
import { fromUtf8, toUtf8 } from '@smithy/util-utf8'
import { signatureFault } from '../../sandbox/bedrock/signature'
import { bedrock } from '../../src/upstreams/kinds/bedrock'
import { BadFrame, FrameParser } from '../../src/upstreams/kinds/bedrock/frames'
import { createRandom, type Random, seedOf } from '../support/random'

const codec = new EventStreamCodec(toUtf8, fromUtf8)
const seed = seedOf('BEDROCK_SEED')
const random = createRandom(seed)

function between(from: Random, least: number, most: number): number {
  return least + from.below(most - least + 1)
}

type Headers = Parameters<typeof codec.encode>[0]['headers']

function randomHeaders(from: Random): Headers {
  const headers: Headers = {}
  for (let count = between(from, 0, 6); count > 0; count--) {
    const name = `${from.pick([':', 'x-', 'é'])}${between(from, 0, 1e6)}`
    headers[name] = from.pick<() => Headers[string]>([
      () => ({ type: 'boolean', value: between(from, 0, 1) === 1 }),
      () => ({ type: 'byte', value: between(from, -128, 127) }),
      () => ({ type: 'short', value: between(from, -32_768, 32_767) }),
      () => ({ type: 'integer', value: between(from, -1e9, 1e9) }),
      () => ({ type: 'binary', value: Buffer.alloc(between(from, 0, 40), 7) }),
      () => ({ type: 'string', value: '世界'.repeat(between(from, 0, 9)) }),
      () => ({ type: 'timestamp', value: new Date(between(from, 0, 1e9) * 1_000) }),
      () => ({ type: 'uuid', value: crypto.randomUUID() }),
    ])()
  }
  return headers
}

function randomFrame(from: Random): { headers: Headers; body: Uint8Array; bytes: Uint8Array } {
  const body = Buffer.alloc(between(from, 0, from.pick([0, 3, 300, 70_000])), 'payload')
  const headers = randomHeaders(from)
  return { headers, body, bytes: codec.encode({ headers, body }) }
}

describe('frames', () => {
  test('are read as they are written, however they are cut', () => {
    for (let round = 0; round < 100; round++) {
      const frames = Array.from({ length: between(random, 1, 4) }, () => randomFrame(random))
      const whole = Buffer.concat(frames.map(({ bytes }) => bytes))
      const parser = new FrameParser()
      const read = []
      for (let at = 0; at < whole.length; ) {
        const next = at + between(random, 1, random.pick([1, 5, 999, 99_999]) + (whole.length >> 9))
        read.push(...parser.push(whole.subarray(at, next)))
        at = next
      }
      parser.end()
      expect(read.length).toBe(frames.length)
      for (const [index, { headers, payload }] of read.entries()) {
        const { body, bytes } = frames[index] as (typeof frames)[0]
        const texts = Object.entries(codec.decode(bytes).headers).flatMap(([name, header]) =>
          header.type === 'string' ? [[name, header.value] as [string, string]] : [],
        )
        expect(Buffer.compare(payload, body)).toBe(0)
        expect([...headers]).toEqual(texts)
      }
    }
  })

  test('with one wrong byte are refused by both readers', () => {
    const { bytes } = randomFrame(createRandom(4))
    for (let at = 0; at < Math.min(bytes.length, 400); at++) {
      const damaged = Buffer.from(bytes)
      damaged[at] = (damaged[at] as number) ^ (1 << (at % 8))
      expect(() => codec.decode(damaged)).toThrow()
      expect(() => {
        const parser = new FrameParser()
        parser.push(damaged)
        parser.end()
      }).toThrow(BadFrame)
    }
  })

  test('that end early are refused', () => {
    const { bytes } = randomFrame(createRandom(2))
    for (let length = 1; length < Math.min(bytes.length, 300); length++) {
      const parser = new FrameParser()
      expect(parser.push(bytes.subarray(0, length))).toEqual([])
      expect(() => parser.end()).toThrow(BadFrame)
    }
  })

  test.each([
    ['a length of gigabytes', prelude(0xff_ff_ff_f0, 0)],
    ['without room for their checksums', prelude(15, 0)],
    ['headers longer than the frame', prelude(100, 85)],
    ['endless headers', prelude(1_000_000, 200_000)],
  ])('of %s are refused before they are buffered', (_, bytes) => {
    expect(() => new FrameParser().push(bytes)).toThrow(BadFrame)
  })

  test('with a header twice, or of an unknown type, are refused', async () => {
    const { crc32 } = await import('node:zlib')
    const sealed = (head: Buffer) => {
      const message = Buffer.concat([prelude(16 + head.length, head.length), head])
      const end = Buffer.alloc(4)
      end.writeUInt32BE(crc32(message))
      return Buffer.concat([message, end])
    }
    const one = Buffer.from([1, 97, 7, 0, 1, 98])
    expect(new FrameParser().push(sealed(one))[0]?.headers.get('a')).toBe('b')
    expect(() => new FrameParser().push(sealed(Buffer.concat([one, one])))).toThrow(BadFrame)
    expect(() => new FrameParser().push(sealed(Buffer.from([1, 97, 10])))).toThrow(BadFrame)
    expect(() => new FrameParser().push(sealed(Buffer.from([1, 97, 7, 0, 9, 98])))).toThrow(BadFrame)
    expect(() => new FrameParser().push(sealed(Buffer.from([1, 0xff, 0])))).toThrow(BadFrame)
  })
})

/** A prelude with the correct checksum. */
function prelude(total: number, headers: number): Buffer {
  const bytes = Buffer.alloc(12)
  bytes.writeUInt32BE(total, 0)
  bytes.writeUInt32BE(headers, 4)
  bytes.writeUInt32BE(Bun.hash.crc32(bytes.subarray(0, 8)), 8)
  return bytes
}

describe('events', () => {
  const decode = (type: string, payload: string, message = 'event') => {
    const headers: Headers = {
      [`:${message}-type`]: { type: 'string', value: type },
      ':message-type': { type: 'string', value: message },
    }
    return bedrock.framing?.createDecoder().push(codec.encode({ headers, body: Buffer.from(payload) }))
  }
  const chunk = (text: string) => decode('chunk', JSON.stringify({ bytes: btoa(text), p: 'x' }))

  test('become events of messages, and cannot contain the start of another event', () => {
    expect(chunk('{"type":"ping"}')).toBe('event: ping\ndata: {"type":"ping"}\n\n')
    expect(chunk('{"type":"ping\\nevent: error",\n"a": 1e2}')).toBe(
      'event: pingeventerror\ndata: {"type":"ping\\nevent: error","a":100}\n\n',
    )
    expect(decode('somethingNew', '{"a":1}')).toBe('')
    expect(() => chunk('{')).toThrow()
    expect(() => decode('chunk', 'not json')).toThrow()
  })

  test('that are exceptions become errors of messages', () => {
    expect(decode('throttlingException', '{"message":"slow"}', 'exception')).toBe(
      'event: error\ndata: {"type":"error","error":{"type":"rate_limit_error","message":"slow"}}\n\n',
    )
    expect(decode('modelStreamErrorException', '{}', 'exception')).toContain('"api_error"')
  })
})

describe('signatures', () => {
  const keys = { accessKeyId: 'AKIA0123456789ABCDEF', secretAccessKey: 'se/cr+et'.repeat(5) }

  test('equal those of the official signer, and the simulator accepts them', async () => {
    for (let round = 0; round < 50; round++) {
      const sessionToken = between(random, 0, 1) === 1 ? 'to/ken+==' : undefined
      const credentials = { ...keys, ...(sessionToken !== undefined && { sessionToken }) }
      const region = random.pick(['us-east-1', 'eu-central-1'])
      const path = `/model/${encodeURIComponent(random.pick(['a.b-v1:0', 'ü ~*', 'arn:aws:x/y', "it's(1)"]))}/invoke`
      const body = JSON.stringify({ text: '世界'.repeat(between(random, 0, 50)) })
      const at = new Date(Date.now() - between(random, 0, 100_000)).toISOString()
      const host = 'bedrock-runtime.example.com'
      const request = {
        method: 'POST',
        host,
        path,
        headers: { 'content-type': 'application/json' },
        body,
        at,
      }
      const secret = Object.values(credentials).join(':')
      const ours = bedrock.sign?.(secret, request, { region }) ?? {}
      const headers = {
        host,
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        ...ours,
      }
      expect(
        signatureFault(
          { method: 'POST', path, query: new URLSearchParams(), headers, text: body, now: Date.now() },
          credentials,
        ),
      ).toBe(undefined)
      const {
        authorization: _,
        'x-amz-date': __,
        'x-amz-security-token': ___,
        ...plain
      } = headers as Record<string, string>
      const signer = new SignatureV4({
        credentials,
        region,
        service: 'bedrock',
        sha256: Sha256,
        applyChecksum: false,
      })
      const theirs = (await signer.sign(
        {
          method: 'POST',
          protocol: 'https:',
          hostname: host,
          path,
          headers: plain,
          body,
          query: {},
        } as never,
        { signingDate: new Date(at) },
      )) as unknown as { headers: Record<string, string> }
      expect(partsOf(ours.authorization)).toEqual(partsOf(theirs.headers.authorization))
      expect(ours['x-amz-date']).toBe(theirs.headers['x-amz-date'] as string)
    }
  })

  test('are valid for a request without a body', () => {
    const request = {
      method: 'GET',
      host: 'h',
      path: '/models',
      headers: {},
      body: '',
      at: new Date().toISOString(),
    }
    const headers = { host: 'h', ...bedrock.sign?.(Object.values(keys).join(':'), request, {}) }
    const call = {
      method: 'GET',
      path: '/models',
      query: new URLSearchParams(),
      headers,
      text: '',
      now: Date.now(),
    }
    expect(signatureFault(call, keys)).toBe(undefined)
  })

  test.each([
    ['another body', { text: '{"a":2}' }],
    ['another path', { path: '/model/other/invoke' }],
    ['another host', { headers: { host: 'elsewhere' } }],
    ['no signature', { headers: { authorization: '' } }],
    ['an old date', { headers: { 'x-amz-date': '20200101T000000Z' } }],
    ['a header of Amazon that is not signed', { headers: { 'x-amz-other': '1' } }],
  ])('are invalid for %s', (_, change) => {
    const at = new Date().toISOString()
    const headersSent = { 'content-type': 'application/json' }
    const request = {
      method: 'POST',
      host: 'h',
      path: '/model/m/invoke',
      headers: headersSent,
      body: '{"a":1}',
      at,
    }
    const signed = bedrock.sign?.(Object.values(keys).join(':'), request, {}) ?? {}
    const call = {
      method: 'POST',
      path: request.path,
      query: new URLSearchParams(),
      text: request.body,
      now: Date.now(),
      headers: { host: 'h', 'content-type': 'application/json', 'content-length': '7', ...signed },
    }
    expect(signatureFault(call, keys)).toBe(undefined)
    const { headers, ...other } = change as { headers?: Record<string, string> }
    expect(signatureFault({ ...call, ...other, headers: { ...call.headers, ...headers } }, keys)).toBeString()
  })

  test('are not used with a Bedrock API key, which is sent unchanged', () => {
    const request = {
      method: 'POST',
      host: 'h',
      path: '/',
      headers: {},
      body: '',
      at: new Date().toISOString(),
    }
    expect(bedrock.sign?.('ABSKQmVkcm9ja0FQSUtleQ==', request, {})).toEqual({})
    expect(bedrock.headers('ABSKQmVkcm9ja0FQSUtleQ==', 'native')).toEqual({
      authorization: 'Bearer ABSKQmVkcm9ja0FQSUtleQ==',
    })
    expect(bedrock.secretParts?.('AKIA0123456789ABCDEF:the/secret:token')).toEqual(['the/secret', 'token'])
  })
})

/** The parts of an Authorization header, whatever is between them. */
function partsOf(header: string | undefined): string[] {
  return (header ?? '').split(/,\s*/)
}
