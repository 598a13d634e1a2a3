// Reads a snapshot of a PostgreSQL database while others continue to write. It must never write, or keep its transaction open after
// the work is done: until then the server cannot remove old rows.

import type { Row, Statement } from '../db'
import { FIRST_ROWS, nextLimit, type Table, type TableSource } from '../table-copy'
import { toRow } from './postgres'
import { PostgresServers } from './postgres-servers'

interface Snapshot extends TableSource {
  /** All rows of a table in pages, unordered. */
  pages(table: Table): AsyncGenerator<Row[]>
}

const CONNECT_TIMEOUT_SECONDS = 5
/** Maximum time without an answer: sums over a large table take minutes. */
const SILENCE_MS = 1_800_000

export async function withSnapshot<Result>(
  url: string,
  work: (snapshot: Snapshot) => Promise<Result>,
): Promise<Result> {
  const servers = new PostgresServers(url, {
    poolSize: 1,
    connectTimeoutSeconds: CONNECT_TIMEOUT_SECONDS,
    silenceMs: SILENCE_MS,
    session: { statement_timeout: 0 },
  })
  try {
    return await servers.use((connection, answered) =>
      connection.begin('isolation level repeatable read read only', async (transaction) => {
        const query = async ({ sql, parameters = [] }: Statement) => {
          const rows = (await transaction.unsafe(sql, [...parameters])) as Parameters<typeof toRow>[0][]
          answered()
          return rows.map(toRow)
        }
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
      }),
    )
  } finally {
    await servers.close(CONNECT_TIMEOUT_SECONDS)
  }
}
