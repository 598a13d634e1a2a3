// A process that encrypts the rows of a database with another key, as a start of the gateway does, and expects to be killed after
// one of the changes whose names it prints. A test starts it with the address, the new key and the old one.

import { encodedTables } from '../../../src/app/encoded-tables'
import { masterKeysOf } from '../../../src/config/secrets'
import type { Db } from '../../../src/db/db'
import { openPostgres } from '../../../src/db/drivers/postgres'
import { openSqlite } from '../../../src/db/drivers/sqlite'
import { createCodec } from '../../../src/db/encryption/codec'
import { registerKey } from '../../../src/db/encryption/keys'
import { Reencryption } from '../../../src/db/encryption/reencryption'

const [address = '', key = '', older] = process.argv.slice(2)
const keys = masterKeysOf({ key, olderKeys: older ? [older] : [] })
const codec = createCodec(keys, (count) => crypto.getRandomValues(new Uint8Array(count)))
const opened = address.startsWith('postgres:')
  ? openPostgres(address, { codec })
  : openSqlite(address, { codec })
const db: Db = {
  ...opened,
  async batch(statements) {
    const result = await opened.batch(statements)
    console.log('changed')
    // Long enough for the killing test to read it.
    await Bun.sleep(5)
    return result
  },
}
await registerKey(db)
const log = (event: string) => console.log(event)
const job = new Reencryption({ db, tables: encodedTables, log })
if (db.kind === 'sqlite') await job.runAlone()
else for (let minute = 0; minute < 7; minute++) await job.beat()
await db.close()
