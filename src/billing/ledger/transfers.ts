// Money that operators add and remove: credits and corrections, each applied once per id. A transfer must never be applied twice,
// or leave an account with more than can be counted exactly.

import type { Db } from '../../db/db'
import { conflict, GatewayError } from '../../lib/errors'
import { formatUsd, MAX_NANO } from '../../lib/money'
import { findTransfer } from './account-ledger'
import { type Balance, balanceOf } from './balances'
import { addCredit, adjust } from './ledger'

export interface Transfer {
  id: string
  kind: 'credit' | 'adjust'
  /** Above 0 for a credit; not 0 for a correction. */
  amountNano: number
  now: number
  note: string | null
}

/** The id of a transfer that a caller names by its own key: two with the same key are one. */
export function transferId(idempotencyKey: string): string {
  const hash = new Bun.CryptoHasher('sha256').update(idempotencyKey).digest('hex')
  return `tr_${hash.slice(0, 40)}`
}

/** Throws 409 if an amount would make a balance too large to be counted exactly. */
export function assertRoom(
  { account, balanceNano }: Pick<Balance, 'account' | 'balanceNano'>,
  amountNano: number,
): void {
  if (balanceNano + amountNano > MAX_NANO)
    throw conflict(
      'balance_too_large',
      `Account ${account} would have more than $${formatUsd(MAX_NANO)}, the maximum.`,
    )
}

/**
 * Moves money to an account, or takes it. True if this id was already applied. Rejects with 409 if the balance does not allow it,
 * and with 422 if the id belongs to another transfer; in both cases nothing is changed.
 */
export async function moveMoney(db: Db, balance: Balance, transfer: Transfer): Promise<boolean> {
  const { account } = balance
  const { id, kind, amountNano, note } = transfer
  const before = await findTransfer(db, id)
  if (!before) assertRoom(balance, amountNano)
  if (!before && (await move(db, account, transfer))) return false
  const first = before ?? (await findTransfer(db, id))
  if (!first) {
    const available = formatUsd(((await balanceOf(db, account)) ?? balance).availableNano)
    throw conflict(
      'insufficient_balance',
      `Account ${account} has only $${available} available. Nothing was changed.`,
    )
  }
  const isSame =
    first.account === account && first.kind === kind && first.amountNano === amountNano && first.note === note
  if (isSame) return true
  throw new GatewayError(422, {
    code: 'idempotency_key_reused',
    type: 'invalid_request_error',
    message: 'This Idempotency-Key was used for another transfer. Nothing was changed. Use a new one.',
  })
}

async function move(db: Db, account: string, { kind, note, ...transfer }: Transfer): Promise<boolean> {
  if (kind === 'adjust') return adjust(db, { ...transfer, account, note: note ?? '' })
  return addCredit(db, { ...transfer, account, note }).catch((error) => {
    // The account was closed, or credited by another request, since it was read.
    throw error instanceof RangeError ? conflict('not_credited', error.message) : error
  })
}
