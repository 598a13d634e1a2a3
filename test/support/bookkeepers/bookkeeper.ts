// A second bookkeeper: the rules of the ledger in plain memory, one account after another, to predict the answers of the real
// ledger. It must stay too simple to be wrong, and must not use any code of the ledger.

import type { Key } from '../../../src/accounts/keys'
import type { Charge } from '../../../src/billing/ledger/ledger'

export interface Sheet {
  balance: number
  held: number
  funded: number
  earned: number
  shortfall: number
  open: Map<string, Charge>
  finished: Charge[]
}

interface Bookkeeper {
  sheet(account: string): Sheet
  hold(charge: Charge, key: Key): { held: true } | { refusedBy: string }
  /** Returns the charge in its new state. */
  extend(
    charge: Charge,
    key: Key,
    amount: number,
    tokens: number,
  ): { extended: Charge } | { refusedBy: string }
  settle(
    charge: Charge,
    price: number,
    tokens: number,
  ): { paidNano: number; shortfallNano: number } | undefined
  release(charge: Charge): boolean
  /** Returns the number of expired charges. */
  expire(now: number): number
  credit(account: string, amount: number): void
  adjust(account: string, amount: number): boolean
  /** The committed amount by `key period`, `account:name period` and `spender period`. */
  budgets: Map<string, number>
  /** Requests and tokens by `key minute`. */
  windows: Map<string, { requests: number; tokens: number }>
  accounts: Map<string, Sheet>
}

export function createBookkeeper(): Bookkeeper {
  const accounts = new Map<string, Sheet>()
  const budgets = new Map<string, number>()
  const windows = new Map<string, { requests: number; tokens: number }>()

  function sheet(account: string): Sheet {
    const known = accounts.get(account) ?? emptySheet()
    accounts.set(account, known)
    return known
  }

  function refusal(charge: Charge, key: Key): string | undefined {
    const { balance, held, open } = sheet(charge.account)
    if (balance - held < charge.heldNano) return 'balance'
    const window = windows.get(`${charge.keyId} ${charge.windowMinute}`) ?? { requests: 0, tokens: 0 }
    if (window.requests >= (key.requestsPerMinute ?? Infinity)) return 'rate'
    if (window.tokens >= (key.tokensPerMinute ?? Infinity)) return 'rate'
    const running = [...open.values()].filter(
      ({ keyId, expiresAt }) => keyId === charge.keyId && expiresAt > charge.createdAt,
    )
    if (running.length >= (key.concurrency ?? Infinity)) return 'concurrency'
    return overBudget(budgets, charge, key, charge.heldNano) ?? overRate(windows, charge, key)
  }

  const count = (charge: Charge, requests: number, tokens: number, committed: number) =>
    addToCounters({ budgets, windows }, charge, { requests, tokens, committed })

  /** Removes a charge from the list of open ones. False if it is missing, or now holds another amount. */
  function finish(charge: Charge): boolean {
    const { open, finished } = sheet(charge.account)
    if (open.get(charge.id)?.heldNano !== charge.heldNano) return false
    open.delete(charge.id)
    finished.push(charge)
    return true
  }

  function release(charge: Charge): boolean {
    if (!finish(charge)) return false
    sheet(charge.account).held -= charge.heldNano
    count(charge, 0, -charge.windowTokens, -charge.heldNano)
    return true
  }

  return {
    accounts,
    budgets,
    windows,
    sheet,
    hold(charge, key) {
      const refusedBy = refusal(charge, key)
      if (refusedBy) return { refusedBy }
      const book = sheet(charge.account)
      book.held += charge.heldNano
      book.open.set(charge.id, charge)
      count(charge, 1, charge.windowTokens, charge.heldNano)
      countSpender(windows, charge, key)
      return { held: true }
    },
    extend(charge, key, amount, tokens) {
      const book = sheet(charge.account)
      if (book.open.get(charge.id)?.heldNano !== charge.heldNano) return { refusedBy: 'charge' }
      if (book.balance - book.held < amount) return { refusedBy: 'balance' }
      const refusedBy = overBudget(budgets, charge, key, amount)
      if (refusedBy) return { refusedBy }
      const { heldNano, windowTokens } = charge
      const extended = { ...charge, heldNano: heldNano + amount, windowTokens: windowTokens + tokens }
      book.open.set(charge.id, extended)
      book.held += amount
      count(charge, 0, tokens, amount)
      return { extended }
    },
    settle(charge, price, tokens) {
      if (!finish(charge)) return undefined
      const book = sheet(charge.account)
      book.held -= charge.heldNano
      const paid = Math.min(price, book.balance - book.held)
      book.balance -= paid
      book.earned += paid
      book.shortfall += price - paid
      count(charge, 0, tokens - charge.windowTokens, paid - charge.heldNano)
      return { paidNano: paid, shortfallNano: price - paid }
    },
    release,
    expire(now) {
      const open = [...accounts.values()].flatMap((book) => [...book.open.values()])
      return open.filter((charge) => charge.expiresAt <= now && release(charge)).length
    },
    credit(account, amount) {
      sheet(account).balance += amount
      sheet(account).funded += amount
    },
    adjust(account, amount) {
      const book = sheet(account)
      if (book.balance - book.held + amount < 0) return false
      book.balance += amount
      book.funded += amount
      return true
    },
  }
}

/** The budget that an amount would exceed: that of the key, of its account, or of a spender. */
function overBudget(
  budgets: Map<string, number>,
  charge: Charge,
  key: Key,
  amount: number,
): string | undefined {
  const { account, accountPeriod, keyId, budgetPeriod } = charge
  const isOver = (name: string, most = Infinity) => (budgets.get(name) ?? 0) + amount > most
  if (isOver(`${keyId} ${budgetPeriod}`, key.budgetNano ?? Infinity)) return 'budget'
  const most = key.accountBudget?.amountNano
  if (isOver(`account:${account} ${accountPeriod}`, most)) return 'account budget'
  const { spender } = charge
  if (!spender) return undefined
  const mostOfSpender = key.spender?.budgetNano ?? Infinity
  return isOver(`${spender.id} ${spender.period}`, mostOfSpender) ? 'spender budget' : undefined
}

/** Whether the spender of a key has used all its requests of a minute. */
function overRate(windows: Bookkeeper['windows'], charge: Charge, { spender }: Key): string | undefined {
  if (!spender) return undefined
  const used = windows.get(minuteOf(spender.id, charge))?.requests ?? 0
  return used >= (spender.requestsPerMinute ?? Infinity) ? 'spender rate' : undefined
}

function countSpender(windows: Bookkeeper['windows'], charge: Charge, { spender }: Key): void {
  if (!spender || spender.requestsPerMinute === null) return
  const name = minuteOf(spender.id, charge)
  windows.set(name, { requests: (windows.get(name)?.requests ?? 0) + 1, tokens: 0 })
}

function minuteOf(spender: string, { createdAt }: Charge): string {
  return `${spender} ${Math.floor(createdAt / 60_000)}`
}

function emptySheet(): Sheet {
  return { balance: 0, held: 0, funded: 0, earned: 0, shortfall: 0, open: new Map(), finished: [] }
}

/** Adds to the counters of the charge's key. */
function addToCounters(
  { budgets, windows }: Pick<Bookkeeper, 'budgets' | 'windows'>,
  { account, keyId, windowMinute, budgetPeriod, accountPeriod, spender }: Charge,
  more: { requests: number; tokens: number; committed: number },
): void {
  if (windowMinute !== null) {
    const name = `${keyId} ${windowMinute}`
    const { requests, tokens } = windows.get(name) ?? { requests: 0, tokens: 0 }
    windows.set(name, { requests: requests + more.requests, tokens: tokens + more.tokens })
  }
  const add = (name: string) => budgets.set(name, (budgets.get(name) ?? 0) + more.committed)
  if (budgetPeriod !== null) add(`${keyId} ${budgetPeriod}`)
  if (accountPeriod) add(`account:${account} ${accountPeriod}`)
  if (spender) add(`${spender.id} ${spender.period}`)
}
