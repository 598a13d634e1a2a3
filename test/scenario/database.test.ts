// The gateway's requirements of a database, as one contract for SQLite and PostgreSQL: atomic batches, guards, groups that share a
// commit, commits that survive a killed process, temporary faults, exact values, and migrations.

import { Database } from 'bun:sqlite'
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import {
  type BatchResult,
  DatabaseUnavailable,
  type Db,
  type Movement,
  type Statement,
  type Value,
} from '../../src/db/db'
import { openPostgres } from '../../src/db/drivers/postgres'
import { openSqlite } from '../../src/db/drivers/sqlite'
import { migrate } from '../../src/db/migrations'
import { SchemaRefused } from '../../src/db/schema/rules'
import { migrations } from '../../src/db/schema/steps'
import {
  type DatabaseKind,
  databaseAddress,
  databaseKinds,
  openAddress,
  openTestDatabase,
  postgresUrl,
  temporaryFolder,
} from '../support/databases/databases'
import { startTestGateway, waitFor } from '../support/gateway'
import { freePort } from '../support/processes/free-port'
import { rejection } from '../support/rejection'

setDefaultTimeout(180_000)

const addresses = new Map<DatabaseKind, string>()
/** The numbers of the steps that there are. */
const ALL = migrations.flatMap((step, index) => (step.length > 0 ? [index + 1] : []))
const THINGS = 'create table things (id bigint primary key, word text, size bigint)'

for (const kind of databaseKinds) {
  describe(`a batch on ${kind}`, () => batchContract(kind))
  describe(`concurrent batches on ${kind}`, () => concurrencyContract(kind))
  describe(`a confirmed commit on ${kind}`, () => durabilityContract(kind))
  describe(`values on ${kind}`, () => valueContract(kind))
  describe(`large numbers on ${kind}`, () => largeNumberContract(kind))
  describe(`our own errors on ${kind}`, () => faultContract(kind))
  describe(`migrations on ${kind}`, () => migrationContract(kind))
  describe(`guards of a step on ${kind}`, () => guardContract(kind))
  describe(`variants of statements on ${kind}`, () => variantContract(kind))
}

function batchContract(kind: DatabaseKind): void {
  test('returns the rows of each statement, in order', async () => {
    const db = await openThings(kind)
    const result = await db.batch([
      insert(1, 'one'),
      { sql: 'insert into things (id, word) values (2, $1) returning id, word', parameters: ['two'] },
      { sql: `update things set size = 5 where word = 'nobody' returning id` },
      { sql: 'select id from things order by id' },
    ])
    expect(result).toEqual({ rows: [[], [{ id: 2, word: 'two' }], [], [{ id: 1 }, { id: 2 }]] })
    await db.close()
  })

  test('that fails in the middle changes nothing', async () => {
    const db = await openThings(kind)
    await rejection(db.batch([insert(1), insert(2), insert(1), insert(3)]))
    expect(await idsOf(db)).toEqual([])
    await db.close()
  })

  test.each([0, 1, 3])('whose guard misses at index %i changes nothing', async (index) => {
    const db = await openThings(kind)
    const statements: Statement[] = [insert(1), insert(2), insert(3), insert(4)]
    statements.splice(index, 0, named(`at ${index}`))
    // Runs only if the miss did not end the batch.
    statements.push({ sql: 'insert into things (id) values (1), (1)' })
    expect(await db.batch(statements)).toEqual({ missed: `at ${index}` })
    expect(await idsOf(db)).toEqual([])
    await db.close()
  })

  test('is applied if all guards hit, and names the first of two misses', async () => {
    const db = await openThings(kind)
    await db.batch([insert(1)])
    const hit: Statement = { sql: 'update things set size = 1 where id = 1 returning id', guard: true }
    const select: Statement = { sql: 'select 1 as free where 1 = 1', guard: true }
    expect(await db.batch([hit, insert(2), select])).toEqual({ rows: [[{ id: 1 }], [], [{ free: 1 }]] })
    expect(await db.batch([hit, insert(3), missing, named('second')])).toEqual({ missed: true })
    expect(await db.batch([hit, insert(3), named('first'), named('second')])).toEqual({ missed: 'first' })
    expect(await idsOf(db)).toEqual([1, 2])
    await db.close()
  })

  test.each([
    [`update things set size = 1 where word = 'old'`, `update things set size = 1 where word = 'nobody'`],
    [`delete from things where word = 'old'`, `delete from things where word = 'nobody'`],
    ['insert into things (id) values (9)', 'insert into things (id) values (1) on conflict (id) do nothing'],
    [
      'insert into things (id) values (1) on conflict (id) do update set size = 2 where things.size is null',
      'insert into things (id) values (1) on conflict (id) do update set size = 2 where things.size = 7',
    ],
    [`select 1 as one where 1 = 1`, `select 1 as one where 1 = 0`],
  ])('counts the rows hit by `%s` without returning them', async (hit, miss) => {
    const db = await openThings(kind)
    await db.batch([insert(1, 'old')])
    // Changes of the previous statement must not count for the guard.
    const before = { sql: `update things set word = 'old' where id = 1` }
    expect(await db.batch([insert(5), before, { sql: miss, guard: 'last' }])).toEqual({ missed: 'last' })
    expect(await idsOf(db)).toEqual([1])
    expect(await db.batch([insert(5), before, { sql: hit, guard: true }])).toHaveProperty('rows')
    expect(await idsOf(db)).toContain(5)
    await db.close()
  })

  test('of no statements does nothing', async () => {
    const db = await openThings(kind)
    expect(await db.batch([])).toEqual({ rows: [] })
    await db.close()
  })
}

function concurrencyContract(kind: DatabaseKind): void {
  test('are not affected by one that misses or fails', async () => {
    const db = await openThings(kind)
    await db.batch([insert(0)])
    const batches = Array.from({ length: 300 }, (_, index) => {
      const id = (index + 1) * 10
      if (index % 10 === 3) return [named('before'), insert(id)]
      if (index % 10 === 5) return [insert(id), insert(id + 1), named('after')]
      if (index % 10 === 7) return [insert(id), insert(0)]
      if (index % 10 === 9) return [insert(id), { sql: 'insert into no_such_table (id) values (1)' }]
      return [insert(id), insert(id + 1)]
    })
    const results = await Promise.allSettled(batches.map((batch) => db.batch(batch)))
    const expected = [0]
    for (const [index, result] of results.entries()) {
      const id = (index + 1) * 10
      if (index % 10 === 3) expect(resultOf(result)).toEqual({ missed: 'before' })
      else if (index % 10 === 5) expect(resultOf(result)).toEqual({ missed: 'after' })
      else if (index % 10 === 7 || index % 10 === 9) expect(result.status).toBe('rejected')
      else {
        expect(resultOf(result)).toEqual({ rows: [[], []] })
        expected.push(id, id + 1)
      }
    }
    expect(await idsOf(db)).toEqual(expected)
    await db.close()
  })

  test('that exclude each other: only one succeeds', async () => {
    const db = await openThings(kind)
    await db.batch([insert(1, 'free')])
    const claims = Array.from({ length: 100 }, (_, index) =>
      db.batch([
        {
          sql: `update things set word = 'taken', size = $1 where word = 'free' returning id`,
          parameters: [index],
          guard: true,
        },
        insert(100 + index),
      ]),
    )
    const results = await Promise.all(claims)
    const winners = results.flatMap((result, index) => ('rows' in result ? [index] : []))
    expect(winners).toHaveLength(1)
    expect(await db.query({ sql: 'select size from things where id = 1' })).toEqual([
      { size: winners[0] as number },
    ])
    expect(await idsOf(db)).toEqual([1, 100 + (winners[0] as number)])
    await db.close()
  })

  test('lose no update', async () => {
    const db = await openThings(kind)
    await db.batch([{ sql: 'insert into things (id, size) values (1, 0)' }])
    const add: Statement = { sql: 'update things set size = size + 1 where id = 1' }
    await Promise.all(Array.from({ length: 200 }, () => db.batch([add, add])))
    expect(await db.query({ sql: 'select size from things' })).toEqual([{ size: 400 }])
    await db.close()
  })
}

function durabilityContract(kind: DatabaseKind): void {
  test('is visible to another connection at once', async () => {
    const address = await databaseAddress(kind)
    const [writer, reader] = [openAddress(address), openAddress(address)]
    await writer.batch([{ sql: THINGS }])
    for (let id = 0; id < 20; id++) {
      await writer.batch([insert(id)])
      expect(await idsOf(reader)).toHaveLength(id + 1)
    }
    await writer.close()
    await reader.close()
  })

  test('survives a killed process', async () => {
    const address = await databaseAddress(kind)
    const db = openAddress(address)
    await db.batch([{ sql: THINGS }])
    const child = Bun.spawn(
      [process.execPath, join(import.meta.dir, '../support/processes/write-until-killed.ts'), address],
      {
        stdout: 'pipe',
        stderr: 'inherit',
      },
    )
    let output = ''
    const decoder = new TextDecoder()
    for await (const piece of child.stdout) {
      output += decoder.decode(piece, { stream: true })
      // Killed once; its output so far is still read to the end.
      if (output.split('\n').length > 40) child.kill('SIGKILL')
    }
    const promised = output.split('\n').slice(0, -1).map(Number)
    const stored = new Set(await idsOf(db))
    expect(promised.length).toBeGreaterThan(39)
    for (const id of promised) {
      for (const row of [id * 10, id * 10 + 1, id * 10 + 2]) expect(stored.has(row)).toBe(true)
    }
    for (const row of stored) expect(stored.has(-Number(row))).toBe(true)
    await db.close()
  })

  test('includes batches that were running when the database was closed', async () => {
    const address = await databaseAddress(kind)
    const db = openAddress(address)
    await db.batch([{ sql: THINGS }])
    const late = Array.from({ length: 20 }, (_, id) => db.batch([insert(id)]))
    await db.close()
    const results = await Promise.allSettled(late)
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['fulfilled']))
    const again = openAddress(address)
    expect(await idsOf(again)).toEqual([...results.keys()])
    await again.close()
  })
}

function largeNumberContract(kind: DatabaseKind): void {
  test('an integer that is too large for a number is an error, never rounded', async () => {
    const db = await openThings(kind)
    await db.batch([
      { sql: `insert into things (id, size) values (1, 9007199254740993), (2, -9007199254740993)` },
    ])
    const read = (id: number) => ({ sql: 'select size from things where id = $1', parameters: [id] })
    expect((await rejection(db.query(read(1)))).message).toContain('size is too large')
    expect((await rejection(db.batch([insert(3), read(2)]))).message).toContain('size is too large')
    expect(await idsOf(db)).toEqual([1, 2])
    await db.close()
  })

  test('a time or a limit that is too large for a number becomes the largest one', async () => {
    const db = await openThings(kind)
    await db.batch([{ sql: 'insert into things (id, size) values (1, 9223372036854775807), (2, 7)' }])
    const sql = 'select size as expires_at, size as budget, -size as at from things order by id'
    const most = Number.MAX_SAFE_INTEGER
    expect(await db.query({ sql })).toEqual([
      { expires_at: most, budget: most, at: -most },
      { expires_at: 7, budget: 7, at: -7 },
    ])
    await db.close()
  })
}

function valueContract(kind: DatabaseKind): void {
  test.each([0, -1, 2 ** 31, -(2 ** 31) - 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])(
    'the integer %d is exact',
    async (size) => {
      const db = await openThings(kind)
      const stored = await db.batch([
        { sql: 'insert into things (id, size) values ($1, $2) returning id, size', parameters: [size, size] },
      ])
      expect(stored).toEqual({ rows: [[{ id: size, size }]] })
      const sum = { sql: 'select cast(sum(size) as bigint) as size, count(*) as count from things' }
      expect(await db.query(sum)).toEqual([{ size, count: 1 }])
      await db.close()
    },
  )

  test('texts are returned unchanged', async () => {
    const odd = ['', 'it’s', `'"\`;--`, '$1 ? ?1 :name @name %s {}', 'back\\slash\\n', 'line\nbreak\r\n\ttab']
    const wide = ['Grüße, 世界', '🎉👩‍👩‍👧‍👦', 'e\u0301', '\u202e', '\uffff']
    const texts = [...odd, ...wide, 'x'.repeat(1_000_000)]
    const db = await openThings(kind)
    for (const [id, text] of texts.entries()) {
      await db.batch([insert(id, text)])
      expect(await db.query({ sql: 'select id from things where word = $1', parameters: [text] })).toEqual([
        { id },
      ])
      expect(await db.query({ sql: 'select word from things where id = $1', parameters: [id] })).toEqual([
        { word: text },
      ])
    }
    await db.close()
  })

  test('null is null', async () => {
    const db = await openThings(kind)
    await db.batch([insert(1, null)])
    expect(await db.query({ sql: 'select word, size from things where word is null' })).toEqual([
      { word: null, size: null },
    ])
    expect(await db.query({ sql: 'select id from things where word = $1', parameters: [null] })).toEqual([])
    await db.close()
  })

  test('parameters are matched by number, however often and in whatever order they are used', async () => {
    const db = await openThings(kind)
    await db.batch([
      { sql: 'insert into things (size, word, id) values ($3, $2, $1)', parameters: [1, 'a', 10] },
      { sql: 'insert into things (id, size, word) values ($1, $1 + $2, $3)', parameters: [2, 10, 'b'] },
      { sql: 'update things set size = size + $1 where size > $1 and word = $2', parameters: [11, 'b'] },
    ])
    const many = Array.from({ length: 12 }, (_, index) => index + 1)
    const listed = many.map((number) => `cast($${number} as bigint) as c${number}`).reverse()
    expect(await db.query({ sql: 'select id, size, word from things order by id' })).toEqual([
      { id: 1, size: 10, word: 'a' },
      { id: 2, size: 23, word: 'b' },
    ])
    const [row] = await db.query({ sql: `select ${listed.join(', ')}`, parameters: many })
    expect(row as Record<string, Value>).toEqual(
      Object.fromEntries(many.map((number) => [`c${number}`, number])),
    )
    await db.close()
  })
}

function faultContract(kind: DatabaseKind): void {
  test.each(['not even SQL', 'select * from no_such_table', 'insert into things (id) values (7), (7)'])(
    '`%s` is not mistaken for a database that is down',
    async (sql) => {
      const db = await openThings(kind)
      const errors = [await errorOf(db.batch([{ sql }])), await errorOf(db.query({ sql }))]
      for (const error of errors) {
        expect(error).toBeInstanceOf(Error)
        expect(error).not.toBeInstanceOf(DatabaseUnavailable)
      }
      expect(await db.batch([insert(1)])).toEqual({ rows: [[]] })
      await db.close()
    },
  )

  test('a closed database is down', async () => {
    const db = await openThings(kind)
    await db.close()
    expect(await errorOf(db.batch([insert(1)]))).toBeInstanceOf(DatabaseUnavailable)
    expect(await errorOf(db.query({ sql: 'select 1 as one' }))).toBeInstanceOf(DatabaseUnavailable)
    await db.close()
  })
}

function variantContract(kind: DatabaseKind): void {
  test('are replaced only if the server lacks or forbids something', async () => {
    const db = openAddress(await databaseAddress(kind))
    const step = (sql: string) => [
      THINGS,
      { [kind]: sql, otherwise: 'alter table things add column plain bigint' },
    ]
    const missing = step('insert into no_such_table (id) values (1)')
    expect((await rejection(migrate(db, [missing]))).message).toContain('no_such_table')
    expect(await errorOf(idsOf(db))).toBeInstanceOf(Error)
    const unsupported = migrate(db, [step('select no_such_function()')])
    if (kind === 'sqlite') expect((await rejection(unsupported)).message).toContain('no_such_function')
    else {
      await unsupported
      expect(await db.query({ sql: 'select plain from things' })).toEqual([])
    }
    await db.close()
  })
}

function guardContract(kind: DatabaseKind): void {
  test.each([1, 2])('undo the step if they miss at their read %i', async (read) => {
    const db = openAddress(await databaseAddress(kind))
    await migrate(db, [[THINGS]])
    // It hits while there are fewer rows: at no read, or only at the one before the step.
    const guard = { sql: `select 1 as one where (select count(*) from things) < ${read - 1}`, guard: true }
    const step = ['insert into things (id) values (1)']
    expect(await rejection(migrate(db, [[THINGS], step], [guard]))).toBeInstanceOf(SchemaRefused)
    expect(await idsOf(db)).toEqual([])
    expect(await versionsOf(db)).toEqual([1])
    await migrate(db, [[THINGS], step])
    expect(await idsOf(db)).toEqual([1])
    await db.close()
  })
}

function migrationContract(kind: DatabaseKind): void {
  test('can be run by several nodes that start at once', async () => {
    for (let round = 0; round < 3; round++) {
      const address = await databaseAddress(kind)
      const nodes = Array.from({ length: 6 }, () => openAddress(address))
      await Promise.all(nodes.map((node) => migrate(node)))
      for (const node of nodes) expect(await node.query({ sql: 'select * from accounts' })).toEqual([])
      expect(await versionsOf(nodes[0] as Db)).toEqual(ALL)
      await Promise.all(nodes.map((node) => node.close()))
    }
  })

  test('change nothing when they are run again', async () => {
    const db = await openTestDatabase(kind)
    await db.batch([
      { sql: `insert into accounts (name, balance, held, created_at) values ('alice', 5, 3, 1)` },
    ])
    await migrate(db)
    await migrate(db)
    expect(await db.query({ sql: 'select * from accounts' })).toEqual([
      { name: 'alice', balance: 5, held: 3, created_at: 1 },
    ])
    expect(await versionsOf(db)).toEqual(ALL)
    await db.close()
  })

  if (kind === 'postgres') {
    test('may take longer than a statement of a request', async () => {
      const db = openAddress(await postgresUrl({ template: 'template1' }))
      expect(await errorOf(db.query({ sql: 'select pg_sleep(6)' }))).toBeInstanceOf(DatabaseUnavailable)
      await migrate(db, [['select pg_sleep(6)', THINGS]])
      expect(await versionsOf(db)).toEqual([1])
      // Only for that transaction.
      expect(await db.query({ sql: 'show statement_timeout' })).toEqual([{ statement_timeout: '5s' }])
      await db.close()
    })
  }

  test('run only new steps, and keep the data', async () => {
    const db = openAddress(await databaseAddress(kind))
    await migrate(db, [[THINGS]])
    await db.batch([insert(1, 'old')])
    await migrate(db, [['not looked at any more'], ['alter table things add column weight bigint']])
    expect(await db.query({ sql: 'select id, word, weight from things' })).toEqual([
      { id: 1, word: 'old', weight: null },
    ])
    await db.close()
  })

  test('leave the database unchanged when a step fails, and continue from there', async () => {
    const db = openAddress(await databaseAddress(kind))
    const broken = [
      THINGS,
      'insert into things (id) values (1)',
      'alter table no_such_table add column x bigint',
    ]
    expect((await rejection(migrate(db, [['create table first (id bigint)'], broken]))).message).toContain(
      'no_such_table',
    )
    expect(await versionsOf(db)).toEqual([1])
    expect(await errorOf(idsOf(db))).toBeInstanceOf(Error)
    await migrate(db, [['create table first (id bigint)'], [THINGS]])
    expect(await idsOf(db)).toEqual([])
    await db.close()
  })

  test('refuse a database of a newer gateway and say so', async () => {
    const db = await openTestDatabase(kind)
    await db.batch([{ sql: 'insert into schema_versions (version) values (1000)' }])
    expect((await rejection(migrate(db))).message).toMatch(/has schema 1000, .* use a newer version/)
    await db.close()
  })
}

describe('a full disk under SQLite', () => {
  const large = (id: number) => insert(id, 'x'.repeat(200_000))
  const limitPages = (db: Db, pages: number) => db.query({ sql: `pragma max_page_count = ${pages}` })

  // A file that was once larger has free pages, which would be used first.
  async function openNewFile(): Promise<Db> {
    const db = openAddress(await databaseAddress('sqlite'))
    await db.batch([{ sql: THINGS }])
    return db
  }

  test('makes the database unavailable until there is space again', async () => {
    const db = await openNewFile()
    await db.batch([insert(1)])
    await limitPages(db, 20)
    for (let attempt = 0; attempt < 3; attempt++) {
      const error = await errorOf(db.batch([insert(2), large(3)]))
      expect(error).toBeInstanceOf(DatabaseUnavailable)
      expect((error as Error).message).toContain('full')
      expect(await idsOf(db)).toEqual([1])
    }
    expect(await db.batch([insert(2)])).toEqual({ rows: [[]] })
    await limitPages(db, 1_000_000)
    expect(await db.batch([large(3)])).toEqual({ rows: [[]] })
    expect(await idsOf(db)).toEqual([1, 2, 3])
    await db.close()
  })

  test('rejects every batch that shares the commit, and none of them counts', async () => {
    const db = await openNewFile()
    await limitPages(db, 20)
    const results = await Promise.all([insert(1), large(2), insert(3)].map((one) => errorOf(db.batch([one]))))
    for (const error of results) expect(error).toBeInstanceOf(DatabaseUnavailable)
    expect(await idsOf(db)).toEqual([])
    await db.close()
  })

  test('also if one of the group had failed before', async () => {
    const db = await openNewFile()
    await limitPages(db, 20)
    const fault: Statement = { sql: 'insert into no_such_table (id) values (1)' }
    const errors = await Promise.all(
      [[insert(1)], [fault], [large(2)]].map((batch) => errorOf(db.batch(batch))),
    )
    expect(errors[2]).toBeInstanceOf(DatabaseUnavailable)
    const stored = await idsOf(db)
    expect(stored).toEqual(errors[0] === undefined ? [1] : [])
    await db.close()
  })
})

test('SQLite runs batches in the order of arrival, whatever happened to earlier ones', async () => {
  const db = await openThings('sqlite')
  for (let round = 0; round < 20; round++) {
    const id = round * 10
    const results = await Promise.allSettled([
      db.batch([insert(id), missing]),
      db.batch([insert(id, 'first')]),
      db.batch([insert(id + 1), insert(id)]),
      db.batch([{ sql: `update things set word = 'second' where word = 'first' returning id` }]),
    ])
    expect(results.map(resultOf)).toEqual([{ missed: true }, { rows: [[]] }, undefined, { rows: [[{ id }]] }])
  }
  expect(await idsOf(db)).toEqual(Array.from({ length: 20 }, (_, round) => round * 10))
  await db.close()
})

test('a SQLite file is unavailable while another process writes it, and available again afterwards', async () => {
  const path = join(temporaryFolder(), 'gateway.sqlite')
  const db = openSqlite(path)
  await db.batch([{ sql: THINGS }])
  await db.query({ sql: 'pragma busy_timeout = 20' })
  const other = new Database(path)
  other.run('begin immediate')
  expect(await errorOf(db.batch([insert(1)]))).toBeInstanceOf(DatabaseUnavailable)
  expect(await idsOf(db)).toEqual([])
  other.run('rollback')
  other.close()
  expect(await db.batch([insert(1)])).toEqual({ rows: [[]] })
  await db.close()
})

test('SQLite keeps confirmed commits when the tail of its log is torn', async () => {
  const path = join(temporaryFolder(), 'gateway.sqlite')
  const db = openSqlite(path)
  await db.batch([{ sql: THINGS }])
  for (let id = 1; id <= 20; id++) await db.batch([insert(id)])
  const copy = join(temporaryFolder(), 'copy.sqlite')
  const log = await Bun.file(`${path}-wal`).bytes()
  await Bun.write(copy, Bun.file(path))
  // A write interrupted by a power cut: half a page of the next commit.
  await Bun.write(`${copy}-wal`, Buffer.concat([log, log.subarray(-2_000)]))
  const again = openSqlite(copy)
  expect(await idsOf(again)).toHaveLength(20)
  expect(await again.query({ sql: 'pragma integrity_check' })).toEqual([{ integrity_check: 'ok' }])
  await again.close()
  await db.close()
})

test('SQLite syncs a hold together with its end, for a few in a row, and syncs everything else at once', async () => {
  const path = join(temporaryFolder(), 'gateway.sqlite')
  const db = openSqlite(path)
  await db.batch([{ sql: THINGS }])
  let id = 0
  const moved = (kind: Movement['kind'], also: Statement[] = []) =>
    db.move({ kind, account: 'a', columns: () => ({}), statements: () => [insert(++id)], also })
  const NORMAL = 1
  const FULL = 2
  /** How each commit is written, in their order. */
  const steps: [work: () => Promise<unknown>, synchronous: number][] = [
    [() => moved('hold'), NORMAL],
    [() => moved('end'), FULL],
    [() => moved('hold'), NORMAL],
    [() => moved('other'), FULL],
    [() => moved('hold', [insert(1000)]), FULL],
    [() => moved('hold'), NORMAL],
    [() => db.batch([insert(1001)]), FULL],
    [() => Promise.all([moved('hold'), moved('end')]), FULL],
    // Nor may there be more in a row than a damaged log may have lost.
    [() => moved('hold'), NORMAL],
    [() => Promise.all([1, 2, 3, 4, 5, 6].map(() => moved('hold'))), NORMAL],
    [() => moved('hold'), FULL],
    [() => moved('hold'), NORMAL],
  ]
  for (const [index, [work, synchronous]] of steps.entries()) {
    await work()
    const rows = await db.query({ sql: 'pragma synchronous' })
    expect({ index, rows }).toEqual({ index, rows: [{ synchronous }] })
  }
  // Unsynced data is visible to others, and after the end of the process.
  const other = new Database(path, { readonly: true })
  expect(other.query('select count(*) as count from things').get()).toEqual({ count: id + 2 })
  other.close()
  await db.close()
})

describe('PostgreSQL', () => {
  test('that cuts connections fails running batches, and is used again automatically', async () => {
    const address = await postgresUrl()
    const [db, other] = [openPostgres(address), openPostgres(address)]
    await db.batch([{ sql: THINGS }])
    const running = Array.from({ length: 20 }, (_, id) =>
      db.batch([insert(id), { sql: 'select pg_sleep(0.7)' }]).then(
        () => undefined,
        (error: unknown) => error,
      ),
    )
    await waitFor(async () => {
      const sleeping = `select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
      return (await other.query({ sql: sleeping })).length > 8
    })
    await cutConnections(other)
    const errors = await Promise.all(running)
    for (const error of errors) if (error !== undefined) expect(error).toBeInstanceOf(DatabaseUnavailable)
    expect(errors.filter((error) => error instanceof DatabaseUnavailable).length).toBeGreaterThan(0)
    await untilUp(db)
    const promised = errors.flatMap((error, id) => (error === undefined ? [id] : []))
    expect(await idsOf(db)).toEqual(promised)
    await db.close()
    await other.close()
  })

  test('that cuts unused connections causes only brief errors', async () => {
    const address = await postgresUrl()
    const [db, other] = [openPostgres(address), openPostgres(address)]
    await db.batch([{ sql: THINGS }])
    await Promise.all(Array.from({ length: 16 }, () => db.query({ sql: 'select pg_sleep(0.05)' })))
    await cutConnections(other)
    await untilUp(db)
    await Promise.all(Array.from({ length: 50 }, (_, id) => db.batch([insert(id)])))
    expect(await idsOf(db)).toHaveLength(50)
    await db.close()
    await other.close()
  })

  test('that takes too long is reported as down', async () => {
    const db = openPostgres(await postgresUrl())
    const slow = db.batch([
      { sql: THINGS },
      { sql: `set local statement_timeout = '50ms'` },
      { sql: 'select pg_sleep(5)' },
    ])
    expect(await errorOf(slow)).toBeInstanceOf(DatabaseUnavailable)
    expect(await db.batch([{ sql: THINGS }])).toEqual({ rows: [[]] })
    await db.close()
  })

  test('that breaks a deadlock lets one batch succeed first, and then the other', async () => {
    const db = await openThings('postgres')
    await db.batch([insert(1, 'a'), insert(2, 'b')])
    const touch = (id: number): Statement => ({
      sql: 'update things set size = $1 where id = $1',
      parameters: [id],
    })
    // Long enough for the other one to have its first lock.
    const pause: Statement = { sql: 'select pg_sleep(0.5)' }
    const more = { sql: 'update things set size = size + 10' }
    const results = await Promise.all([
      db.batch([touch(1), pause, touch(2), more]),
      db.batch([touch(2), pause, touch(1), more]),
    ])
    for (const result of results) expect(result).toHaveProperty('rows')
    // Each was done once, whichever had to be repeated.
    expect(await db.query({ sql: 'select size from things order by id' })).toEqual([
      { size: 11 },
      { size: 12 },
    ])
    await db.close()
  })

  test('that does not exist is down', async () => {
    const db = openPostgres(`postgres://postgres:secret@127.0.0.1:${await freePort()}/nothing`)
    expect(await errorOf(db.query({ sql: 'select 1 as one' }))).toBeInstanceOf(DatabaseUnavailable)
    expect(await errorOf(db.batch([insert(1)]))).toBeInstanceOf(DatabaseUnavailable)
    await db.close()
  })
})

const missing: Statement = {
  sql: `update things set size = 1 where word = 'nobody' returning id`,
  guard: true,
}

/** A statement that misses, with a name for its guard. */
function named(guard: string): Statement {
  return { ...missing, guard }
}

function insert(id: number, word: string | null = null): Statement {
  return { sql: 'insert into things (id, word) values ($1, $2)', parameters: [id, word] }
}

/** The table of most tests, empty. They take turns on one database of each kind: making one takes PostgreSQL a while. */
async function openThings(kind: DatabaseKind): Promise<Db> {
  const address = addresses.get(kind) ?? (await databaseAddress(kind))
  addresses.set(kind, address)
  const db = openAddress(address)
  await db.batch([{ sql: 'drop table if exists things' }, { sql: THINGS }])
  return db
}

async function idsOf(db: Db): Promise<Value[]> {
  return (await db.query({ sql: 'select id from things order by id' })).map(({ id }) => id as Value)
}

async function versionsOf(db: Db): Promise<Value[]> {
  const rows = await db.query({ sql: 'select version from schema_versions order by version' })
  return rows.map(({ version }) => version as Value)
}

function errorOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  )
}

function resultOf(result: PromiseSettledResult<BatchResult>): BatchResult | undefined {
  return result.status === 'fulfilled' ? result.value : undefined
}

async function cutConnections(other: Db): Promise<void> {
  await other.query({
    sql: `select pg_terminate_backend(pid) as done from pg_stat_activity
      where datname = current_database() and application_name = (select application_name from pg_stat_activity
        where pid = pg_backend_pid()) and pid <> pg_backend_pid()`,
  })
}

/** Until the pool has discarded its dead connections, each of which fails one request. */
async function untilUp(db: Db): Promise<void> {
  await waitFor(async () => {
    const query = () => errorOf(db.query({ sql: 'select pg_sleep(0.01)' }))
    const errors = (await Promise.all(Array.from({ length: 32 }, query))).filter(
      (error) => error !== undefined,
    )
    for (const error of errors) expect(error).toBeInstanceOf(DatabaseUnavailable)
    return errors.length === 0
  })
}

test('SQLite syncs its commits to the disk, except for the request log', async () => {
  const gateway = await startTestGateway()
  const { db } = gateway.server.world
  const FULL = 2
  // Queried on the same connection that the gateway uses for writing.
  expect(await db.query({ sql: 'pragma synchronous' })).toEqual([{ synchronous: FULL }])
  expect(await db.query({ sql: 'pragma journal_mode' })).toEqual([{ journal_mode: 'wal' }])
  await gateway.close()
  const others = [
    [{}, FULL],
    [{ durable: true }, FULL],
    [{ durable: false }, 1],
  ] as const
  for (const [options, synchronous] of others) {
    const other = openSqlite(join(temporaryFolder(), 'other.sqlite'), options)
    expect({ options, rows: await other.query({ sql: 'pragma synchronous' }) }).toEqual({
      options,
      rows: [{ synchronous }],
    })
    await other.close()
  }
})
