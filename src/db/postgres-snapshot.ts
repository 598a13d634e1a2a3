// Reads a PostgreSQL database as it is at one moment, while others go on writing. It must never write, nor keep its
// transaction open after the work is done: the server cannot clean up behind it.

import type { TransactionSQL } from 'bun'
import type { Row, Statement } from './db'
import { toRow } from './postgres'
import { PostgresServers } from './postgres-servers'
import { FIRST_ROWS, nextLimit, type Table, type TableSource } from './table-copy'

export interface Snapshot extends TableSource {
  /** All rows of a table in pages, in no order. */
  pages(table: Table): AsyncGenerator<Row[]>
}

const CONNECT_TIMEOUT_SECONDS = 5

export async function withSnapshot<Result>(
  url: string,
  work: (snapshot: Snapshot) => Promise<Result>,
): Promise<Result> {
  const servers = new PostgresServers(url, {
    poolSize: 1,
    connectTimeoutSeconds: CONNECT_TIMEOUT_SECONDS,
    session: {},
  })
  const reading = 'isolation level repeatable read read only'
  const use = <Result>(inTransaction: (transaction: TransactionSQL) => Promise<Result>) =>
    servers.use(({ pool }) => pool.begin(reading, inTransaction))
  try {
    return await use(async (transaction) => {
      const query = async ({ sql: text, parameters = [] }: Statement) =>
        ((await transaction.unsafe(text, [...parameters])) as Parameters<typeof toRow>[0][]).map(toRow)
      return await work({
        kind: 'postgres',
        query,
        async *pages({ name }) {
          const names = `rows_of_${name}`
          let limit = FIRST_ROWS
          await query({ sql: `declare ${names} no scroll cursor for select * from ${name}` })
          for (;;) {
            const rows = await query({ sql: `fetch ${limit} from ${names}` })
            if (rows.length > 0) yield rows
            if (rows.length < limit) break
            limit = nextLimit(rows, limit)
          }
          await query({ sql: `close ${names}` })
        },
      })
    })
  } finally {
    await servers.close(CONNECT_TIMEOUT_SECONDS)
  }
}
