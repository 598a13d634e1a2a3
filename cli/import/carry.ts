// Writes what was found in another gateway into the database: accounts, opening credits, keys by the hash of their secret.
// A second run must change nothing: a credit has an id of its own permanently, and a key is known by its hash.

import { introduceAccount } from '../../src/accounts/accounts'
import { importKey } from '../../src/accounts/keys'
import { addCredit, openAccount } from '../../src/billing/ledger/ledger'
import { transferId } from '../../src/billing/ledger/transfers'
import { apply, type Db } from '../../src/db/db'
import { formatUsd } from '../../src/lib/money'
import { makeWebhookSecret } from '../../src/webhooks/secrets'
import { CommandFailed } from '../lib/errors'
import type { Found, FoundAccount, FoundKey, SkippedItem } from './found'

/** How the notes of opening credits begin. */
const CREDIT_NOTE = 'opening balance'

interface PlannedAccount extends FoundAccount {
  /** Whether an account of this name is here, and whether it has its opening credit. */
  state: 'new' | 'exists' | 'carried'
  creditId: string
}

interface PlannedKey extends FoundKey {
  state: 'new' | 'carried'
}

export interface Plan {
  accounts: PlannedAccount[]
  keys: PlannedKey[]
  left: SkippedItem[]
}

interface Source {
  now: number
  newId(prefix: string): string
  randomBytes(count: number): Uint8Array
}

/** Compares what was found with what is here. `source` tells two gateways of one kind apart. Nothing is changed. */
export async function planImport(db: Db, found: Found, source: string): Promise<Plan> {
  const names = new Set(await column(db, 'select name as value from accounts'))
  const hashes = new Set(await column(db, 'select hash as value from keys'))
  const credits = new Map(
    (await db.query({ sql: `select id, amount from transfers where note like '${CREDIT_NOTE}%'` })).map(
      ({ id, amount }) => [id as string, amount as number],
    ),
  )
  const left: SkippedItem[] = []
  const closed = new Set(
    await column(db, 'select name as value from account_details where closed_at is not null'),
  )
  for (const { name } of found.accounts)
    if (closed.has(name))
      left.push({ what: `account ${name}`, why: 'is closed here permanently: rename the user there' })
  const carriedOwners = new Set(
    found.keys.filter(({ hash }) => hashes.has(hash)).map(({ account }) => account),
  )
  const owners = new Set(found.keys.map(({ account }) => account))
  const open = found.accounts.filter(({ name }) => !closed.has(name))
  const accounts = open.map((account): PlannedAccount => {
    const creditId = transferId(`import ${source} ${account.id}`)
    const credited = credits.get(creditId)
    const isHere = names.has(account.name)
    const isCredited = credited !== undefined || account.balanceNano === 0
    const state = !isHere ? 'new' : isCredited ? 'carried' : 'exists'
    const what = `account ${account.name}`
    const brings = account.balanceNano > 0 || owners.has(account.name)
    if (isHere && brings && credited === undefined && !carriedOwners.has(account.name))
      left.push({ what, why: 'is here already: its balance and keys are added to it' })
    if (credited !== undefined && credited !== account.balanceNano)
      left.push({
        what,
        why: `began here with $${formatUsd(credited)} and has $${formatUsd(account.balanceNano)} there now: correct it by hand`,
      })
    return { ...account, state, creditId }
  })
  const keys = found.keys
    .filter(({ account }) => !closed.has(account))
    .map((key): PlannedKey => ({ ...key, state: hashes.has(key.hash) ? 'carried' : 'new' }))
  return { accounts, keys, left: [...found.left, ...left] }
}

async function column(db: Db, sql: string): Promise<string[]> {
  return (await db.query({ sql })).map(({ value }) => value as string)
}

/** Carries over what a plan says is new. Each account and each key is one transaction, so a run that was cut goes on. */
export async function carryOut(db: Db, plan: Plan, source: Source): Promise<void> {
  for (const account of plan.accounts) await carryAccount(db, account, source.now)
  const names = new Set(await column(db, 'select name as value from keys'))
  for (const key of plan.keys) if (key.state === 'new') await carryKey(db, key, names, source)
}

/** Opens an account with its details and its money, in one transaction. */
async function carryAccount(db: Db, account: PlannedAccount, now: number): Promise<void> {
  const { name, balanceNano, creditId, displayName, isFrozen, id, plan, state } = account
  const frozenAt = isFrozen ? now : null
  const details = state === 'new' ? [introduceAccount({ account: name, displayName, plan, frozenAt })] : []
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
