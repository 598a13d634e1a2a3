// A process that migrates a database to the newest schema and kills itself right before a statement: with 1 before the first, and
// with one more than there are before the commit of the last transaction. With 0 it finishes.

import type { Db, Statement } from '../../../src/db/db'
import { openPostgres } from '../../../src/db/drivers/postgres'
import { openSqlite } from '../../../src/db/drivers/sqlite'
import { migrate } from '../../../src/db/migrations'
import { migrations } from '../../../src/db/schema/steps'

/** Steps on existing rows, in addition to those of the program. */
export const ownSteps = [
  [
    'create table things (id bigint not null, word text)',
    `insert into things (id, word) values (1, 'a'), (2, 'b')`,
  ],
  [
    'alter table things add column weight bigint',
    'update things set weight = id * 10',
    'create index things_by_weight on things (weight)',
    'create table others (id bigint not null)',
    'insert into others (id) select id from things where weight > 10',
    'delete from things where weight > 10',
  ],
]

/** Runs all statements up to one, and ends the process with its text. */
function killedBefore(db: Db, last: number): Db {
  let begun = 0
  const counted = (statement: Statement): Statement => {
    let sql: string | undefined
    return {
      ...statement,
      // The driver reads the text right before it runs the statement.
      get sql() {
        if (sql === undefined) {
          sql = statement.sql
          if (++begun === last) process.kill(process.pid, 'SIGKILL')
        }
        return sql
      },
    }
  }
  const end = { sql: 'select 1 as one' }
  return { ...db, batch: (statements, options) => db.batch([...statements, end].map(counted), options) }
}

if (import.meta.main) {
  const [address = '', last, steps] = process.argv.slice(2)
  const db = address.startsWith('postgres:') ? openPostgres(address, { patient: true }) : openSqlite(address)
  await migrate(killedBefore(db, Number(last)), steps === 'own' ? ownSteps : migrations)
  await db.close()
}
