// Secrets that the gateway makes for itself once and keeps in the database, shared by all nodes. They must never leave
// the process, nor change while anything made with them is in use.

import { apply, type Db } from './db'
import type { EncodedTable } from './reencryption'

/** The secret of this name, created on first use. */
export async function secretOf(db: Db, name: string, make: () => string, now: number): Promise<string> {
  await apply(db, [
    {
      sql: `insert into secrets (name, value, created_at) values ($1, $2, $3) on conflict (name) do nothing`,
      parameters: [name, db.codec.encode(make(), placeOf(name)), now],
    },
  ])
  const [row] = await db.query({ sql: 'select value from secrets where name = $1', parameters: [name] })
  if (!row) throw new Error(`the secret ${name} is gone`)
  return db.codec.decode(row.value as string, placeOf(name))
}

function placeOf(name: string): string {
  return `secrets.value ${name}`
}

export const secretTexts: EncodedTable = {
  table: 'secrets',
  primaryKey: ['name'],
  columns: ['value'],
  id: 'name',
  placeOf,
}
