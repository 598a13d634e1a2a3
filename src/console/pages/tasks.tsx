// Tasks: videos that vendors work on and requests that are answered later, with their results, if results are stored. One task in
// full: its life, its money, its webhook with every attempt, and what an operator may do: cancel, reconcile, deliver again.

import { address, hrefOf, hrefOfRow } from '../address'
import { call, hasRole, type Reply, type RowOf } from '../api'
import { useLive } from '../live'
import { Code } from '../parts/code'
import { FilterBar } from '../parts/filter-bar'
import { Action, Danger, Field, Form } from '../parts/form'
import { Loaded } from '../parts/loaded'
import { Money, moneyText } from '../parts/money'
import { PagedTable, usePages } from '../parts/paged'
import { Facts, Panel } from '../parts/panel'
import { Results } from '../parts/results'
import { HttpStatus, Status } from '../parts/status'
import { type Column, Table } from '../parts/table'
import { Duration, LogTime, Time } from '../parts/time'
import { useQuery } from '../query'
import { texts } from '../texts'

const words = texts.tasks
type Task = Reply<'getTask'>
type State = 'submitted' | 'succeeded' | 'failed' | 'unknown'

const columns: readonly Column<RowOf<'listTasks'>>[] = [
  { title: words.task, isFirstLine: true, cell: ({ id }) => <span class="id">{id}</span> },
  { title: texts.state, isFirstLine: true, cell: (task) => <TaskState task={task} /> },
  { title: words.operation, priority: 3, cell: ({ operation }) => texts.operations[operation] ?? operation },
  { title: words.model, priority: 1, cell: ({ model }) => model },
  { title: words.account, cell: ({ account }) => <a href={hrefOf('accounts', {}, account)}>{account}</a> },
  { title: words.upstream, priority: 4, cell: ({ upstream }) => upstream },
  { title: words.created, cell: ({ created_at }) => <Time at={created_at} /> },
  { title: words.held, isNumber: true, priority: 3, cell: ({ held_usd }) => <Money usd={held_usd} /> },
  { title: words.paid, isNumber: true, priority: 1, cell: ({ amount_usd }) => <Money usd={amount_usd} /> },
]

function TaskState({ task: { state, progress } }: { task: { state: string; progress: number | null } }) {
  const isRunning = state === 'submitted' && progress !== null
  return (
    <>
      <Status state={state} />{' '}
      {isRunning && <progress value={progress} max={100} aria-label={words.progress} />}
    </>
  )
}

export default function Tasks() {
  const { id, query } = address.value
  const news = useLive('task')
  const { model, account } = query
  const state = words.stateFilter.find(([word]) => word === query.state)?.[0] as State | undefined
  const webhook = words.webhookFilter.find(([word]) => word === query.webhook)?.[0]
  const filter = { state, webhook, model, account }
  const pages = usePages(
    ['tasks', filter],
    (after, signal) => call('listTasks', { query: { ...filter, after, limit: 50 }, signal }),
    news,
  )
  return (
    <>
      <h1 class="hidden">{words.title}</h1>
      <FilterBar
        filters={[
          { name: 'state', title: texts.state, options: words.stateFilter },
          { name: 'model', title: words.model },
          { name: 'account', title: words.account },
          { name: 'webhook', title: words.webhook, options: words.webhookFilter },
        ]}
      />
      <PagedTable
        label={words.title}
        pages={pages}
        columns={columns}
        keyOf={(task) => task.id}
        hrefOf={(task) => hrefOfRow(task.id)}
        openKey={id}
        empty={words.empty}
      />
      {id !== null && <TaskPanel key={id} id={id} news={news} />}
    </>
  )
}

function TaskPanel({ id, news }: { id: string; news: number }) {
  const load = useQuery(['task', id], (signal) => call('getTask', { params: { task: id }, signal }), news)
  return (
    <Panel title={id}>
      <Loaded of={load}>
        {(task) => (
          <>
            <Results charge={task.charge} isEnded={task.ended_at !== null} />
            <Facts
              facts={[
                [texts.state, <TaskState task={task} key="state" />],
                [words.operation, texts.operations[task.operation] ?? task.operation],
                [words.model, task.model],
                [words.upstream, task.upstream],
                [
                  words.upstreamId,
                  task.upstream_id && (
                    <code class="clipped" title={task.upstream_id} key="id">
                      {task.upstream_id}
                    </code>
                  ),
                ],
                [
                  words.account,
                  <a href={hrefOf('accounts', {}, task.account)} key="account">
                    {task.account}
                  </a>,
                ],
                [words.held, <Money usd={task.held_usd} key="held" />],
                [words.paid, <Money usd={task.amount_usd} key="paid" />],
                [words.created, <Time at={task.created_at} key="created" />],
                task.operation === 'video' && [words.polls, String(task.polls)],
                task.operation === 'video' &&
                  task.next_poll_at !== null && [words.nextPoll, <Time at={task.next_poll_at} key="next" />],
                task.ended_at !== null && [words.ended, <Time at={task.ended_at} key="ended" />],
                task.ended_at === null && [words.deadline, <Time at={task.deadline_at} key="deadline" />],
                task.error !== null && [words.error, `${task.error.code}: ${task.error.message ?? ''}`],
                task.cancel_answer !== null && [words.cancelAnswer, task.cancel_answer],
              ]}
            />
            <p>
              <a href={hrefOf('requests', {}, task.charge)}>{words.request}</a>
            </p>
            {hasRole('operator') && <TaskActions task={task} />}
            <Webhook task={task} />
            {task.document !== null && (
              <details>
                <summary>{words.document}</summary>
                <Code label={words.document} text={JSON.stringify(task.document, null, 2)} />
              </details>
            )}
          </>
        )}
      </Loaded>
    </Panel>
  )
}

function TaskActions({ task }: { task: Task }) {
  const params = { task: task.id }
  return (
    <>
      {task.state === 'submitted' && task.upstream_id !== null && (
        <p class="actions">
          <Danger
            action={words.cancel}
            title={words.cancelTitle(task.id)}
            act={() => call('cancelTask', { params })}
          >
            <p>{words.cancelMeans(moneyText(task.held_usd))}</p>
          </Danger>
        </p>
      )}
      {task.state === 'unknown' && (
        <section>
          <h3>{words.reconcile}</h3>
          <p class="quiet">{words.reconcileMeans(moneyText(task.held_usd))}</p>
          <Form
            action={words.found}
            submit={({ upstream_id = '' }) =>
              call('reconcileTask', { params, body: { finding: 'found', upstream_id } })
            }
          >
            <Field name="upstream_id" title={words.upstreamId} isRequired />
          </Form>
          <p class="actions">
            <Danger
              action={words.notBegun}
              title={words.notBegunTitle(task.id)}
              act={() => call('reconcileTask', { params, body: { finding: 'not_begun' } })}
            >
              <p>{words.notBegunMeans(moneyText(task.held_usd))}</p>
            </Danger>
          </p>
        </section>
      )}
      {task.state === 'failed' && task.operation === 'video' && (
        <p class="actions">
          <Action
            title={words.askAgain}
            act={() => call('reconcileTask', { params, body: { finding: 'ask_again' } })}
          />
        </p>
      )}
    </>
  )
}

type Attempt = NonNullable<Task['webhook']>['attempts'][number]

const attemptColumns: readonly Column<Attempt>[] = [
  { title: texts.time, isFirstLine: true, cell: ({ at }) => <LogTime at={at} /> },
  { title: words.answer, isFirstLine: true, cell: ({ status }) => <HttpStatus status={status} /> },
  { title: words.duration, isNumber: true, cell: ({ duration_ms }) => <Duration ms={duration_ms} /> },
  { title: words.body, cell: ({ answer }) => <span class="quiet">{answer}</span> },
]

function Webhook({ task }: { task: Task }) {
  const { webhook } = task
  if (!webhook) return task.webhook_url ? <p class="quiet">{words.webhookLater(task.webhook_url)}</p> : null
  return (
    <section>
      <div class="page-head">
        <h3>
          {words.webhook} <Status state={webhook.state} />
        </h3>
        {hasRole('operator') && (
          <Action
            title={words.redeliver}
            act={() => call('redeliverWebhook', { params: { task: task.id } })}
          />
        )}
      </div>
      <p class="quiet">{webhook.url}</p>
      <Table
        label={words.attempts}
        rows={webhook.attempts}
        columns={attemptColumns}
        keyOf={({ at }) => String(at)}
        empty={words.noAttempts}
      />
    </section>
  )
}
