// A new customer by one form: the account, its plan, its first money and its first key, whose secrets are shown once.

import { useState } from 'preact/hooks'
import { hrefOf } from '../address'
import { call, type Reply } from '../api'
import { Field, Form } from '../parts/form'
import { Panel } from '../parts/panel'
import { Secret } from '../parts/secret'
import { texts } from '../texts'
import { KeySettings, keySettingsOf } from './key-settings'

const words = texts.accounts

export function NewCustomer({ plans }: { plans: readonly string[] }) {
  const [made, setMade] = useState<Reply<'createCustomer'> & { account: string; name: string }>()
  return (
    <Panel title={words.create}>
      {made ? (
        <>
          <Secret title={texts.keys.secretOf(made.name)} text={made.key} />
          <Secret title={texts.keys.webhookSecret} text={String(made.webhook_secret)} />
          <p>
            <a href={hrefOf('accounts', {}, made.account)}>{words.open(made.account)}</a>
          </p>
        </>
      ) : (
        <Form
          action={words.createAction}
          submit={async (values) => {
            const { account = '', display_name, plan, balance_usd, key_name, note } = values
            const name = key_name || account
            const body = {
              account,
              display_name: display_name || null,
              note: note || null,
              plan: plan || null,
              ...(balance_usd && { balance_usd }),
              key: { name, ...keySettingsOf(values) },
            }
            setMade({ ...(await call('createCustomer', { body })), account, name })
          }}
        >
          <div class="fields">
            <Field name="account" title={words.name} isRequired hint={words.nameHint} />
            <Field name="display_name" title={words.displayName} />
            <Field
              name="plan"
              title={words.plan}
              options={[['', words.noPlan], ...plans.map((plan) => [plan, plan] as const)]}
            />
            <Field name="balance_usd" title={words.openingBalance} hint={words.openingHint} />
            <Field name="note" title={words.note} />
          </div>
          <h3>{words.firstKey}</h3>
          <Field name="key_name" title={words.keyName} hint={words.keyNameHint} />
          <details>
            <summary>{words.keyLimits}</summary>
            <KeySettings />
          </details>
        </Form>
      )}
    </Panel>
  )
}
