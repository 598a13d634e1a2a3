// Secrets that the gateway makes for itself once and keeps in the database, shared by all nodes. They must never leave
// the process, nor change while anything made with them is in use.

import { apply, type Db } from './db'

/** The secret of this name, created on first use. */
export async function secretOf(db: Db, name: string, make: () => string, now: number): Promise<string> {
  await apply(db, [
    {
      sql: `insert into secrets (name, value, created_at) values ($1, $2, $3) on conflict (name) do nothing`,
      parameters: [name, make(), now],
    },
  ])
  const [row] = await db.query({ sql: 'select value from secrets where name = $1', parameters: [name] })
  if (!row) throw new Error(`the secret ${name} is gone`)
  return row.value as string
}
