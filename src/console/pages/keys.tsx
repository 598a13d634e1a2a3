// Keys: their holders, their rights, and the changes that an operator may make. A secret is shown once, when it is created.

import { useState } from 'preact/hooks'
import { address, hrefOf, hrefOfRow } from '../address'
import { call, hasRole, type Reply, type RowOf } from '../api'
import { KeySettings, keySettingsOf } from '../customer/key-settings'
import { FilterBar } from '../parts/filter-bar'
import { AccountField, Action, Danger, Field, Form } from '../parts/form'
import { Loaded } from '../parts/loaded'
import { Money, moneyText } from '../parts/money'
import { PagedTable, usePages } from '../parts/paged'
import { Facts, Panel } from '../parts/panel'
import { Secret } from '../parts/secret'
import { Status } from '../parts/status'
import type { Column } from '../parts/table'
import { Time, timeText } from '../parts/time'
import { useQuery } from '../query'
import { FailuresOf } from '../records/failures'
import { texts } from '../texts'
import { SpendersOfKey } from './key-spenders'

const words = texts.keys
type Key = Reply<'getKey'>

const columns: readonly Column<RowOf<'listKeys'>>[] = [
  { title: words.key, isFirstLine: true, cell: ({ name }) => name },
  { title: words.secret, cell: ({ hint }) => <code class="one-line">{hint}</code> },
  { title: words.account, cell: ({ account }) => <a href={hrefOf('accounts', {}, account)}>{account}</a> },
  { title: words.status, isFirstLine: true, cell: ({ status }) => <Status state={status} /> },
  {
    title: words.budget,
    isNumber: true,
    cell: ({ budget_usd, budget_period }) =>
      budget_usd === null ? (
        <span class="quiet">–</span>
      ) : (
        <>
          <Money usd={budget_usd} /> {texts.each(budget_period ?? '')}
        </>
      ),
  },
  { title: words.models, cell: ({ models }) => (models ? words.someModels(models.length) : texts.all) },
  { title: words.expires, cell: ({ expires_at }) => <Time at={expires_at} /> },
  { title: words.created, cell: ({ created_at }) => <Time at={created_at} /> },
]

export default function Keys() {
  const { id, query } = address.value
  const { account } = query
  const pages = usePages(['keys', account], (after, signal) =>
    call('listKeys', { query: { account, after, limit: 50 }, signal }),
  )
  return (
    <>
      <div class="page-head">
        <h1>{words.title}</h1>
        <div class="actions">
          {hasRole('operator') && (
            <a class="button" href={hrefOfRow('new')}>
              {words.create}
            </a>
          )}
        </div>
      </div>
      <FilterBar filters={[{ name: 'account', title: words.account }]} />
      <PagedTable
        label={words.title}
        pages={pages}
        columns={columns}
        keyOf={({ name }) => name}
        hrefOf={({ name }) => hrefOfRow(name)}
        openKey={id}
        empty={
          account === undefined ? (
            words.empty
          ) : (
            <>
              {words.noneOf(account)} <a href={hrefOf('accounts', { text: account })}>{words.findCustomer}</a>
            </>
          )
        }
      />
      {id === 'new' && hasRole('operator') && <NewKey account={account} />}
      {id !== null && id !== 'new' && <KeyPanel key={id} name={id} />}
    </>
  )
}

function NewKey({ account }: { account: string | undefined }) {
  const [made, setMade] = useState<Reply<'createKey'>>()
  return (
    <Panel title={words.create}>
      {made ? (
        <>
          <Secret title={words.secretOf(made.name)} text={made.key} />
          <Secret title={words.webhookSecret} text={made.webhook_secret} />
          <p>
            <a href={hrefOfRow(made.name)}>{words.open(made.name)}</a>
          </p>
        </>
      ) : (
        <Form
          action={words.create}
          submit={async (values) => {
            const { name = '', account: payer } = values
            setMade(
              await call('createKey', {
                body: { name, ...(payer && { account: payer }), ...keySettingsOf(values) },
              }),
            )
          }}
        >
          <div class="fields">
            <Field name="name" title={words.name} isRequired hint={words.nameHint} />
            <AccountField title={words.account} value={account ?? ''} hint={words.accountHint} />
          </div>
          <h3>{words.limits}</h3>
          <KeySettings />
        </Form>
      )}
    </Panel>
  )
}

function KeyPanel({ name }: { name: string }) {
  const load = useQuery(['key', name], (signal) => call('getKey', { params: { key: name }, signal }))
  return (
    <Panel title={words.one(name)}>
      <Loaded of={load}>
        {(key) => (
          <>
            <Facts
              facts={[
                [words.status, <Status state={key.status} key="status" />],
                [words.secret, <code key="hint">{key.hint}</code>],
                [
                  words.account,
                  <a href={hrefOf('accounts', {}, key.account)} key="account">
                    {key.account}
                  </a>,
                ],
                [words.available, <Money usd={key.available_usd} key="available" />],
                key.budget_usd !== null && [
                  words.budgetUsed,
                  words.ofBudget(
                    moneyText(key.budget_used_usd ?? '0'),
                    moneyText(key.budget_usd),
                    key.budget_period ?? '',
                  ),
                ],
                [words.created, <Time at={key.created_at} key="created" />],
                key.expires_at !== null && [words.expires, <Time at={key.expires_at} key="expires" />],
              ]}
            />
            <p class="actions">
              <a href={hrefOf('requests', { key: name })}>{texts.requests.title}</a>
              <a href={hrefOf('usage', { key: name, by: 'model' })}>{texts.usage.title}</a>
            </p>
            <FailuresOf owner={{ key: name }} />
            <SpendersOfKey name={name} />
            {hasRole('operator') && key.status !== 'revoked' && (
              <>
                <StateActions of={key} />
                <section>
                  <h3>{words.limits}</h3>
                  <Form
                    action={texts.save}
                    submit={(values) =>
                      call('updateKey', { params: { key: name }, body: keySettingsOf(values) })
                    }
                  >
                    <KeySettings of={key} />
                  </Form>
                </section>
              </>
            )}
          </>
        )}
      </Loaded>
    </Panel>
  )
}

/** The current use of a key, which a change of its state would affect. */
function useCurrentUse(key: string) {
  return useQuery(['key use', key], async (signal) => {
    const [usage, last] = await Promise.all([
      call('getUsage', { query: { by: 'key', key }, signal }),
      call('listRequests', { query: { key, limit: 1 }, signal }),
    ])
    return { running: usage.total.running, lastAt: last.data[0]?.at ?? null }
  })
}

function StateActions({ of }: { of: Key }) {
  // A secret of another kind must not hide one that was created before.
  const [secrets, setSecrets] = useState<readonly { title: string; text: string }[]>([])
  const show = (made: (typeof secrets)[number]) =>
    setSecrets([...secrets.filter(({ title }) => title !== made.title), made])
  const use = useCurrentUse(of.name)
  const params = { key: of.name }
  const consequence = use.data
    ? words.inUse(use.data.running, use.data.lastAt === null ? null : timeText(use.data.lastAt))
    : texts.loading
  return (
    <>
      <p class="actions">
        {of.status === 'paused' ? (
          <Action title={words.resume} act={() => call('resumeKey', { params })} />
        ) : (
          <Action title={words.pause} act={() => call('pauseKey', { params })} />
        )}
        <Danger
          action={words.roll}
          title={words.rollTitle(of.name)}
          act={async () =>
            show({ title: words.secretOf(of.name), text: (await call('rollKey', { params })).key })
          }
        >
          <p>{words.rollMeans(of.hint)}</p>
          <p>{consequence}</p>
        </Danger>
        <Danger
          action={words.rollWebhook}
          title={words.rollWebhookTitle(of.name)}
          act={async () =>
            show({
              title: words.webhookSecret,
              text: (await call('rollWebhookSecret', { params })).webhook_secret,
            })
          }
        >
          <p>{words.rollWebhookMeans}</p>
        </Danger>
        <Danger
          action={words.revoke}
          title={words.revokeTitle(of.name)}
          nameToType={of.name}
          act={() => call('revokeKey', { params })}
        >
          <p>{words.revokeMeans(of.name)}</p>
          <p>{consequence}</p>
        </Danger>
      </p>
      {secrets.map((secret) => (
        <Secret key={secret.text} {...secret} />
      ))}
    </>
  )
}
