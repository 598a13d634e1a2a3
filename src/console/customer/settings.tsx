// A customer's name, its plan and budget, who is notified of a low balance, and closing it.

import { call, hasRole } from '../api'
import { Danger, Field, Form } from '../parts/form'
import { Loaded } from '../parts/loaded'
import { moneyText } from '../parts/money'
import { useQuery } from '../query'
import { texts } from '../texts'
import type { CustomerJson } from './customer'

const words = texts.accounts

export function CustomerSettings({ customer }: { customer: CustomerJson }) {
  const isOperator = hasRole('operator')
  return (
    <>
      {isOperator && <PlanAndBudget customer={customer} />}
      {isOperator && <Names customer={customer} />}
      <Alerts customer={customer} />
      {hasRole('owner') && customer.status !== 'closed' && <Closing customer={customer} />}
    </>
  )
}

function PlanAndBudget({ customer }: { customer: CustomerJson }) {
  const plans = useQuery(['plans'], (signal) => call('listPlans', { signal }))
  return (
    <section class="part">
      <h2>{words.planAndBudget}</h2>
      <p class="small quiet">{words.planMeans}</p>
      <Loaded of={plans}>
        {({ data }) => (
          <Form
            action={texts.save}
            submit={({ plan, budget_usd: budget, budget_period: period }) =>
              call('updateAccount', {
                params: { account: customer.account },
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
                value={customer.plan}
                options={[['', words.noPlan], ...data.map(({ plan }) => [plan, plan] as const)]}
              />
              <Field
                name="budget_usd"
                title={words.ownBudget}
                value={customer.budget_usd}
                hint={words.budgetHint}
              />
              <Field
                name="budget_period"
                title={words.budgetPeriod}
                value={customer.budget_period ?? 'month'}
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

function Names({ customer }: { customer: CustomerJson }) {
  return (
    <section class="part">
      <h2>{words.describe}</h2>
      <Form
        action={texts.save}
        submit={({ display_name, note }) =>
          call('updateAccount', {
            params: { account: customer.account },
            body: { display_name: display_name || null, note: note || null },
          })
        }
      >
        <div class="fields">
          <Field name="display_name" title={words.displayName} value={customer.display_name} />
          <Field name="note" title={words.note} value={customer.note} />
        </div>
      </Form>
    </section>
  )
}

/** A limit below a cent means an empty balance. */
const NOTHING_LEFT_USD = '0.000000001'

function Alerts({
  customer: { low_balance_usd: below, low_balance_recipients: recipients },
}: {
  customer: CustomerJson
}) {
  const names = recipients.join(', ')
  return (
    <section class="part">
      <h2>{words.alerts}</h2>
      <p>
        {below === null
          ? words.noAlerts
          : names === ''
            ? words.alertNobody(moneyText(below))
            : below === NOTHING_LEFT_USD
              ? words.alertNothingLeft(names)
              : words.alertBelow(moneyText(below), names)}
      </p>
    </section>
  )
}

function Closing({ customer: { account, balance_usd, held_usd } }: { customer: CustomerJson }) {
  return (
    <section class="part">
      <h2>{words.closeHeading}</h2>
      <Danger
        action={words.close}
        title={words.closeTitle(account)}
        nameToType={account}
        act={() => call('closeAccount', { params: { account } })}
      >
        <p>{words.closeMeans(moneyText(balance_usd))}</p>
        <p>{words.closeHeld(moneyText(held_usd))}</p>
      </Danger>
    </section>
  )
}
