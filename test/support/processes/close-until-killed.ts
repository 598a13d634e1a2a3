// A process that closes old months of a database, prints the name of each change and each file once it is made, and expects to be
// killed. A test starts it with the address, the folder of archives and a time.

import { folderPlace } from '../../../src/backup/place'
import { signingKey } from '../../../src/billing/proofs/checkpoint'
import type { Db } from '../../../src/db/db'
import { openPostgres } from '../../../src/db/drivers/postgres'
import { openSqlite } from '../../../src/db/drivers/sqlite'
import { runRetention } from '../../../src/retention/run'

const [address = '', folder = '', scratch = '', time] = process.argv.slice(2)
const now = Number(time)
const opened = address.startsWith('postgres:') ? openPostgres(address) : openSqlite(address)
/** Long enough for the killing test to read it. */
const tell = async () => {
  console.log('changed')
  await Bun.sleep(5)
}
const db: Db = {
  ...opened,
  async batch(statements) {
    const result = await opened.batch(statements)
    await tell()
    return result
  },
}
const archives = folderPlace(folder)
const place = {
  ...archives,
  async put(path: string, name: string) {
    await tell()
    await archives.put(path, name)
    await tell()
  },
}
const key = await signingKey(db, (count) => crypto.getRandomValues(new Uint8Array(count)), now)
await runRetention({ db, place, key, scratch, now: () => now }, 1)
await db.close()
