// A process that writes rows one after another, prints each once the database has committed it, and expects to be killed. A test
// starts it with the address of a database with the table `things`.

import { openPostgres } from '../../../src/db/drivers/postgres'
import { openSqlite } from '../../../src/db/drivers/sqlite'

const address = process.argv[2] as string
const db = address.startsWith('postgres:') ? openPostgres(address) : openSqlite(address)
for (let id = 1; ; id++) {
  const batches = [id * 10, id * 10 + 1, id * 10 + 2].map((row) =>
    db.batch([
      { sql: 'insert into things (id) values ($1)', parameters: [row] },
      { sql: 'insert into things (id) values ($1)', parameters: [-row] },
    ]),
  )
  await Promise.all(batches)
  console.log(id)
}
