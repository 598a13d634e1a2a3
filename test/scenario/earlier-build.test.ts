// Databases of builds before 1.0: that of the last build is opened, keeps all its rows and works; an older one is left unchanged.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { findOpenCharge, hold, settle } from '../../src/billing/ledger/ledger'
import { audit } from '../../src/billing/proofs/audit'
import type { Db } from '../../src/db/db'
import { migrate } from '../../src/db/migrations'
import { program } from '../../src/db/schema/program'
import { findSchema } from '../../src/db/schema/rules'
import { migrations } from '../../src/db/schema/steps'
import {
  type DatabaseKind,
  databaseKinds,
  openAddress,
  openTestDatabase,
} from '../support/databases/databases'
import { allRows, earlierDatabase } from '../support/databases/earlier-build'
import { makeCharge, makeSettlement } from '../support/databases/ledger-rows'
import { rejection } from '../support/rejection'

setDefaultTimeout(120_000)

/** The minute after the recording. */
const NOW = Date.UTC(2026, 10, 25, 1, 54)

describe.each(databaseKinds)('a database of the last build before 1.0 on %s', (kind) => {
  test('keeps all its rows, its books are correct, and the gateway serves', async () => {
    const db = openAddress(await earlierDatabase(kind))
    const before = await allRows(db)
    expect(await findSchema(db)).toEqual({ schema: 33, version: null })
    await migrate(db)
    expect(await findSchema(db)).toEqual({ schema: migrations.length, version: program().version })
    expect(await allRows(db)).toEqual(before)
    expect(Object.values(before).filter((rows) => rows.length > 0).length).toBeGreaterThan(20)
    expect((await audit(db, NOW)).problems).toEqual([])

    const [running] = await db.query({ sql: 'select key_id, id from open_charges' })
    const left = await findOpenCharge(db, running?.key_id as string, running?.id as string)
    if (!left) throw new Error('the recording has no open charge')
    expect(await settle(db, left, makeSettlement(left.heldNano, { endedAt: NOW }))).toBeDefined()
    const next = makeCharge(1_000, { account: left.account, createdAt: NOW, expiresAt: NOW + 60_000 })
    expect(await hold(db, next)).toEqual({ held: true })
    expect(await settle(db, next, makeSettlement(5, { endedAt: NOW }))).toEqual({
      paidNano: 5,
      shortfallNano: 0,
    })
    expect((await audit(db, NOW)).problems).toEqual([])
    await db.close()
  })

  test('becomes the same as a new one', async () => {
    const [earlier, fresh] = [openAddress(await earlierDatabase(kind)), await openTestDatabase(kind)]
    await migrate(earlier)
    expect(await shapeOf(earlier, kind)).toEqual(await shapeOf(fresh, kind))
    await Promise.all([earlier.close(), fresh.close()])
  })

  test.each([1, 20, 32])(
    'at its step %i is refused with a sentence that says what to do, and is not changed',
    async (version) => {
      const db = openAddress(await earlierDatabase(kind))
      await db.batch([{ sql: 'delete from schema_versions where version > $1', parameters: [version] }])
      const before = await shapeOf(db, kind)
      expect((await rejection(migrate(db))).message).toMatch(
        new RegExp(`^The database has schema ${version}, .* build of commit [0-9a-f]{8} on it once`),
      )
      expect(await shapeOf(db, kind)).toEqual(before)
      expect(await db.query({ sql: 'select max(version) as version from schema_versions' })).toEqual([
        { version },
      ])
      await db.close()
    },
  )
})

/** Tables with their columns in order, indexes, views, functions and rules, without what a server has chosen. */
async function shapeOf(db: Db, kind: DatabaseKind): Promise<unknown[]> {
  const sql = {
    sqlite: `select m.type || ' ' || m.name as name, c.name as part, c.type || ' ' || c."notnull" || ' ' || c.pk || ' ' ||
        coalesce(c.dflt_value, '') as definition
      from sqlite_schema m left join pragma_table_xinfo(m.name) c order by 1, c.cid`,
    postgres: `select 'column ' || table_name as name, column_name as part, data_type || ' ' || is_nullable || ' ' ||
        coalesce(column_default, '') as definition, ordinal_position as place
      from information_schema.columns where table_schema = 'public' and column_name <> 'prices' and table_name not like 'ended_charges_2%'
      union all select 'index', cast(indexname as text), indexdef, 0 from pg_indexes where schemaname = 'public'
      union all select 'view', cast(viewname as text), definition, 0 from pg_views where schemaname = 'public'
      union all select 'rule', cast(rulename as text), definition, 0 from pg_rules where schemaname = 'public'
      union all select 'function', cast(proname as text), pg_get_functiondef(oid), 0 from pg_proc
        where pronamespace = 'public'::regnamespace order by 1, 2`,
  }
  return (await db.query({ sql: sql[kind] })).map(({ place: _, ...row }) => row)
}
