// One customer: its balance and how long it lasts, its spend, keys, requests, ledger, sessions and settings, and the actions that
// an operator may take.

import { address, hrefOf } from '../address'
import { call, hasRole, type Reply } from '../api'
import { Used } from '../charts/used'
import { daysLeft } from '../lasting'
import { Tabs } from '../parts/choice'
import { Figure } from '../parts/figure'
import { Action, Danger } from '../parts/form'
import { Loaded } from '../parts/loaded'
import { Money, moneyText } from '../parts/money'
import { Status } from '../parts/status'
import { useQuery } from '../query'
import { texts } from '../texts'
import { CustomerAccess } from './access'
import { CustomerKeys } from './keys'
import { AddMoney, CustomerMoney } from './money'
import { CustomerOverview } from './overview'
import { CustomerRequests } from './requests'
import { CustomerSettings } from './settings'

const words = texts.accounts
export type CustomerJson = Reply<'getCustomer'>

const PARTS = ['overview', 'keys', 'requests', 'money', 'access', 'settings'] as const

export function Customer({ account }: { account: string }) {
  const { text, plan, held, part: wanted } = address.value.query
  const load = useQuery(['customer', account], (signal) =>
    call('getCustomer', { params: { account }, signal }),
  )
  const part = PARTS.find((each) => each === wanted) ?? 'overview'
  return (
    <>
      <p class="back">
        <a href={hrefOf('accounts', { text, plan, held })} data-closes>
          {words.title}
        </a>
      </p>
      <div class="page-head">
        <h1>{words.one(account)}</h1>
        {load.data && <HeadActions customer={load.data} />}
      </div>
      <Loaded of={load}>
        {(customer) => (
          <>
            <Head customer={customer} />
            <Tabs label={words.one(account)} parts={PARTS} part={part} titles={words.parts} />
            {part === 'overview' && <CustomerOverview customer={customer} />}
            {part === 'keys' && <CustomerKeys account={account} />}
            {part === 'requests' && <CustomerRequests account={account} />}
            {part === 'money' && <CustomerMoney account={account} />}
            {part === 'access' && <CustomerAccess account={account} />}
            {part === 'settings' && <CustomerSettings customer={customer} />}
          </>
        )}
      </Loaded>
    </>
  )
}

function Head({ customer }: { customer: CustomerJson }) {
  const { account, status, display_name: called, plan, created_at: created } = customer
  const to = (part: (typeof PARTS)[number]) => hrefOf('accounts', { part }, account)
  const days = daysLeft(customer.available_usd, customer.spend_by_day_usd)
  return (
    <>
      <p class="quiet facts-line">
        {status !== 'open' && <Status state={status} />}
        {called && <span>{called}</span>}
        <span>
          {words.plan}: {plan === null ? words.noPlan : <a href={hrefOf('plans', {}, plan)}>{plan}</a>}
        </span>
        <span>{words.since(created.slice(0, 10))}</span>
        {customer.note && <span>{customer.note}</span>}
      </p>
      <div class="figures">
        <Figure
          title={words.availableNow}
          href={to('money')}
          note={days === null ? undefined : words.lastsAtThisRate(days)}
        >
          <Money usd={customer.available_usd} />
        </Figure>
        <Figure title={words.held} href={hrefOf('tasks', { account })}>
          <Money usd={customer.held_usd} />
        </Figure>
        <Figure
          title={words.spend}
          href={hrefOf('usage', { account, by: 'model', range: '30d' })}
          note={`${words.lastUsed}: ${customer.last_used_on ?? words.notUsed}`}
        >
          <Money usd={customer.spend_usd} />
        </Figure>
        <Figure title={words.keys} href={to('keys')}>
          {customer.keys}
        </Figure>
        <Budget customer={customer} />
      </div>
    </>
  )
}

function Budget({ customer }: { customer: CustomerJson }) {
  const { budget_in_force_usd: of, budget_in_force_period: period, budget_used_usd: used } = customer
  if (of === null || period === null || used === null) return null
  return (
    <a class="figure" href={hrefOf('accounts', { part: 'settings' }, customer.account)}>
      <span>{words.budget}</span>
      <Used
        title={words.budget}
        used={used}
        of={of}
        text={words.ofBudget(moneyText(used), moneyText(of), period)}
      />
    </a>
  )
}

function HeadActions({ customer }: { customer: CustomerJson }) {
  const { account, status } = customer
  if (!hasRole('operator') || status === 'closed') return null
  return (
    <div class="actions">
      <AddMoney account={account} />
      <a class="button" href={hrefOf('keys', { account }, 'new')}>
        {texts.keys.create}
      </a>
      <Freezing customer={customer} />
    </div>
  )
}

function Freezing({ customer: { account, status } }: { customer: CustomerJson }) {
  const params = { account }
  const use = useQuery(['account use', account], (signal) =>
    call('getUsage', { query: { by: 'account', account }, signal }),
  )
  const running = use.data?.total.running
  if (status === 'frozen')
    return <Action title={words.unfreeze} act={() => call('unfreezeAccount', { params })} />
  return (
    <Danger
      action={words.freeze}
      title={words.freezeTitle(account)}
      act={() => call('freezeAccount', { params })}
    >
      <p>{words.freezeMeans}</p>
      {typeof running === 'number' && <p>{words.freezeRunning(running)}</p>}
    </Danger>
  )
}
