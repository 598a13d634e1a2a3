// Errors that several parts of the request line raise: what happened, and what the caller can do about it. Each text must say
// whether a repeat can help.

import type { DatabaseUnavailable } from '../db/db'
import type { ErrorCode } from '../lib/error-codes'
import { GatewayError } from '../lib/errors'
import { formatUsd } from '../lib/money'
import type { Model } from './family'

/** The status in the request log for a request whose caller disconnected before the answer. */
const CALLER_LEFT_STATUS = 499

/**
 * The end of a charge: by the request itself, or by the party that cut it. `balance` is a stream that ended when the account could
 * hold no more, `database` one that ended at its hold when the database accepted no more.
 */
export type EndedBy =
  | 'done'
  | 'balance'
  | 'database'
  | 'client'
  | 'upstream'
  | 'timeout'
  | 'shutdown'
  | 'expired'

/** Whether a stream ended at its hold, as if that were its limit. It costs no more than the hold. */
export function endsAtHold(endedBy: EndedBy): boolean {
  return endedBy === 'balance' || endedBy === 'database'
}

/**
 * Why a stream ends early, in its final events: the dialect's reason is that of an answer at its own limit. Official clients keep
 * unknown members or ignore them.
 */
export const ENDED_BY_BALANCE = { gateway: { ended_by: 'balance' } } as const

/** The error for a stream that ends before its answer is complete. */
export function cutError(endedBy: EndedBy): GatewayError {
  if (endedBy === 'shutdown') return shuttingDown()
  if (endedBy === 'timeout') {
    return new GatewayError(504, {
      code: 'upstream_timeout',
      message: 'The upstream was silent for too long, so the answer ends here.',
    })
  }
  return new GatewayError(502, {
    code: 'upstream_cut',
    message: 'The upstream stopped early, so the answer is incomplete.',
  })
}

/** The error for a vendor that took too long. */
export function timedOut(model: Model): GatewayError {
  return new GatewayError(504, {
    code: 'upstream_timeout',
    message: `The upstream ${model.upstream.name} did not answer in time.`,
  })
}

/** The error for an unreadable answer of a vendor; the cause is for the log. */
export function garbage(model: Model, what: string, cause?: unknown): GatewayError {
  return new GatewayError(502, {
    code: 'upstream_garbage',
    message: `The answer of the upstream ${model.upstream.name} was ${what}.`,
    cause,
  })
}

export function callerLeft(): GatewayError {
  return new GatewayError(CALLER_LEFT_STATUS, {
    code: 'caller_left',
    message: 'The caller disconnected before the answer.',
  })
}

/** The error for a request that waited longer than allowed before it was sent: its hold may have been released by now. */
export function holdExpired(): GatewayError {
  const error = new GatewayError(503, {
    code: 'hold_expired',
    message:
      'The gateway process was paused before it sent the request. Nothing was sent or charged. Try again.',
    headers: { 'retry-after': '1' },
  })
  return Object.assign(error, { notTaken: true })
}

export function shuttingDown(): GatewayError {
  return new GatewayError(503, {
    code: 'shutting_down',
    message: 'The gateway is shutting down. Try again in a moment.',
    headers: { 'retry-after': '1' },
  })
}

export function databaseDown(error?: DatabaseUnavailable): GatewayError {
  return new GatewayError(503, {
    code: 'database_unavailable',
    message: 'The gateway cannot write to its database now, so it forwards nothing. Try again in a moment.',
    headers: { 'retry-after': '1' },
    cause: error,
  })
}

/** The amount that must be held before a request is sent. */
interface Need {
  heldNano: number
  /** True for a stream that extends its hold while it runs. */
  isStep: boolean
}

/** The required amount in words, as the beginning of a sentence. */
export function describeNeed({ heldNano, isStep }: Need): string {
  const amount = `$${formatUsd(heldNano)}`
  return isStep ? `This stream holds ${amount} before it begins` : `This request may cost up to ${amount}`
}

/** The error for an account with too little money, permanently or only while other requests of it run. */
export function notPaid(
  need: Need,
  balance: { balanceNano: number; heldNano: number; availableNano: number } | undefined,
): GatewayError {
  const inFlight = balance !== undefined && balance.balanceNano >= need.heldNano
  const left = `${describeNeed(need)}; the account has $${formatUsd(balance?.availableNano ?? 0)} available`
  if (inFlight) return inFlightOnly(left, balance.heldNano)
  return tooLittle(
    'insufficient_balance',
    `${left}. Add money to the account or ${need.isStep ? 'send less input' : 'ask for less output'}.`,
  )
}

/** The error for too little money only while other requests run. `left` says how much is required and how much is available. */
export function inFlightOnly(left: string, heldNano: number): GatewayError {
  return new GatewayError(402, {
    code: 'in_flight',
    message: `${left} while running requests hold $${formatUsd(heldNano)}. Try again when they have ended.`,
    // Official SDKs do not repeat a request after a 402 without this header.
    headers: { 'retry-after': '1', 'x-should-retry': 'true' },
  })
}

/** The guards of budgets, each with its owner. */
const BUDGET_OWNERS = { budget: 'this key', 'account budget': 'the account', 'spender budget': 'its spender' }

export type SpentBudget = keyof typeof BUDGET_OWNERS

/** Whether a budget refused a hold. */
export function isBudget(guard: string): guard is SpentBudget {
  return Object.hasOwn(BUDGET_OWNERS, guard)
}

/** The error for a whole answer that costs more than can be held for it. `left` is what is available, or the exhausted budget. */
export function notDelivered(priceNano: number, heldNano: number, left: number | SpentBudget): GatewayError {
  const costs = `The answer costs $${formatUsd(priceNano)}, more than the $${formatUsd(heldNano)} that was held for it, and`
  const cure = 'It is not delivered and not charged. Ask for less output'
  if (typeof left === 'string') {
    const whose = BUDGET_OWNERS[left]
    return tooLittle('budget_exceeded', `${costs} the budget of ${whose} cannot cover the rest. ${cure}.`)
  }
  const has = `the account has $${formatUsd(left)} available for the rest`
  return tooLittle('insufficient_balance', `${costs} ${has}. ${cure}, or add money to the account.`)
}

/** The error for too little money when waiting does not help. */
export function tooLittle(code: ErrorCode, message: string): GatewayError {
  return new GatewayError(402, { code, message, headers: { 'x-should-retry': 'false' } })
}

/** The end of a charge whose request failed with this error. */
export function endedByOf(error: unknown): EndedBy {
  if (!(error instanceof GatewayError)) return 'upstream'
  const words: Record<string, EndedBy> = {
    caller_left: 'client',
    upstream_timeout: 'timeout',
    shutting_down: 'shutdown',
  }
  return words[error.code] ?? 'upstream'
}
