// Looking up keys: requests that wait for the same key share one database query, and no failure is cached.

import { expect, test } from 'bun:test'
import { createAuthenticator } from '../../src/accounts/authenticator'
import { createKey, hashSecret, importKey, makeSecret, revokeKey, unlimited } from '../../src/accounts/keys'
import { DatabaseUnavailable, type Db } from '../../src/db/db'
import { openTestDatabase } from '../support/databases/databases'
import { rejection } from '../support/rejection'

const CACHE_MS = 500

async function start() {
  const inner = await openTestDatabase('sqlite')
  const secret = makeSecret((count) => crypto.getRandomValues(new Uint8Array(count)))
  await createKey(inner, {
    id: 'key_1',
    name: 'one',
    account: 'a',
    secret,
    webhookSecret: 'whsec_1',
    createdAt: 1,
    ...unlimited,
  })
  const state = { reads: 0, isDown: false, at: 0 }
  const db: Db = {
    ...inner,
    async query(statement) {
      state.reads++
      await Bun.sleep(1)
      if (state.isDown) throw new DatabaseUnavailable('down')
      return inner.query(statement)
    },
  }
  const authenticator = createAuthenticator(db, { now: () => 2, monotonic: () => state.at })
  const ask = (header = `Bearer ${secret}`) => Promise.resolve(authenticator.authenticate(header, null))
  return { inner, state, ask }
}

test('requests that wait for the same key share each query to the database', async () => {
  const { inner, state, ask } = await start()
  for (let reading = 1; reading <= 3; reading++) {
    const keys = await Promise.all(Array.from({ length: 50 }, () => ask()))
    expect(keys.map(({ id }) => id)).toEqual(Array(50).fill('key_1'))
    await ask()
    expect(state.reads).toBe(reading)
    state.at += CACHE_MS
  }
  await inner.close()
})

test('the query is repeated after a failure of the database, and for an invalid key', async () => {
  const { inner, state, ask } = await start()
  state.isDown = true
  const failed = await Promise.allSettled([ask(), ask()])
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(state.reads).toBe(1)
  state.isDown = false
  expect(await ask()).toMatchObject({ id: 'key_1' })
  expect(state.reads).toBe(2)
  const wrong = `Bearer ${makeSecret((count) => crypto.getRandomValues(new Uint8Array(count)))}`
  for (const reads of [3, 4]) {
    expect((await rejection(ask(wrong))).message).toContain('Incorrect API key.')
    expect(state.reads).toBe(reads)
  }
  await inner.close()
})

test('a key revoked during its query is refused once the query’s start is older than the cache’s limit', async () => {
  const { inner, state, ask } = await start()
  const read = ask()
  state.at += CACHE_MS
  await read
  await revokeKey(inner, 'key_1', 2)
  expect((await rejection(ask())).message).toContain('revoked')
  await inner.close()
})

test('guesses of imported keys need no query, and a key that is imported later works', async () => {
  const { inner, state, ask } = await start()
  const guess = (number: number) => `Bearer sk-guessed-secret-of-another-gateway-${number}`
  const bring = (name: string) =>
    importKey(inner, {
      id: `key_${name}`,
      name,
      account: 'a',
      hash: hashSecret(`sk-theirs-${name}-0123456789abcdef0123456789`),
      hint: 'theirs',
      webhookSecret: 'whsec_2',
      createdAt: 1,
      pausedAt: null,
      ...unlimited,
    })
  const theirs = (name: string) => `Bearer sk-theirs-${name}-0123456789abcdef0123456789`
  await bring('early')
  expect(await ask(theirs('early'))).toMatchObject({ id: 'key_early' })
  const { reads } = state
  for (let number = 0; number < 100; number++)
    expect(await rejection(ask(guess(number)))).toMatchObject({ status: 401 })
  expect(state.reads).toBe(reads)
  expect(await bring('late')).toBe(true)
  state.at += 10_000
  expect(await ask(theirs('late'))).toMatchObject({ id: 'key_late' })
  expect(await ask(theirs('early'))).toMatchObject({ id: 'key_early' })
  await inner.close()
})
