// The key with which an operator uses the playground: created for an account that pays, with a budget and an expiry, and discarded
// with the page. Its secret is only in the memory of this page.

import { computed, effect, signal } from '@preact/signals'
import { ApiError, call, callAs, session } from '../api'
import { keyTexts } from '../texts'

/** Who pays for an operator's tests. */
export interface Payer {
  account: string
  key: string
  budgetUsd: string
  /** When the key expires. */
  until: string
}

/** Maximum lifetime of such a key, in milliseconds. */
const MAX_MS = 8 * 3_600_000
/** Maximum number of concurrent requests: one conversation with several models, and a few more. */
const CONCURRENCY = 8

/** The payer with the secret of the key. */
const payer = signal<(Payer & { secret: string }) | null>(null)
export const payerNow = computed((): Payer | null => payer.value)

effect(() => {
  if (!session.value) become(null)
})

function become(next: (Payer & { secret: string }) | null): void {
  payer.value = next
  callAs(next?.secret ?? null)
}

/** Makes a key of an account for the playground. Rejects with an ApiError. */
export async function choosePayer(account: string, budgetUsd: string): Promise<void> {
  // A key of an unknown account would create the account.
  const { status } = await call('getCustomer', { params: { account } })
  if (status !== 'open') throw new ApiError(keyTexts.playground.payer.notOpen(account), 0, null, 'account')
  const now = new Date()
  // The budget is per month, and must not reset while the key is valid.
  const nextMonth = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
  const until = new Date(Math.min(now.getTime() + MAX_MS, nextMonth)).toISOString()
  const { name, key } = await call('createKey', {
    body: {
      name: `playground-${crypto.randomUUID().slice(0, 8)}`,
      account,
      budget_usd: budgetUsd,
      budget_period: 'month',
      concurrency: CONCURRENCY,
      expires_at: until,
    },
  })
  become({ account, key: name, budgetUsd, until, secret: key })
}

/** Revokes the key. It is removed at once, and restored if that fails. Rejects with an ApiError. */
export async function endPayer(): Promise<void> {
  const before = payer.peek()
  if (!before) return
  become(null)
  try {
    await call('revokeKey', { params: { key: before.key } })
  } catch (error) {
    become(before)
    throw error
  }
}
