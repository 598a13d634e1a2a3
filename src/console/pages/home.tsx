// Home page of a key's holder: the balance, the held amounts and their reasons, spending by time and by model, and a code to top
// up.

import { useState } from 'preact/hooks'
import { hrefOf } from '../address'
import { urlOf, withQuery } from '../api'
import { Spend } from '../charts/spend'
import { Used } from '../charts/used'
import { askHolds, askKey, askUsage, type Hold, type OwnKey, redeem } from '../key-api'
import { daysLeft } from '../lasting'
import { useLive } from '../live'
import { Figure } from '../parts/figure'
import { Field, Form } from '../parts/form'
import { Icon } from '../parts/icon'
import { Loaded } from '../parts/loaded'
import { Money, moneyText, nanoOf, sumUsd } from '../parts/money'
import { type Column, Table } from '../parts/table'
import { Time } from '../parts/time'
import { useQuery } from '../query'
import { keyTexts, texts } from '../texts'

const words = keyTexts.home

export default function Home() {
  const news = useLive('overview')
  const own = useQuery(['own key'], askKey, news)
  const holds = useQuery(['holds'], askHolds, news)
  return (
    <>
      <h1 class="page-head">{words.title}</h1>
      <Loaded of={own}>{(key) => <Figures own={key} />}</Loaded>
      <div class="columns">
        <section class="part">
          <h2>{words.heldTitle}</h2>
          <p class="quiet">{words.heldWhy}</p>
          <Loaded of={holds}>{({ data }) => <Holds holds={data} heldUsd={own.data?.held_usd} />}</Loaded>
        </section>
        <TopUp />
      </div>
      <Spend
        name="own usage"
        ask={askUsage}
        hrefOfModel={(model) => hrefOf('activity', { model })}
        fileOf={(query) => urlOf(withQuery('v1/usage', { ...query, format: 'csv' }))}
        empty={words.noSpend}
        isLive
      />
    </>
  )
}

function Figures({ own }: { own: OwnKey }) {
  const state = own.account_status === 'open' ? own.status : own.account_status
  const days = daysLeft(own.available_usd, own.account_spend_by_day_usd)
  return (
    <>
      {state !== 'active' && (
        <p class="failed" role="alert">
          {words.notActive(state)}
        </p>
      )}
      <LowBalance own={own} days={days} />
      <div class="figures">
        <Amount
          title={words.available}
          usd={own.available_usd}
          href={hrefOf('home')}
          note={days === null ? undefined : texts.accounts.lastsAtThisRate(days)}
        />
        <Amount title={words.held} usd={own.held_usd} href={hrefOf('activity')} />
        <Amount title={words.today} usd={own.spend_usd.today} href={hrefOf('activity', { range: '24h' })} />
        <Amount
          title={words.month}
          usd={own.spend_usd.this_month}
          href={hrefOf('activity', { range: '30d' })}
        />
        <Budget
          title={words.budget}
          used={own.budget_used_usd}
          of={own.budget_usd}
          period={own.budget_period}
        />
        <Budget
          title={words.accountBudget}
          used={own.account_budget_used_usd}
          of={own.account_budget_usd}
          period={own.account_budget_period}
        />
        {own.allowance_usd !== null && (
          <Amount title={words.allowance} usd={own.allowance_usd} href={hrefOf('home')} />
        )}
      </div>
    </>
  )
}

/** A balance that lasts fewer days than this is low. */
const LOW_DAYS = 3

/** A balance below the operator's limit, or one that runs out soon. */
function LowBalance({ own, days }: { own: OwnKey; days: number | null }) {
  const { available_usd: available, low_balance_usd: limit } = own
  const isBelow = limit !== null && nanoOf(available) < nanoOf(limit)
  const isEnding = nanoOf(available) <= 0n || (days !== null && days < LOW_DAYS)
  if (!isBelow && !isEnding) return null
  return (
    <p class="low" role="alert">
      <Icon name="warning" />{' '}
      {words.low(moneyText(available), days === null ? null : texts.accounts.lastsDays(days))}{' '}
      {words.lowAdvice}
    </p>
  )
}

interface BudgetProps {
  title: string
  used: string | null
  of: string | null
  period: 'day' | 'week' | 'month' | null
}

function Budget({ title, used, of, period }: BudgetProps) {
  if (of === null || used === null || period === null) return null
  return (
    <div class="figure">
      <span>{title}</span>
      <Used
        title={title}
        used={used}
        of={of}
        text={texts.accounts.ofBudget(moneyText(used), moneyText(of), period)}
      />
    </div>
  )
}

function Amount({
  title,
  usd,
  href,
  note,
}: {
  title: string
  usd: string
  href: string
  note?: string | undefined
}) {
  return (
    <Figure title={title} href={href} note={note}>
      <Money usd={usd} />
    </Figure>
  )
}

const holdColumns: readonly Column<Hold>[] = [
  { title: words.model, isFirstLine: true, cell: ({ model }) => model },
  { title: words.operation, cell: ({ operation }) => operation },
  { title: words.since, cell: ({ created_at }) => <Time at={created_at} /> },
  {
    title: words.amount,
    isNumber: true,
    isFirstLine: true,
    cell: ({ held_usd }) => <Money usd={held_usd} />,
  },
]

function Holds({ holds, heldUsd }: { holds: readonly Hold[]; heldUsd: string | undefined }) {
  const own = sumUsd(holds.map(({ held_usd }) => held_usd))
  const others = nanoOf(heldUsd ?? own) - nanoOf(own)
  return (
    <>
      <Table
        label={words.heldTitle}
        columns={holdColumns}
        rows={holds}
        keyOf={({ id }) => id}
        empty={words.nothingHeld}
      />
      {others > 0n && heldUsd && (
        <p>
          {words.heldByOthers}: <Money usd={sumUsd([heldUsd, `-${own}`])} />
        </p>
      )}
    </>
  )
}

function TopUp() {
  const [answer, setAnswer] = useState<string>()
  return (
    <section class="part">
      <h2>{words.topUp}</h2>
      <Form
        action={words.redeem}
        isOnce
        submit={async ({ code = '' }) => {
          const { amount_usd, available_usd } = await redeem(code)
          setAnswer(words.redeemed(moneyText(amount_usd), moneyText(available_usd)))
        }}
      >
        <Field name="code" title={words.code} hint={words.codeHint} isRequired />
      </Form>
      {answer && <p role="status">{answer}</p>}
    </section>
  )
}
