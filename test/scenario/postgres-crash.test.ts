// kill -9 of one of two executables on PostgreSQL, in the middle of streams that hold their price in steps: holds of the killed one
// are released when they expire, and the stream of the other one continues and is charged exactly. Also, PostgreSQL stops during
// running streams: each stream that was delivered completely is charged once, however the node ends.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { databaseKinds, postgresUrl, temporaryFolder } from '../support/databases/databases'
import { startPostgres, TABLES } from '../support/databases/postgres'
import { say, waitFor } from '../support/gateway'
import { ask, install, type Running, stopWell } from '../support/processes/executable'

setDefaultTimeout(180_000)

/** Nano-dollars of the input and a step of 100 output tokens, of which a second step was held. */
const SECOND_STEP_NANO = 300_000
const FUNDS_NANO = 100e9
const STREAMS = 30
const MASTER_KEY = Buffer.alloc(32, 7).toString('base64')

test.skipIf(!databaseKinds.includes('postgres'))(
  'only the held step of a dead process is released, once',
  async () => {
    const options = {
      databaseUrl: await postgresUrl({ template: TABLES }),
      models: { 'test-chat': { reserveOutputTokens: 100 } },
    }
    const installation = await install(options)
    const other = await install(options)
    const secret = await installation.makeKey('alice', '100')
    const [dying, living] = await Promise.all([other.serve(), installation.serve()])
    const lost = await beginStream(dying, secret, 50_000)
    const kept = await beginStream(living, secret, 2_000)
    const held = () => installation.rows('select id, held from open_charges')
    const heldOf = async (id: string) => Number((await held()).find((row) => row.id === id)?.held ?? 0)
    for (const { id } of [lost, kept]) {
      await waitFor(async () => (await heldOf(id)) > SECOND_STEP_NANO)
      expect(await heldOf(id)).toBeGreaterThan(SECOND_STEP_NANO)
    }
    // Awaited before the kill: a rejection that nobody waits for yet would fail the test.
    const cutOff = lost.text.catch(() => {})
    dying.kill('SIGKILL')
    expect((await dying.ended).signal).toBe('SIGKILL')
    await cutOff

    const account = async () => (await installation.rows('select balance, held from accounts'))[0]
    const lostNano = await heldOf(lost.id)
    expect(lostNano).toBeGreaterThan(SECOND_STEP_NANO)
    expect(Number((await account())?.held)).toBeGreaterThan(lostNano)
    expect(await installation.problems()).toEqual([])
    // As if its time had passed.
    await installation.rows('update open_charges set expires_at = 0 where id = $1', lost.id)
    await waitFor(async () => (await heldOf(lost.id)) === 0)
    expect(
      await installation.rows('select state, amount, ended_by from charges where id = $1', lost.id),
    ).toEqual([{ state: 'released', amount: 0, ended_by: 'expired' }])

    expect(await kept.text).toEndWith('data: [DONE]\n\n')
    const [charge] = await installation.rows(
      'select state, amount, ended_by from charges where id = $1',
      kept.id,
    )
    expect(charge).toMatchObject({ state: 'settled', ended_by: 'done' })
    expect(Number(charge?.amount)).toBeGreaterThan(2_000 * 2_000)
    expect(await account()).toEqual({ balance: FUNDS_NANO - Number(charge?.amount), held: 0 })
    expect(await held()).toEqual([])
    await stopWell(installation, living)
  },
)

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test.skipIf(!databaseKinds.includes('postgres'))(
    `a PostgreSQL that stops, and ${signal}, leave no stream unpaid`,
    async () => {
      const database = await startPostgres(temporaryFolder(), { durable: true })
      const installation = await install({
        databaseUrl: database.url,
        config: { server: { drainSeconds: 1 }, secrets: { key: MASTER_KEY } },
      })
      const secret = await installation.makeKey('alice', '100')
      const server = await installation.serve()
      const messages = say('[sandbox tokens=60 token_delay_ms=50]')
      const streams = await Promise.all(
        Array.from({ length: STREAMS }, (_, index) =>
          ask(
            server,
            secret,
            { stream: true, messages },
            index === 0 ? { headers: { 'idempotency-key': 'order-1' } } : {},
          ),
        ),
      )
      await database.stop()
      if (signal === 'SIGTERM') server.kill(signal)
      // The end of the grace period cuts streams, and the delivered parts are paid too.
      const texts = await Promise.all(streams.map((stream) => stream.text()))
      if (signal === 'SIGKILL') server.kill(signal)
      await server.ended
      const [file = ''] = readdirSync(join(installation.dataDir, 'pending-ends'))
      const pending = readFileSync(join(installation.dataDir, 'pending-ends', file))
      expect(pending.toString('latin1').match(/"settlement"/g)).toHaveLength(STREAMS)
      // The answer kept for its key is encrypted, as in the database.
      expect(pending.includes('chat.completion.chunk')).toBe(false)

      await database.start()
      for (let start = 0; start < 2; start++) {
        await stopWell(installation, await installation.serve())
        const [row, ...others] = await installation.rows(
          `select count(*) as count, sum(amount) as amount, min(amount) as least, state from charges group by state`,
        )
        expect(others).toEqual([])
        expect(row).toMatchObject({ state: 'settled', count: STREAMS })
        expect(Number(row?.least)).toBeGreaterThan(0)
        expect(await installation.rows('select balance, held from accounts')).toEqual([
          { balance: FUNDS_NANO - Number(row?.amount), held: 0 },
        ])
      }
      expect(readdirSync(join(installation.dataDir, 'pending-ends'))).toEqual([])
      expect(texts).toHaveLength(STREAMS)
      if (signal === 'SIGKILL') expect(texts.every((text) => text.endsWith('data: [DONE]\n\n'))).toBe(true)
      await database.stop()
    },
  )
}

async function beginStream(server: Running, secret: string, tokens: number) {
  const messages = say(`Say much. [sandbox tokens=${tokens} token_delay_ms=2]`)
  const reply = await ask(server, secret, { stream: true, messages })
  return { id: reply.headers.get('x-request-id') as string, text: reply.text() }
}
