// Accounts over the admin API: lists, their state, their ledgers, and money that operators give and take. Money must
// never move without an entry of the ledger and one of the audit trail.

import { Type } from '@sinclair/typebox'
import {
  type Account,
  accountJson,
  closeAccount,
  describeAccount,
  findAccount,
  freezeAccount,
  listAccounts,
  MAX_DISPLAY_NAME_LENGTH,
  MAX_NOTE_LENGTH,
  unfreezeAccount,
} from '../../accounts/accounts'
import { entryJson, findTransfer, type LedgerEntry, ledgerOf } from '../../billing/account-ledger'
import { balanceOf } from '../../billing/balances'
import { addCredit, adjust } from '../../billing/ledger'
import { timeOfQuery } from '../../http/query-time'
import { GatewayError, invalidRequest } from '../../lib/errors'
import { formatUsd, MAX_NANO, parseUsd } from '../../lib/money'
import { csvResponse, LEDGER_TITLES, ledgerLine } from '../csv'
import {
  type Asked,
  changing,
  closedBody,
  conflict,
  limitOf,
  Nullable,
  notFound,
  open,
  operation,
  PageOf,
  pageOf,
  pageQuery,
  periodQuery,
  timedCursor,
} from '../operation'

const Dollars = Type.String({ description: 'Dollars, as text.' })
const AccountReply = Type.Object(
  {
    account: Type.String(),
    balance_usd: Dollars,
    held_usd: Dollars,
    available_usd: Dollars,
    status: Type.Union(['open', 'frozen', 'closed'].map((word) => Type.Literal(word))),
    display_name: Nullable(Type.String()),
    note: Nullable(Type.String()),
    frozen_at: Nullable(Type.String()),
    closed_at: Nullable(Type.String()),
    created_at: Type.String(),
  },
  open,
)
const EntryReply = Type.Object(
  {
    id: Type.String(),
    at: Type.String(),
    kind: Type.String(),
    amount_usd: Dollars,
    balance_after_usd: Dollars,
    charge: Nullable(Type.String()),
    note: Nullable(Type.String()),
  },
  open,
)
const TransferReply = Type.Object({ id: Type.String(), amount_usd: Dollars, account: Type.String() }, open)
const Amount = Type.String({ description: 'Dollars, such as `5` or `0.25`.', minLength: 1, maxLength: 40 })
const Note = Type.String({ maxLength: MAX_NOTE_LENGTH, description: 'Kept in the ledger.' })

const tag = 'Accounts'

/** How far back a page of the ledger begins to look for the entry before it, in milliseconds: clocks of nodes differ. */
const CLOCKS_MS = 60_000

export async function requireAccount(asked: Asked): Promise<Account> {
  const { account } = asked.params
  const found = await findAccount(asked.world.db, account ?? '')
  if (!found) throw notFound('account', account)
  return found
}

function requireOpen(account: Account): Account {
  if (account.closedAt === null) return account
  throw conflict('account_closed', `Account ${account.account} is closed for ever.`)
}

const targetOf = ({ account }: Pick<Account, 'account'>) => `account:${account}`

const list = operation({
  id: 'listAccounts',
  method: 'GET',
  path: '/accounts',
  role: 'viewer',
  tag,
  summary: 'Accounts by their names',
  query: Type.Object(pageQuery),
  reply: PageOf(AccountReply),
  async run({ world }, query) {
    const limit = limitOf(query)
    const rows = await listAccounts(world.db, { after: query.after ?? '', limit: limit + 1 })
    return pageOf(rows, limit, accountJson, ({ account }) => account)
  },
})

const show = operation({
  id: 'getAccount',
  method: 'GET',
  path: '/accounts/{account}',
  role: 'viewer',
  tag,
  summary: 'One account',
  reply: AccountReply,
  run: async (asked) => accountJson(await requireAccount(asked)),
})

const update = operation({
  id: 'updateAccount',
  method: 'PATCH',
  path: '/accounts/{account}',
  role: 'operator',
  tag,
  summary: 'Say what an account is called, and note something of it',
  body: Type.Object(
    {
      display_name: Type.Optional(
        Nullable(Type.String({ minLength: 1, maxLength: MAX_DISPLAY_NAME_LENGTH })),
      ),
      note: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: MAX_NOTE_LENGTH }))),
    },
    closedBody,
  ),
  reply: AccountReply,
  async run(asked, _query, body) {
    const before = await requireAccount(asked)
    const { display_name: displayName = before.displayName, note = before.note } = body
    const after = { ...before, displayName, note }
    const shown = (account: Account) => ({ display_name: account.displayName, note: account.note })
    const db = changing(asked, {
      action: 'account.update',
      target: targetOf(before),
      before: shown(before),
      after: shown(after),
    })
    await describeAccount(db, after)
    return accountJson(await requireAccount(asked))
  },
})

/** An operation that takes an account from one state to another, and changes nothing where it is there already. */
function transition(
  name: 'freeze' | 'unfreeze' | 'close',
  summary: string,
  role: 'operator' | 'owner',
  change: (asked: Asked, account: Account) => Promise<boolean>,
) {
  return operation({
    id: `${name}Account`,
    method: 'POST',
    path: `/accounts/{account}/${name}`,
    role,
    tag,
    summary,
    reply: AccountReply,
    async run(asked) {
      const account = await requireAccount(asked)
      if (name === 'close' && account.closedAt !== null) return accountJson(account)
      await change(asked, requireOpen(account))
      return accountJson(await requireAccount(asked))
    },
  })
}

const change = (asked: Asked, account: Account, action: string, status: string) =>
  changing(asked, {
    action: `account.${action}`,
    target: targetOf(account),
    before: { status: accountJson(account).status, balance_usd: formatUsd(account.balanceNano) },
    after: { status },
  })

const freeze = transition(
  'freeze',
  'Refuse all keys of an account until it is unfrozen',
  'operator',
  (asked, account) =>
    freezeAccount(change(asked, account, 'freeze', 'frozen'), account.account, asked.world.now()),
)
const unfreeze = transition(
  'unfreeze',
  'Take the keys of a frozen account again',
  'operator',
  (asked, account) => unfreezeAccount(change(asked, account, 'unfreeze', 'open'), account.account),
)
const close = transition(
  'close',
  'Refuse all keys of an account for ever, while nothing is held on it',
  'owner',
  async (asked, account) => {
    const db = change(asked, account, 'close', 'closed')
    if (await closeAccount(db, account.account, asked.world.now())) return true
    const { heldNano } = await requireAccount(asked)
    throw conflict(
      'account_in_use',
      `$${formatUsd(heldNano)} is held on account ${account.account} for running requests. Freeze it, wait for them to end, and close it then.`,
    )
  },
)

const ledger = operation({
  id: 'listLedger',
  method: 'GET',
  path: '/accounts/{account}/ledger',
  role: 'viewer',
  tag,
  summary: 'Movements of an account, oldest first, with the balance after each',
  query: Type.Object({
    ...periodQuery,
    ...pageQuery,
    format: Type.Optional(
      Type.Union([Type.Literal('json'), Type.Literal('csv')], {
        description: '`csv` is the whole period as a file. Default `json`.',
      }),
    ),
  }),
  reply: PageOf(EntryReply),
  async run(asked, query) {
    const { account } = await requireAccount(asked)
    const { db } = asked.world
    const since = timeOfQuery('since', query.since) ?? 0
    const until = timeOfQuery('until', query.until)
    const before = until === undefined ? {} : { until }
    if (query.format === 'csv') {
      const pages = ledgerOf(db, account, { since, ...before })
      return csvResponse(`${account}.csv`, LEDGER_TITLES, pages, ledgerLine)
    }
    const limit = limitOf(query)
    const entries = await entriesAfter(asked, account, { since, ...before }, query.after, limit + 1)
    return pageOf(entries, limit, entryJson, ({ at, id }) => `${at}.${id}`)
  },
})

async function entriesAfter(
  { world }: Asked,
  account: string,
  period: { since: number; until?: number },
  after: string | undefined,
  most: number,
): Promise<LedgerEntry[]> {
  const place = after === undefined ? undefined : timedCursor(after)
  const since = place ? Math.max(period.since, place.at - CLOCKS_MS) : period.since
  const entries: LedgerEntry[] = []
  let isPast = place === undefined
  for await (const page of ledgerOf(world.db, account, { ...period, since })) {
    for (const entry of page) {
      if (isPast) entries.push(entry)
      else isPast = entry.id === place?.id
      if (entries.length === most) return entries
    }
  }
  return entries
}

const TransferBody = { amount_usd: Amount }

const credit = operation({
  id: 'creditAccount',
  method: 'POST',
  path: '/accounts/{account}/credits',
  role: 'operator',
  tag,
  summary: 'Add dollars to an account',
  isIdempotent: true,
  body: Type.Object({ ...TransferBody, note: Type.Optional(Nullable(Note)) }, closedBody),
  reply: TransferReply,
  async run(asked, _query, body) {
    const amountNano = amountOf(body.amount_usd)
    if (amountNano <= 0) throw invalidRequest('amount_usd', "Invalid 'amount_usd': expected more than 0.")
    const account = requireOpen(await requireAccount(asked))
    return once(asked, account, 'credit', amountNano, body.note ?? null, (db, transfer) =>
      addCredit(db, transfer),
    )
  },
})

const adjustment = operation({
  id: 'adjustAccount',
  method: 'POST',
  path: '/accounts/{account}/adjustments',
  role: 'operator',
  tag,
  summary: 'Correct a balance up or down; down at most by what is available',
  isIdempotent: true,
  body: Type.Object(
    { ...TransferBody, note: Type.String({ minLength: 1, maxLength: MAX_NOTE_LENGTH, description: 'Why.' }) },
    closedBody,
  ),
  reply: TransferReply,
  async run(asked, _query, body) {
    const amountNano = amountOf(body.amount_usd)
    if (amountNano === 0)
      throw invalidRequest('amount_usd', "Invalid 'amount_usd': expected another amount than 0.")
    const account = await requireAccount(asked)
    const { note } = body
    return once(asked, account, 'adjust', amountNano, note, (db, transfer) =>
      adjust(db, { ...transfer, note }),
    )
  },
})

interface Transfer {
  id: string
  account: string
  amountNano: number
  now: number
  note: string | null
}

/** Moves money once for each Idempotency-Key: the key is the id of the transfer, so that the database keeps two apart. */
async function once(
  asked: Asked,
  account: Account,
  kind: 'credit' | 'adjust',
  amountNano: number,
  note: string | null,
  move: (db: Asked['world']['db'], transfer: Transfer) => Promise<boolean>,
): Promise<object> {
  const { world, idempotencyKey } = asked
  const id = idempotencyKey === null ? world.newId('tr') : transferId(idempotencyKey)
  const transfer: Transfer = { id, account: account.account, amountNano, now: world.now(), note }
  const known = idempotencyKey === null ? undefined : await findTransfer(world.db, id)
  if (!known) {
    if (account.balanceNano + amountNano > MAX_NANO)
      throw conflict('balance_too_large', `An account can have at most $${formatUsd(MAX_NANO)}.`)
    const db = changing(asked, {
      action: `account.${kind}`,
      target: targetOf(account),
      before: { balance_usd: formatUsd(account.balanceNano) },
      after: { transfer: id, amount_usd: formatUsd(amountNano), note },
    })
    if (await move(db, transfer)) return transferJson(asked, transfer, false)
  }
  const first = known ?? (await findTransfer(world.db, id))
  if (!first) {
    const available = formatUsd((await requireAccount(asked)).availableNano)
    throw conflict(
      'insufficient_balance',
      `Account ${account.account} has only $${available} available. Nothing was changed.`,
    )
  }
  const isSame =
    first.account === account.account &&
    first.kind === kind &&
    first.amountNano === amountNano &&
    first.note === note
  if (isSame) return transferJson(asked, transfer, true)
  throw new GatewayError(422, {
    code: 'idempotency_key_reused',
    type: 'invalid_request_error',
    message: 'This Idempotency-Key was used for another transfer. Nothing was changed. Use a new one.',
  })
}

function transferId(idempotencyKey: string): string {
  const hash = new Bun.CryptoHasher('sha256').update(idempotencyKey).digest('hex')
  return `tr_${hash.slice(0, 40)}`
}

async function transferJson({ world }: Asked, transfer: Transfer, isReplayed: boolean): Promise<object> {
  const { id, account, amountNano, note } = transfer
  const balance = await balanceOf(world.db, account)
  return {
    id,
    amount_usd: formatUsd(amountNano),
    note,
    replayed: isReplayed,
    account,
    balance_usd: formatUsd(balance?.balanceNano ?? 0),
    held_usd: formatUsd(balance?.heldNano ?? 0),
    available_usd: formatUsd(balance?.availableNano ?? 0),
  }
}

export function amountOf(text: string, field = 'amount_usd'): number {
  const amountNano = parseUsd(text)
  if (amountNano !== undefined) return amountNano
  throw invalidRequest(
    field,
    `Invalid '${field}': expected dollars with at most nine decimals, such as 5 or 0.25.`,
  )
}

export const accountOperations = [list, show, update, freeze, unfreeze, close, ledger, credit, adjustment]
