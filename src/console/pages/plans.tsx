// Plans: the terms of each, and the accounts that have it. One plan in full: its accounts with their use of budget and allowance,
// and adding an account to it. Plans themselves are in the configuration.

import { useState } from 'preact/hooks'
import { address, hrefOf, hrefOfRow } from '../address'
import { call, hasRole, type Reply, type RowOf } from '../api'
import { Used } from '../charts/used'
import { numberText } from '../language'
import { AccountField, Form } from '../parts/form'
import { Loaded } from '../parts/loaded'
import { Money, moneyText } from '../parts/money'
import { PagedTable, usePages } from '../parts/paged'
import { Facts, Panel } from '../parts/panel'
import { Status } from '../parts/status'
import { type Column, Table } from '../parts/table'
import { useQuery } from '../query'
import { sellingTexts, texts } from '../texts'

const words = sellingTexts.plans
type Plan = Reply<'getPlan'>

function Periodic({ usd, period }: { usd: string | null; period: string | null }) {
  if (usd === null) return <span class="quiet">–</span>
  return (
    <>
      <Money usd={usd} /> {texts.each(period ?? '')}
    </>
  )
}

function priceText({ configured, price_factor, price_factors }: Plan): string {
  if (!configured) return ''
  const factor = price_factor === '1' ? words.usualPrice : words.factor(price_factor)
  return Object.keys(price_factors).length > 0 ? `${factor} …` : factor
}

function limitsText({ requests_per_minute: requests, tokens_per_minute: tokens, concurrency }: Plan): string {
  return [
    requests !== null && words.requestsPerMinute(requests),
    tokens !== null && words.tokensPerMinute(tokens),
    concurrency !== null && words.concurrency(concurrency),
  ]
    .filter(Boolean)
    .join(', ')
}

const columns: readonly Column<Plan>[] = [
  {
    title: words.plan,
    isFirstLine: true,
    cell: ({ plan, configured }) => (
      <>
        {plan} {!configured && <Status state="unavailable">{words.gone}</Status>}
      </>
    ),
  },
  {
    title: words.accounts,
    isNumber: true,
    cell: ({ accounts }) => numberText(accounts),
  },
  { title: words.price, cell: priceText },
  {
    title: words.budget,
    cell: (plan) => plan.configured && <Periodic usd={plan.budget_usd} period={plan.budget_period} />,
  },
  {
    title: words.allowance,
    cell: (plan) => plan.configured && <Periodic usd={plan.allowance_usd} period={plan.allowance_period} />,
  },
  { title: words.limits, cell: limitsText },
  {
    title: words.models,
    cell: ({ configured, models }) => (configured ? (models?.join(', ') ?? texts.all) : ''),
  },
]

export default function Plans() {
  const { id } = address.value
  const load = useQuery(['plans'], (signal) => call('listPlans', { signal }))
  return (
    <>
      <div class="page-head">
        <h1>{words.title}</h1>
      </div>
      <Loaded of={load}>
        {({ data }) => (
          <Table
            label={words.title}
            rows={data}
            columns={columns}
            keyOf={({ plan }) => plan}
            hrefOf={({ plan }) => hrefOfRow(plan)}
            openKey={id}
            empty={words.empty}
          />
        )}
      </Loaded>
      {id !== null && <PlanPanel key={id} plan={id} />}
    </>
  )
}

function PlanPanel({ plan }: { plan: string }) {
  const load = useQuery(['plan', plan], (signal) => call('getPlan', { params: { plan }, signal }))
  return (
    <Panel title={words.one(plan)}>
      <Loaded of={load}>
        {(found) => (
          <>
            {found.configured ? <PlanFacts plan={found} /> : <p class="failed">{words.goneMeans}</p>}
            <Members plan={plan} />
            {hasRole('operator') && found.configured && <NewMember plan={plan} />}
          </>
        )}
      </Loaded>
    </Panel>
  )
}

function PlanFacts({ plan }: { plan: Plan }) {
  return (
    <Facts
      facts={[
        [words.price, plan.price_factor === '1' ? words.usualPrice : words.factor(plan.price_factor)],
        ...Object.entries(plan.price_factors).map(
          ([model, factor]) => [words.priceOf(model), words.factor(factor)] as const,
        ),
        [words.budgetOfEach, <Periodic usd={plan.budget_usd} period={plan.budget_period} key="budget" />],
        [
          words.allowanceOfEach,
          <Periodic usd={plan.allowance_usd} period={plan.allowance_period} key="allowance" />,
        ],
        [words.limitsOfKeys, limitsText(plan) || words.none],
        [words.models, plan.models?.join(', ') ?? texts.all],
      ]}
    />
  )
}

type Member = RowOf<'listPlanAccounts'>

const memberColumns: readonly Column<Member>[] = [
  {
    title: words.account,
    isFirstLine: true,
    cell: ({ account, display_name }) => (
      <>
        <a href={hrefOf('accounts', {}, account)}>{account}</a>{' '}
        {display_name && <span class="quiet">{display_name}</span>}
      </>
    ),
  },
  {
    title: words.available,
    isNumber: true,
    isFirstLine: true,
    cell: ({ available_usd }) => <Money usd={available_usd} />,
  },
  {
    title: words.budgetUsed,
    cell: ({ account, budget_used_usd: used, budget_in_force_usd: of, budget_in_force_period: period }) =>
      used !== null &&
      of !== null && (
        <Used
          title={`${words.budgetUsed}: ${account}`}
          used={used}
          of={of}
          text={words.ofBudget(moneyText(used), moneyText(of), period ?? '')}
        />
      ),
  },
  {
    title: words.allowanceUsed,
    cell: ({ account, allowance_used_usd: used, allowance_usd: of }) =>
      used !== null &&
      of !== null && (
        <Used
          title={`${words.allowanceUsed}: ${account}`}
          used={used}
          of={of}
          text={words.ofAllowance(moneyText(used), moneyText(of))}
        />
      ),
  },
]

function Members({ plan }: { plan: string }) {
  const pages = usePages(['plan accounts', plan], (after, signal) =>
    call('listPlanAccounts', { params: { plan }, query: { after, limit: 50 }, signal }),
  )
  return (
    <section>
      <h3>{words.accounts}</h3>
      <PagedTable
        label={words.accounts}
        pages={pages}
        columns={memberColumns}
        keyOf={({ account }) => account}
        empty={words.noMembers}
      />
    </section>
  )
}

function NewMember({ plan }: { plan: string }) {
  const [added, setAdded] = useState(0)
  return (
    <section>
      <h3>{words.add}</h3>
      <Form
        key={added}
        action={words.addAction(plan)}
        submit={({ account = '' }) => call('updateAccount', { params: { account }, body: { plan } })}
        onDone={() => setAdded(added + 1)}
      >
        <div class="fields">
          <AccountField title={words.account} hint={texts.accounts.planMeans} isRequired />
        </div>
      </Form>
    </section>
  )
}
