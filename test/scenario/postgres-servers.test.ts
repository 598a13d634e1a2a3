// PostgreSQL servers that stop, no longer accept changes, or hang: of several servers in one address, the first that accepts
// changes is used, and no charge is lost. The servers are proxies to one database, which a test opens, closes and silences.

import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createServer, connect as openSocket, type Server, type Socket } from 'node:net'
import { balanceOf } from '../../src/billing/ledger/balances'
import { addCredit, type Charge, hold, settle } from '../../src/billing/ledger/ledger'
import { referencesOf } from '../../src/billing/ledger/shared-rows'
import { audit } from '../../src/billing/proofs/audit'
import { DatabaseUnavailable, type Db } from '../../src/db/db'
import { openPostgres } from '../../src/db/drivers/postgres'
import { withSnapshot } from '../../src/db/drivers/postgres-snapshot'
import { migrate } from '../../src/db/migrations'
import { MOVE_MONEY } from '../../src/db/movements/records'
import type { ReadRows } from '../../src/request-log/request-log'
import { databaseKinds, postgresUrl } from '../support/databases/databases'
import { makeCharge, makeSettlement, START } from '../support/databases/ledger-rows'
import { TABLES } from '../support/databases/postgres'
import { say, startTestGateway, type TestGatewayOptions, waitFor } from '../support/gateway'
import { freePort } from '../support/processes/free-port'
import { rejection } from '../support/rejection'
import { startTaskVendor, succeeded, videoBody } from '../support/vendors/task'

setDefaultTimeout(120_000)

const FUNDS_NANO = 1_000_000_000
const PRICE_NANO = 400
const SILENCE_MS = 2_000
/** How often a gateway looks whether its database has answered. */
const CHECK_MS = 250
const group = databaseKinds.includes('postgres') ? describe : describe.skip
const doors: Door[] = []
afterAll(() => Promise.all(doors.map((door) => door.shut())))

group('an address with several servers', () => {
  test('whose first one fails under load: the second is used, and no charge is lost', async () => {
    const url = new URL(await postgresUrl())
    const [first, second] = [await makeDoor(url), await makeDoor(url)]
    await first.open()
    const db = openPostgres(addressOf(url, [first, second]))
    await fund(db)
    const load = startLoad(db)
    await waitFor(() => load.settled.length > 100)
    // As when a primary dies and another server is promoted a moment later.
    await first.shut()
    await Bun.sleep(200)
    await second.open()
    const before = load.settled.length
    await waitFor(() => load.settled.length > before + 100)
    await load.stop()
    expect(second.connections).toBeGreaterThan(0)
    await proveBooks(db, load.settled)
    await db.close()
  })

  test('whose first one accepts no changes: the second is used, and the first again when that one becomes read-only', async () => {
    const url = new URL(await postgresUrl())
    const name = url.pathname.slice(1)
    const admin = openPostgres(url.href)
    const [first, second] = [await makeDoor(url), await makeDoor(url)]
    await second.open()
    const db = openPostgres(addressOf(url, [first, second]))
    await fund(db)
    await first.open()
    const load = startLoad(db)
    await waitFor(() => load.settled.length > 50)
    expect(first.connections).toBe(0)
    // New sessions are those of a standby for a moment; the old ones are notified.
    await admin.batch([{ sql: `alter database ${name} set default_transaction_read_only = on` }])
    await second.cut()
    await Bun.sleep(300)
    const writer = openPostgres(`${url.href}?options=-c%20default_transaction_read_only%3Doff`)
    await writer.batch([
      { sql: 'set transaction read write' },
      { sql: `alter database ${name} set default_transaction_read_only = off` },
    ])
    const before = load.settled.length
    await waitFor(() => load.settled.length > before + 50)
    await load.stop()
    expect(first.connections).toBeGreaterThan(0)
    await proveBooks(db, load.settled)
    for (const each of [db, admin, writer]) await each.close()
  })

  test('whose first one hangs under load, with open connections: waiting calls fail in time, and the second is used', async () => {
    const url = new URL(await postgresUrl())
    const [first, second] = [await makeDoor(url), await makeDoor(url)]
    await first.open()
    await second.open()
    const db = openPostgres(addressOf(url, [first, second]), { silenceMs: SILENCE_MS })
    await fundDirectly(url)
    const load = startLoad(db)
    await waitFor(() => load.settled.length > 100)
    first.hush(true)
    const before = load.settled.length
    await waitFor(() => load.settled.length > before + 100)
    await load.stop()
    expect(second.connections).toBeGreaterThan(0)
    await proveBooks(db, load.settled)
    await db.close()
  })

  test('without any reachable server is down, and says so', async () => {
    const url = new URL(await postgresUrl())
    const [first, second] = [await makeDoor(url), await makeDoor(url)]
    const db = openPostgres(addressOf(url, [first, second]))
    const error = await db.query({ sql: 'select 1 as one' }).catch((fault: unknown) => fault)
    expect(error).toBeInstanceOf(DatabaseUnavailable)
    expect(String(error)).toContain('no server of the address takes changes')
    await second.open()
    expect(await db.query({ sql: 'select 1 as one' })).toEqual([{ one: 1 }])
    await db.close()
  })
})

group('an address with one server', () => {
  test('that hangs, with open connections: waiting calls fail in time, and it is used again when it answers', async () => {
    const url = new URL(await postgresUrl())
    const door = await makeDoor(url)
    await door.open()
    const db = openPostgres(`postgres://postgres:secret@127.0.0.1:${door.port}${url.pathname}`, {
      silenceMs: SILENCE_MS,
    })
    await fundDirectly(url)
    const load = startLoad(db)
    await waitFor(() => load.settled.length > 100)
    door.hush(true)
    const error = await db.query({ sql: 'select 1 as one' }).catch((fault: unknown) => fault)
    expect(error).toBeInstanceOf(DatabaseUnavailable)
    door.hush(false)
    const before = load.settled.length
    await waitFor(() => load.settled.length > before + 100)
    await load.stop()
    await proveBooks(db, load.settled)
    await db.close()
  })

  test('that returns as a copy without the last rows: cached values of these rows are read again', async () => {
    const url = new URL(await postgresUrl())
    const door = await makeDoor(url)
    await door.open()
    const db = openPostgres(`postgres://postgres:secret@127.0.0.1:${door.port}${url.pathname}`)
    await fund(db)
    const charge = makeCharge(1_000)
    const number = await referencesOf(db).seriesId(charge)
    await door.shut()
    expect(await rejection(db.query({ sql: 'select 1 as one' }))).toBeInstanceOf(DatabaseUnavailable)
    // There, another row has the number.
    const admin = openPostgres(url.href)
    const give = `update charge_series set account = 'bob' where id = $1`
    await admin.batch([{ sql: give, parameters: [number], guard: true }])
    await door.open()
    await hold(db, charge)
    await settle(db, charge, makeSettlement(PRICE_NANO))
    await proveBooks(db, [charge.id])
    expect(await admin.query({ sql: 'select account from charges' })).toEqual([{ account: 'alice' }])
    for (const each of [db, admin]) await each.close()
  })

  test('whose answer to a hold is lost: the hold is released, and the request can be repeated', async () => {
    using vendor = startTaskVendor()
    const upstreams = { dashscope: vendor.upstream }
    const gateway = await startTestGateway({ database: 'postgres', upstreams })
    const { db } = gateway.server.world
    const { move } = db
    const requests = [
      ['/v1/chat/completions', { model: 'test-chat', messages: say('Hello!') }],
      ['/v1/videos/generations', videoBody('one')],
    ] as const
    for (const [path, body] of requests) {
      db.move = async (movement) => {
        db.move = move
        await db.move(movement)
        throw new DatabaseUnavailable('the connection was closed')
      }
      const ask = () => gateway.post(path, body, { 'idempotency-key': path })
      const refused = await ask()
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
      expect((await gateway.balance()).heldNano).toBeGreaterThan(0)
      // Long before the hold expires.
      await waitFor(async () => (await gateway.balance()).heldNano === 0)
      expect((await ask()).ok).toBe(true)
    }
    expect(vendor.submits).toHaveLength(1)
    expect((await db.query({ sql: 'select id from tasks' })).length).toBe(1)
    vendor.answerPoll = succeeded
    await gateway.close()
  })

  test('that hangs: new requests are refused in two seconds, and their holds are released', async () => {
    const { gateway, door } = await startBehindDoor()
    expect((await gateway.chat()).status).toBe(200)
    door.hush(true)
    for (let requests = 0; requests < 3; requests++) {
      const refused = await Promise.race([gateway.chat(), timePasses(2_000)])
      expect([refused?.status, refused?.headers.get('retry-after')]).toEqual([503, '1'])
    }
    door.hush(false)
    await waitFor(async () => (await gateway.chat()).status === 200)
    await waitFor(async () => (await gateway.balance()).heldNano === 0)
    const states = (await gateway.charges()).map(({ state, ended_by: by }) => `${state} by ${by}`)
    // The first had been sent before anybody knew that the server hangs, and was applied when it continued.
    expect(states.filter((state) => state !== 'settled by done')).toEqual(['released by expired'])
    await gateway.close()
  })

  const ofOtherPrice = { price: { per_1m_input_tokens: '1.25', per_1m_output_tokens: '2.50' } }
  const chatOf = (model: string) => ['/v1/chat/completions', { model, messages: say('Hi') }] as const
  interface Seen {
    request: readonly [path: string, body: object]
    needsFunction?: boolean
    /** Whether the request is counted by the key, which is written first. */
    isCounted?: boolean
    /** The status once the server answers again. */
    status?: number
  }
  const seen: [string, Seen][] = [
    ['a price list for the first time', { request: chatOf('test-local') }],
    [
      'metadata for the first time',
      { request: ['/v1/chat/completions', { ...chatOf('test-chat')[1], metadata: { team: 'red' } }] },
    ],
    [
      'a request that is only counted',
      { request: ['/v1/messages/count_tokens', { model: 'test-chat', messages: say('Hi') }] },
    ],
    ['a hold, without the function of the database', { needsFunction: false, request: chatOf('test-chat') }],
    ['a conversation', { isCounted: false, request: ['/v1/conversations', {}] }],
    [
      'an attempt at a code',
      { isCounted: false, request: ['/v1/codes/redeem', { code: 'UMG-AAAA' }], status: 404 },
    ],
  ]
  for (const [what, { request, needsFunction = true, isCounted = true, status = 200 }] of seen) {
    test(`that hangs while it writes ${what}: the request is refused in two seconds`, async () => {
      const { gateway, door } = await startBehindDoor(
        { 'test-local': ofOtherPrice },
        { usage: { metadata: ['team'] } },
      )
      const { db } = gateway.server.world
      if (!needsFunction) await db.batch([{ sql: `drop function ${MOVE_MONEY}` }])
      const { secret } = await gateway.makeKey('alice', '0', isCounted ? { requestsPerMinute: 1_000 } : {})
      const ask = ([path, body] = request) => gateway.post(path, body, { authorization: `Bearer ${secret}` })
      expect((await ask(chatOf('test-chat'))).status).toBe(200)
      await waitFor(async () => (await gateway.newestCharge())?.state === 'settled')
      const { batch, move } = db
      const hush = () => {
        Object.assign(db, { batch, move })
        door.hush(true)
      }
      db.batch = (...parameters) => {
        hush()
        return batch(...parameters)
      }
      if (!needsFunction)
        db.move = (movement) => {
          hush()
          return move(movement)
        }
      const refused = await Promise.race([ask(), timePasses(2_000)])
      expect([refused?.status, refused?.headers.get('retry-after')]).toEqual([503, '1'])
      door.hush(false)
      await waitFor(async () => (await ask()).status === status)
      await waitFor(async () => (await gateway.balance()).heldNano === 0)
      await gateway.close()
    })
  }

  test('that hangs while it appends to a conversation: the request is refused in two seconds, and a repeat adds once', async () => {
    const { gateway, door } = await startBehindDoor()
    const { db } = gateway.server.world
    const item = (content: string) => ({ items: [{ type: 'message', role: 'user', content }] })
    const begun = await gateway.post('/v1/conversations', item('one'))
    const path = `/v1/conversations/${((await begun.json()) as { id: string }).id}/items`
    const { batch } = db
    db.batch = (statements, options) => {
      if (statements.some(({ sql }) => sql.includes('insert into conversation_items'))) {
        db.batch = batch
        door.hush(true)
      }
      return batch(statements, options)
    }
    const refused = await Promise.race([gateway.post(path, item('two')), timePasses(2_000)])
    expect([refused?.status, refused?.headers.get('retry-after')]).toEqual([503, '1'])
    door.hush(false)
    const textsOf = async () => {
      const listed = await fetch(`${gateway.url}${path}?order=asc`, {
        headers: { authorization: `Bearer ${gateway.secret}` },
      })
      const { data } = (await listed.json()) as { data: { content: { text: string }[] }[] }
      return data.map(({ content }) => content[0]?.text)
    }
    await waitFor(async () => (await gateway.post(path, item('two'))).status === 200)
    await waitFor(async () => (await textsOf()).length === 2)
    for (let looks = 0; looks < 3; looks++) {
      await Bun.sleep(2_000)
      expect(await textsOf()).toEqual(['one', 'two'])
    }
    const [{ bytes } = {}] = await db.query({ sql: 'select bytes from response_totals' })
    const [{ bytes: summed } = {}] = await db.query({
      sql: `select sum(bytes) + (select sum(512 + metadata_bytes) from conversations) as bytes from conversation_items`,
    })
    expect(Number(bytes)).toBe(Number(summed))
    await gateway.close()
  })

  for (const way of ['hush', 'shut'] as const) {
    test(`that ${way === 'hush' ? 'hangs' : 'refuses'}: a stream that needs more is ended as at its limit, and its row says why`, async () => {
      const step = 10
      const { gateway, door, rows } = await startBehindDoor({ 'test-chat': { reserveOutputTokens: step } })
      // Its vocabulary is loaded by the first count, which takes many seconds on a busy machine.
      await gateway.server.world.tokenCounter.count('a word')
      const words = '[sandbox tokens=2000 token_delay_ms=5]'
      const stream = await gateway.chat({ stream: true, messages: say(words) })
      const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
      await reader.read()
      if (way === 'hush') door.hush(true)
      else await door.shut()
      let text = ''
      const rest = (async () => {
        for (let next = await reader.read(); !next.done; next = await reader.read())
          text += Buffer.from(next.value).toString()
      })()
      await inTime(rest)
      expect(text).toContain('"finish_reason":"length"')
      expect(gateway.log.filter(({ event }) => event === 'hold_not_extended')).toHaveLength(1)
      await waitFor(() => rows.length === 1)
      expect(rows[0]).toMatchObject({ endedBy: 'database', errorCode: 'database_unavailable' })
      if (way === 'hush') door.hush(false)
      else await door.open()
      const newestCharge = () => gateway.newestCharge().catch(() => undefined)
      await waitFor(async () => (await newestCharge())?.state === 'settled')
      const charge = await gateway.newestCharge()
      expect(charge).toMatchObject({ ended_by: 'balance', shortfall: 0 })
      expect(Number(charge?.amount)).toBeGreaterThan(0)
      await gateway.close()
    })
  }

  test.each(['hush', 'shut'] as const)(
    'that is unreachable by %s: a gateway with running requests still stops in time',
    async (way) => {
      const { gateway, door } = await startBehindDoor()
      const words = '[sandbox tokens=2000 token_delay_ms=20]'
      const streams = await Promise.all(
        Array.from({ length: 5 }, () => gateway.chat({ stream: true, messages: say(words) })),
      )
      if (way === 'hush') door.hush(true)
      else await door.shut()
      const texts = Promise.all(streams.map((stream) => stream.text().catch(() => '')))
      expect(await inTime(gateway.server.stop(1_000))).toBe(5)
      await texts
      door.hush(false)
    },
  )

  test('whose connections never close: a stop ends at its deadline, and says which work it has not waited for', async () => {
    const { gateway } = await startBehindDoor()
    const { world } = gateway.server
    const close = world.close.bind(world)
    world.close = () => new Promise(() => {})
    await gateway.server.stop(0)
    expect(gateway.log).toContainEqual({ event: 'stop_not_complete', fields: { part: 'the database' } })
    await close()
  })

  test('that answers each statement of a long transaction keeps its connections', async () => {
    const db = openPostgres(await postgresUrl(), { silenceMs: SILENCE_MS })
    const part = { sql: `select 1 as one from pg_sleep(${SILENCE_MS / 4_000})` }
    expect(await db.batch(Array.from({ length: 8 }, () => part))).toHaveProperty('rows')
    await db.close()
  })

  test('that answers changes one after the other keeps its connections, however long some wait', async () => {
    const db = openPostgres(`${await postgresUrl()}?connection_limit=2`, { silenceMs: SILENCE_MS })
    const part = { sql: `select 1 as one from pg_sleep(${SILENCE_MS / 12_000})` }
    const changes = Array.from({ length: 12 }, (_, index) =>
      db.batch(index % 2 === 0 ? [part] : [part, part]),
    )
    for (const result of await Promise.all(changes)) expect(result).toHaveProperty('rows')
    await db.close()
  })

  test('whose connections are all busy with slow reads does not count as one that hangs', async () => {
    const db = openPostgres(`${await postgresUrl()}?connection_limit=3`)
    const slow = { sql: 'select 1 as one from pg_sleep(2)' }
    const reads = await Promise.all(Array.from({ length: 4 }, () => db.query(slow)))
    expect(reads.flat()).toEqual(Array.from({ length: 4 }, () => ({ one: 1 })))
    await db.close()
  })

  test('whose changes wait for each other: reads are answered meanwhile', async () => {
    const db = openPostgres(`${await postgresUrl()}?connection_limit=2`)
    const part = { sql: 'select 1 as one from pg_sleep(0.05)' }
    let changed = 0
    const changes = Array.from({ length: 20 }, () => db.batch([part, part]).then(() => changed++))
    await db.query(part)
    expect(changed).toBeLessThan(10)
    await Promise.all(changes)
    await db.close()
  })

  test('that answers others, but one connection no more: waiting changes fail in time, and it is replaced', async () => {
    const url = new URL(await postgresUrl())
    const door = await makeDoor(url)
    await door.open()
    const db = openPostgres(`postgres://postgres:secret@127.0.0.1:${door.port}${url.pathname}`, {
      silenceMs: SILENCE_MS,
    })
    await fundDirectly(url)
    const load = startLoad(db)
    await waitFor(() => load.settled.length > 100)
    door.hush(true, await portOfMovements(db))
    const isAnswered = async (before: number) => {
      // A read that runs while the connections are replaced fails with them.
      await db
        .query({ sql: 'select 1 as one' })
        .catch((error) => expect(error).toBeInstanceOf(DatabaseUnavailable))
      return load.settled.length > before + 100
    }
    const before = load.settled.length
    await waitFor(() => isAnswered(before))
    await load.stop()
    await proveBooks(db, load.settled)
    await db.close()
  })

  test('whose commits wait without an end, although it answers others: requests are refused in time', async () => {
    const { gateway, door } = await startBehindDoor()
    const { db } = gateway.server.world
    expect((await gateway.chat()).status).toBe(200)
    await waitFor(async () => (await gateway.newestCharge())?.state === 'settled')
    door.hush(true, await portOfMovements(db))
    const refused = inTime(gateway.chat())
    let isRefused = false
    void refused.finally(() => {
      isRefused = true
    })
    while (!isRefused) {
      await db.query({ sql: 'select 2 as two' })
      await Bun.sleep(20)
    }
    const reply = await refused
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '1'])
    door.hush(false)
    await waitFor(async () => (await gateway.chat()).status === 200)
    await waitFor(async () => (await gateway.balance()).heldNano === 0)
    await gateway.close()
  })

  test('that answers a report slowly keeps its connections', async () => {
    const url = new URL(await postgresUrl())
    const door = await makeDoor(url)
    await door.open()
    const db = openPostgres(`postgres://postgres:secret@127.0.0.1:${door.port}${url.pathname}`, {
      silenceMs: SILENCE_MS,
    })
    const slow = db.query({ sql: `select 1 as one from pg_sleep(${(2 * SILENCE_MS) / 1_000})` })
    let isAnswered = false
    void slow.finally(() => {
      isAnswered = true
    })
    while (!isAnswered) {
      await db.query({ sql: 'select 2 as two' })
      await Bun.sleep(20)
    }
    expect(await slow).toEqual([{ one: 1 }])
    await db.close()
  })
})

group('connections', () => {
  const one = { sql: 'select 1 as one' }
  const rows: [title: string, search: string, isPatient: boolean, most: number][] = [
    ['are limited by the address', '?connection_limit=4', false, 4],
    ['of a command are few', '', true, 3],
  ]
  for (const [title, search, patient, most] of rows) {
    test(title, async () => {
      const url = new URL(await postgresUrl())
      const door = await makeDoor(url)
      await door.open()
      const db = openPostgres(`postgres://postgres:secret@127.0.0.1:${door.port}${url.pathname}${search}`, {
        patient,
      })
      await migrate(db)
      await Promise.all(Array.from({ length: 30 }, () => db.query(one)))
      await Promise.all(
        Array.from({ length: 30 }, (_, place) =>
          addCredit(db, { id: `tr_${place}`, account: 'alice', amountNano: 1, now: START, note: null }),
        ),
      )
      expect(door.connections).toBeGreaterThan(1)
      expect(door.connections).toBeLessThanOrEqual(most)
      await db.close()
    })
  }

  test('of a backup use a reachable server of the address, with the settings of the gateway', async () => {
    const url = new URL(await postgresUrl())
    const [first, second] = [await makeDoor(url), await makeDoor(url)]
    await second.open()
    const address = `${addressOf(url, [first, second])}&connection_limit=4&pgbouncer=true`
    expect(await withSnapshot(address, (snapshot) => snapshot.query(one))).toEqual([{ one: 1 }])
  })
})

/** A gateway whose database is behind a door. */
async function startBehindDoor(
  models: TestGatewayOptions['models'] = {},
  config: TestGatewayOptions['config'] = {},
) {
  const url = new URL(await postgresUrl({ template: TABLES }))
  const door = await makeDoor(url)
  await door.open()
  const databaseUrl = `postgres://postgres:secret@127.0.0.1:${door.port}${url.pathname}`
  const rows: { endedBy: string | null; errorCode: string | null }[] = []
  // A reader must not keep a row.
  const logRequests: ReadRows = (ended) =>
    void rows.push(...ended.map(({ endedBy, errorCode }) => ({ endedBy, errorCode })))
  const gateway = await startTestGateway({ databaseUrl, models, config, outside: { logRequests } })
  return { door, gateway, rows }
}

/** Passes as slowly as the checks for an answer on a busy machine: as many timers, one after another. */
async function timePasses(milliseconds: number): Promise<undefined> {
  for (let passed = 0; passed < milliseconds; passed += CHECK_MS) await Bun.sleep(CHECK_MS)
}

/** Less than a silence after which connections are closed. Only what hangs takes so long. */
const HANGS_MS = 15_000

async function inTime<Result>(work: Promise<Result>): Promise<Result> {
  const late = Bun.sleep(HANGS_MS).then(() => Promise.reject(new Error('it hangs')))
  late.catch(() => {})
  return Promise.race([work, late])
}

interface Door {
  port: number
  connections: number
  open(): Promise<void>
  /** Ends its connections. */
  cut(): Promise<void>
  /** Keeps its connections, takes new ones, and passes nothing on: of all, or of the one that has this port at the database. */
  hush(isHushed: boolean, port?: number): void
  shut(): Promise<void>
}

async function makeDoor(to: URL): Promise<Door> {
  let server: Server | undefined
  let isHushed = false
  /** Both of a connection, each with the one to the database. */
  const sockets = new Map<Socket, Socket>()
  const door: Door = {
    port: await freePort(),
    connections: 0,
    async open() {
      server = createServer((near) => {
        door.connections++
        const far = openSocket(Number(to.port), to.hostname)
        for (const [one, other] of [[near, far] as const, [far, near] as const]) {
          sockets.set(one, far)
          one.on('error', () => other.destroy())
          one.on('close', () => other.destroy())
          one.pipe(other)
          if (isHushed) one.pause()
        }
      })
      const listening = server.listen(door.port, '127.0.0.1')
      await new Promise((resolve) => listening.once('listening', resolve))
    },
    async cut() {
      for (const socket of sockets.keys()) socket.destroy()
      sockets.clear()
    },
    hush(next, port) {
      if (port === undefined) isHushed = next
      for (const [socket, far] of sockets) {
        if (port === undefined || far.localPort === port) next ? socket.pause() : socket.resume()
      }
    },
    async shut() {
      server?.close()
      await door.cut()
    },
  }
  doors.push(door)
  return door
}

function addressOf(url: URL, servers: readonly Door[]): string {
  const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(',')
  return `postgres://postgres:secret@${hosts}${url.pathname}?target_session_attrs=read-write`
}

async function fund(db: Db): Promise<void> {
  await migrate(db)
  await addCredit(db, { id: 'funds', account: 'alice', amountNano: FUNDS_NANO, now: START, note: null })
}

/** The port at the database of the connection that sends movements of money. */
async function portOfMovements(db: Db): Promise<number> {
  const sql = `select client_port as port from pg_stat_activity
    where datname = current_database() and query like 'select ${MOVE_MONEY}%'`
  const rows = await db.query({ sql })
  expect(rows).toHaveLength(1)
  return Number(rows[0]?.port)
}

/** Past the limit for silence: a busy machine may take as long to create the tables. */
async function fundDirectly(url: URL): Promise<void> {
  const db = openPostgres(url.href)
  await fund(db)
  await db.close()
}

/** Callers that hold and settle until they are stopped; an end is repeated until the database has stored it. */
function startLoad(db: Db): { settled: string[]; stop(): Promise<void> } {
  const settled: string[] = []
  let isStopped = false
  const patiently = async (charge: Charge) => {
    for (;;) {
      try {
        await settle(db, charge, makeSettlement(PRICE_NANO))
        return
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) throw error
        await Bun.sleep(20)
      }
    }
  }
  const call = async () => {
    while (!isStopped) {
      const charge = makeCharge(1_000)
      const isHeld = await hold(db, charge).then(
        (result) => 'held' in result,
        (error) => {
          if (!(error instanceof DatabaseUnavailable)) throw error
          return false
        },
      )
      if (!isHeld) await Bun.sleep(20)
      else {
        await patiently(charge)
        settled.push(charge.id)
      }
    }
  }
  const calls = Promise.all(Array.from({ length: 24 }, call))
  return {
    settled,
    async stop() {
      isStopped = true
      await calls
    },
  }
}

async function proveBooks(db: Db, settled: readonly string[]): Promise<void> {
  expect((await audit(db, START)).problems).toEqual([])
  const rows = await db.query({
    sql: `select id from charges where state = 'settled' and amount = ${PRICE_NANO}`,
  })
  const paid = new Set(rows.map(({ id }) => id))
  expect(settled.filter((id) => !paid.has(id))).toEqual([])
  expect(paid.size).toBe(settled.length)
  const balance = await balanceOf(db, 'alice')
  expect(balance?.balanceNano).toBe(FUNDS_NANO - settled.length * PRICE_NANO)
}
