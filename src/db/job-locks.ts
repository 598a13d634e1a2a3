// Locks for jobs that only one of several nodes runs: the node that claims a turn runs the job, and the others wait until the next
// turn is due.

import { type Db, tryApply } from './db'

/** Claims a turn, which is due some time after the previous one. False if another node has it. */
export function claimTurn(db: Db, name: string, everyMs: number, now: number): Promise<boolean> {
  return tryApply(db, [
    {
      sql: `insert into times (name, at, reference) values ($1, $2, 0)
        on conflict (name) do update set at = excluded.at where times.at <= $3`,
      parameters: [name, now, now - everyMs],
      guard: true,
    },
  ])
}
