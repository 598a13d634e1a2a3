// Accounts over the admin API: lists, their state, their ledgers, and money that operators add and remove. Money must never move
// without an entry of the ledger and one of the audit trail.

import { Type } from '@sinclair/typebox'
import {
  type Account,
  accountBudget,
  accountStatusOf,
  accountView,
  assertOpen,
  checkPlan,
  closeUnused,
  describeAccount,
  freezeAccount,
  listAccounts,
  MAX_DISPLAY_NAME_LENGTH,
  MAX_NOTE_LENGTH,
  requireAccount,
  unfreezeAccount,
} from '../../accounts/accounts'
import { Nullable, OneOf, open } from '../../api-operation/operation'
import { dollars } from '../../api-operation/schemas'
import { entryView, type LedgerPlace, ledgerOf, pageOfLedger } from '../../billing/ledger/account-ledger'
import { balanceJson } from '../../billing/ledger/balances'
import { moveMoney, type Transfer, transferId } from '../../billing/ledger/transfers'
import { BUDGET_PERIODS } from '../../contract/budgets'
import type { Db } from '../../db/db'
import { csvResponse } from '../../http/csv'
import { periodOfQuery } from '../../http/query-time'
import { invalidRequest } from '../../lib/errors'
import { formatUsd, parseUsd } from '../../lib/money'
import { LEDGER_TITLES, ledgerLine } from '../csv'
import {
  changing,
  closedBody,
  limitOf,
  type OperationContext,
  operationsIn,
  optionalText,
  PageOf,
  pageOf,
  pageQuery,
  periodQuery,
  unknownCursor,
} from '../operation'

const operation = operationsIn('Accounts')
export const AccountReply = accountView.reply
const EntryReply = entryView.reply
const TransferReply = Type.Object({ id: Type.String(), amount_usd: dollars, account: Type.String() }, open)
const Amount = Type.String({ description: 'Dollars, such as `5` or `0.25`.', minLength: 1, maxLength: 40 })
const Note = Type.String({ maxLength: MAX_NOTE_LENGTH, description: 'Kept in the ledger.' })

/** Maximum number of last movements: they are in memory at once. */
const MAX_LAST_MOVEMENTS = 100_000

const accountOf = ({ world, params }: OperationContext) => requireAccount(world.db, params.account ?? '')

const targetOf = ({ account }: Pick<Account, 'account'>) => `account:${account}`

const list = operation({
  id: 'listAccounts',
  endpoint: 'GET /accounts',
  role: 'viewer',
  summary: 'Accounts by their names',
  query: Type.Object({
    ...pageQuery,
    plan: optionalText('Only those with this plan.'),
    held: Type.Optional(OneOf(['true'], 'Only those with a current hold.')),
  }),
  reply: PageOf(AccountReply),
  async run({ world }, query) {
    const limit = limitOf(query)
    const { after = '', plan, held } = query
    const rows = await listAccounts(world.db, { after, plan, isHeld: held === 'true', limit: limit + 1 })
    return pageOf(rows, limit, accountView.show, ({ account }) => account)
  },
})

const show = operation({
  id: 'getAccount',
  endpoint: 'GET /accounts/{account}',
  role: 'viewer',
  summary: 'One account',
  reply: AccountReply,
  run: async (context) => accountView.show(await accountOf(context)),
})

/** Fields of an account that operators set. */
export const accountDetails = {
  display_name: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: MAX_DISPLAY_NAME_LENGTH }))),
  note: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: MAX_NOTE_LENGTH }))),
  plan: Type.Optional(Nullable(Type.String({ maxLength: 64, description: 'A plan of the configuration.' }))),
  budget_usd: Type.Optional(
    Nullable(Type.String({ maxLength: 40, description: 'The most that it may spend in a period.' })),
  ),
  budget_period: Type.Optional(Nullable(OneOf(BUDGET_PERIODS))),
}

const update = operation({
  id: 'updateAccount',
  endpoint: 'PATCH /accounts/{account}',
  role: 'operator',
  summary: 'Change an account',
  description: 'What it is called, a note, its plan and its budget.',
  body: Type.Object(accountDetails, closedBody),
  reply: AccountReply,
  async run(context, _query, body) {
    const before = await accountOf(context)
    const { display_name: displayName = before.displayName, note = before.note, plan = before.plan } = body
    const budget = accountBudget(before.budget, body.budget_usd, body.budget_period)
    checkPlan(plan, context.world.config)
    const after = { ...before, displayName, note, plan, budget }
    const shown = (account: Account) => {
      const { display_name, note, plan, budget_usd, budget_period } = accountView.show(account)
      return { display_name, note, plan, budget_usd, budget_period }
    }
    const db = changing(context, {
      action: 'account.update',
      target: targetOf(before),
      before: shown(before),
      after: shown(after),
    })
    await describeAccount(db, after)
    return accountView.show(await accountOf(context))
  },
})

/** An operation that changes the state of an account, and does nothing if the account already has it. */
function transition<const Name extends 'freeze' | 'unfreeze' | 'close'>(
  name: Name,
  description: string,
  role: 'operator' | 'owner',
  status: 'open' | 'frozen' | 'closed',
  change: (db: Db, account: string, now: number) => Promise<unknown>,
) {
  return operation({
    id: `${name}Account`,
    endpoint: `POST /accounts/{account}/${name}`,
    role,
    summary: `${name.charAt(0).toUpperCase()}${name.slice(1)} an account`,
    description,
    reply: AccountReply,
    async run(context) {
      const before = await accountOf(context)
      if (accountStatusOf(before) === status) return accountView.show(before)
      assertOpen(before)
      const db = changing(context, {
        action: `account.${name}`,
        target: targetOf(before),
        before: { status: accountStatusOf(before), balance_usd: formatUsd(before.balanceNano) },
        after: { status },
      })
      await change(db, before.account, context.world.now())
      return accountView.show(await accountOf(context))
    },
  })
}

const freeze = transition(
  'freeze',
  'Refuses all its keys until it is unfrozen.',
  'operator',
  'frozen',
  freezeAccount,
)
const unfreeze = transition('unfreeze', 'Takes its keys again.', 'operator', 'open', (db, account) =>
  unfreezeAccount(db, account),
)
const close = transition(
  'close',
  'Refuses all its keys permanently, while nothing is held on it.',
  'owner',
  'closed',
  (db, account, now) => closeUnused(db, { account }, now),
)

const ledger = operation({
  id: 'listLedger',
  endpoint: 'GET /accounts/{account}/ledger',
  role: 'viewer',
  summary: 'Movements of an account',
  description: 'Newest first, with the balance after each.',
  query: Type.Object({
    ...periodQuery,
    ...pageQuery,
    last: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_LAST_MOVEMENTS,
        description: 'The number of newest rows to return, on one page; without `after`.',
      }),
    ),
    format: Type.Optional(
      OneOf(
        ['json', 'csv'],
        '`csv` is the whole period as a file, in the order of time: oldest first. Default `json`.',
      ),
    ),
  }),
  reply: PageOf(EntryReply),
  async run(context, query) {
    const { last, after, format } = query
    if (last !== undefined && after !== undefined) throw unknownCursor()
    const { account } = await accountOf(context)
    const { db } = await context.world.reportSource()
    const period = periodOfQuery(query, 0)
    const file = `${account}.csv`
    if (format === 'csv' && last === undefined)
      return csvResponse(file, LEDGER_TITLES, ledgerOf(db, account, period), ledgerLine)
    const page = await pageOfLedger(db, account, period, last ?? limitOf(query), placeOf(after))
    if (!page) throw unknownCursor()
    const { entries, next } = page
    if (format === 'csv') return csvResponse(file, LEDGER_TITLES, [entries.toReversed()], ledgerLine)
    return { data: entries.map(entryView.show), next: last === undefined && next ? cursorOf(next) : null }
  },
})

function cursorOf({ position, at, id }: LedgerPlace): string {
  return `${position}.${at}.${id}`
}

/** The place that a cursor names. Throws 400 for a cursor that no page has returned. */
function placeOf(after: string | undefined): LedgerPlace | undefined {
  if (after === undefined) return undefined
  const [, position, at, id] = /^(\d{1,16})\.(\d{1,16})\.(\P{Cc}{0,200})$/u.exec(after) ?? []
  const place = { position: Number(position), at: Number(at), id: id ?? '' }
  if (!Number.isSafeInteger(place.position) || !Number.isSafeInteger(place.at)) throw unknownCursor()
  return place
}

const credit = operation({
  id: 'creditAccount',
  endpoint: 'POST /accounts/{account}/credits',
  role: 'operator',
  summary: 'Add dollars to an account',
  isIdempotent: true,
  body: Type.Object({ amount_usd: Amount, note: Type.Optional(Nullable(Note)) }, closedBody),
  reply: TransferReply,
  async run(context, _query, body) {
    const amountNano = positiveAmountOf(body.amount_usd)
    const account = await accountOf(context)
    assertOpen(account)
    return transfer(context, account, { kind: 'credit', amountNano, note: body.note ?? null })
  },
})

const adjustment = operation({
  id: 'adjustAccount',
  endpoint: 'POST /accounts/{account}/adjustments',
  role: 'operator',
  summary: 'Correct a balance',
  description: 'Up or down; down at most by what is available.',
  isIdempotent: true,
  body: Type.Object(
    {
      amount_usd: Amount,
      note: Type.String({ minLength: 1, maxLength: MAX_NOTE_LENGTH, description: 'Why.' }),
    },
    closedBody,
  ),
  reply: TransferReply,
  async run(context, _query, { amount_usd: amount, note }) {
    const amountNano = amountOf(amount)
    if (amountNano === 0)
      throw invalidRequest('amount_usd', "Invalid 'amount_usd': expected an amount other than 0.")
    return transfer(context, await accountOf(context), { kind: 'adjust', amountNano, note })
  },
})

/** Moves money, with its entry in the audit trail, and answers the balance. */
export async function transfer(
  context: OperationContext,
  account: Account,
  { kind, amountNano, note }: Pick<Transfer, 'kind' | 'amountNano' | 'note'>,
) {
  const { world, idempotencyKey } = context
  const id = idempotencyKey === null ? world.newId('tr') : transferId(idempotencyKey)
  const amount = formatUsd(amountNano)
  const db = changing(context, {
    action: `account.${kind}`,
    target: targetOf(account),
    before: { balance_usd: formatUsd(account.balanceNano) },
    after: { transfer: id, amount_usd: amount, note },
  })
  const replayed = await moveMoney(db, account, { id, kind, amountNano, note, now: world.now() })
  return {
    id,
    amount_usd: amount,
    note,
    replayed,
    ...balanceJson(await requireAccount(world.db, account.account)),
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

/** The amount in a field `amount_usd` that adds money. */
export function positiveAmountOf(text: string): number {
  const amountNano = amountOf(text)
  if (amountNano > 0) return amountNano
  throw invalidRequest('amount_usd', "Invalid 'amount_usd': expected more than 0.")
}

export const accountOperations = [list, show, update, freeze, unfreeze, close, ledger, credit, adjustment]
