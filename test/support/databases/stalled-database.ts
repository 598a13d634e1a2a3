// Stops a process in the middle of one change of its database: a trigger before that change loops endlessly in SQLite, and waits
// for a lock of the test in PostgreSQL. A test can thus kill the process between two steps without a hook in the program.

import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { SQL } from 'bun'

const CHECK_MS = 5
/** Number of consecutive checks that find the file locked: no commit takes that long. */
const BUSY_CHECKS = 20
/** Name of the lock in PostgreSQL. The gateway does not use it. */
const LOCK = 7_700_001

export interface Stall {
  /** True when the process is inside the change. */
  isReached(): Promise<boolean>
  /** Called once the process is dead. The change is undone. */
  remove(): Promise<void>
}

/** `change` is the event of a trigger, such as `update of state on tasks`. `databaseUrl` is undefined for SQLite. */
export function stallAt(dataDir: string, change: string, databaseUrl?: string): Promise<Stall> {
  return databaseUrl === undefined ? stallSqlite(dataDir, change) : stallPostgres(databaseUrl, change)
}

async function stallSqlite(dataDir: string, change: string): Promise<Stall> {
  const database = new Database(join(dataDir, 'gateway.sqlite'))
  database.run('pragma busy_timeout = 5000')
  database.run(
    `create view counting as with recursive numbers (number) as
      (select 1 union all select number + 1 from numbers) select number from numbers`,
  )
  database.run(`create trigger stall before ${change} begin select max(number) from counting; end`)

  function isLocked(): boolean {
    database.run('pragma busy_timeout = 0')
    try {
      database.run('begin immediate')
      database.run('rollback')
      return false
    } catch {
      return true
    }
  }

  return {
    async isReached() {
      for (let looks = 0; looks < BUSY_CHECKS; looks++) {
        if (!isLocked()) return false
        await Bun.sleep(CHECK_MS)
      }
      return true
    },
    async remove() {
      database.run('pragma busy_timeout = 5000')
      database.run('drop trigger stall')
      database.run('drop view counting')
      database.close()
    },
  }
}

async function stallPostgres(url: string, change: string): Promise<Stall> {
  const session = new SQL(url, { max: 1 })
  await session.unsafe(`
    select pg_advisory_lock(${LOCK});
    create function stall() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock(${LOCK});
      return new;
    end $$;
    create trigger stall before ${change} for each row execute function stall()`)
  const waiting = `from pg_locks where locktype = 'advisory' and objid = ${LOCK} and not granted
    and database = (select oid from pg_database where datname = current_database())`
  return {
    async isReached() {
      return (await session.unsafe(`select pid ${waiting}`)).length > 0
    },
    async remove() {
      // The server does not notice a dead client while its session waits, and would commit the change afterwards.
      await session.unsafe(`select pg_terminate_backend(pid, 10000) ${waiting}`)
      await session.unsafe('drop function stall() cascade')
      await session.close()
    },
  }
}

/** Keeps a SQLite file locked, so that no other process can write to it, until it is released. */
export function lockDatabase(dataDir: string): { letGo(): void } {
  const database = new Database(join(dataDir, 'gateway.sqlite'))
  database.run('pragma busy_timeout = 5000')
  database.run('begin immediate')
  return {
    letGo() {
      database.run('rollback')
      database.close()
    },
  }
}
