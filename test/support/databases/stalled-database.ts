// Stops a process that serves from a SQLite file in the middle of one change: a trigger before that change loops endlessly. A test
// can thus kill the process between two steps without a hook in the program.

import { Database } from 'bun:sqlite'
import { join } from 'node:path'

const CHECK_MS = 5
/** Number of consecutive checks that find the file locked: no commit takes that long. */
const BUSY_CHECKS = 20

export interface Stall {
  /** True when the process is inside the change. */
  isReached(): Promise<boolean>
  /** Called once the process is dead. */
  remove(): void
}

/** `change` is the event of a trigger, such as `update of state on tasks`. */
export function stallAt(dataDir: string, change: string): Stall {
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
    remove() {
      database.run('pragma busy_timeout = 5000')
      database.run('drop trigger stall')
      database.run('drop view counting')
      database.close()
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
