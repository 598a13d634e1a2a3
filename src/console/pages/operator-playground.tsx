// The playground for operators: they choose the account that pays, and a key with a budget is created for it. Who pays is shown
// above every conversation. A logged request is opened here as a conversation.

import { useMemo, useState } from 'preact/hooks'
import { address, hrefOf } from '../address'
import { hasRole, session } from '../api'
import { askPrices, type PricedModel } from '../key-api'
import { AccountField, Action, Field, Form } from '../parts/form'
import { Loaded } from '../parts/loaded'
import { moneyText } from '../parts/money'
import { timeText } from '../parts/time'
import { taken } from '../playground/from-request'
import { choosePayer, endPayer, type Payer, payerNow } from '../playground/payer'
import { playgroundStateOf } from '../playground/state'
import { useQuery } from '../query'
import { keyTexts } from '../texts'
import { Place } from './playground'

const words = keyTexts.playground
const USUAL_BUDGET = '1'

export default function OperatorPlayground() {
  const payer = payerNow.value
  if (!hasRole('operator'))
    return (
      <>
        <h1 class="page-head">{words.title}</h1>
        <p class="empty">{words.payer.needsOperator}</p>
      </>
    )
  return (
    <>
      <h1 class={payer ? 'hidden' : 'page-head'}>{payer ? words.title : words.payer.title}</h1>
      {payer ? <WithKey payer={payer} /> : <PayerForm />}
    </>
  )
}

function PayerForm() {
  return (
    <section class="part">
      <p>{words.payer.means}</p>
      <Form
        action={words.payer.begin}
        submit={({ account = '', budget_usd = '' }) => choosePayer(account, budget_usd)}
      >
        <div class="fields">
          <AccountField title={words.payer.account} value={address.value.query.account ?? ''} isRequired />
          <Field name="budget_usd" title={words.payer.budget} value={USUAL_BUDGET} isRequired />
        </div>
      </Form>
    </section>
  )
}

function WithKey({ payer }: { payer: Payer }) {
  const load = useQuery(['prices', payer.key], askPrices)
  return (
    <>
      <p class="actions payer">
        <strong>{words.payer.pays(payer.account, moneyText(payer.budgetUsd), timeText(payer.until))}</strong>
        <a href={hrefOf('keys', {}, payer.key)}>{words.payer.key(payer.key)}</a>
        <Action title={words.payer.end} act={endPayer} />
      </p>
      <Loaded of={load}>{({ data }) => <Reopening models={data} />}</Loaded>
    </>
  )
}

/** The open conversation, or that of a request which another page has passed on. */
function Reopening({ models }: { models: readonly PricedModel[] }) {
  const owner = session.value?.id ?? ''
  const [handed] = useState(taken)
  useMemo(() => {
    if (handed) playgroundStateOf(owner).reopen(handed)
  }, [handed])
  return (
    <>
      {handed && handed.leftOut.length > 0 && (
        <p class="warning">{words.leftOut(handed.leftOut.join(', '))}</p>
      )}
      <Place owner={owner} models={models} />
    </>
  )
}
