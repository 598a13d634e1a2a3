// Charges and keys for tests of the ledger, with defaults for values that do not matter.

import { expect } from 'bun:test'
import { type Key, unlimited } from '../../../src/accounts/keys'
import type { Spender } from '../../../src/accounts/spenders'
import {
  type LedgerEntry,
  type LedgerPeriod,
  type LedgerPlace,
  pageOfLedger,
} from '../../../src/billing/ledger/account-ledger'
import type { Charge, Settlement } from '../../../src/billing/ledger/ledger'
import {
  accountPeriodOf,
  budgetPeriodOf,
  isCounted,
  spenderPeriodOf,
  windowMinuteOf,
} from '../../../src/billing/ledger/limits'
import type { Db } from '../../../src/db/db'

export const START = Date.UTC(2026, 2, 10, 12)

let charges = 0

export function makeCharge(heldNano: number, fields: Partial<Charge> = {}): Charge {
  return {
    id: `charge-${++charges}`,
    account: 'alice',
    keyId: 'key-1',
    model: 'any',
    operation: 'chat',
    heldNano,
    pricesJson: '{"input_token":1}',
    createdAt: START,
    expiresAt: START + 60_000,
    budgetPeriod: null,
    windowMinute: null,
    windowTokens: 0,
    ...fields,
  }
}

export function makeSettlement(priceNano: number, fields: Partial<Settlement> = {}): Settlement {
  return {
    priceNano,
    usageSource: 'upstream',
    usageJson: null,
    endedBy: 'done',
    endedAt: START + 1_000,
    tokens: 0,
    ...fields,
  }
}

/** A key without limits. */
export function makeKey(fields: Partial<Key> = {}): Key {
  return {
    id: 'key-1',
    name: 'key-1',
    account: 'alice',
    hint: '',
    ...unlimited,
    revokedAt: null,
    pausedAt: null,
    accountState: 'open',
    planName: null,
    accountBudget: null,
    createdAt: START,
    ...fields,
  }
}

/** A token without limits. */
export function makeSpender(fields: Partial<Spender> = {}): Spender {
  return {
    id: 'tok-1',
    keyId: 'key-1',
    kind: 'browser',
    name: null,
    hint: '',
    models: null,
    requestsPerMinute: null,
    budgetNano: null,
    budgetPeriod: null,
    expiresAt: null,
    endedAt: null,
    createdAt: START,
    ...fields,
  }
}

/** The fields of a charge that determine which limits of its key count it. */
export function countersOf(key: Key, tokens: number, now: number) {
  return {
    budgetPeriod: budgetPeriodOf(key, now),
    accountPeriod: accountPeriodOf(key, now),
    spender: spenderPeriodOf(key.spender, now),
    windowMinute: windowMinuteOf(key, now),
    windowTokens: isCounted(key) ? tokens : 0,
  }
}

/** The entries of all pages of a ledger, newest first. */
export async function ledgerFromItsEnd(
  db: Db,
  account: string,
  period: LedgerPeriod,
  limit: number,
): Promise<LedgerEntry[]> {
  const all: LedgerEntry[] = []
  for (let before: LedgerPlace | undefined; ; ) {
    const page = await pageOfLedger(db, account, period, limit, before)
    if (!page) throw new Error('the place of a page is gone')
    all.push(...page.entries)
    if (page.next === null) return all
    expect(page.entries.length).toBe(limit)
    before = page.next
  }
}
