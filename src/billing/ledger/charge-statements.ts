// The statements that hold and end charges, as the ledger sends them to the database, with amounts that depend on the balance at
// that moment. They must match the functions of movements/functions.ts.

import type { Statement, Value } from '../../db/db'
import { bookOf } from './balances'
import { ENDED_COLUMNS, type EndedRow, insertEnded } from './ended-charges'
import type { Charge, Settlement } from './ledger'

export function holdMore(account: string, amountNano: number): Statement {
  return {
    sql: 'update accounts set held = held + $1 where name = $2 and balance - held >= $1',
    parameters: [amountNano, account],
    guard: 'balance',
  }
}

export function settleCovered(charge: Charge, settlement: Settlement, row: EndedRow): Statement[] {
  const { priceNano, tokens } = settlement
  const statements: Statement[] = [
    closeCharge(charge),
    {
      sql: 'update accounts set balance = balance - $1, held = held - $2 where name = $3',
      parameters: [priceNano, charge.heldNano, charge.account],
    },
    insertEnded(priceNano, row),
  ]
  // Most keys have no limit.
  if (hasBudget(charge)) statements.push(...correctBudget(charge, priceNano))
  if (charge.windowMinute !== null) statements.push(...correctWindow(charge, tokens))
  return statements
}

/**
 * The amount that an account can pay of the price $2 of a charge that holds $1: the price, or everything available.
 */
const PAID_BEYOND = '(case when balance - held + $1 < $2 then balance - held + $1 else $2 end)'

/**
 * Statements that settle above the hold. The amount depends on the balance at this moment, so SQL computes it under the
 * lock of the account's row.
 */
export function settleBeyond(charge: Charge, { priceNano, tokens }: Settlement, row: EndedRow): Statement[] {
  const amounts = [charge.heldNano, priceNano, charge.account]
  const statements: Statement[] = [
    // First the charge, then the account: all ends of a charge lock in this order, so that no two wait for each other.
    closeCharge(charge),
    { sql: 'update accounts set held = held where name = $1', parameters: [charge.account] },
    {
      sql: `insert into ended_charges (${ENDED_COLUMNS})
        select cast($4 as text), cast($5 as integer), cast($6 as integer), cast($7 as smallint), cast($1 as bigint),
          ${PAID_BEYOND}, $2 - ${PAID_BEYOND}, cast($8 as integer), cast($9 as text), cast($10 as smallint),
          cast($11 as smallint), cast($12 as bigint), cast($13 as bigint), cast($14 as bigint)
        from accounts where name = $3 returning amount, shortfall`,
      parameters: [
        ...amounts,
        row.id,
        row.series,
        row.price_list,
        row.state,
        row.usage_shape,
        row.usage,
        row.usage_source,
        row.ended_by,
        row.created_at,
        row.ended_at,
        row.cost,
      ],
    },
    ...correctWindow(charge, tokens),
  ]
  const budgets = budgetsOf(charge)
  if (charge.spender) budgets.push([charge.spender.id, charge.spender.period])
  for (const [owner, period] of budgets) {
    statements.push({
      sql: `update budgets set committed = committed - $1 + (select ${PAID_BEYOND} from accounts where name = $3)
        where key_id = $4 and period = $5`,
      parameters: [...amounts, owner, period],
    })
  }
  // Last, because the others read the balance as it was.
  statements.push({
    sql: `update accounts set balance = balance - ${PAID_BEYOND}, held = held - $1 where name = $3`,
    parameters: amounts,
  })
  return statements
}

/**
 * Removes an open charge: the only way in which a charge ends. The guard makes every repeated attempt miss, and every attempt that
 * does not know of an extension.
 */
export function closeCharge(charge: Charge): Statement {
  return {
    sql: 'delete from open_charges where key_id = $1 and id = $2 and held = $3',
    parameters: [charge.keyId, charge.id, charge.heldNano],
    guard: 'charge',
  }
}

/** Postpones the expiry of a hold. It has no effect on a charge that has ended. */
export function prolong({ keyId, id }: Charge, expiresAt: number): Statement {
  return {
    sql: 'update open_charges set expires_at = $1 where key_id = $2 and id = $3',
    parameters: [expiresAt, keyId, id],
  }
}

/** Replaces the held amount by the paid amount in the budgets of the key and of its account. */
export function correctBudget(charge: Charge, paidNano: number): Statement[] {
  return budgetsOf(charge).map(([owner, period]) => addToBudget(owner, period, paidNano - charge.heldNano))
}

/** Replaces the held amount by the paid amount in the budget of the spender. It is sent together with the end of a charge. */
export function correctSpender({ spender, heldNano }: Charge, paidNano: number): Statement[] {
  return spender ? [addToBudget(spender.id, spender.period, paidNano - heldNano)] : []
}

function addToBudget(owner: string, period: string, amountNano: number): Statement {
  return {
    sql: 'update budgets set committed = committed + $1 where key_id = $2 and period = $3',
    parameters: [amountNano, owner, period],
  }
}

/** Writes the spender of an open charge into its row. It is sent together with the hold. */
export function noteSpender({ spender, keyId, id }: Charge): Statement[] {
  if (!spender) return []
  return [
    {
      sql: 'update open_charges set spender = $1, spender_period = $2 where key_id = $3 and id = $4',
      parameters: [spender.id, spender.period, keyId, id],
    },
  ]
}

function hasBudget({ budgetPeriod, accountPeriod = null }: Charge): boolean {
  return budgetPeriod !== null || accountPeriod !== null
}

/** The budgets that a charge counts toward: that of its key, and that of its account. */
function budgetsOf({ account, keyId, budgetPeriod, accountPeriod = null }: Charge): [string, string][] {
  const budgets: [string, string][] = []
  if (budgetPeriod !== null) budgets.push([keyId, budgetPeriod])
  if (accountPeriod !== null) budgets.push([bookOf(account), accountPeriod])
  return budgets
}

/** Replaces the assumed tokens by the used tokens in the key's minute. */
export function correctWindow(charge: Charge, tokens: number): Statement[] {
  return addToWindow(charge, tokens - charge.windowTokens)
}

export function addToWindow(charge: Charge, tokens: number): Statement[] {
  if (charge.windowMinute === null || tokens === 0) return []
  return [
    {
      sql: 'update rate_windows set tokens = tokens + $1 where key_id = $2 and minute = $3',
      parameters: [tokens, charge.keyId, charge.windowMinute],
    },
  ]
}

export function insertOpen(charge: Charge, priceList: number): Statement {
  const parameters: Value[] = [
    charge.id,
    charge.account,
    charge.keyId,
    charge.model,
    charge.operation,
    charge.heldNano,
    priceList,
    charge.budgetPeriod,
    charge.windowMinute,
    charge.windowTokens,
    charge.createdAt,
    charge.expiresAt,
    charge.process ?? null,
    charge.accountPeriod ?? null,
    charge.metadataId || null,
  ]
  return {
    sql: `insert into open_charges (id, account, key_id, model, operation, held, price_list, budget_period, window_minute,
        window_tokens, created_at, expires_at, process, account_period,
        metadata_id)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    parameters,
  }
}
