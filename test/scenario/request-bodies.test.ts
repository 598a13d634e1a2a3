// Bodies next to the request log: kept only if the operator requests it, as delivered, redacted and encrypted, on SQLite and on
// PostgreSQL.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openBodies, readBodies } from '../../src/app/request-store'
import type { Config } from '../../src/config/schema'
import { newLogRow } from '../../src/request-log/row'
import { databaseKinds, openAddress, postgresUrl, temporaryFolder } from '../support/databases/databases'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'

setDefaultTimeout(60_000)

const SECRET_KEY = Buffer.alloc(32, 7).toString('base64')
const TOKEN = 'a token for metrics'
const PROVIDER_KEY = `sk-${'a1B2'.repeat(8)}`
const messages = [{ role: 'user', content: `Say hello to ${PROVIDER_KEY}` }]
type Bodies = NonNullable<NonNullable<Config['log']>['bodies']>

async function start(
  database: 'sqlite' | 'postgres',
  bodies: Bodies | undefined,
  config: Partial<Config> = {},
) {
  return startTestGateway({ database, config: { ...config, log: { ...(bodies && { bodies }) } } })
}

/** The kept bodies of a request; undefined if there are none. */
async function bodiesOf({ server, dataDir }: TestGateway, response: Response) {
  const { requestLog, db } = server.world
  await requestLog.bodies?.flush()
  return readBodies({ db, dataDir }, response.headers.get('x-request-id') as string)
}

describe.each(databaseKinds)('bodies on %s', (database) => {
  test('are stored as delivered, without keys, named fields and media', async () => {
    const gateway = await start(database, { redact: ['user'] })
    const whole = await gateway.chat({ messages, user: 'alice@example.com' })
    const text = await whole.text()
    const kept = await bodiesOf(gateway, whole)
    expect(kept?.request).toContain('"content":"Say hello to [redacted]"')
    expect(kept?.request).toContain('"user":"[redacted]"')
    expect(kept?.answer).toBe(text.replaceAll(PROVIDER_KEY, '[redacted]'))

    const stream = await gateway.chat({ messages, stream: true })
    const events = await stream.text()
    expect((await bodiesOf(gateway, stream))?.answer?.replaceAll('[redacted]', '')).toBe(
      events.replaceAll(PROVIDER_KEY, ''),
    )

    const refused = await gateway.chat({ messages, max_tokens: 'many' })
    expect((await bodiesOf(gateway, refused))?.answer).toBe(await refused.text())
    const wrong = await gateway.post('/v1/chat/completions', '{"model": "test-chat", "messages": [{')
    expect(wrong.status).toBe(400)
    await gateway.close()
  })

  test('of a stream end where its caller disconnected', async () => {
    const gateway = await startTestGateway({ database, config: { log: { bodies: {} } }, tokenDelayMs: 20 })
    const stream = await gateway.chat({
      messages: [{ role: 'user', content: 'many words '.repeat(20) }],
      stream: true,
    })
    const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
    const { value } = await reader.read()
    await reader.cancel()
    await waitFor(async () => (await bodiesOf(gateway, stream)) !== undefined)
    const kept = await bodiesOf(gateway, stream)
    expect(
      kept?.answer?.startsWith(
        Buffer.from(value as Uint8Array)
          .toString()
          .slice(0, 40),
      ),
    ).toBe(true)
    expect(kept?.answer).not.toContain('[DONE]')
    await gateway.close()
  })

  test('are stored only for the chosen keys and models, and for none by default', async () => {
    const usual = await start(database, undefined)
    const mine = await usual.makeKey('bob', '10')
    const as = { authorization: `Bearer ${mine.secret}` }
    const none = await usual.chat({ messages }, as)
    expect(usual.server.world.requestLog.bodies).toBeNull()
    expect(await bodiesOf(usual, none)).toBeUndefined()
    expect(existsSync(join(usual.dataDir, 'bodies.sqlite'))).toBe(false)
    await usual.close()
    const { dataDir, databaseUrl } = usual
    const gateway = await startTestGateway({
      dataDir,
      ...(databaseUrl && { databaseUrl }),
      config: { log: { bodies: { keys: [mine.id], models: ['test-chat'] } } },
    })
    const chosen = await gateway.chat({ messages }, as)
    const otherModel = await gateway.chat({ messages, model: 'test-local' }, as)
    const otherKey = await gateway.chat({ messages })
    for (const response of [chosen, otherModel, otherKey]) await response.text()
    expect(await bodiesOf(gateway, chosen)).toBeDefined()
    expect(await bodiesOf(gateway, otherModel)).toBeUndefined()
    expect(await bodiesOf(gateway, otherKey)).toBeUndefined()
    await gateway.close()
  })

  test('are encrypted with the key of the rows, and are in no log and no metric', async () => {
    const gateway = await start(database, {}, { secrets: { key: SECRET_KEY }, metrics: { token: TOKEN } })
    const said = 'a very particular sentence'
    const response = await gateway.chat({ messages: [{ role: 'user', content: said }] })
    await response.text()
    expect((await bodiesOf(gateway, response))?.request).toContain(said)
    const metrics = await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
    expect(await metrics.text()).not.toContain(said)
    expect(JSON.stringify([gateway.log, await gateway.requestLog()])).not.toContain(said)
    const stored =
      database === 'sqlite'
        ? readFileSync(join(gateway.dataDir, 'bodies.sqlite-wal')).toString('latin1')
        : JSON.stringify(await gateway.server.world.db.query({ sql: 'select * from request_bodies' }))
    expect(stored.length).toBeGreaterThan(100)
    expect(stored).not.toContain(said)
    await gateway.close()
  })

  test('are removed when they are old, and the oldest when there are too many', async () => {
    const dataDir = temporaryFolder()
    const db = openAddress(database === 'sqlite' ? join(dataDir, 'x.sqlite') : await postgresUrl())
    const log = { bodies: { keep: '1h', maxBytes: '10KB' } }
    const bodies = await openBodies({ log }, { db, dataDir }, () => {})
    if (!bodies) throw new Error('bodies are kept')
    const write = (index: number, at: number) =>
      bodies.write(
        newLogRow(
          { requestId: `req_${index}`, operation: { name: 'chat' } },
          { now: () => at, monotonic: () => 0 },
        ),
        { request: 'x'.repeat(1_000), answer: null },
      )
    const left = async () => {
      const found = await Promise.all(
        Array.from({ length: 30 }, (_none, index) => readBodies({ db, dataDir }, `req_${index}`)),
      )
      return found.flatMap((each, index) => (each ? [index] : []))
    }
    const hour = 3_600_000
    for (let index = 0; index < 30; index++) write(index, hour + index)
    await bodies.flush()
    await bodies.trim(hour)
    expect(await left()).toEqual([20, 21, 22, 23, 24, 25, 26, 27, 28, 29])
    await bodies.trim(2 * hour + 25)
    expect(await left()).toEqual([25, 26, 27, 28, 29])
    await bodies.close()
    await db.close()
  })
})
