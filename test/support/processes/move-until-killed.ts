// A process that holds and settles many charges at once, as a node does, prints each step once the database has committed it, and
// expects to be killed. A test starts it with the address of a database with money.

import { type Charge, hold, settle } from '../../../src/billing/ledger/ledger'
import { DatabaseUnavailable } from '../../../src/db/db'
import { openPostgres } from '../../../src/db/drivers/postgres'
import { openSqlite } from '../../../src/db/drivers/sqlite'
import { makeCharge, makeSettlement } from '../databases/ledger-rows'

const CALLERS = 48
const HELD_NANO = 1_000
const PRICE_NANO = 400

const [address = '', name = ''] = process.argv.slice(2)
const db = address.startsWith('postgres:') ? openPostgres(address) : openSqlite(address)
let count = 0

/** Ends a charge however often the database is down. Undefined if the charge has ended already. */
async function settleSurely(charge: Charge): Promise<void> {
  for (;;) {
    try {
      await settle(db, charge, makeSettlement(PRICE_NANO))
      return
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      await Bun.sleep(20)
    }
  }
}

async function call(): Promise<never> {
  for (;;) {
    const charge = makeCharge(HELD_NANO, { id: `${name} ${++count}`, keyId: name })
    try {
      if ('refusedBy' in (await hold(db, charge))) continue
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      await Bun.sleep(20)
      continue
    }
    console.log(`held ${charge.id}`)
    await settleSurely(charge)
    console.log(`settled ${charge.id}`)
  }
}

await Promise.all(Array.from({ length: CALLERS }, call))
