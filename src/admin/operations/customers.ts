// Customers over the admin API: accounts with what they use, and a new account with its first key. Money and keys follow the rules
// of accounts and keys, which must not be repeated here.

import { type Static, Type } from '@sinclair/typebox'
import {
  type Account,
  accountBudget,
  accountView,
  checkPlan,
  listAccounts,
  requireAccount,
} from '../../accounts/accounts'
import { storeCustomer } from '../../accounts/key-changes'
import { countKeys } from '../../accounts/keys'
import { NAME_RULE } from '../../accounts/names'
import { Nullable, OneOf } from '../../api-operation/operation'
import { bookOf } from '../../billing/ledger/balances'
import { calendarPeriod, committedNano } from '../../billing/ledger/limits'
import { type Usage, usageBy } from '../../billing/reports/usage-report'
import { DAY_MS } from '../../billing/reports/usage-totals'
import { eventSettingsOf, lowBalanceOf, wants } from '../../config/events'
import { plansOf } from '../../config/models/plans'
import type { Config } from '../../config/schema'
import { BUDGET_PERIODS } from '../../contract/budgets'
import { formatUsd } from '../../lib/money'
import {
  changing,
  closedBody,
  limitOf,
  operationsIn,
  optionalText,
  PageOf,
  pageOf,
  pageQuery,
  Text,
} from '../operation'
import { AccountReply, accountDetails } from './accounts'
import { keySettings, makeKey, NewKeyReply, settingsJson } from './keys'

const operation = operationsIn('Customers')
const Dollars = Type.String({ description: 'Dollars, as text.' })
/** Days of spending that are shown for a customer, including today. */
const SPEND_DAYS = 30

const CustomerReply = Type.Object({
  ...AccountReply.properties,
  keys: Type.Integer({ description: 'Keys that are not revoked.' }),
  spend_usd: Dollars,
  spend_by_day_usd: Type.Array(Dollars, {
    description: `Of ${SPEND_DAYS} days in UTC, the last one is today.`,
  }),
  last_used_on: Nullable(
    Type.String({ description: 'The last of these days with a request; null without any.' }),
  ),
})

const list = operation({
  id: 'listCustomers',
  endpoint: 'GET /customers',
  role: 'viewer',
  summary: 'Customers',
  description: `Accounts by their names, each with its keys and its spend of the last ${SPEND_DAYS} days.`,
  query: Type.Object({
    ...pageQuery,
    text: optionalText('Only those with this text in their name or display name.'),
    plan: optionalText('Only those with this plan.'),
    held: Type.Optional(OneOf(['true'], 'Only those with a current hold.')),
  }),
  reply: PageOf(CustomerReply),
  async run({ world }, query) {
    const limit = limitOf(query)
    const { after = '', text, plan, held } = query
    const { db } = world
    const reports = await world.reportSource()
    const filter = { after, text, plan, isHeld: held === 'true', limit: limit + 1 }
    const rows = await listAccounts(db, filter)
    const accounts = rows.slice(0, limit).map(({ account }) => account)
    const since = firstDay(world.now())
    const [used, keys] = await Promise.all([
      usageBy(reports.db, 'account', { since, accounts }, 'day'),
      countKeys(db, accounts),
    ])
    const usedBy = Map.groupBy(used, ({ name }) => name)
    return pageOf(
      rows,
      limit,
      (row) => customerJson(row, keys.get(row.account) ?? 0, usedBy.get(row.account) ?? [], since),
      ({ account }) => account,
    )
  },
})

const OneCustomerReply = Type.Object({
  ...CustomerReply.properties,
  budget_in_force_usd: Nullable(Dollars),
  budget_in_force_period: Nullable(OneOf(BUDGET_PERIODS)),
  budget_used_usd: Nullable(Dollars),
  low_balance_usd: Nullable(
    Type.String({ description: 'Operators are notified below this; null without `events`.' }),
  ),
  low_balance_recipients: Type.Array(Type.String(), { description: 'Who is notified, by their names.' }),
})

const show = operation({
  id: 'getCustomer',
  endpoint: 'GET /customers/{account}',
  role: 'viewer',
  summary: 'One customer',
  description: `An account with its keys, its spend of the last ${SPEND_DAYS} days, and its budget.`,
  reply: OneCustomerReply,
  async run({ world, params }) {
    const { db, config } = world
    const account = await requireAccount(db, params.account ?? '')
    const name = account.account
    const now = world.now()
    const budget = account.budget ?? plansOf(config.plans).get(account.plan ?? '')?.budget ?? null
    const period = budget && calendarPeriod(budget.period, now).name
    const reports = await world.reportSource()
    const since = firstDay(now)
    const [used, keys, committed] = await Promise.all([
      usageBy(reports.db, 'day', { since, account: name }),
      countKeys(db, [name]),
      period === null ? 0 : committedNano(db, bookOf(name), period),
    ])
    const days = used.map((usage) => ({ ...usage, second: usage.name }))
    return {
      ...customerJson(account, keys.get(name) ?? 0, days, since),
      budget_in_force_usd: budget && formatUsd(budget.amountNano),
      budget_in_force_period: budget?.period ?? null,
      budget_used_usd: budget && formatUsd(committed),
      ...alertJson(config, name),
    }
  },
})

/** The balance below which an account's contacts are notified, and who they are. */
function alertJson({ events }: Pick<Config, 'events'>, account: string) {
  if (!events) return { low_balance_usd: null, low_balance_recipients: [] }
  const { to } = eventSettingsOf(events)
  const recipients = [...to].flatMap(([name, recipient]) =>
    wants(recipient, 'balance.low', account) ? [name] : [],
  )
  return {
    low_balance_usd: formatUsd(lowBalanceOf(events, account)),
    low_balance_recipients: recipients,
  }
}

/** The beginning of the first of the days whose spend is shown. */
function firstDay(now: number): number {
  return now - (now % DAY_MS) - (SPEND_DAYS - 1) * DAY_MS
}

function customerJson(account: Account, keys: number, used: readonly Usage[], since: number) {
  return { ...accountView.show(account), keys, ...spendJson(used, since) }
}

/** The spend of an account from a day on, by day. */
function spendJson(used: readonly Usage[], since: number) {
  const amounts = new Map(used.map(({ second, amountNano }) => [Number(second), amountNano]))
  const days = Array.from({ length: SPEND_DAYS }, (_, index) => since + index * DAY_MS)
  const byDay = days.map((day) => amounts.get(day) ?? 0)
  const last = Math.max(...amounts.keys())
  return {
    spend_usd: formatUsd(byDay.reduce((sum, amountNano) => sum + amountNano, 0)),
    spend_by_day_usd: byDay.map(formatUsd),
    last_used_on: Number.isFinite(last) ? new Date(last).toISOString().slice(0, 10) : null,
  }
}

const NewCustomer = Type.Object(
  {
    account: Text(`The name of the account: ${NAME_RULE}. It never changes.`),
    ...accountDetails,
    balance_usd: optionalText('The opening balance in dollars, such as `5`.'),
    key: Type.Optional(
      Type.Object(
        { name: optionalText("The name of the key. Default: the account's."), ...keySettings },
        closedBody,
      ),
    ),
  },
  closedBody,
)

const create = operation({
  id: 'createCustomer',
  endpoint: 'POST /customers',
  role: 'operator',
  summary: 'Make a customer',
  description:
    'An account with its plan, its first key and its first money. The secret is in this answer only.',
  body: NewCustomer,
  reply: NewKeyReply,
  async run(context, _query, body) {
    const { account, balance_usd: deposit, key: { name = account, ...settings } = {} } = body
    const details = detailsOf(body)
    checkPlan(details.plan, context.world.config)
    return makeKey(context, { name, account, deposit, settings }, (drafted, limits) => {
      const { displayName, note, plan, budget } = details
      const recorded = changing(context, {
        action: 'account.create',
        target: `account:${account}`,
        after: {
          display_name: displayName,
          note,
          plan,
          budget_usd: budget && formatUsd(budget.amountNano),
          budget_period: budget?.period ?? null,
          key: name,
          key_id: drafted.id,
          ...settingsJson(limits),
        },
      })
      return storeCustomer(recorded, drafted, limits, details)
    })
  },
})

function detailsOf(body: Static<typeof NewCustomer>) {
  const { display_name: displayName = null, note = null, plan = null } = body
  const budget = accountBudget(null, body.budget_usd, body.budget_period)
  return { displayName, note, plan, budget }
}

export const customerOperations = [list, show, create]
