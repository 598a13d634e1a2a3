// Settings: the current configuration and what a reload would change, backups, retention, admins, and the audit trail. The token of
// an admin is shown once, when it is created.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { address, hrefOfRow, periodQuery } from '../address'
import { call, hasRole, type Reply, type RowOf } from '../api'
import { settingsParts } from '../palette/settings-parts'
import { Tabs } from '../parts/choice'
import { Code } from '../parts/code'
import { FilterBar } from '../parts/filter-bar'
import { Action, Danger, Field, Form } from '../parts/form'
import { Loaded } from '../parts/loaded'
import { PagedTable, usePages } from '../parts/paged'
import { Panel } from '../parts/panel'
import { Retention } from '../parts/retention'
import { Secret } from '../parts/secret'
import { Status } from '../parts/status'
import { type Column, Table } from '../parts/table'
import { Time } from '../parts/time'
import { useQuery } from '../query'
import { AuditTable } from '../records/audit-table'
import { SessionTable } from '../records/session-table'
import { sellingTexts, texts } from '../texts'
import { Events } from './settings-events'

const words = texts.settings

export default function Settings() {
  const { query } = address.value
  const own = settingsParts()
  const part = own.find((each) => each === query.part) ?? 'configuration'
  return (
    <>
      <h1 class="hidden">{words.title}</h1>
      <Tabs label={words.title} parts={own} part={part} titles={words.parts} />
      {part === 'configuration' && <Configuration />}
      {part === 'events' && <Events />}
      {part === 'sessions' && <Sessions />}
      {part === 'backups' && <Backups />}
      {part === 'retention' && <Retention />}
      {part === 'admins' && <Admins />}
      {part === 'audit' && <Audit />}
    </>
  )
}

type Change = Reply<'compareConfiguration'>['changes'][number]

const changeColumns: readonly Column<Change>[] = [
  { title: words.setting, isFirstLine: true, cell: ({ setting }) => <code>{setting}</code> },
  {
    title: words.before,
    cell: ({ before, kind }) => (kind === 'added' ? '' : <code>{before ?? words.notShown}</code>),
  },
  {
    title: words.after,
    cell: ({ after, kind }) => (kind === 'removed' ? '' : <code>{after ?? words.notShown}</code>),
  },
  { title: words.when, cell: ({ needs_restart }) => (needs_restart ? words.atRestart : words.atReload) },
]

function Configuration() {
  const inForce = useQuery(['configuration'], (signal) => call('getConfiguration', { signal }))
  const compared = useQuery(['configuration changes'], (signal) => call('compareConfiguration', { signal }))
  return (
    <>
      <section class="part">
        <div class="page-head">
          <h2>{words.changes}</h2>
          <div class="actions">
            <Action title={words.check} act={async () => compared.reload()} />
            {hasRole('owner') && compared.data?.ok && compared.data.changes.length > 0 && (
              <Danger action={words.reload} title={words.reloadTitle} act={() => call('reloadConfiguration')}>
                <p>{words.reloadMeans(compared.data.changes.length)}</p>
              </Danger>
            )}
          </div>
        </div>
        <Loaded of={compared}>
          {({ ok, faults, changes }) =>
            ok ? (
              <Table
                label={words.changes}
                rows={changes}
                columns={changeColumns}
                keyOf={({ setting }) => setting}
                empty={words.noChanges}
              />
            ) : (
              <ul class="failed">
                {faults.map((fault) => (
                  <li key={fault}>{fault}</li>
                ))}
              </ul>
            )
          }
        </Loaded>
      </section>
      <section class="part">
        <h2>{words.inForce}</h2>
        <Loaded of={inForce}>
          {(configuration) => <InForce configuration={configuration as Record<string, unknown>} />}
        </Loaded>
      </section>
    </>
  )
}

/** The configuration by its parts, which are collapsed, or the settings that match a search. */
function InForce({ configuration }: { configuration: Readonly<Record<string, unknown>> }) {
  const [wanted, setWanted] = useState('')
  const text = wanted.trim().toLowerCase()
  const found =
    text === '' ? [] : settingsIn(configuration).filter((line) => line.toLowerCase().includes(text))
  return (
    <>
      <search class="filters">
        <label>
          <span>{words.find}</span>
          <input type="search" value={wanted} onInput={({ currentTarget: { value } }) => setWanted(value)} />
        </label>
      </search>
      {text !== '' ? (
        <Code label={words.inForce} text={found.slice(0, MAX_FOUND).join('\n') || words.noSetting} />
      ) : (
        Object.entries(configuration).map(([name, part]) => (
          <Fold title={name} key={name}>
            <Code label={name} text={JSON.stringify(part, null, 2)} />
          </Fold>
        ))
      )}
    </>
  )
}

/** Maximum number of settings that a search lists. */
const MAX_FOUND = 200

/** Each setting with its path: `models.pgt-5.price.per_1m_input_tokens: 1.25`. */
function settingsIn(value: unknown, path = ''): string[] {
  if (value === null || typeof value !== 'object') return [`${path}: ${JSON.stringify(value)}`]
  return Object.entries(value).flatMap(([name, each]) =>
    settingsIn(each, path === '' ? name : `${path}.${name}`),
  )
}

/** A part that is built only when it is opened. */
function Fold({ title, children }: { title: string; children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <code>{title}</code>
      </summary>
      {isOpen && children}
    </details>
  )
}

function Backups() {
  const pages = usePages(['backups'], (after, signal) =>
    call('listBackups', { query: { after, limit: 50 }, signal }),
  )
  return (
    <section class="part">
      <div class="page-head">
        <h2>{words.parts.backups}</h2>
        <div class="actions">
          {hasRole('owner') && <Action title={words.makeBackup} act={() => call('makeBackup')} />}
        </div>
      </div>
      <PagedTable
        label={words.parts.backups}
        pages={pages}
        columns={[
          { title: words.backup, isFirstLine: true, cell: ({ name }) => <code>{name}</code> },
          { title: words.made, isFirstLine: true, cell: ({ made_at }) => <Time at={made_at} /> },
        ]}
        keyOf={({ name }) => name}
        empty={words.noBackups}
      />
    </section>
  )
}

function Sessions() {
  const own = sellingTexts.sessions
  const kind = own.filterKinds.map(([value]) => value).find((value) => value === address.value.query.kind)
  return (
    <section class="part">
      <h2 class="hidden">{own.title}</h2>
      <FilterBar filters={[{ name: 'kind', title: own.kind, options: own.filterKinds }]} />
      <SessionTable label={own.title} kind={kind} empty={own.empty} />
    </section>
  )
}

function Admins() {
  const { id } = address.value
  const pages = usePages(['admins'], (after, signal) =>
    call('listAdmins', { query: { after, limit: 50 }, signal }),
  )
  const columns: readonly Column<RowOf<'listAdmins'>>[] = [
    { title: words.admin, isFirstLine: true, cell: ({ name }) => name },
    { title: words.role, isFirstLine: true, cell: ({ role }) => role },
    { title: texts.state, cell: ({ status }) => <Status state={status} /> },
    { title: words.token, cell: ({ hint }) => <code>{hint}</code> },
    { title: words.expires, cell: ({ expires_at }) => <Time at={expires_at} /> },
    {
      title: words.actions,
      cell: ({ name, status }) =>
        status === 'active' && (
          <Danger
            action={words.revoke}
            title={words.revokeTitle(name)}
            nameToType={name}
            act={() => call('revokeAdmin', { params: { admin: name } })}
          >
            <p>{words.revokeMeans(name)}</p>
          </Danger>
        ),
    },
  ]
  return (
    <section class="part">
      <div class="page-head">
        <h2>{words.parts.admins}</h2>
        <div class="actions">
          <a class="button" href={hrefOfRow('new')}>
            {words.newAdmin}
          </a>
        </div>
      </div>
      <PagedTable
        label={words.parts.admins}
        pages={pages}
        columns={columns}
        keyOf={({ name }) => name}
        empty={words.noAdmins}
      />
      {id === 'new' && <NewAdmin />}
    </section>
  )
}

function NewAdmin() {
  const [made, setMade] = useState<Reply<'createAdmin'>>()
  if (made)
    return (
      <Panel title={words.newAdmin}>
        <Secret title={words.tokenOf(made.name)} text={made.token} />
        <p>
          <a href={hrefOfRow(null)}>{words.backToAdmins}</a>
        </p>
      </Panel>
    )
  return (
    <Panel title={words.newAdmin}>
      <Form
        action={words.newAdmin}
        submit={async ({ name = '', role, expires_at: expires }) => {
          const body = {
            name,
            role: role as 'viewer' | 'operator' | 'owner',
            ...(expires && { expires_at: `${expires}Z` }),
          }
          setMade(await call('createAdmin', { body }))
        }}
      >
        <div class="fields">
          <Field name="name" title={words.name} hint={words.nameHint} isRequired />
          <Field name="role" title={words.role} options={words.roles} value="viewer" />
          <Field name="expires_at" title={words.expiresUtc} type="datetime-local" hint={words.expiresHint} />
        </div>
      </Form>
    </Panel>
  )
}

function Audit() {
  const { query } = address.value
  const { actor, action, target } = query
  const { since } = periodQuery()
  const pages = usePages(['audit', actor, action, target, since], (after, signal) =>
    call('listAudit', { query: { actor, action, target, since, after, limit: 50 }, signal }),
  )
  return (
    <section class="part">
      <h2 class="hidden">{words.parts.audit}</h2>
      <FilterBar
        filters={[
          { name: 'actor', title: words.who },
          { name: 'action', title: words.action },
          { name: 'target', title: words.target },
        ]}
      />
      <AuditTable label={words.parts.audit} pages={pages} empty={words.noChangesYet} />
    </section>
  )
}
