// Finds accounts for commands. A balance must never become too large to be counted exactly.

import { type Balance, balanceOf } from '../../src/billing/balances'
import type { Db } from '../../src/db/db'
import { MAX_NANO } from '../../src/lib/money'
import { commandLineOf } from '../program'
import { dollars } from '../view/balance'
import { CommandFailed } from './errors'
import type { SettingsFlags } from './settings'

/**
 * The balance of an account. Fails if it does not exist: accounts are made with keys only, so that money for a mistyped
 * name is not lost.
 */
export async function requireAccount(db: Db, account: string, flags: SettingsFlags): Promise<Balance> {
  const balance = await balanceOf(db, account)
  if (balance) return balance
  throw new CommandFailed(
    `There is no account "${account}". An account is made with a key: ${commandLineOf('keys create NAME --account ACCOUNT', flags)}`,
  )
}

/** Fails if an amount would make the balance too large to be counted exactly. */
export function requireRoom({ account, balanceNano }: Balance, amountNano: number): void {
  if (balanceNano + amountNano <= MAX_NANO) return
  throw new CommandFailed(
    `Account ${account} would have more than ${dollars(MAX_NANO)}, the most it can have.`,
  )
}
