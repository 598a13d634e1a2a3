// Encryption at rest: with a master key a copy of the database reveals no content and no secret, whenever the key was set; keys can
// be replaced while nodes run; and a process that lacks a key reports that instead of starting.

import { Database } from 'bun:sqlite'
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { encodedTables } from '../../src/app/encoded-tables'
import { randomBytes } from '../../src/app/world'
import { masterKeysOf } from '../../src/config/secrets'
import { LiveBalances, type LiveEvent } from '../../src/console-server/live-balances'
import { apply, type Db } from '../../src/db/db'
import { createCodec, storedBy } from '../../src/db/encryption/codec'
import { registerKey, usedKeys } from '../../src/db/encryption/keys'
import { secretOf } from '../../src/db/encryption/secrets'
import { insertBackground } from '../../src/kept-responses/background-rows'
import { rollWebhookSecret, webhookSecretsOf } from '../../src/webhooks/secrets'
import { databaseKinds, openAddress, temporaryFolder } from '../support/databases/databases'
import {
  bytesOf,
  encryptedOptions,
  filesOf,
  foundIn,
  idOf,
  keysOfTexts,
  masterKeys,
  reencrypt,
  reencryptAlone,
  reencryptInTurn,
  spellingsOf,
  storeTexts,
} from '../support/databases/encrypted-gateway'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { closeNodes, restart, startTwin } from '../support/nodes'
import { createCommandLine } from '../support/processes/command-line'
import { rejection } from '../support/rejection'

setDefaultTimeout(120_000)

const [first, second, foreign] = masterKeys
const never = () => 'not made again'

/** The commands of the documentation for a lost key. */
async function removalStatements(): Promise<string[]> {
  const page = await Bun.file(join(import.meta.dir, '../../docs/encryption.md')).text()
  const [, sql = ''] = /```sql\n(delete [^`]*)```/.exec(page) ?? []
  return sql
    .split(';')
    .map((each) => each.trim())
    .filter((each) => each !== '')
}

/** The statements of the documentation for PostgreSQL, with every table that has encoded columns. */
async function vacuumStatements(): Promise<string[]> {
  const page = await Bun.file(join(import.meta.dir, '../../docs/encryption.md')).text()
  const statements = [...page.matchAll(/^(vacuum .*);$/gm)].map(([, sql = '']) => sql)
  const tables = statements[0]?.replace('vacuum (full, analyze) ', '').split(', ')
  expect(tables?.sort()).toEqual(encodedTables.map(({ table }) => table).sort())
  return statements
}

async function idsOf({ server }: TestGateway): Promise<string[]> {
  return (await usedKeys(server.world.db)).map(({ id }) => id)
}

/** The other node can open the sealed text of one node, for that account only. */
function expectSameSeal(...nodes: [TestGateway, TestGateway]): void {
  for (const [one, other] of [nodes, [...nodes].reverse()] as [TestGateway, TestGateway][]) {
    const sealed = one.server.world.sealer.seal('thought', 'alice')
    expect(other.server.world.sealer.open(sealed, 'alice')).toBe('thought')
    expect(other.server.world.sealer.open(sealed, 'bob')).toBeUndefined()
  }
}

/** Restarts a gateway with other keys, and encrypts all rows with the new one. */
async function rotate(
  gateway: TestGateway,
  secrets: Parameters<typeof encryptedOptions>[0],
): Promise<TestGateway> {
  const next = await restart(gateway, encryptedOptions(secrets))
  if (next.server.world.db.kind === 'postgres') await reencrypt(next.server.world.db)
  return next
}

// Concurrently: each waits some seconds for the poll of its video.
for (const database of databaseKinds) {
  describe.concurrent(`on ${database}`, () => {
    test('with a key from the beginning, nothing is ever stored in plain text', async () => {
      const gateway = await startTestGateway({ database, ...encryptedOptions({ key: first }) })
      const { db, now } = gateway.server.world
      const stored = await storeTexts(gateway, 'canary-from-the-beginning')
      const own = await secretOf(db, 'sealing', never, now())
      const bytes = await bytesOf(gateway)
      expect(foundIn(bytes, [...stored.texts, own])).toEqual([])
      expect(spellingsOf(first).filter((spelling) => bytes.includes(spelling))).toEqual([])
      if (database === 'postgres') expect(foundIn(await filesOf(gateway), [...stored.texts, own])).toEqual([])
      await stored.check(gateway)
      const again = await restart(gateway, encryptedOptions({ key: first }))
      await stored.check(again)
      const log = Buffer.from(JSON.stringify([gateway.log, again.log]))
      expect(foundIn(log, ['canary', first])).toEqual([])
      await again.close()
    })

    test('texts stored before the key was set are encrypted, without a plain copy', async () => {
      const before = await startTestGateway({ database, ...encryptedOptions(undefined) })
      const stored = await storeTexts(before, 'canary-before-the-key')
      expect(foundIn(await bytesOf(before), stored.texts)).toEqual(stored.texts)
      // The server takes samples of all columns.
      await before.server.world.db.query({ sql: 'analyze' })
      const after = await rotate(before, { key: first })
      expect(foundIn(await bytesOf(after), stored.texts)).toEqual([])
      expect(await idsOf(after)).toEqual([idOf(first)])
      await stored.check(after)
      if (database === 'postgres') {
        const { db } = after.server.world
        expect(foundIn(await filesOf(after), stored.texts)).toContain('canary-before-the-key')
        // The gateway works meanwhile: what one of its transactions could still read stays until the next time.
        await waitFor(async () => {
          for (const sql of await vacuumStatements()) await db.query({ sql })
          return foundIn(await filesOf(after), stored.texts).length === 0
        })
      }
      const later = await storeTexts(after, 'canary-after-the-key')
      expect(foundIn(await bytesOf(after), later.texts)).toEqual([])
      await after.close()
    })

    test('a key is replaced: the older one is needed until no row uses it, then it can be removed', async () => {
      const before = await startTestGateway({ database, ...encryptedOptions({ key: first }) })
      const stored = await storeTexts(before, 'canary-to-rotate')
      const sealed = before.server.world.sealer.seal('thought', 'alice')
      const during = await restart(before, encryptedOptions({ key: second, olderKeys: [first] }))
      await stored.check(during)
      expect(during.server.world.sealer.open(sealed, 'alice')).toBe('thought')
      const after = await rotate(during, { key: second, olderKeys: [first] })
      expect(await idsOf(after)).toEqual([idOf(second)])
      expect(Object.keys(await keysOfTexts(after.server.world.db))).toEqual([idOf(second)])
      const alone = await restart(after, encryptedOptions({ key: second }))
      await stored.check(alone)
      expect(alone.server.world.sealer.open(sealed, 'alice')).toBeUndefined()
      await alone.close()
    })

    test('a rolled webhook secret signs together with the previous one, under any key', async () => {
      const before = await startTestGateway({ database, ...encryptedOptions(undefined) })
      const { id } = await before.makeKey('bob', '1')
      const { db, now } = before.server.world
      const old = await webhookSecretsOf(db, id, now())
      await rollWebhookSecret(db, id, 'whsec_rolled', now())
      const secrets = ['whsec_rolled', ...old]
      const encrypted = await rotate(before, { key: first })
      const read = ({ server }: TestGateway) => webhookSecretsOf(server.world.db, id, server.world.now())
      expect(await read(encrypted)).toEqual(secrets)
      await rollWebhookSecret(encrypted.server.world.db, id, 'whsec_newest', now())
      const rotated = await rotate(encrypted, { key: second, olderKeys: [first] })
      expect(await read(rotated)).toEqual(['whsec_newest', 'whsec_rolled'])
      expect(foundIn(await bytesOf(rotated), [...secrets, 'whsec_newest'])).toEqual([])
      await rotated.close()
    })

    test('a change during re-encryption is not overwritten, and its key is not forgotten', async () => {
      const before = await startTestGateway({ database, ...encryptedOptions({ key: first }) })
      const { id } = await before.makeKey('bob', '1')
      await before.server.stop(0)
      await before.sandbox.stop()
      const address = before.databaseUrl ?? join(before.dataDir, 'gateway.sqlite')
      const old = openAddress(
        address,
        createCodec(masterKeysOf({ key: first, olderKeys: [second] }), randomBytes),
      )
      const next = openAddress(
        address,
        createCodec(masterKeysOf({ key: second, olderKeys: [first] }), randomBytes),
      )
      await registerKey(next)
      // A command with the older key, between the reading of a row and its change.
      const between: Db = {
        ...next,
        async query(statement) {
          const rows = await next.query(statement)
          if (rows[0]?.webhook_secret === undefined) return rows
          await registerKey(old)
          await rollWebhookSecret(old, id, 'whsec_rolled', 1)
          return rows
        },
      }
      const log = await reencryptAlone(between)
      expect(log.at(-1)?.fields.forgotten).not.toContain(idOf(first))
      const read = await webhookSecretsOf(next, id, 1)
      expect([read.length, read[0]]).toEqual([2, 'whsec_rolled'])
      // The next pass finds what was left.
      await reencryptAlone(next)
      expect(Object.keys(await keysOfTexts(next))).toEqual([idOf(second)])
      expect(await webhookSecretsOf(next, id, 1)).toEqual(read)
      await Promise.all([old.close(), next.close()])
    })

    test('without any key again, everything is stored in plain text', async () => {
      const before = await startTestGateway({ database, ...encryptedOptions({ key: first }) })
      const stored = await storeTexts(before, 'canary-back-again')
      const after = await rotate(before, { key: null, olderKeys: [first] })
      expect(await idsOf(after)).toEqual(['clear'])
      const plain = await restart(after, encryptedOptions(undefined))
      await stored.check(plain)
      expect(foundIn(await bytesOf(plain), stored.texts)).toEqual(stored.texts)
      await plain.close()
    })

    test('a lost key loses only what it encrypted, and no money or key of a caller', async () => {
      const before = await startTestGateway({ database, ...encryptedOptions({ key: first }) })
      await storeTexts(before, 'canary-of-a-lost-key')
      const balance = await before.balance()
      // A gateway that still serves would record its key again.
      await before.server.stop(0)
      const plain = openAddress(before.databaseUrl ?? join(before.dataDir, 'gateway.sqlite'))
      await plain.batch((await removalStatements()).map((sql) => ({ sql })))
      await plain.close()
      const after = await restart(before, encryptedOptions({ key: second }))
      if (database === 'postgres') await reencrypt(after.server.world.db)
      expect(await idsOf(after)).toEqual([idOf(second)])
      expect(await after.balance()).toEqual(balance)
      const caller = { authorization: `Bearer ${before.secret}` }
      expect((await after.chat({}, caller)).status).toBe(200)
      const { data } = (await (await fetch(`${after.url}/v1/videos`, { headers: caller })).json()) as {
        data: object[]
      }
      expect(data).toMatchObject([{ status: 'completed' }])
      await after.close()
    })

    test('a start without the key, or with another, is refused with advice', async () => {
      const gateway = await startTestGateway({ database, ...encryptedOptions({ key: first }) })
      const { dataDir, sandbox } = gateway
      const same = { dataDir, sandbox, ...(gateway.databaseUrl && { databaseUrl: gateway.databaseUrl }) }
      await gateway.server.stop(0)
      const start = (secrets: Parameters<typeof encryptedOptions>[0]) =>
        startTestGateway({ ...same, ...encryptedOptions(secrets), balance: '0' })
      const id = idOf(first)
      expect((await rejection(start(undefined))).message).toContain(
        `encrypted with the key ${id}, and the configuration has no such key: set it as secrets.key`,
      )
      expect((await rejection(start({ key: foreign }))).message).toContain(
        `encrypted with the key ${id}, and secrets.key is the key ${idOf(foreign)}: if it replaces the other, add that to secrets.olderKeys`,
      )
      // A refused start has left nothing behind.
      const right = await start({ key: first })
      expect(await idsOf(right)).not.toContain(idOf(foreign))
      await right.close()
      await sandbox.stop()
    })
  })
}

describe.if(databaseKinds.includes('postgres'))('nodes that get a new key one after another', () => {
  const database = 'postgres'

  test('in the documented order can always read each other, and end up with the new key', async () => {
    const one = await startTestGateway({ database, ...encryptedOptions({ key: first }) })
    const stored = [await storeTexts(one, 'canary-of-one')]
    // First every node learns to read the new key, then each encrypts with it.
    const knowing = await restart(one, encryptedOptions({ key: first, olderKeys: [second] }))
    const twin = await startTwin(knowing, encryptedOptions({ key: second, olderKeys: [first] }))
    stored.push(await storeTexts(twin, 'canary-of-twin'), await storeTexts(knowing, 'canary-meanwhile'))
    for (const each of stored) await Promise.all([each.check(knowing), each.check(twin)])
    expectSameSeal(knowing, twin)
    // As long as one node encrypts with the older key, nothing is needlessly re-encrypted.
    expect(await reencryptInTurn(knowing.server.world.db, twin.server.world.db)).toEqual([[], []])
    const both = await restart(knowing, encryptedOptions({ key: second, olderKeys: [first] }))
    const log = await reencrypt(both.server.world.db)
    expect(log).toMatchObject([
      { event: 'rows_encrypted', fields: { key: idOf(second), forgotten: [idOf(first), 'clear'].sort() } },
    ])
    expect(Object.keys(await keysOfTexts(both.server.world.db))).toEqual([idOf(second)])
    for (const each of stored) await Promise.all([each.check(both), each.check(twin)])
    await closeNodes([both, twin])
    await one.sandbox.stop()
  })

  test('in the wrong order report the missing key, damage nothing, and read everything once they have it', async () => {
    const one = await startTestGateway({ database, ...encryptedOptions({ key: first }) })
    const twin = await startTwin(one, encryptedOptions({ key: second, olderKeys: [first] }))
    const headers = { authorization: `Bearer ${twin.secret}`, 'idempotency-key': 'once' }
    const answer = await (await twin.chat({}, headers)).text()
    const refused = await one.chat({}, headers)
    expect(refused.status).toBe(500)
    expect(await refused.text()).not.toContain(idOf(second))
    expect(JSON.stringify(one.log)).toContain(idOf(second))
    expect(await reencrypt(one.server.world.db, 8)).toMatchObject(
      Array(2).fill({ event: 'encryption_key_unknown', fields: { keys: [idOf(second)] } }),
    )
    const knowing = await restart(one, encryptedOptions({ key: second, olderKeys: [first] }))
    expect(await (await knowing.chat({}, headers)).text()).toBe(answer)
    await closeNodes([knowing, twin])
    await one.sandbox.stop()
  })

  test('a node that does not encrypt yet is waited for', async () => {
    const one = await startTestGateway({ database, ...encryptedOptions({ key: null, olderKeys: [first] }) })
    const twin = await startTwin(one, encryptedOptions({ key: first }))
    const stored = await storeTexts(one, 'canary-in-clear')
    expectSameSeal(one, twin)
    expect(await reencryptInTurn(one.server.world.db, twin.server.world.db)).toEqual([[], []])
    expect((await idsOf(twin)).sort()).toEqual([idOf(first), 'clear'].sort())
    const both = await restart(one, encryptedOptions({ key: first }))
    await reencrypt(twin.server.world.db)
    expect(await idsOf(twin)).toEqual([idOf(first)])
    expect(foundIn(await bytesOf(twin), stored.texts)).toEqual([])
    await stored.check(both)
    await closeNodes([both, twin])
    await one.sandbox.stop()
  })
})

test.concurrent('a row that was changed or moved to another place is not read', async () => {
  const gateway = await startTestGateway(encryptedOptions({ key: first }))
  const { db, now } = gateway.server.world
  await secretOf(db, 'one', () => 'of one', now())
  await secretOf(db, 'two', () => 'of two', now())
  await db.batch([
    { sql: `update secrets set value = (select value from secrets where name = 'one') where name = 'two'` },
  ])
  expect((await rejection(secretOf(db, 'two', never, now()))).message).toMatch(
    /^secrets\.value two cannot be read: .*changed since$/,
  )
  expect(await secretOf(db, 'one', never, now())).toBe('of one')
  const [row] = await db.query({ sql: `select value from secrets where name = 'two'` })
  expect(storedBy(row?.value as string)).toBe(idOf(first))
  await gateway.close()
  // It prevents its key from being forgotten, but no node from starting.
  const again = await restart(gateway, encryptedOptions({ key: second, olderKeys: [first] }))
  expect(again.log.filter(({ event }) => event === 'row_unreadable')).toMatchObject([
    { fields: { reason: expect.stringContaining('secrets.value two cannot be read') } },
  ])
  expect(await idsOf(again)).toEqual([idOf(first), idOf(second)].sort())
  await again.close()
})

test.concurrent('a secret that was replaced by clear text is refused once all rows are encrypted', async () => {
  const gateway = await startTestGateway(encryptedOptions({ key: first }))
  const { db, now } = gateway.server.world
  const [key] = await db.query({ sql: 'select id from keys' })
  const keyId = key?.id as string
  await db.batch([
    { sql: `update keys set webhook_secret = 'whsec_mine'` },
    { sql: `insert into secrets (name, value, created_at) values ('one', 'mine', 0)` },
  ])
  expect((await rejection(secretOf(db, 'one', never, now()))).message).toMatch(/clear text.* delete it/)
  expect((await rejection(webhookSecretsOf(db, keyId, now()))).message).toMatch(/clear text.*roll-webhook/)
  await rollWebhookSecret(db, keyId, 'whsec_new', now())
  expect(await webhookSecretsOf(db, keyId, now())).toEqual(['whsec_new'])
  await db.batch([{ sql: `insert into encryption_keys (id, uses) values ('clear', 1)` }])
  expect(await secretOf(db, 'one', never, now())).toBe('mine')
  await gateway.close()
})

test.concurrent('an unreadable background response does not prevent others from being ended', async () => {
  const gateway = await startTestGateway(encryptedOptions({ key: first }))
  const { db, now, backgroundResponses } = gateway.server.world
  const times = { now: now(), leaseUntil: 0, expiresAt: now() + 60_000 }
  const ids = ['resp_1', 'resp_2', 'resp_3']
  for (const id of ids) {
    const answer = JSON.stringify({ id, status: 'in_progress' })
    await apply(db, [insertBackground(db, { id, account: 'alice', answer }, times)])
  }
  await apply(db, [
    {
      sql: `update background_responses set answer = (select answer from background_responses where id = 'resp_2') where id = 'resp_1'`,
    },
  ])
  await backgroundResponses.sweep()
  expect(gateway.log.at(-1)).toMatchObject({
    event: 'row_unreadable',
    fields: { reason: expect.stringContaining('background_responses.answer resp_1 cannot be read') },
  })
  for (const id of ids.slice(1)) {
    expect(JSON.parse((await backgroundResponses.find('alice', id))?.answer ?? '')).toMatchObject({
      id,
      status: 'failed',
    })
  }
  await gateway.close()
})

test.concurrent('pages that follow a task get the original error of its vendor', async () => {
  const gateway = await startTestGateway(encryptedOptions({ key: first }))
  const books = new LiveBalances(gateway.server.world)
  const watched = { keys: new Set<string>(), hasAdmin: true }
  await books.read(watched)
  const task = { model: 'test-long-video', prompt: 'a fox [sandbox task_ms=0 task_end=failed]' }
  expect((await gateway.post('/v1/videos', task)).status).toBe(200)
  const reported: LiveEvent[] = []
  await waitFor(async () => {
    reported.push(...(await books.read(watched)).filter(({ name }) => name === 'task'))
    return reported.some(({ all }) => all && 'state' in all && all.state === 'failed')
  })
  const error = { code: 'InvalidParameter', message: 'The size is not match' }
  expect(reported.at(-1)?.all).toMatchObject({ state: 'failed', progress: null, error })
  await gateway.close()
})

test.concurrent('a file that another process reads is rewritten at the next start, and its older keys are kept until then', async () => {
  const before = await startTestGateway(encryptedOptions(undefined))
  const stored = await storeTexts(before, 'canary-of-a-reader')
  await before.server.stop(0)
  const reader = new Database(join(before.dataDir, 'gateway.sqlite'))
  reader.run('begin')
  reader.query('select * from accounts').all()
  const during = await restart(before, encryptedOptions({ key: first }))
  expect(during.log.map(({ event }) => event)).toContain('database_not_compacted')
  expect(await idsOf(during)).toEqual([idOf(first), 'clear'].sort())
  await stored.check(during)
  reader.run('commit')
  reader.close()
  const after = await restart(during, encryptedOptions({ key: first }))
  expect(await idsOf(after)).toEqual([idOf(first)])
  expect(foundIn(await bytesOf(after), stored.texts)).toEqual([])
  await after.close()
})

test.concurrent('commands read tasks and send webhooks again with the key of the configuration', async () => {
  const gateway = await startTestGateway(encryptedOptions({ key: first }))
  const { taskId } = await storeTexts(gateway, 'canary-for-commands')
  const { call } = createCommandLine(temporaryFolder())
  const command = (line: string) =>
    call([...line.split(' '), taskId, '--data-dir', gateway.dataDir], { env: { GATEWAY_SECRETS_KEY: first } })
  const shown = await command('tasks show --json')
  expect(shown).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(shown.stdout)).toMatchObject({
    document: { status: 'succeeded' },
    webhook: { state: 'delivered' },
  })
  expect(shown.stdout).toContain('canary-for-commands')
  expect(await command('tasks redeliver')).toMatchObject({ code: 0 })
  await gateway.close()
})
