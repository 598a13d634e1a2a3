// Rows of a long history for measurements: accounts, keys and models, and charges of all of them in turn; and the processor
// time of work on them.

import { addToTotals, highestPosition } from '../src/billing/reports/usage-totals'
import { makeChargePartitions } from '../src/db/charge-partitions'
import { apply, type Db } from '../src/db/db'

export const ACCOUNTS = 20
const KEYS = 3
const MODELS = 4
const CHUNK = 50_000

/** Adds the rows that charges share, and accounts with money for all of them. */
export async function prepareHistory(db: Db, accounts = ACCOUNTS): Promise<void> {
  const keys = accounts * KEYS
  await apply(db, [
    {
      sql: `insert into price_lists values (1, 'bench', '[{"pico":{"input_token":250000,"output_token":2000000}}]')`,
    },
    {
      sql: `insert into usage_shapes values (1, 'bench', '{"prompt_tokens":\u0001,"completion_tokens":\u0001}')`,
    },
    {
      sql: `with recursive n(i) as (select 0 union all select i + 1 from n where i < ${keys * MODELS - 1})
        insert into charge_series (id, account, key_id, model, operation) select i + 1, 'account ' || (i % ${accounts}), 'key ' || (i % ${keys}),
          'model ' || (i / ${keys}), 'chat' from n`,
    },
    {
      sql: `insert into accounts (name, balance, held, created_at) select account, 4000000000000000, 0, 1
        from charge_series group by account`,
    },
    {
      sql: `insert into transfers (id, at, kind, from_book, to_book, amount)
        select 'tr ' || account, 1, 'credit', 'funding', 'account:' || account, 4000000000000000
        from charge_series group by account`,
    },
  ])
}

/**
 * Adds charges of all series in turn, spread evenly over a period and paid by their accounts, so that the books can be verified.
 */
export async function addCharges(
  db: Db,
  count: number,
  start: number,
  spanMs: number,
  accounts = ACCOUNTS,
): Promise<void> {
  const at = `${start} + i * ${spanMs} / ${count}`
  const hex = (number: string, digits: number) =>
    db.kind === 'sqlite' ? `printf('%0${digits}x', ${number})` : `lpad(to_hex(${number}), ${digits}, '0')`
  // Earlier charges are not paid again.
  await addToTotals(db)
  // Ids are unique, whenever the charges were added.
  const before = await highestPosition(db)
  for (let month = new Date(start); month.getTime() <= start + spanMs; month = nextMonth(month))
    await makeChargePartitions(db, month.getTime())
  for (let from = 0; from < count; from += CHUNK) {
    await apply(db, [
      {
        sql: `with recursive n(i) as (select cast(${from} as bigint) union all select i + 1 from n where i < ${Math.min(from + CHUNK, count) - 1})
          insert into ended_charges (id, series, price_list, state, held, amount, shortfall, usage_shape, usage,
            usage_source, ended_by, created_at, ended_at)
          select 'req_' || ${hex(at, 12)} || '7' || ${hex(`i + ${before}`, 19)},
            1 + (i * 7919) % ${accounts * KEYS * MODELS}, 1, case when i % 50 > 0 then 1 else 0 end, 8000000 + i % 999983,
            case when i % 50 > 0 then 1000000 + i % 999979 else 0 end, 0, 1,
            (1000 + i % 3000) || ',' || (i % 900) || ',' || (2000 + i % 3900) || ',' || (i % 512) || ',,' || (i % 300) || ',,,',
            0, 0, ${at} - 2500, ${at} from n`,
      },
      {
        // The rows after the mark are this chunk. The cross join keeps SQLite from reading them once per series.
        sql: `update accounts set balance = balance - paid from (
            select account, cast(sum(amount) as bigint) as paid from ended_charges cross join charge_series
            where position > (select position from marks where name = 'usage') and charge_series.id = series
            group by account) as paying where account = name`,
      },
    ])
    await addToTotals(db)
  }
}

function nextMonth(at: Date): Date {
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1))
}

/** Milliseconds of processor time that work takes. */
export async function processorMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
