// Every release has recorded databases of both kinds: this version opens each and keeps every row, and the books are correct. No
// released step of the schema may change.
//
// RECORD_RELEASE=1 records this version first, as `bun run build --all` does.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { dirname } from 'node:path'
import { audit } from '../../src/billing/proofs/audit'
import type { Db } from '../../src/db/db'
import { migrate } from '../../src/db/migrations'
import { program } from '../../src/db/schema/program'
import { findSchema } from '../../src/db/schema/rules'
import { databaseKinds, openAddress, temporaryFolder } from '../support/databases/databases'
import { startTestGateway } from '../support/gateway'
import { KEPT_TEXT, recordingOptions } from '../support/releases/fill'
import {
  describe as describeTables,
  hashesOfSteps,
  manifestOf,
  recordedDatabase,
  recordedVersions,
  recordRelease,
} from '../support/releases/recording'

setDefaultTimeout(300_000)

const DAY_MS = 86_400_000
/** Rows that only a database in use has. */
const UNFINISHED = {
  'a charge that is held': 'select id from open_charges',
  'an unfinished video': `select id from tasks where state = 'submitted'`,
  'a webhook that failed': `select id from webhooks where state = 'failed'`,
  'a key that is revoked': 'select id from keys where revoked_at is not null',
  'a month that is closed': 'select position from closings',
  'texts that are encrypted': `select id from encryption_keys where id <> 'clear'`,
}

/** Names of the queries that find a row. */
async function counted(db: Db, queries: Readonly<Record<string, string>>): Promise<string[]> {
  const found: string[] = []
  for (const [name, sql] of Object.entries(queries))
    if ((await db.query({ sql })).length > 0) found.push(name)
  return found
}

if (process.env.RECORD_RELEASE) await recordRelease()

test('this version is recorded', () => expect(recordedVersions()).toContain(program().version))

for (const version of recordedVersions()) {
  const manifest = manifestOf(version)

  test(`the steps of the schema of ${version} are as they were released`, () => {
    expect(hashesOfSteps().slice(0, manifest.steps.length)).toEqual(manifest.steps)
  })

  for (const kind of databaseKinds) {
    const { tables, secret, responseId } = manifest.databases[kind]

    test(`a database of ${version} on ${kind} has every kind of row`, () => {
      const empty = Object.entries(tables).filter(([, { totals }]) => totals.rows_in_all === 0)
      // On PostgreSQL results need a bucket.
      expect(empty.map(([name]) => name)).toEqual(kind === 'sqlite' ? [] : ['artifacts'])
    })

    test(`a database of ${version} on ${kind} keeps every row, its books are right, and it is served`, async () => {
      const address = await recordedDatabase(version, kind)
      const db = openAddress(address)
      expect(await findSchema(db)).toEqual({ schema: manifest.schema, version })
      await migrate(db)
      expect(await findSchema(db)).toMatchObject({ schema: program().schema })
      expect(await describeTables(db, tables)).toEqual(tables)
      expect((await audit(db, manifest.recordedAt)).problems).toEqual([])
      expect(await counted(db, UNFINISHED)).toEqual(Object.keys(UNFINISHED))
      await db.close()

      // When the unfinished video is overdue, and kept objects have not expired.
      const begun = performance.now()
      const now = () => manifest.recordedAt + 2 * DAY_MS + Math.floor(performance.now() - begun)

      const place =
        kind === 'sqlite'
          ? { dataDir: dirname(address) }
          : { databaseUrl: address, dataDir: temporaryFolder() }
      const gateway = await startTestGateway({
        ...recordingOptions(kind),
        ...place,
        balance: '0',
        outside: { now },
      })
      const headers = { authorization: `Bearer ${secret}` }
      const kept = await fetch(`${gateway.url}/v1/responses/${responseId}/input_items`, { headers })
      expect(await kept.text()).toContain(KEPT_TEXT)
      expect((await gateway.chat({}, headers)).status).toBe(200)
      await gateway.close()
    })
  }
}
