// kill -9 of one of two executables on PostgreSQL, in the middle of streams that hold their price in steps: what the dead
// one held comes back when it expires, and the stream of the other goes on and is paid exactly.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { databaseKinds, postgresUrl } from '../support/databases'
import { ask, install, type Running, stopWell } from '../support/executable'
import { say, waitFor } from '../support/gateway'
import { TABLES } from '../support/postgres'

setDefaultTimeout(180_000)

/** Nano-dollars of the input and a step of 100 output tokens, of which a second step was held. */
const SECOND_STEP_NANO = 300_000
const FUNDS_NANO = 100e9

test.skipIf(!databaseKinds.includes('postgres'))(
  'a held step of a process that died is given back once, and no other',
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

async function beginStream(server: Running, secret: string, tokens: number) {
  const messages = say(`Say much. [sandbox tokens=${tokens} token_delay_ms=2]`)
  const reply = await ask(server, secret, { stream: true, messages })
  return { id: reply.headers.get('x-request-id') as string, text: reply.text() }
}
