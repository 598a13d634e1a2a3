// Holds and ends of charges as the data that a database applies in groups. The names are those of the columns that its
// function reads. It must match the statements of the ledger.

import { append, type Columns, type Movement, type Statement } from '../../db/db'
import type { EndedRow } from './ended-charges'
import type { Charge, Condition, Settlement } from './ledger'

/** Columns of a charge that the server reads for holds and for ends. Missing columns are null there. */
function columnsOf(charge: Charge): Columns {
  const columns: Columns = {
    id: charge.id,
    account: charge.account,
    key_id: charge.keyId,
    held: charge.heldNano,
    window_tokens: charge.windowTokens,
    created_at: charge.createdAt,
  }
  if (charge.budgetPeriod !== null) columns.budget_period = charge.budgetPeriod
  if (typeof charge.accountPeriod === 'string') columns.account_period = charge.accountPeriod
  if (charge.metadataId) columns.metadata_id = charge.metadataId
  if (charge.windowMinute !== null) columns.window_minute = charge.windowMinute
  return columns
}

/** The statements that the server's function executes by their columns, and the others. */
export function divided<Kind extends Statement>(
  statements: readonly Kind[],
): { inside: readonly Kind[]; others: readonly Kind[] } {
  const [inside, others]: [Kind[], Kind[]] = [[], []]
  for (const statement of statements) (statement.columns ? inside : others).push(statement)
  return { inside, others }
}

/** The movement that opens a charge, with conditions that the server's function knows. */
export function holdMovement(
  charge: Charge,
  priceList: number,
  conditions: readonly Condition[],
  statements: () => Statement[],
  also: readonly Statement[],
): Movement {
  const columns = () => {
    const own: Columns = {
      ...columnsOf(charge),
      model: charge.model,
      operation: charge.operation,
      price_list: priceList,
      expires_at: charge.expiresAt,
    }
    return Object.assign(own, ...conditions.map((condition) => condition.columns))
  }
  return { kind: 'hold', account: charge.account, columns, statements, also }
}

/** The movement that ends a charge. The server's function also executes accompanying statements that have columns. */
export function endMovement(
  charge: Charge,
  row: EndedRow,
  { priceNano, tokens }: Pick<Settlement, 'priceNano' | 'tokens'>,
  statements: () => Statement[],
  also: readonly Statement[],
): Movement {
  const { inside, others } = divided(also)
  const columns = () => {
    const own: Columns = { ...columnsOf(charge), ...row, price: priceNano, tokens }
    return Object.assign(own, ...inside.map((statement) => statement.columns))
  }
  return {
    kind: 'end',
    account: charge.account,
    columns,
    statements: () => append(statements(), inside),
    also: others,
  }
}
