// Requests, tasks and kept results of a key, for its holder: lists that are followed live, and one request or task in full.

import { address, hrefOf, hrefOfRow, periodQuery } from '../address'
import { urlOf } from '../api'
import { Explore, filtersOf } from '../explore/explore'
import {
  askArtifacts,
  askRequest,
  askRequestSums,
  askRequests,
  askTask,
  askTasks,
  type OwnCharge,
  type OwnRequest,
  type OwnRequestDetails,
  type OwnTask,
} from '../key-api'
import { useLive } from '../live'
import { Code } from '../parts/code'
import { Empty, Loaded } from '../parts/loaded'
import { Money } from '../parts/money'
import { Paged, PagedTable, usePages } from '../parts/paged'
import { Facts, Panel } from '../parts/panel'
import { OwnResults } from '../parts/results'
import { HttpStatus, Status } from '../parts/status'
import type { Column } from '../parts/table'
import { Duration, LogTime, Time } from '../parts/time'
import { tokensText } from '../parts/tokens'
import { useQuery } from '../query'
import { keyTexts, texts } from '../texts'

const words = keyTexts.activity
const LIMIT = 50
/** Pictures and players on a page. */
const RESULTS_LIMIT = 12

/** The lists of this page; the first is shown unless the address names another. */
const LISTS = {
  requests: { title: words.requests, List: Requests },
  tasks: { title: words.tasks, List: Tasks },
  results: { title: words.results, List: KeptResults },
} as const

const FACETS = ['status', 'error', 'failed_by', 'model', 'operation'] as const

export default function Activity() {
  const { id, query } = address.value
  const shown = Object.hasOwn(LISTS, query.show ?? '') ? (query.show as keyof typeof LISTS) : 'requests'
  const { List } = LISTS[shown]
  return (
    <>
      <div class="page-head">
        <h1>{words.title}</h1>
        <nav class="actions" aria-label={words.title}>
          {Object.entries(LISTS).map(([show, { title }]) => (
            <a
              class="button"
              key={show}
              href={hrefOf('activity', show === 'requests' ? {} : { show })}
              aria-current={show === shown ? 'true' : undefined}
            >
              {title}
            </a>
          ))}
        </nav>
      </div>
      <List openId={id} key={shown} />
    </>
  )
}

const requestColumns: readonly Column<OwnRequest>[] = [
  { title: words.time, isFirstLine: true, cell: ({ at }) => <LogTime at={at} /> },
  {
    title: words.status,
    isFirstLine: true,
    cell: ({ status, error_code }) => (
      <>
        <HttpStatus status={status} error={error_code} /> <span class="quiet">{error_code}</span>
      </>
    ),
  },
  { title: words.operation, cell: ({ operation }) => operation },
  {
    title: words.model,
    sort: ({ model, asked_model: asked }) => model ?? asked,
    cell: ({ model, asked_model: asked }) => <span class="whole">{model ?? asked ?? words.none}</span>,
  },
  { title: words.tokens, isNumber: true, cell: tokensOf },
  { title: words.duration, isNumber: true, cell: ({ duration_ms }) => <Duration ms={duration_ms} /> },
  {
    title: words.paid,
    isNumber: true,
    isFirstLine: true,
    cell: ({ amount_usd }) => <Money usd={amount_usd} />,
  },
]

function tokensOf({ input_tokens, output_tokens }: OwnRequest): string {
  return tokensText(input_tokens, output_tokens) ?? words.none
}

function Requests({ openId }: { openId: string | null }) {
  const asked = { ...filtersOf(), ...periodQuery() }
  const news = useLive('request')
  const sums = useQuery(['own request sums', asked], (signal) => askRequestSums(asked, signal), news)
  const pages = usePages(
    ['own requests', asked],
    (after, signal) => askRequests({ ...asked, after, limit: LIMIT }, signal),
    news,
  )
  return (
    <>
      <Explore sums={sums} facets={FACETS}>
        <PagedTable
          label={words.requests}
          pages={pages}
          columns={requestColumns}
          keyOf={({ id }) => id}
          hrefOf={({ id }) => hrefOfRow(id)}
          rowName={({ id, status, error_code: error }) => `${id} ${status} ${error ?? ''}`}
          openKey={openId}
          empty={
            <>
              {words.noRequests} <a href={hrefOf('playground')}>{keyTexts.playground.title}</a>
            </>
          }
        />
      </Explore>
      {openId !== null && <RequestPanel id={openId} key={openId} />}
    </>
  )
}

function RequestPanel({ id }: { id: string }) {
  const load = useQuery(['own request', id], (signal) => askRequest(id, signal))
  return (
    <Panel title={words.requestOf(id)}>
      <Loaded of={load}>{(details) => <RequestDetails details={details} />}</Loaded>
    </Panel>
  )
}

function RequestDetails({ details: { id, request, charges, task } }: { details: OwnRequestDetails }) {
  return (
    <>
      {request ? (
        <Facts
          facts={[
            [words.status, <HttpStatus key="status" status={request.status} error={request.error_code} />],
            request.error_code !== null && [words.error, request.error_code],
            request.error_message !== null && [words.reason, request.error_message],
            request.error_param !== null && [words.field, <code key="field">{request.error_param}</code>],
            request.failed_by !== null && [
              words.failedBy,
              texts.requests.parties[request.failed_by] ?? request.failed_by,
            ],
            request.asked_model !== null && [words.requestedModel, request.asked_model],
            [words.time, <LogTime key="time" at={request.at} />],
            [words.operation, request.operation],
            [words.model, request.model],
            [words.firstByte, <Duration key="first" ms={request.first_byte_ms} />],
            [words.duration, <Duration key="whole" ms={request.duration_ms} />],
            [words.tokens, tokensOf(request)],
            [words.held, <Money key="held" usd={request.held_usd} />],
            [words.paid, <Money key="paid" usd={request.amount_usd} />],
            [words.ended, request.ended_by],
          ]}
        />
      ) : (
        <p class="quiet">{words.stillHeld}</p>
      )}
      {charges.map((charge) => (
        <Charge charge={charge} key={charge.id} />
      ))}
      {task ? <TaskDetails task={task} /> : <ResultsOf request={id} />}
    </>
  )
}

/** Kept results of a request that has no task: the video of a task is shown with the task. */
function ResultsOf({ request }: { request: string }) {
  const load = useQuery(['own results', request], (signal) => askArtifacts({ request, limit: LIMIT }, signal))
  return <OwnResults artifacts={load.data?.data ?? []} />
}

function Charge({ charge }: { charge: OwnCharge }) {
  return (
    <section>
      <h3>{words.charge}</h3>
      <Facts
        facts={[
          [words.state, <Status key="state" state={charge.state} />],
          [words.held, <Money key="held" usd={charge.held_usd} />],
          [words.paid, <Money key="paid" usd={charge.amount_usd} />],
          [words.usageSource, charge.usage_source],
          [words.endedAt, <Time key="ended" at={charge.ended_at} />],
        ]}
      />
      {charge.usage !== null && (
        <details>
          <summary>{words.usage}</summary>
          <Code label={words.usage} text={JSON.stringify(charge.usage, null, 2)} />
        </details>
      )}
    </section>
  )
}

const taskColumns: readonly Column<OwnTask>[] = [
  { title: words.time, isFirstLine: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { title: words.state, isFirstLine: true, cell: ({ state }) => <Status state={state} /> },
  { title: words.model, cell: ({ model }) => model },
  {
    title: words.progress,
    isNumber: true,
    cell: ({ progress }) => (progress === null ? words.none : `${progress} %`),
  },
  { title: words.error, cell: ({ error }) => error?.code ?? '' },
  { title: words.held, isNumber: true, cell: ({ held_usd }) => <Money usd={held_usd} /> },
  {
    title: words.paid,
    isNumber: true,
    isFirstLine: true,
    cell: ({ amount_usd }) => <Money usd={amount_usd} />,
  },
]

function Tasks({ openId }: { openId: string | null }) {
  const news = useLive('task')
  const pages = usePages(['own tasks'], (after, signal) => askTasks({ after, limit: LIMIT }, signal), news)
  return (
    <>
      <PagedTable
        label={words.tasks}
        pages={pages}
        columns={taskColumns}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => hrefOfRow(id)}
        openKey={openId}
        empty={
          <>
            {words.noTasks} <a href={hrefOf('playground', { kind: 'video' })}>{keyTexts.playground.title}</a>
          </>
        }
      />
      {openId !== null && <TaskPanel id={openId} news={news} key={openId} />}
    </>
  )
}

function TaskPanel({ id, news }: { id: string; news: number }) {
  const load = useQuery(['own task', id], (signal) => askTask(id, signal), news)
  return (
    <Panel title={words.taskOf(id)}>
      <Loaded of={load}>{(task) => <TaskDetails task={task} />}</Loaded>
    </Panel>
  )
}

function TaskDetails({ task }: { task: OwnTask }) {
  return (
    <>
      {task.state === 'succeeded' && (
        <video
          class="medium"
          controls
          preload="metadata"
          src={urlOf(`v1/videos/${encodeURIComponent(task.id)}/content`)}
          aria-label={words.video(task.model)}
        />
      )}
      <Facts
        facts={[
          [words.state, <Status key="state" state={task.state} />],
          [words.model, task.model],
          [words.progress, task.progress === null ? null : `${task.progress} %`],
          [words.held, <Money key="held" usd={task.held_usd} />],
          [words.paid, <Money key="paid" usd={task.amount_usd} />],
          [words.begun, <Time key="begun" at={task.created_at} />],
          [words.endedAt, <Time key="ended" at={task.ended_at} />],
          task.webhook_url !== null && [words.webhook, task.webhook_url],
        ]}
      />
      {task.error && (
        <p class="failed" role="alert">
          {task.error.code}: {task.error.message}
        </p>
      )}
    </>
  )
}

/** The model and time of a kept picture. */
function Origin({ request }: { request: string }) {
  const { data } = useQuery(['own request', request], (signal) => askRequest(request, signal))
  const made = data?.request
  return (
    <Facts
      facts={[
        [words.model, made?.model],
        [words.time, made && <LogTime key="time" at={made.at} />],
      ]}
    />
  )
}

function KeptResults() {
  // Pictures are made by requests, videos by tasks.
  const news = useLive('request') + useLive('task')
  const pages = usePages(
    ['own results'],
    (after, signal) => askArtifacts({ after, limit: RESULTS_LIMIT }, signal),
    news,
  )
  return (
    <Paged pages={pages}>
      {(artifacts) =>
        artifacts.length === 0 ? (
          <Empty>
            {words.noResults}{' '}
            <a href={hrefOf('playground', { kind: 'image' })}>{keyTexts.playground.title}</a>
          </Empty>
        ) : (
          <div class="gallery">
            <OwnResults
              artifacts={artifacts}
              about={({ request }) => <Origin request={request} />}
              more={({ request, created_at }) => (
                <>
                  <Time at={created_at} /> <a href={hrefOf('activity', {}, request)}>{words.madeBy}</a>
                </>
              )}
            />
          </div>
        )
      }
    </Paged>
  )
}
