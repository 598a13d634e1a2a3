// Requests with filters, the latest to end first, live if wanted. One request in full: its times from the key to the last byte, its
// route, its charges, its error, and its bodies if they are stored.

import { address, hrefOf, hrefOfRow, period, periodQuery, setQuery } from '../address'
import { call, fileAddress, hasRole, type PageOf, type Reply, type RowOf, urlOf } from '../api'
import { Explore, filtersOf } from '../explore/explore'
import { useLive } from '../live'
import { Copy, Danger } from '../parts/form'
import { Loaded } from '../parts/loaded'
import { moneyText } from '../parts/money'
import { PagedTable, usePages } from '../parts/paged'
import { Facts, Panel } from '../parts/panel'
import { Results } from '../parts/results'
import { HttpStatus, Status } from '../parts/status'
import { type Column, Table } from '../parts/table'
import { Duration, LogTime } from '../parts/time'
import { type Span, Timeline } from '../parts/timeline'
import { tokensText } from '../parts/tokens'
import { useQuery } from '../query'
import { Charge, type ChargeJson } from '../records/charge'
import { KeptBodies } from '../records/kept-bodies'
import { requestColumns } from '../records/request-columns'
import { texts } from '../texts'

const words = texts.requests

/** A row as in the log: columns by name. */
interface LoggedRequest extends Omit<RowOf<'listRequests'>, 'status'> {
  operation: string
  account: string | null
  model: string | null
  upstream: string | null
  status: number
  error_code: string | null
  error_message: string | null
  error_param: string | null
  asked_model: string | null
  failed_by: string | null
  vendor_status: number | null
  first_byte_ms: number | null
  duration_ms: number
  sent_ms: number | null
  upstream_ms: number | null
  input_tokens: number | null
  output_tokens: number | null
  usage_source: string | null
  upstream_request_id: string | null
  upstream_key: number | null
  session: { by: string; hash: string } | null
  resting_keys: number[]
  cache: string | null
  client_address: string | null
  metadata: Record<string, string> | null
}

const FACETS = [
  'status',
  'error',
  'failed_by',
  'model',
  'key',
  'spender',
  'account',
  'upstream',
  'operation',
] as const

const columns: readonly Column<LoggedRequest>[] = [
  requestColumns.time,
  requestColumns.model,
  requestColumns.key,
  requestColumns.status,
  { title: words.upstream, priority: 4, cell: ({ upstream }) => upstream ?? '' },
  requestColumns.duration,
  {
    title: words.tokens,
    isNumber: true,
    priority: 3,
    cell: ({ input_tokens, output_tokens }) => tokensText(input_tokens, output_tokens),
  },
  requestColumns.paid,
]

export default function Requests() {
  const { id, query } = address.value
  const isLive = query.live === 'on' && period.value.until === null
  const news = useLive('request', isLive)
  const asked = { ...filtersOf(), ...periodQuery() }
  const sums = useQuery(
    ['request sums', asked],
    (signal) => call('summariseRequests', { query: asked as object, signal }),
    news,
  )
  const pages = usePages(
    ['requests', asked],
    (after, signal) =>
      call('listRequests', { query: { ...(asked as object), after, limit: 50 }, signal }) as Promise<
        PageOf<LoggedRequest>
      >,
    news,
  )
  return (
    <>
      <h1 class="hidden">{words.title}</h1>
      <Explore
        sums={sums}
        facets={FACETS}
        actions={
          <>
            <button
              type="button"
              aria-pressed={isLive}
              onClick={() => setQuery({ live: isLive ? null : 'on' })}
            >
              {isLive ? words.liveOn : words.liveOff}
            </button>
            <a
              class="button"
              href={fileAddress('listRequests', { query: { ...(asked as object), format: 'csv' } })}
              download
            >
              CSV
            </a>
          </>
        }
      >
        <PagedTable
          label={words.title}
          pages={pages}
          columns={columns}
          keyOf={(row) => row.id}
          hrefOf={(row) => hrefOfRow(row.id)}
          rowName={(row) => `${row.id} ${row.status} ${row.error_code ?? ''}`}
          openKey={id}
          empty={words.empty}
        />
      </Explore>
      {id !== null && <RequestPanel key={id} id={id} />}
    </>
  )
}

function RequestPanel({ id }: { id: string }) {
  const load = useQuery(['request', id], (signal) => call('getRequest', { params: { id }, signal }))
  return (
    <Panel title={id}>
      <Loaded of={load}>{(details) => <Details details={details} />}</Loaded>
    </Panel>
  )
}

function Details({ details }: { details: Reply<'getRequest'> }) {
  const request = details.request as LoggedRequest | null
  const account = request?.account ?? details.charges[0]?.account ?? null
  return (
    <>
      {details.charges.length > 0 && <Results charge={details.id} isEnded={request !== null} />}
      {details.explanation && <p>{details.explanation}</p>}
      {request ? <RequestFacts request={request} /> : <p class="quiet">{words.noRow}</p>}
      {request && <Timeline spans={spansOf(request)} totalMs={request.duration_ms} />}
      {request?.upstream && <Route request={request} />}
      {request && request.passed_over.length > 0 && (
        <RouteModels title={words.passedOver} rows={request.passed_over} />
      )}
      {request?.route_order && (
        <RouteModels title={words.orders[request.route_order.prefer]} rows={request.route_order.models} />
      )}
      {details.charges.map((charge) => (
        <Charge charge={charge} key={charge.id} />
      ))}
      {details.task && (
        <p>
          <a href={hrefOf('tasks', {}, details.task.id)}>{words.task(details.task.id)}</a>{' '}
          <Status state={details.task.state} />
        </p>
      )}
      {hasRole('operator') && (
        <KeptBodies
          request={details.id}
          operation={request?.operation ?? ''}
          model={request?.asked_model ?? request?.model ?? null}
          account={account}
        />
      )}
      <p class="actions">
        {request?.key && <a href={hrefOf('requests', { key: request.key })}>{words.sameKey}</a>}
        {account && <a href={hrefOf('requests', { account })}>{words.sameAccount}</a>}
        {request?.at && <a href={hrefOf('requests', minuteOf(request.at))}>{words.sameMinute}</a>}
        <Copy text={details.id} title={words.copyId} />
        {request && details.endpoint && (
          <Copy text={curlOf(request, details.endpoint)} title={words.copyCurl} />
        )}
      </p>
      {hasRole('operator') && details.charges.map((charge) => <Refund charge={charge} key={charge.id} />)}
    </>
  )
}

/** A request as a command, without its key, which is not stored, and without its body, which may be long. */
function curlOf(
  { model }: LoggedRequest,
  { path, body }: NonNullable<Reply<'getRequest'>['endpoint']>,
): string {
  // As JSON it has no line break that would end the comment.
  const named = JSON.stringify(model ?? '')
  const isJson = body === 'json'
  return [
    isJson ? words.curlBody('body.json', named) : words.curlFields(named),
    `curl '${urlOf(path.slice(1))}' \\`,
    `  -H "Authorization: Bearer $API_KEY" \\`,
    ...(isJson ? [`  -H 'Content-Type: application/json' \\`, '  --data @body.json'] : ['  -F file=@file']),
  ].join('\n')
}

/** The minute of a request and its neighbours. */
function minuteOf(at: string): Record<string, string> {
  const time = Date.parse(at)
  const text = (offset: number) => new Date(time + offset).toISOString()
  return { range: '', since: text(-30_000), until: text(30_000) }
}

function RequestFacts({ request }: { request: LoggedRequest }) {
  return (
    <Facts
      facts={[
        [texts.time, <LogTime at={request.at} key="at" />],
        [words.status, <HttpStatus status={request.status} error={request.error_code} key="status" />],
        request.error_code !== null && [words.error, request.error_code],
        ...failureFacts(request),
        [words.operation, `${request.operation}${request.stream ? words.streamed : ''}`],
        request.asked_model !== null && [words.requestedModel, request.asked_model],
        [words.model, request.model],
        [words.upstream, request.upstream],
        [words.key, request.key && <a href={hrefOf('keys', {}, request.key)}>{request.key}</a>],
        [
          words.account,
          request.account && <a href={hrefOf('accounts', {}, request.account)}>{request.account}</a>,
        ],
        [words.tokens, tokensText(request.input_tokens, request.output_tokens)],
        ...metadataFacts(request.metadata ?? {}),
        request.cache !== null && [words.cache, request.cache],
        request.session && [words.session, words.sessionBy(request.session.hash, request.session.by)],
        request.upstream_key !== null && [words.upstreamKey, keyText(request)],
        [words.client, request.client_address],
        [
          words.vendorId,
          request.upstream_request_id && <code key="vendor">{request.upstream_request_id}</code>,
        ],
      ]}
    />
  )
}

/** The error message, the field, and who caused it. */
function failureFacts(request: LoggedRequest) {
  const { error_message: message, error_param: field, failed_by: party, vendor_status: status } = request
  return [
    message !== null && ([words.reason, message] as const),
    field !== null && ([words.field, <code key="field">{field}</code>] as const),
    party !== null && ([words.failedBy, words.partyWith(words.parties[party] ?? party, status)] as const),
  ]
}

/** The number of the used key, and why it was chosen. */
function keyText({ upstream_key: key, session, resting_keys: resting }: LoggedRequest): string {
  if (resting.length > 0) return words.keyInPlaceOf(key, resting.join(', '))
  return session ? words.keyOfSession(key) : words.keyInTurn(key)
}

/** Each value of metadata, with a link to the requests that have it. */
function metadataFacts(metadata: Record<string, string>) {
  return Object.entries(metadata).map(
    ([name, value]) =>
      [
        words.metadataOf(name),
        <a href={hrefOf('requests', { metadata: `${name}=${value}` })} key={name}>
          {value}
        </a>,
      ] as const,
  )
}

type Attempt = Pick<LoggedRequest['attempts'][number], 'model' | 'upstream' | 'durationMs'> & {
  status: number
  error: string | null
  keyNumber?: number | null
}

const keyColumn: Column<Attempt> = {
  title: words.upstreamKey,
  isNumber: true,
  cell: ({ keyNumber }) => keyNumber ?? '',
}
const attemptColumns: readonly Column<Attempt>[] = [
  {
    title: words.upstream,
    isFirstLine: true,
    cell: ({ upstream }) => <a href={hrefOf('upstreams', {}, upstream)}>{upstream}</a>,
  },
  { title: words.model, cell: ({ model }) => model },
  keyColumn,
  {
    title: words.outcome,
    isFirstLine: true,
    cell: ({ status, error }) => (
      <>
        <HttpStatus status={status} error={error} /> {error && <span class="quiet">{error}</span>}
      </>
    ),
  },
  { title: words.took, isNumber: true, cell: ({ durationMs }) => <Duration ms={durationMs} /> },
]

/** Each attempt, in order; the last is the one whose answer or error the caller got. */
function Route({ request }: { request: LoggedRequest }) {
  const { attempts, model, upstream, status, error_code: error, upstream_key: keyNumber } = request
  const before = attempts.reduce((sum, { durationMs }) => sum + durationMs, 0)
  const durationMs = Math.max(0, (request.upstream_ms ?? 0) - before)
  const last = { model: model ?? '', upstream: upstream ?? '', status, error, keyNumber, durationMs }
  const rows: Attempt[] = [...attempts, last]
  const hasSeveralKeys = rows.some((each) => typeof each.keyNumber === 'number')
  return (
    <section>
      <h3>{words.route}</h3>
      <Table
        label={words.route}
        rows={rows}
        columns={hasSeveralKeys ? attemptColumns : attemptColumns.filter((each) => each !== keyColumn)}
        keyOf={(attempt) => String(rows.indexOf(attempt))}
        empty={texts.nothing}
      />
    </section>
  )
}

type RouteModel = Record<'model' | 'upstream' | 'reason' | 'detail', string>

const routeModelColumns: readonly Column<RouteModel>[] = [
  {
    title: words.upstream,
    isFirstLine: true,
    cell: ({ upstream }) => <a href={hrefOf('upstreams', {}, upstream)}>{upstream}</a>,
  },
  { title: words.model, cell: ({ model }) => model },
  { title: words.reason, isFirstLine: true, cell: ({ reason, detail }) => words.reasonWith(reason, detail) },
]

/** Models of a route with the reason why each was not called, or why it has its position. */
function RouteModels({ title, rows }: { title: string; rows: readonly RouteModel[] }) {
  return (
    <section>
      <h3>{title}</h3>
      <Table
        label={title}
        rows={rows}
        columns={routeModelColumns}
        keyOf={(row) => String(rows.indexOf(row))}
        empty={texts.nothing}
      />
    </section>
  )
}

/** The phases of a request, from its arrival to its last byte. */
function spansOf(request: LoggedRequest): Span[] {
  const { sent_ms, first_byte_ms, duration_ms, upstream, status, error_code, attempts } = request
  if (sent_ms === null) return [{ title: words.ownWork, from: 0, to: duration_ms, tone: 'own' }]
  const spans: Span[] = [{ title: words.keyAndHold, from: 0, to: sent_ms, tone: 'own' }]
  let at = sent_ms
  for (const attempt of attempts) {
    const to = Math.min(at + attempt.durationMs, duration_ms)
    spans.push({ title: `${attempt.upstream} ${attempt.status}`, from: at, to, tone: 'failed' })
    at = to
  }
  const first = first_byte_ms === null ? duration_ms : Math.max(first_byte_ms, at)
  spans.push({
    title: words.waiting(upstream ?? ''),
    from: at,
    to: first,
    tone: status >= 400 ? 'failed' : 'wait',
  })
  if (first < duration_ms)
    spans.push({
      title: words.answering,
      from: first,
      to: duration_ms,
      tone: error_code === null ? 'answer' : 'failed',
    })
  return spans
}

/** Refunds a request, only once: the id of the request ensures that. */
function Refund({ charge }: { charge: ChargeJson }) {
  const { id, account, amount_usd: amount, state } = charge
  if (state !== 'settled' || amount === '0.00') return null
  return (
    <Danger
      action={words.refund(moneyText(amount))}
      title={words.refundTitle(id)}
      act={() =>
        call('adjustAccount', {
          params: { account },
          idempotencyKey: `refund-${id}`,
          body: { amount_usd: amount, note: words.refundNote(id) },
        })
      }
    >
      <p>{words.refundMeans(moneyText(amount), account)}</p>
    </Danger>
  )
}
