// Receipts: the content of an ended charge, as a text that a customer can keep and check without the gateway (docs/receipts.md).
// The text is derived from the ledger and the quantities that are stored with the end, so it is the same whenever it is made. It
// must never contradict the ledger, and a member of a version must never change.

import { createHash } from 'node:crypto'
import { type Quantities, units } from '../../contract/units'
import type { Db, Statement } from '../../db/db'
import { isoTime } from '../../db/iso-time'
import { formatUsd } from '../../lib/money'
import type { ChargeEnd } from '../ledger/charge-ends'
import { bookedEnding } from '../ledger/ended-charges'
import type { Settled } from '../ledger/ledger'
import { chargesOf } from '../reports/usage-report'
import type { SigningKey } from './jws'

/** The type of a signed receipt, which distinguishes it from other signed texts. */
export const RECEIPT_TYPE = 'gateway-receipt'
const VERSION = 1

/** A charge that has ended. */
export interface EndedCharge {
  id: string
  account: string
  keyId: string
  model: string
  operation: string
  state: string
  endedBy: string | null
  quantities: Quantities | null
  usageSource: string | null
  pricesJson: string | null
  amountNano: number
  shortfallNano: number
  createdAt: number
  endedAt: number
}

/** The request of a charge: an answer whose hold was released is paid by an additional charge of the same request. */
export function requestOf(charge: string): string {
  return charge.replace(/:late$/, '')
}

/** The text of a receipt. */
export function receiptText(charge: EndedCharge): string {
  const { quantities, pricesJson } = charge
  return JSON.stringify({
    version: VERSION,
    request: requestOf(charge.id),
    charge: charge.id,
    account: charge.account,
    key: charge.keyId,
    model: charge.model,
    operation: charge.operation,
    state: charge.state,
    ended_by: charge.endedBy,
    quantities: quantities && counted(quantities),
    usage_source: charge.usageSource,
    prices_sha256: pricesJson === null ? null : createHash('sha256').update(pricesJson).digest('hex'),
    amount_usd: formatUsd(charge.amountNano),
    shortfall_usd: formatUsd(charge.shortfallNano),
    begun_at: isoTime(charge.createdAt),
    ended_at: isoTime(charge.endedAt),
  })
}

/** Counted units in the order of their table. */
function counted(quantities: Quantities): Quantities {
  return Object.fromEntries(
    units.flatMap((unit) => ((quantities[unit] ?? 0) > 0 ? [[unit, quantities[unit]]] : [])),
  )
}

/** The charge whose end was just written, as it is now in the ledger. */
export function chargeOfEnd(
  { charge, settlement, released, quantities }: ChargeEnd,
  { paidNano, shortfallNano }: Settled,
): EndedCharge | undefined {
  const end = settlement ?? released
  if (!end) return undefined
  return {
    id: charge.id,
    account: charge.account,
    keyId: charge.keyId,
    model: charge.model,
    operation: charge.operation,
    state: settlement ? 'settled' : 'released',
    endedBy: bookedEnding(end.endedBy),
    quantities: (settlement && quantities) ?? null,
    usageSource: settlement?.usageSource ?? null,
    pricesJson: charge.pricesJson,
    amountNano: paidNano,
    shortfallNano,
    createdAt: charge.createdAt,
    endedAt: end.endedAt,
  }
}

/** The statement that stores the quantities of a request with the end of its charge. */
export function storeQuantities(charge: string, quantities: Quantities, endedAt: number): Statement {
  return {
    sql: `insert into charge_quantities (request, quantities, ended_at) values ($1, $2, $3) on conflict (request) do nothing`,
    parameters: [requestOf(charge), JSON.stringify(counted(quantities)), endedAt],
  }
}

/** How much longer quantities are kept than closed months, in milliseconds. */
const STAY_MS = 31 * 86_400_000

/** The statement that deletes the quantities of charges that went to archives. */
export function forgetQuantities(closedBefore: number): Statement {
  return { sql: 'delete from charge_quantities where ended_at < $1', parameters: [closedBefore - STAY_MS] }
}

export interface Receipt {
  keyId: string
  /** Null while the request runs. */
  text: string | null
  /** The price list of the charge, in the form that the text hashes; null if it was charged without one. */
  pricesJson: string | null
}

/** The receipt of a request according to the ledger: of the paid charge, otherwise of the released one. */
export async function findReceipt(db: Db, request: string): Promise<Receipt | undefined> {
  const charges = await chargesOf(db, requestOf(request))
  const charge =
    charges.find(({ state }) => state === 'settled') ??
    charges.find(({ state }) => state === 'held') ??
    charges[0]
  if (!charge) return undefined
  const { state, keyId, pricesJson, endedAt } = charge
  if (endedAt === null) return { keyId, pricesJson, text: null }
  const quantities = state === 'settled' ? await quantitiesOf(db, charge.id) : null
  return { keyId, pricesJson, text: receiptText({ ...charge, endedAt, quantities }) }
}

async function quantitiesOf(db: Db, charge: string): Promise<Quantities | null> {
  const sql = 'select quantities from charge_quantities where request = $1'
  const [row] = await db.query({ sql, parameters: [requestOf(charge)] })
  return row ? (JSON.parse(row.quantities as string) as Quantities) : null
}

export function signReceipt(key: SigningKey, text: string): string {
  return key.sign(RECEIPT_TYPE, text)
}
