// Accounts: balances and what is held, by name. One account in full: its money, its ledger with the running balance, and
// what an operator may do with it.

import { useState } from 'preact/hooks'
import { address, hrefOf, hrefOfRow, periodQuery } from '../address'
import { call, fileAddress, hasRole, type Reply, type RowOf } from '../api'
import { FilterBar } from '../parts/filter-bar'
import { Action, Danger, Field, Form } from '../parts/form'
import { Loaded } from '../parts/loaded'
import { Money, moneyText } from '../parts/money'
import { PagedTable, usePages } from '../parts/paged'
import { Facts, Panel } from '../parts/panel'
import { Status } from '../parts/status'
import type { Column } from '../parts/table'
import { LogTime, Time } from '../parts/time'
import { useQuery } from '../query'
import { sellingTexts, texts } from '../texts'

const words = texts.accounts
type Account = Reply<'getAccount'>

const columns: readonly Column<RowOf<'listAccounts'>>[] = [
  {
    title: words.account,
    isFirstLine: true,
    cell: ({ account, display_name }) => (
      <>
        {account} {display_name && <span class="quiet">{display_name}</span>}
      </>
    ),
  },
  { title: words.status, cell: ({ status }) => <Status state={status} /> },
  {
    title: words.balance,
    isNumber: true,
    isFirstLine: true,
    cell: ({ balance_usd }) => <Money usd={balance_usd} />,
  },
  { title: words.held, isNumber: true, cell: ({ held_usd }) => <Money usd={held_usd} /> },
  { title: words.available, isNumber: true, cell: ({ available_usd }) => <Money usd={available_usd} /> },
  {
    title: words.plan,
    cell: ({ plan }) => plan && <a href={hrefOf('plans', {}, plan)}>{plan}</a>,
  },
  { title: words.created, cell: ({ created_at }) => <Time at={created_at} /> },
]

export default function Accounts() {
  const { id, query } = address.value
  const held = words.heldFilter.find(([word]) => word === query.held)?.[0]
  const pages = usePages(['accounts', held], (after, signal) =>
    call('listAccounts', { query: { held, after, limit: 50 }, signal }),
  )
  return (
    <>
      <div class="page-head">
        <h1>{words.title}</h1>
        <div class="actions">
          {hasRole('operator') && (
            <a class="button" href={hrefOf('keys', {}, 'new')}>
              {texts.keys.create}
            </a>
          )}
        </div>
      </div>
      <FilterBar filters={[{ name: 'held', title: words.held, options: words.heldFilter }]} />
      <PagedTable
        label={words.title}
        pages={pages}
        columns={columns}
        keyOf={({ account }) => account}
        hrefOf={({ account }) => hrefOfRow(account)}
        openKey={id}
        empty={held ? words.noneHeld : words.empty}
      />
      {id !== null && <AccountPanel key={id} account={id} />}
    </>
  )
}

function AccountPanel({ account }: { account: string }) {
  const load = useQuery(['account', account], (signal) => call('getAccount', { params: { account }, signal }))
  return (
    <Panel title={words.one(account)}>
      <Loaded of={load}>
        {(found) => (
          <>
            <Facts
              facts={[
                [words.balance, <Money usd={found.balance_usd} key="balance" />],
                [words.held, <Money usd={found.held_usd} key="held" />],
                [words.available, <Money usd={found.available_usd} key="available" />],
                [words.status, <Status state={found.status} key="status" />],
                [
                  words.plan,
                  found.plan === null ? (
                    words.noPlan
                  ) : (
                    <a href={hrefOf('plans', {}, found.plan)} key="plan">
                      {found.plan}
                    </a>
                  ),
                ],
                found.budget_usd !== null && [
                  words.ownBudget,
                  `${moneyText(found.budget_usd)} ${texts.each(found.budget_period ?? '')}`,
                ],
                [words.created, <Time at={found.created_at} key="created" />],
                found.note !== null && [words.note, found.note],
              ]}
            />
            <p class="actions">
              <a href={hrefOf('keys', { account })}>{texts.keys.title}</a>
              <a href={hrefOf('requests', { account })}>{texts.requests.title}</a>
              <a href={hrefOf('usage', { account, by: 'model' })}>{texts.usage.title}</a>
              <a href={hrefOf('tasks', { account })}>{texts.tasks.title}</a>
              <a href={hrefOf('statements', { account })}>{sellingTexts.statements.title}</a>
            </p>
            {hasRole('operator') && found.status !== 'closed' && <Transfers account={found} />}
            {hasRole('operator') && <StateActions account={found} />}
            <Ledger account={account} />
            {hasRole('operator') && <PlanAndBudget account={found} />}
            {hasRole('operator') && <Names account={found} />}
          </>
        )}
      </Loaded>
    </Panel>
  )
}

/** Money that goes in or out. The key of each form makes it happen once, however often it is sent. */
function Transfers({ account }: { account: Account }) {
  const [idempotencyKey, setKey] = useState(() => crypto.randomUUID())
  const done = () => setKey(crypto.randomUUID())
  const params = { account: account.account }
  return (
    <section class="columns">
      <section>
        <h3>{words.topUp}</h3>
        <Form
          key={idempotencyKey}
          action={words.topUpAction}
          submit={({ amount_usd = '', note }) =>
            call('creditAccount', { params, idempotencyKey, body: { amount_usd, note: note || null } })
          }
          onDone={done}
        >
          <div class="fields">
            <Field name="amount_usd" title={words.dollars} isRequired />
            <Field name="note" title={words.note} />
          </div>
        </Form>
      </section>
      <section>
        <h3>{words.adjust}</h3>
        <Form
          key={`adjust ${idempotencyKey}`}
          action={words.adjustAction}
          submit={({ amount_usd = '', note = '' }) =>
            call('adjustAccount', {
              params,
              idempotencyKey: `adjust-${idempotencyKey}`,
              body: { amount_usd, note },
            })
          }
          onDone={done}
        >
          <div class="fields">
            <Field name="amount_usd" title={words.signedDollars} isRequired />
            <Field name="note" title={words.why} isRequired />
          </div>
        </Form>
      </section>
    </section>
  )
}

function StateActions({ account }: { account: Account }) {
  const params = { account: account.account }
  const running = useQuery(['account use', account.account], (signal) =>
    call('getUsage', { query: { by: 'account', account: account.account }, signal }),
  )
  const count = running.data?.total.running
  if (account.status === 'closed') return null
  return (
    <p class="actions">
      {account.status === 'frozen' ? (
        <Action title={words.unfreeze} act={() => call('unfreezeAccount', { params })} />
      ) : (
        <Danger
          action={words.freeze}
          title={words.freezeTitle(account.account)}
          act={() => call('freezeAccount', { params })}
        >
          <p>{words.freezeMeans(count)}</p>
        </Danger>
      )}
      {hasRole('owner') && (
        <Danger
          action={words.close}
          title={words.closeTitle(account.account)}
          nameToType={account.account}
          act={() => call('closeAccount', { params })}
        >
          <p>{words.closeMeans(moneyText(account.balance_usd), moneyText(account.held_usd))}</p>
        </Danger>
      )}
    </p>
  )
}

const ledgerColumns: readonly Column<RowOf<'listLedger'>>[] = [
  { title: texts.time, isFirstLine: true, cell: ({ at }) => <LogTime at={at} /> },
  { title: words.kind, cell: ({ kind, note }) => (note ? `${kind}: ${note}` : kind) },
  {
    title: words.amount,
    isNumber: true,
    isFirstLine: true,
    cell: ({ amount_usd }) => <Money usd={amount_usd} />,
  },
  { title: words.after, isNumber: true, cell: ({ balance_after_usd }) => <Money usd={balance_after_usd} /> },
  {
    title: words.charge,
    cell: ({ charge }) => charge && <a href={hrefOf('requests', {}, charge)}>{texts.requests.one}</a>,
  },
]

function Ledger({ account }: { account: string }) {
  const period = periodQuery()
  const params = { account }
  const pages = usePages(['ledger', account, period], (after, signal) =>
    call('listLedger', { params, query: { ...period, after, limit: 50 }, signal }),
  )
  return (
    <section>
      <div class="page-head">
        <h3>{words.ledger}</h3>
        <div class="actions">
          <a href={fileAddress('listLedger', { params, query: { ...period, format: 'csv' } })} download>
            CSV
          </a>
        </div>
      </div>
      <PagedTable
        label={words.ledger}
        pages={pages}
        columns={ledgerColumns}
        keyOf={({ id }) => id}
        empty={texts.nothingYet}
      />
    </section>
  )
}

/** Which plan an account has, and a budget of its own. */
function PlanAndBudget({ account }: { account: Account }) {
  const plans = useQuery(['plans'], (signal) => call('listPlans', { signal }))
  return (
    <section>
      <h3>{words.planAndBudget}</h3>
      <p class="small quiet">{words.planMeans}</p>
      <Loaded of={plans}>
        {({ data }) => (
          <Form
            action={texts.save}
            submit={({ plan, budget_usd: budget, budget_period: period }) =>
              call('updateAccount', {
                params: { account: account.account },
                body: {
                  plan: plan || null,
                  budget_usd: budget || null,
                  ...(budget && { budget_period: period as 'day' | 'week' | 'month' }),
                },
              })
            }
          >
            <div class="fields">
              <Field
                name="plan"
                title={words.plan}
                value={account.plan}
                options={[['', words.noPlan], ...data.map(({ plan }) => [plan, plan] as const)]}
              />
              <Field
                name="budget_usd"
                title={words.ownBudget}
                value={account.budget_usd}
                hint={words.budgetHint}
              />
              <Field
                name="budget_period"
                title={texts.keys.budgetPeriod}
                value={account.budget_period ?? 'month'}
                options={[
                  ['day', texts.keys.day],
                  ['week', texts.keys.week],
                  ['month', texts.keys.month],
                ]}
              />
            </div>
          </Form>
        )}
      </Loaded>
    </section>
  )
}

function Names({ account }: { account: Account }) {
  return (
    <section>
      <h3>{words.describe}</h3>
      <Form
        action={texts.save}
        submit={({ display_name, note }) =>
          call('updateAccount', {
            params: { account: account.account },
            body: { display_name: display_name || null, note: note || null },
          })
        }
      >
        <div class="fields">
          <Field name="display_name" title={words.displayName} value={account.display_name} />
          <Field name="note" title={words.note} value={account.note} />
        </div>
      </Form>
    </section>
  )
}
