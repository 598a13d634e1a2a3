// Receipts: each answer has one, it always agrees with the ledger, and programs written from docs/receipts.md alone check it.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { adjust } from '../../src/billing/ledger/ledger'
import { rotateReceiptKey } from '../../src/billing/receipts/receipt-keys'
import type { ModelConfig } from '../../src/config/schema'
import { formatUsd } from '../../src/lib/money'
import { databaseKinds } from '../support/databases/databases'
import {
  imageModel,
  say,
  startTestGateway,
  type TestGateway,
  testModels,
  videoModels,
  waitFor,
} from '../support/gateway'
import { casesOf, createRandom, seedOf } from '../support/random'
import { type JsonWebKeySet, openSigned, receiptInStream } from '../support/receipts'
import type { Json } from '../support/scenario'
import { speechModels } from '../support/speech'

setDefaultTimeout(180_000)

const models: Record<string, ModelConfig> = {
  ...testModels,
  ...speechModels,
  ...videoModels,
  'test-image': imageModel,
  'test-free': { ...(testModels['test-chat'] as ModelConfig), free: true, price: undefined } as never,
  'test-cached': { ...(testModels['test-chat'] as ModelConfig), cache: { ttl: '1h', price: '0.25' } },
  'test-responses': {
    family: 'openai-responses',
    upstream: 'openai',
    upstreamModel: 'gpt-5-mini',
    price: { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' },
  },
}
delete models['odd-flash']
const config = { receipts: true }
const SEED = seedOf('RECEIPTS_SEED')

interface Answer {
  status: number
  id: string
  text: string
  /** From the header, or the end of the stream. */
  receipt: string | undefined
  replayed: boolean
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text()
  return {
    status: response.status,
    id: response.headers.get('x-request-id') ?? '',
    text,
    receipt: response.headers.get('x-gateway-receipt') ?? receiptInStream(text),
    replayed: response.headers.has('idempotent-replayed'),
  }
}

async function get(gateway: TestGateway, path: string, secret: string | null = gateway.secret) {
  const response = await fetch(`${gateway.url}${path}`, {
    headers: secret === null ? {} : { authorization: `Bearer ${secret}` },
  })
  return { status: response.status, body: (await response.json()) as Json }
}

async function keysOf(gateway: TestGateway): Promise<JsonWebKeySet> {
  const { status, body } = await get(gateway, '/v1/receipts/keys', null)
  expect(status).toBe(200)
  return body
}

/** Compares a receipt with the row that a second query finds in the ledger. */
async function expectAsLedger(gateway: TestGateway, payload: Json): Promise<void> {
  const row = await gateway.charge(payload.charge)
  if (!row) throw new Error(`no charge ${payload.charge}`)
  expect({ ...payload, quantities: null }).toEqual({
    version: 1,
    request: String(row.id).replace(':late', ''),
    charge: row.id,
    account: row.account,
    key: row.key_id,
    model: row.model,
    operation: row.operation,
    state: row.state,
    ended_by: row.ended_by,
    quantities: null,
    usage_source: row.usage_source,
    prices_sha256: createHash('sha256').update(String(row.prices)).digest('hex'),
    amount_usd: formatUsd(row.amount as number),
    shortfall_usd: formatUsd(row.shortfall as number),
    begun_at: new Date(row.created_at as number).toISOString(),
    ended_at: new Date(row.ended_at as number).toISOString(),
  })
}

const hello = { model: 'test-chat', messages: say('Hello!') }
const answers: Readonly<Record<string, { path: string; body: object; quantities?: object }>> = {
  chat: {
    path: '/v1/chat/completions',
    body: hello,
    quantities: { input_token: expect.any(Number), output_token: expect.any(Number) },
  },
  'a stream of chat': { path: '/v1/chat/completions', body: { ...hello, stream: true } },
  'a stream of chat with usage': {
    path: '/v1/chat/completions',
    body: { ...hello, stream: true, stream_options: { include_usage: true } },
  },
  'a translated stream of chat': {
    path: '/v1/chat/completions',
    body: { ...hello, model: 'test-messages', stream: true, stream_options: { include_usage: true } },
  },
  messages: { path: '/v1/messages', body: { ...hello, model: 'test-messages', max_tokens: 50 } },
  'a stream of messages': {
    path: '/v1/messages',
    body: { ...hello, model: 'test-messages', max_tokens: 50, stream: true },
  },
  'a translated stream of messages': {
    path: '/v1/messages',
    body: { ...hello, max_tokens: 50, stream: true },
  },
  responses: { path: '/v1/responses', body: { model: 'test-responses', input: 'Hello!' } },
  'a stream of responses': {
    path: '/v1/responses',
    body: { model: 'test-responses', input: 'Hello!', stream: true },
  },
  'a translated stream of responses': {
    path: '/v1/responses',
    body: { model: 'test-chat', input: 'Hello!', stream: true },
  },
  'a stream of contents': {
    path: '/v1beta/models/test-google:streamGenerateContent?alt=sse',
    body: { contents: [{ parts: [{ text: 'Hello!' }] }] },
  },
  embeddings: {
    path: '/v1/embeddings',
    body: { model: 'test-embedding', input: 'Hello!' },
    quantities: { input_token: expect.any(Number) },
  },
  images: {
    path: '/v1/images/generations',
    body: { model: 'test-image', prompt: 'A fox', n: 2 },
    quantities: { image: 2 },
  },
  'a free model': { path: '/v1/chat/completions', body: { ...hello, model: 'test-free' } },
  'a failure of the vendor': {
    path: '/v1/chat/completions',
    body: { ...hello, messages: say('[sandbox status=400]') },
  },
}

describe.each(databaseKinds.map((kind) => [kind] as const))('receipts on %s', (database) => {
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startTestGateway({ database, models, config })
  })
  afterAll(() => gateway.close())

  test.each(Object.entries(answers))('%s', async (_name, { path, body, quantities }) => {
    const answer = await answerOf(await gateway.post(path, body))
    const { json, payload } = await openSigned(answer.receipt ?? '', 'gateway-receipt', await keysOf(gateway))
    await expectAsLedger(gateway, json)
    expect(json.request).toBe(answer.id)
    if (quantities) expect(json.quantities).toEqual(quantities)
    else if (json.state === 'released') expect(json.quantities).toBeNull()
    // The same text for every request.
    const read = await get(gateway, `/v1/requests/${answer.id}/receipt`)
    expect(read).toMatchObject({
      status: 200,
      body: { receipt: answer.receipt, charge: JSON.parse(payload) },
    })
    expect(createHash('sha256').update(read.body.prices).digest('hex')).toBe(json.prices_sha256)
  })

  test('a stream with receipts differs from one without only in one member or a comment', async () => {
    const { text } = await answerOf(await gateway.chat({ stream: true }))
    expect(text).toMatch(/data: \[DONE\]\n\n: x-gateway-receipt: [\w.-]+\n\n$/)
    const { path, body } = answers['a translated stream of messages'] as { path: string; body: object }
    const messages = await answerOf(await gateway.post(path, body))
    expect(messages.text).toMatch(
      /event: message_stop\ndata: \{"type":"message_stop","gateway":\{"receipt":"[\w.-]+"\}\}\n\n$/,
    )
  })

  test('a video has a receipt only after it has ended', async () => {
    const video = { model: 'vidw2.6-t2v', input: { prompt: 'A cat' }, duration: 3 }
    const { id, text, status } = await answerOf(await gateway.post('/v1/videos/generations', video))
    expect({ status, text }).toMatchObject({ status: 202 })
    expect(await get(gateway, `/v1/requests/${id}/receipt`)).toMatchObject({
      status: 409,
      body: { error: { code: 'receipt_not_ready' } },
    })
    await waitFor(async () => (await get(gateway, `/v1/requests/${id}/receipt`)).status === 200, 60_000)
    const { body } = await get(gateway, `/v1/requests/${id}/receipt`)
    const { json } = await openSigned(body.receipt, 'gateway-receipt', await keysOf(gateway))
    expect(json).toMatchObject({ quantities: { second: 3 }, amount_usd: '0.03' })
    await expectAsLedger(gateway, json)
  })

  test('a repeat by its Idempotency-Key has the receipt of the first answer, whole or streamed', async () => {
    for (const stream of [false, true]) {
      const headers = { 'idempotency-key': `once-${stream}` }
      const first = await answerOf(await gateway.chat({ stream }, headers))
      const again = await answerOf(await gateway.chat({ stream }, headers))
      expect(again.replayed).toBe(true)
      expect(again.receipt).toBe(first.receipt as string)
    }
  })

  test('an answer from the response cache has a receipt of its own charge', async () => {
    const body = { model: 'test-cached', messages: say('The same question.') }
    const made = await answerOf(await gateway.chat(body))
    const given = await answerOf(await gateway.chat(body))
    const keys = await keysOf(gateway)
    const [one, two] = await Promise.all(
      [made, given].map(({ receipt = '' }) => openSigned(receipt, 'gateway-receipt', keys)),
    )
    expect(two?.json.request).not.toBe(one?.json.request)
    expect(Number(two?.json.amount_usd)).toBeLessThan(Number(one?.json.amount_usd))
    await expectAsLedger(gateway, two?.json)
  })

  test('a receipt is shown to its own key only, of any account', async () => {
    const { id } = await answerOf(await gateway.chat())
    for (const account of ['alice', 'mallory']) {
      const { secret } = await gateway.makeKey(account, '1')
      expect(await get(gateway, `/v1/requests/${id}/receipt`, secret)).toMatchObject({
        status: 404,
        body: { error: { code: 'request_not_found' } },
      })
    }
    expect((await get(gateway, `/v1/requests/${id}/receipt`, null)).status).toBe(401)
  })

  test('a change of any member, the signature or the header of a receipt is detected', async () => {
    const { receipt = '' } = await answerOf(await gateway.chat())
    const keys = await keysOf(gateway)
    const [head = '', body = '', signature = ''] = receipt.split('.')
    const { json } = await openSigned(receipt, 'gateway-receipt', keys)
    const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const forged = [
      ...Object.keys(json).map((name) => `${head}.${encoded({ ...json, [name]: '9' })}.${signature}`),
      `${head}.${body}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
      `${encoded({ alg: 'none', kid: keys.keys[0]?.kid, typ: 'gateway-receipt' })}.${body}.${signature}`,
    ]
    for (const text of forged) {
      const reason = await openSigned(text, 'gateway-receipt', keys).then(
        () => 'genuine',
        () => 'not genuine',
      )
      expect(reason).toBe('not genuine')
    }
  })

  test(`receipts never differ from the ledger over random histories (RECEIPTS_SEED=${SEED})`, async () => {
    const random = createRandom(SEED)
    const { secret, id: keyId } = await gateway.makeKey('random', '0.01')
    const bearer = { authorization: `Bearer ${secret}` }
    const seen: Answer[] = []
    for (let step = 0; step < casesOf(60); step++) {
      const what = random.pick([
        '',
        '',
        '[sandbox status=500]',
        '[sandbox cut_after=2]',
        '[sandbox usage=missing]',
      ])
      const model = random.pick(['test-chat', 'test-messages', 'test-free', 'test-reasoning', 'test-cached'])
      const body = {
        model,
        messages: say(`${what} ${random.below(3)}`),
        stream: random.below(2) === 0,
        max_tokens: random.pick([20, 3_000]),
      }
      const headers = { ...bearer, ...(random.below(3) === 0 && { 'idempotency-key': JSON.stringify(body) }) }
      seen.push(await answerOf(await gateway.chat(body, headers)).catch(() => answerOf(new Response(''))))
      if (random.below(6) === 0) {
        const { db, now, newId } = gateway.server.world
        const amountNano = random.pick([1_000_000, -1_000, 7])
        await adjust(db, { id: newId('tr'), account: 'random', amountNano, now: now(), note: 'refund' })
      }
    }
    const keys = await keysOf(gateway)
    for (const { receipt } of seen) {
      if (receipt === undefined) continue
      const { json } = await openSigned(receipt, 'gateway-receipt', keys)
      await expectAsLedger(gateway, json)
    }
    expect(seen.filter(({ receipt }) => receipt !== undefined).length).toBeGreaterThan(seen.length / 4)
    // Every charge has a receipt, and together they are what the ledger has taken.
    const charges = (await gateway.charges()).filter((row) => row.key_id === keyId)
    let sum = 0
    for (const row of charges) {
      const { body, status } = await get(gateway, `/v1/requests/${row.id}/receipt`, secret)
      expect(status).toBe(200)
      await expectAsLedger(gateway, (await openSigned(body.receipt, 'gateway-receipt', keys)).json)
      sum += Math.round(Number(body.charge.amount_usd) * 1e9)
    }
    expect(sum).toBe(charges.reduce((total, { amount }) => total + (amount as number), 0))
  })

  test('after a rotation, older receipts are verified with the older key, and new ones with the new key', async () => {
    const { receipt: before = '', id } = await answerOf(await gateway.chat())
    const [old] = (await keysOf(gateway)).keys
    const { db, now, randomBytes } = gateway.server.world
    expect(await rotateReceiptKey({ db, now, randomBytes }, db)).toBe(true)
    const keys = await keysOf(gateway)
    expect(keys.keys.map(({ until }) => until === null)).toEqual([
      true,
      ...keys.keys.slice(1).map(() => false),
    ])
    expect(keys.keys[1]?.kid).toBe(old?.kid as string)
    const first = await openSigned(before, 'gateway-receipt', keys)
    expect(first.kid).toBe(old?.kid as string)
    await waitFor(async () => {
      const { receipt = '' } = await answerOf(await gateway.chat())
      return (await openSigned(receipt, 'gateway-receipt', keys)).kid === keys.keys[0]?.kid
    })
    const { body } = await get(gateway, `/v1/requests/${id}/receipt`)
    expect((await openSigned(body.receipt, 'gateway-receipt', keys)).payload).toBe(first.payload)
    // The older private key is gone.
    const [row] = await db.query({ sql: `select value from secrets where name = 'receipts'` })
    expect(JSON.parse(db.codec.decode(row?.value as string, 'secrets.value receipts'))).toEqual({
      seed: expect.any(String),
      since: expect.any(Number),
      past: keys.keys.slice(1).map(({ x }) => ({ x, since: expect.any(Number), until: expect.any(Number) })),
    })
  })
})

test('without the setting there is no receipt, no key and no row', async () => {
  const gateway = await startTestGateway({})
  const answer = await answerOf(await gateway.chat())
  const stream = await answerOf(await gateway.chat({ stream: true }))
  expect([answer.receipt, stream.receipt]).toEqual([undefined, undefined])
  for (const path of [`/v1/requests/${answer.id}/receipt`, '/v1/receipts/keys'])
    expect(await get(gateway, path)).toMatchObject({ status: 404, body: { error: { code: 'receipts_off' } } })
  const { db } = gateway.server.world
  expect(await db.query({ sql: 'select * from charge_quantities' })).toEqual([])
  expect(await db.query({ sql: `select name from secrets where name = 'receipts'` })).toEqual([])
  await gateway.close()
})

test('the private key is encrypted where the configuration has a key', async () => {
  const key = Buffer.alloc(32, 7).toString('base64')
  const gateway = await startTestGateway({ config: { ...config, secrets: { key } } })
  await answerOf(await gateway.chat())
  const [row] = await gateway.server.world.db.query({
    sql: `select value from secrets where name = 'receipts'`,
  })
  expect(String(row?.value)).not.toContain('seed')
  await gateway.close()
})
