// Audits the money in any database: the invariants that must hold whatever happened. It must never write, or use the code that
// moves money: it is the second opinion.

import type { Db, Row } from '../../db/db'
import { KEEP_WEBHOOKS_MS } from '../../webhooks/rows'

export interface Audit {
  accounts: number
  charges: number
  transfers: number
  /**
   * Balance of each of the operator's books, in nano-dollars: money paid in, earned, and given away. Bigints, because sums over all
   * accounts and years exceed the range of a number.
   */
  books: { fundingNano: bigint; revenueNano: bigint; shortfallNano: bigint }
  /** One sentence per violation; empty if the books are correct. */
  problems: string[]
}

/** How long an open hold may outlive its expiry, in milliseconds: expired holds are released every few seconds. */
const EXPIRY_MARGIN_MS = 60_000

export interface Check {
  /** A query for rows that must not exist. */
  sql: string
  parameters?: number[]
  say(row: Row): string
}

/** A subquery for the net amount of each book. */
const moves = `select book, cast(sum(amount) as bigint) as booked from (
  select to_book as book, amount from movements union all select from_book as book, -amount from movements
) as legs group by book`

/** Checks that read all charges. */
function historyChecks(): Check[] {
  return [
    {
      sql: `select name, balance, coalesce(booked, 0) as booked from accounts left join (${moves}) as moved
        on book = 'account:' || name where balance <> coalesce(booked, 0)`,
      say: (row) => `account ${row.name}: balance ${row.balance} differs from its ledger ${row.booked}`,
    },
    {
      sql: `select book, booked from (${moves}) as moved where book like 'account:%'
        and not exists (select 1 from accounts where 'account:' || name = book)`,
      say: (row) => `${row.book}: the ledger has ${row.booked} for an account that does not exist`,
    },
    {
      sql: `select id, case state when 0 then 'released' when 1 then 'settled' else cast(state as text) end as state
        from ended_charges where state not in (0, 1) or amount < 0 or shortfall < 0
        or (state = 0 and (amount <> 0 or shortfall <> 0))`,
      say: (row) => `charge ${row.id}: impossible state ${row.state}`,
    },
    {
      sql: 'select id from charges group by id having count(*) > 1',
      say: (row) => `charge ${row.id}: there more than once`,
    },
    {
      // A price below its hold is always covered.
      sql: 'select id, amount, shortfall, held from ended_charges where amount < held and shortfall > 0',
      say: (row) =>
        `charge ${row.id}: a shortfall of ${row.shortfall} though only ${row.amount} of ${row.held} was taken`,
    },
  ]
}

/** Checks of accounts, open charges and transfers, however long the history is. */
export function openChecks(now: number): Check[] {
  return [
    {
      sql: `select name, accounts.held, coalesce(open, 0) as open from accounts left join
          (select account, sum(held) as open from open_charges group by account) as holds on account = name
        where accounts.held <> coalesce(open, 0)`,
      say: (row) => `account ${row.name}: held ${row.held} differs from its open charges ${row.open}`,
    },
    {
      sql: 'select name, balance, held from accounts where held < 0 or balance < held',
      say: (row) => `account ${row.name}: balance ${row.balance} does not cover held ${row.held}`,
    },
    {
      sql: 'select id from open_charges where expires_at < $1',
      parameters: [now - EXPIRY_MARGIN_MS],
      say: (row) => `charge ${row.id}: still held though it expired`,
    },
    {
      sql: `select id, kind, from_book, to_book from transfers where not (case kind
        when 'credit' then from_book = 'funding' and to_book like 'account:%'
        when 'payment' then from_book = 'funding' and to_book like 'account:%'
        when 'code' then from_book = 'funding' and to_book like 'account:%'
        when 'allowance' then from_book = 'funding' and to_book like 'account:%'
        when 'allowance_end' then from_book like 'account:%' and to_book = 'funding'
        when 'adjust' then (from_book = 'funding' and to_book like 'account:%')
          or (from_book like 'account:%' and to_book = 'funding')
        else 1 = 0 end)`,
      say: (row) => `transfer ${row.id}: a ${row.kind} does not go from ${row.from_book} to ${row.to_book}`,
    },
    {
      // The entry of a code in the ledger has the id of the code.
      sql: `select c.id from top_up_codes c left join transfers t on t.id = c.id
        where c.redeemed_at is not null
        and (t.id is null or t.kind <> 'code' or t.amount <> c.amount or t.to_book <> 'account:' || c.redeemed_by)`,
      say: (row) => `code ${row.id}: it was redeemed, but the ledger does not say the same`,
    },
    {
      sql: `select t.id from transfers t left join top_up_codes c on c.id = t.id
        where t.kind = 'code' and c.redeemed_at is null`,
      say: (row) => `transfer ${row.id}: it credits a code that was not redeemed`,
    },
  ]
}

/** Condition for a task `t` whose charge may have gone to an archive. */
export const HAS_CLOSED_CHARGE = 't.ended_at < (select coalesce(max(ended_before), 0) from closings)'

/** Checks that a task ends together with its charge and its webhook, or not at all. */
function taskChecks(now: number): Check[] {
  return [
    {
      sql: `select t.id, t.state, c.state as charge_state from tasks t left join charges c on c.id = t.charge
      where not (c.id is null and ${HAS_CLOSED_CHARGE}) and coalesce(c.state, 'none') <> case t.state when 'submitted' then 'held' when 'succeeded' then 'settled'
        when 'failed' then 'released' else 'impossible' end`,
      say: (row) => `task ${row.id}: ${row.state}, but its charge is ${row.charge_state ?? 'missing'}`,
    },
    {
      sql: `select upstream, upstream_id from tasks where upstream_id is not null
      group by upstream, upstream_id having count(*) > 1`,
      say: (row) => `task ${row.upstream_id} of ${row.upstream}: known under two ids`,
    },
    {
      sql: `select t.id from tasks t where t.state <> 'submitted' and t.webhook_url is not null and t.ended_at > $1
      and not exists (select 1 from webhooks w where w.task = t.id)`,
      // Older webhooks have been deleted.
      parameters: [now - KEEP_WEBHOOKS_MS / 2],
      say: (row) => `task ${row.id}: it ended without its webhook`,
    },
  ]
}

export async function audit(
  db: Db,
  now: number,
  onCheck: (done: number, of: number) => void = () => {},
): Promise<Audit> {
  const problems: string[] = []
  const checks = [...historyChecks(), ...openChecks(now), ...taskChecks(now)]
  for (const [done, check] of checks.entries()) {
    onCheck(done, checks.length)
    problems.push(...(await violationsOf(db, check)))
  }
  if (db.kind === 'sqlite') {
    const rows = await db.query({ sql: 'pragma integrity_check' })
    if (rows[0]?.integrity_check !== 'ok')
      problems.push(`the database file is damaged: ${JSON.stringify(rows)}`)
  }
  return { ...(await figures(db, problems)), problems }
}

/** One sentence per row that a check finds. */
export async function violationsOf(db: Db, { sql, parameters = [], say }: Check): Promise<string[]> {
  return (await db.query({ sql, parameters })).map(say)
}

async function figures(db: Db, problems: string[]): Promise<Omit<Audit, 'problems'>> {
  const rows = await db.query({ sql: `select book, cast(booked as text) as booked from (${moves}) as moved` })
  const books = new Map(rows.map(({ book, booked }) => [book, BigInt(booked as string)]))
  const total = (name: string) => books.get(name) ?? 0n
  const sum = [...books.values()].reduce((all, booked) => all + booked, 0n)
  if (sum !== 0n) problems.push(`all books together are ${sum}, not zero`)
  const count = async (table: string) => {
    const counted = await db.query({ sql: `select count(*) as count from ${table}` })
    return counted[0]?.count as number
  }
  const [closed] = await db.query({
    sql: 'select cast(coalesce(sum(charges), 0) as bigint) as count from closings',
  })
  return {
    accounts: await count('accounts'),
    charges: (await count('charges')) + (closed?.count as number),
    transfers: await count('movements'),
    books: {
      fundingNano: -total('funding'),
      revenueNano: total('revenue'),
      shortfallNano: -total('shortfall'),
    },
  }
}
