// However a request ends, it ends once: one row in the request log, and a charge that is settled, released or belongs to its task.
// If the database refuses the end itself, nothing is charged, and the row says that the gateway failed.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { startTestGateway, type TestGateway, testModels, videoModels, waitFor } from '../support/gateway'
import { speechModels } from '../support/speech'

setDefaultTimeout(180_000)

const { 'odd-flash': _, ...spoken } = speechModels
const say = (text: string) => [{ role: 'user', content: text }]
const SPEECH = '/v1/audio/speech'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({ models: { ...testModels, ...spoken, ...videoModels } })
})
afterAll(async () => {
  // Nobody waits for the begun task, whose hold stays.
  expect((await gateway.audit()).problems).toEqual([])
  await gateway.server.stop(0)
  await gateway.sandbox.stop()
})

interface Way {
  name: string
  path?: string
  body: Record<string, unknown>
  headers?: Record<string, string>
  /** The row in the request log. */
  row: { status: number; error_code: string | null; ended_by: string | null }
  /** The state of the charge then; undefined without a charge. */
  charge: 'settled' | 'released' | 'held' | undefined
}

const done = { status: 200, error_code: null, ended_by: 'done' }
const failed = { status: 502, error_code: 'upstream_error', ended_by: 'upstream' }

const whole: readonly Way[] = [
  { name: 'JSON that passes', body: {}, row: done, charge: 'settled' },
  { name: 'a stream', body: { stream: true }, row: done, charge: 'settled' },
  {
    name: 'an answer that is made of parts',
    path: '/v1/embeddings',
    body: { model: 'text-embedding-v4', input: Array.from({ length: 25 }, (_, index) => `text ${index}`) },
    row: done,
    charge: 'settled',
  },
  {
    name: 'an answer in another dialect',
    path: '/v1/messages',
    body: { model: 'test-chat', max_tokens: 20, messages: say('Hi') },
    row: done,
    charge: 'settled',
  },
  {
    name: 'a stream in another dialect',
    path: '/v1/messages',
    body: { model: 'test-chat', max_tokens: 20, messages: say('Hi'), stream: true },
    row: done,
    charge: 'settled',
  },
  {
    name: 'streamed speech',
    path: SPEECH,
    body: { model: 'qnx3-tts-flash', input: 'Hello!' },
    row: done,
    charge: 'settled',
  },
  {
    name: 'speech that is sent whole',
    path: SPEECH,
    body: { model: 'qnx3-tts-flash', input: 'Hello!', response_format: 'wav' },
    row: done,
    charge: 'settled',
  },
]

const others: readonly Way[] = [
  {
    name: 'a refusal before anything is held',
    body: { n: 'many' },
    row: { status: 400, error_code: 'invalid_type', ended_by: null },
    charge: undefined,
  },
  {
    name: 'an answer without output',
    body: { messages: say('[sandbox tokens=0]') },
    row: done,
    charge: 'released',
  },
  {
    name: 'a vendor that fails',
    body: { messages: say('[sandbox status=500]') },
    row: failed,
    charge: 'released',
  },
  {
    name: 'a vendor that fails before a stream',
    body: { messages: say('[sandbox status=500]'), stream: true },
    row: failed,
    charge: 'released',
  },
  {
    name: 'a vendor of speech that fails',
    path: SPEECH,
    body: { model: 'qnx3-tts-flash', input: '[sandbox status=500]' },
    row: failed,
    charge: 'released',
  },
  {
    name: 'a task that begins',
    path: '/v1/videos/generations',
    body: { model: 'gkx-imagine-video', prompt: 'x [sandbox task_ms=600000]' },
    row: { status: 200, error_code: null, ended_by: null },
    charge: 'held',
  },
  {
    name: 'a task that is refused',
    path: '/v1/videos/generations',
    body: { model: 'gkx-imagine-video', prompt: 'x [sandbox status=400]' },
    row: { status: 400, error_code: 'Client specified an invalid argument', ended_by: 'upstream' },
    charge: 'released',
  },
]

/** Sends a request and collects its effects, whether or not its answer was complete. */
async function run({ path = '/v1/chat/completions', body, headers }: Way) {
  const before = await gateway.newest()
  const chat = { model: 'test-chat', messages: say('Hi'), ...body }
  const response = await gateway.post(path, path.endsWith('/completions') ? chat : body, headers)
  const isWhole = await response.arrayBuffer().then(
    () => true,
    () => false,
  )
  const rows = () => gateway.requestLog(before.logRow)
  await waitFor(async () => (await rows()).length > 0)
  return {
    response,
    isWhole,
    rows: await rows(),
    charges: await gateway.charges(before.charge),
  }
}

function statesOf(charge: Way['charge']): object[] {
  return charge === undefined ? [] : [{ state: charge }]
}

describe('one end', () => {
  for (const way of [...whole, ...others]) {
    test(way.name, async () => {
      const { rows, charges, isWhole } = await run(way)
      expect(rows).toMatchObject([way.row])
      expect(charges).toMatchObject(statesOf(way.charge))
      expect(isWhole).toBe(true)
    })
  }

  for (const way of whole) {
    test(`${way.name}, answered again`, async () => {
      const again = { ...way, headers: { 'idempotency-key': way.name } }
      expect((await run(again)).charges).toMatchObject([{ state: 'settled' }])
      const { response, rows, charges } = await run(again)
      expect(response.headers.get('idempotent-replayed')).toBe('true')
      expect(rows).toMatchObject([{ status: 200, amount: 0, error_code: null, ended_by: null }])
      expect(charges).toEqual([])
    })
  }
})

describe('one end, if the database refuses it', () => {
  const { name, ...failing } = others.find(({ name }) => name === 'a vendor that fails') as Way
  for (const way of [...whole, { ...failing, name: `${name}, and nothing can be released` }]) {
    test(way.name, async () => {
      const { db } = gateway.server.world
      await db.batch([
        {
          sql: `create trigger broken before delete on open_charges
            begin select raise(abort, 'this charge cannot end'); end`,
        },
      ])
      try {
        const { response, rows, charges, isWhole } = await run(way)
        expect(rows).toMatchObject([{ error_code: 'internal_error', amount: null }])
        expect(charges).toMatchObject([{ state: 'held', amount: 0 }])
        // An answer that has not begun reports the error; one that has begun breaks off before its last byte.
        expect([response.status, isWhole]).toEqual(response.ok ? [200, false] : [500, true])
        expect(rows[0]?.status).toBe(response.status)
      } finally {
        await db.batch([{ sql: 'drop trigger broken' }])
      }
    })
  }
})
