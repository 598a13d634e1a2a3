// Writes what was found in another gateway into the database: accounts, opening credits, keys by the hash of their secret.
// A second run must change nothing: a credit has a permanent id, and a key is recognised by its hash.

import { introduceAccount } from '../../src/accounts/accounts'
import { importKey } from '../../src/accounts/keys'
import { bookOf } from '../../src/billing/ledger/balances'
import { addCredit, openAccount } from '../../src/billing/ledger/ledger'
import { transferId } from '../../src/billing/ledger/transfers'
import { createCodes, hashCode } from '../../src/billing/selling/codes'
import { apply, type Db } from '../../src/db/db'
import { formatUsd } from '../../src/lib/money'
import { makeWebhookSecret } from '../../src/webhooks/secrets'
import { CommandFailed } from '../lib/errors'
import type { Found, FoundAccount, FoundCode, FoundKey, SkippedItem } from './found'

/** How the notes of opening credits begin. */
const CREDIT_NOTE = 'opening balance'

/** Codes that are stored in one transaction. */
const CODES_AT_ONCE = 500

interface PlannedAccount extends FoundAccount {
  /** Whether an account with this name exists here, and whether it has its opening credit. */
  state: 'new' | 'exists' | 'carried'
  creditId: string
}

interface PlannedKey extends FoundKey {
  state: 'new' | 'carried'
}

interface PlannedCode extends FoundCode {
  state: 'new' | 'carried'
}

export interface Plan {
  accounts: PlannedAccount[]
  keys: PlannedKey[]
  codes: PlannedCode[]
  left: SkippedItem[]
}

interface Source {
  now: number
  newId(prefix: string): string
  randomBytes(count: number): Uint8Array
}

/**
 * Compares what was found with what exists here. `source` distinguishes two gateways of one kind. An existing account with the same
 * name that did not come from this source is not changed, unless `isMerging`: it may be another customer's money. Nothing is
 * changed.
 */
export async function planImport(
  db: Db,
  found: Found,
  { source, isMerging }: { source: string; isMerging: boolean },
): Promise<Plan> {
  const names = new Set(await column(db, 'select name as value from accounts'))
  const keysHere = await db.query({ sql: 'select hash, account from keys' })
  const hashes = new Map(keysHere.map(({ hash, account }) => [hash as string, account as string]))
  const opened = await db.query({
    sql: `select id, to_book, amount from transfers where note like '${CREDIT_NOTE}%'`,
  })
  const credits = new Map(opened.map(({ id, amount }) => [id as string, amount as number]))
  const openedBooks = new Set(opened.map(({ to_book: book }) => book as string))
  const closed = new Set(
    await column(db, 'select name as value from account_details where closed_at is not null'),
  )
  const left: SkippedItem[] = []
  const accounts: PlannedAccount[] = []
  for (const account of found.accounts) {
    const { name, balanceNano } = account
    const what = `account ${name}`
    if (closed.has(name)) {
      left.push({ what, why: 'is closed here permanently: rename the user there' })
      continue
    }
    const creditId = transferId(`import ${source} ${account.id}`)
    const credited = credits.get(creditId)
    const own = found.keys.filter((key) => key.account === name)
    const isHere = names.has(name)
    // Anybody with a key of the account may spend from it, so a key proves that it is the same account, not that its money is new.
    const isOfSource =
      credited !== undefined ||
      (own.some(({ hash }) => hashes.get(hash) === name) && !openedBooks.has(bookOf(name)))
    if (isHere && !isOfSource && (balanceNano > 0 || own.length > 0)) {
      const why = isMerging
        ? 'is here already: its balance and keys are added to it'
        : 'is here already and is not from this source: nothing is added to it. Rename the user there, or use --merge if both are the same customer'
      left.push({ what, why })
      if (!isMerging) continue
    }
    if (credited !== undefined && credited !== balanceNano)
      left.push({
        what,
        why: `began here with $${formatUsd(credited)} and has $${formatUsd(balanceNano)} there now: correct it by hand`,
      })
    const isCredited = credited !== undefined || balanceNano === 0
    accounts.push({ ...account, creditId, state: !isHere ? 'new' : isCredited ? 'carried' : 'exists' })
  }
  const carried = new Set(accounts.map(({ name }) => name))
  const keys = found.keys
    .filter(({ account }) => carried.has(account))
    .map((key): PlannedKey => ({ ...key, state: hashes.has(key.hash) ? 'carried' : 'new' }))
  return { accounts, keys, codes: await planCodes(db, found.codes), left: [...found.left, ...left] }
}

async function planCodes(db: Db, codes: readonly FoundCode[]): Promise<PlannedCode[]> {
  const hashes = new Set(await column(db, 'select hash as value from top_up_codes'))
  return codes.map((code) => ({ ...code, state: hashes.has(hashCode(code.code) ?? '') ? 'carried' : 'new' }))
}

async function column(db: Db, sql: string): Promise<string[]> {
  return (await db.query({ sql })).map(({ value }) => value as string)
}

/**
 * Imports what is new according to a plan. Each account and each key is one transaction, and the keys of an account follow it: they
 * show a later run that an account without money is from this source.
 */
export async function carryOut(db: Db, plan: Plan, source: Source): Promise<void> {
  const names = new Set(await column(db, 'select name as value from keys'))
  for (const account of plan.accounts) {
    await carryAccount(db, account, source.now)
    for (const key of plan.keys)
      if (key.account === account.name && key.state === 'new') await carryKey(db, key, names, source)
  }
  const { now, newId } = source
  const codes = plan.codes.filter(({ state }) => state === 'new')
  for (let first = 0; first < codes.length; first += CODES_AT_ONCE) {
    const some = codes.slice(first, first + CODES_AT_ONCE)
    await createCodes(
      db,
      some.map((code) => ({ ...code, id: newId('code'), createdAt: code.createdAt ?? now })),
    )
  }
}

/** Opens an account with its details and its money, in one transaction. */
async function carryAccount(db: Db, account: PlannedAccount, now: number): Promise<void> {
  const { name, balanceNano, creditId, displayName, note: ownNote, isFrozen, id, plan, state } = account
  const frozenAt = isFrozen ? now : null
  const introduced = introduceAccount({ account: name, displayName, note: ownNote, plan, frozenAt })
  const details = state === 'new' ? [introduced] : []
  if (balanceNano === 0) {
    if (state === 'new') await apply(db, [openAccount(name, now), ...details])
    return
  }
  const note = `${CREDIT_NOTE}: ${id}`.slice(0, 200)
  await addCredit(db, { id: creditId, account: name, amountNano: balanceNano, now, note }, details).catch(
    (error) => {
      throw error instanceof RangeError ? new CommandFailed(`Account ${name}: ${error.message}`) : error
    },
  )
}

async function carryKey(
  db: Db,
  key: PlannedKey,
  names: Set<string>,
  { now, newId, randomBytes }: Source,
): Promise<void> {
  const { account, hash, hint, settings, isPaused } = key
  for (let count = 1; ; count++) {
    const name = count === 1 ? key.name : `${key.name.slice(0, 58)}-${count}`
    if (names.has(name)) continue
    names.add(name)
    const id = newId('key')
    const webhookSecret = makeWebhookSecret(randomBytes)
    const pausedAt = isPaused ? now : null
    const createdAt = key.createdAt ?? now
    await importKey(db, { ...settings, id, name, account, hash, hint, webhookSecret, pausedAt, createdAt })
    return
  }
}
