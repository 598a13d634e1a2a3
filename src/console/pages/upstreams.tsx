// Upstreams: which vendors answer, how fast and reliably, and a free test.

import { useState } from 'preact/hooks'
import { address, hrefOf, hrefOfRow, periodQuery } from '../address'
import { call, hasRole, type Reply, type RowOf } from '../api'
import { numberText } from '../language'
import { Tabs } from '../parts/choice'
import { Action } from '../parts/form'
import { Loaded } from '../parts/loaded'
import { Facts, Panel } from '../parts/panel'
import { Status } from '../parts/status'
import { type Column, Table } from '../parts/table'
import { Duration, Time } from '../parts/time'
import { RunningDrills, UpstreamState } from '../parts/upstream-state'
import { useQuery } from '../query'
import { Reconciliation } from '../selling/reconciliation'
import { texts } from '../texts'

const words = texts.upstreams
const MOST = 1_000

interface Row {
  upstream: RowOf<'listUpstreams'>
  speed: Reply<'getOverview'>['upstreams'][number] | undefined
}

const columns: readonly Column<Row>[] = [
  { title: words.upstream, isFirstLine: true, cell: ({ upstream }) => upstream.name },
  {
    title: texts.state,
    isFirstLine: true,
    cell: ({ upstream: { health } }) => <UpstreamState breaker={health?.breaker} />,
  },
  { title: words.kind, cell: ({ upstream }) => upstream.kind },
  {
    title: words.models,
    isNumber: true,
    cell: ({ upstream }) => <a href={hrefOf('models', { upstream: upstream.name })}>{upstream.models}</a>,
  },
  {
    title: words.running,
    isNumber: true,
    cell: ({ upstream: { health } }) => (health ? `${health.running} / ${health.concurrency}` : ''),
  },
  { title: words.requests, isNumber: true, cell: ({ speed }) => speed && numberText(speed.requests) },
  { title: words.failed, isNumber: true, cell: ({ speed }) => texts.share(speed?.failed, speed?.requests) },
  { title: words.firstByte, isNumber: true, cell: ({ speed }) => <Duration ms={speed?.first_byte_p50_ms} /> },
  { title: words.slowest, isNumber: true, cell: ({ speed }) => <Duration ms={speed?.first_byte_p99_ms} /> },
]

const PARTS = ['state', 'reconciliation'] as const

export default function Upstreams() {
  const part = address.value.query.part === 'reconciliation' ? 'reconciliation' : 'state'
  return (
    <>
      <div class="page-head">
        <h1>{words.title}</h1>
      </div>
      <Tabs label={words.title} parts={PARTS} part={part} titles={words.parts} />
      {part === 'state' ? <States /> : <Reconciled />}
    </>
  )
}

function Reconciled() {
  const load = useQuery(['upstream names'], (signal) =>
    call('listUpstreams', { query: { limit: MOST }, signal }),
  )
  return (
    <Loaded of={load}>{({ data }) => <Reconciliation upstreams={data.map(({ name }) => name)} />}</Loaded>
  )
}

function States() {
  const { id } = address.value
  const period = periodQuery()
  const load = useQuery(['upstreams', period], async (signal) => {
    const [upstreams, overview] = await Promise.all([
      call('listUpstreams', { query: { limit: MOST }, signal }),
      call('getOverview', { query: period, signal }),
    ])
    const speeds = new Map(overview.upstreams.map((each) => [each.upstream, each]))
    return upstreams.data.map((upstream): Row => ({ upstream, speed: speeds.get(upstream.name) }))
  })
  return (
    <>
      {id === null && <RunningDrills />}
      <Loaded of={load}>
        {(rows) => (
          <>
            <Table
              label={words.title}
              rows={rows}
              columns={columns}
              keyOf={({ upstream }) => upstream.name}
              hrefOf={({ upstream }) => hrefOfRow(upstream.name)}
              openKey={id}
              empty={words.empty}
            />
            {id !== null && (
              <UpstreamPanel key={id} name={id} row={rows.find(({ upstream }) => upstream.name === id)} />
            )}
          </>
        )}
      </Loaded>
      <Refusals />
    </>
  )
}

const refusalColumns: readonly Column<RowOf<'listRefusals'>>[] = [
  { title: words.last, isFirstLine: true, cell: ({ last_at }) => <Time at={last_at} /> },
  { title: words.upstream, isFirstLine: true, cell: ({ upstream }) => upstream },
  { title: words.model, cell: ({ model }) => model },
  { title: words.field, cell: ({ field }) => field ?? '' },
  { title: words.count, isNumber: true, cell: ({ count }) => numberText(count) },
  { title: words.words, cell: ({ message }) => message },
]

function Refusals() {
  const load = useQuery(
    ['refusals'],
    async (signal) => (await call('listRefusals', { query: { limit: MOST }, signal })).data,
  )
  return (
    <section class="part">
      <h2>{words.refusals}</h2>
      <p>{words.refusalsMean}</p>
      <Loaded of={load}>
        {(rows) => (
          <Table
            label={words.refusals}
            rows={rows}
            columns={refusalColumns}
            keyOf={({ upstream, model, field }) => `${upstream} ${model} ${field}`}
            empty={words.noRefusals}
          />
        )}
      </Loaded>
    </section>
  )
}

function UpstreamPanel({ name, row }: { name: string; row: Row | undefined }) {
  const [tested, setTested] = useState<Reply<'testUpstream'>>()
  if (!row) return <Panel title={name}>{words.unknown(name)}</Panel>
  const { upstream, speed } = row
  return (
    <Panel title={name}>
      <RunningDrills upstream={name} />
      <Facts
        facts={[
          [texts.state, <UpstreamState breaker={upstream.health?.breaker} key="state" />],
          [words.kind, upstream.kind],
          [words.address, upstream.address],
          [words.models, String(upstream.models)],
          [words.requests, speed && numberText(speed.requests)],
          [words.failed, texts.share(speed?.failed, speed?.requests)],
          [words.firstByte, <Duration ms={speed?.first_byte_p50_ms} key="first" />],
          [words.duration, <Duration ms={speed?.duration_p50_ms} key="duration" />],
        ]}
      />
      <p class="actions">
        <a href={hrefOf('requests', { upstream: name })}>{texts.requests.title}</a>
        <a href={hrefOf('requests', { upstream: name, failed_by: 'vendor' })}>{words.failures}</a>
        <a href={hrefOf('models', { upstream: name })}>{texts.models.title}</a>
        <a href={hrefOf('upstreams', { part: 'reconciliation', upstream: name })}>
          {words.parts.reconciliation}
        </a>
      </p>
      {hasRole('operator') && (
        <div class="actions">
          <Action
            title={words.test}
            act={async () => setTested(await call('testUpstream', { params: { upstream: name } }))}
          />
          <span role="status">
            {tested && (
              <>
                <Status state={tested.state}>{words.tested[tested.state] ?? tested.state}</Status>{' '}
                <Duration ms={tested.duration_ms} /> {tested.reason} {tested.advice}
              </>
            )}
          </span>
        </div>
      )}
    </Panel>
  )
}
