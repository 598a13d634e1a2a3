// Turns the figures of a run into the rows of its table, and marks those that miss their threshold. It must never stop the run for
// a missed threshold: machines differ, and a benchmark only reports.
import { CONTENT_FRAMES, FRAMES_PER_SECOND } from './exchange'
import { featureRows } from './feature-rows'
import type {
  ClosingFigures,
  CpuFigures,
  CutsFigures,
  EndingsFigures,
  Figures,
  HistoryFigures,
  HostileFigures,
  LagFigures,
  LatencyFigures,
  NativeCost,
  NativeFigures,
  NodeFigures,
  NodesFigures,
  PollsFigures,
  ReportFigures,
  Spread,
} from './figures'
import { CHATS_PER_SECOND } from './measure-endings'
import { HONEST_PER_SECOND, HOSTILE_KEYS } from './measure-hostile'
import { NODE_CONNECTIONS, NODES } from './measure-nodes'
import { OLDEST_MS } from './measure-polls'
import { MANY_MODELS } from './measure-start'
import { STREAMS_AT_ONCE } from './measure-streams'
import { median } from './statistics'
import type { Row } from './table'
import type { PerTarget, TargetName } from './targets'

const BAR = {
  ratio: 2,
  addedP50Ms: 0.6,
  addedP99Ms: 2,
  repliesPerSecond: 10_000,
  startMs: 100,
  idleMb: 80,
  closingMs: 500,
  growthMb: 30,
  pollingCoreShare: 0.2,
  lagP999Ms: 25,
  lagMaxMs: 100,
  nodesRatio: 0.9,
  databaseMicros: 60,
  nodesP99Ms: 60,
  usageMs: 200,
  verifyMs: 2000,
  chargeBytes: 150,
}

export function rowsOf(figures: Figures): Row[] {
  return [
    ...cpuRows(figures.cpu),
    ...latencyRows(figures.latency),
    ...throughputRows(figures),
    ...streamRows(figures),
    ...nativeRows(figures.native),
    ...featureRows(figures),
    ...startRows(figures),
    ...memoryRows(figures),
    ...cutRows(figures.cuts),
    ...pollRows(figures.polls),
    ...endingRows(figures.endings),
    ...hostileRows(figures.hostile),
    ...nodeRows(figures.nodes),
    ...historyRows(figures.history),
  ]
}

function cpuRows(cpu: CpuFigures | undefined): Row[] {
  if (cpu === undefined) return []
  const stream = `CPU per stream of ${CONTENT_FRAMES} chunks`
  return [
    cpuRow('CPU per request, 1 KB, not streamed, 32 connections', cpu.wholeMicros),
    cpuRow('CPU per request, 1 KB, not streamed, 128 connections', cpu.busyMicros),
    cpuRow(`${stream}, as fast as they go`, cpu.burstMicros),
    cpuRow(`${stream}, ${FRAMES_PER_SECOND} a second`, cpu.pacedMicros),
  ]
}

function nativeRows(native: NativeFigures | undefined): Row[] {
  if (native === undefined) return []
  return Object.entries(native).flatMap(([dialect, { burstMicros, pacedMicros }]: [string, NativeCost]) => {
    const stream = `CPU per stream of ${dialect}, ${CONTENT_FRAMES} chunks`
    return [
      cpuRow(`${stream}, as fast as they go`, burstMicros),
      cpuRow(`${stream}, ${FRAMES_PER_SECOND} a second`, pacedMicros),
    ]
  })
}

/** Processor time next to that of the bare pipe. */
function cpuRow(figure: string, micros: PerTarget<number[]>): Row {
  const medians = mapTargets(micros, median)
  const ratio = (medians.gateway ?? Number.NaN) / (medians.pipe ?? Number.NaN)
  return {
    figure,
    bar: `≤ ${BAR.ratio.toFixed(1)}× pipe`,
    cells: mapTargets(medians, (value) => `${value.toFixed(0)} µs`),
    ratio: `${ratio.toFixed(2)}×`,
    missed: !(ratio <= BAR.ratio),
  }
}

function latencyRows(latency: PerTarget<LatencyFigures> | undefined): Row[] {
  if (latency === undefined) return []
  const row = (name: string, key: keyof LatencyFigures, barMs: number): Row => {
    const added = addedMs(latency, key)
    return {
      figure: `Added latency, 1 connection, ${name}`,
      bar: `≤ ${barMs} ms`,
      cells: mapTargets(added, (value) => `${value.toFixed(2)} ms`),
      missed: !((added.gateway ?? Number.NaN) <= barMs),
    }
  }
  return [row('p50', 'p50Ms', BAR.addedP50Ms), row('p99', 'p99Ms', BAR.addedP99Ms)]
}

/** The median over the rounds of the time through the proxy minus the time directly to the vendor in the same round. */
function addedMs(latency: PerTarget<LatencyFigures>, key: keyof LatencyFigures): PerTarget<number> {
  const direct = latency.mock?.[key] ?? []
  const { mock: _mock, ...proxies } = latency
  return mapTargets(proxies, (proxy) =>
    median(proxy[key].map((value, round) => value - (direct[round] ?? Number.NaN))),
  )
}

function throughputRows({ throughput }: Figures): Row[] {
  if (throughput === undefined) return []
  const { mock: _mock, ...proxies } = throughput
  const perSecond = mapTargets(proxies, (proxy) => median(proxy.repliesPerSecond))
  const milliseconds = (key: keyof LatencyFigures) =>
    mapTargets(addedMs(throughput, key), (value) => `${value.toFixed(1)} ms`)
  return [
    {
      figure: 'Requests per second, 128 connections',
      bar: `≥ ${thousands(BAR.repliesPerSecond)}`,
      cells: mapTargets(perSecond, thousands),
      missed: !((perSecond.gateway ?? Number.NaN) >= BAR.repliesPerSecond),
    },
    {
      figure: 'Errors among them',
      bar: '0',
      cells: mapTargets(proxies, (proxy) => `${proxy.errors} of ${thousands(proxy.replies)}`),
      missed: proxies.gateway?.errors !== 0,
    },
    { figure: 'Added latency, 128 connections, p50', cells: milliseconds('p50Ms') },
    { figure: 'Added latency, 128 connections, p99', cells: milliseconds('p99Ms') },
  ]
}

function streamRows({ streams }: Figures): Row[] {
  if (streams === undefined) return []
  const load = `${thousands(STREAMS_AT_ONCE)} streams at once × ${FRAMES_PER_SECOND} frames/s`
  return [
    {
      figure: `${load}: frames lost or changed`,
      bar: '0',
      cells: mapTargets(
        streams,
        (proxy) => `${proxy.framesWrong} of ${thousands(proxy.streams * CONTENT_FRAMES)}`,
      ),
      missed: streams.gateway?.framesWrong !== 0 || streams.gateway.errors !== 0,
    },
    {
      figure: `${load}: frames per second`,
      cells: mapTargets(streams, (proxy) => thousands(proxy.framesPerSecond)),
    },
    {
      figure: `${load}: CPU per frame`,
      cells: mapTargets(streams, (proxy) => `${proxy.cpuMicrosPerFrame.toFixed(1)} µs`),
    },
  ]
}

function startRows({ start }: Figures): Row[] {
  if (start === undefined) return []
  const row = (answer: string, valuesMs: number[]): Row => ({
    figure: `Start of the process to the first answer of ${answer}`,
    bar: `≤ ${BAR.startMs} ms`,
    cells: { gateway: `${median(valuesMs).toFixed(0)} ms` },
    missed: !(median(valuesMs) <= BAR.startMs),
  })
  return [
    row('`/health`', start.healthMs),
    row('`/v1/models`', start.modelsMs),
    row(`\`/health\`, ${thousands(MANY_MODELS)} models`, start.manyHealthMs),
  ]
}

function memoryRows({ memory }: Figures): Row[] {
  if (memory === undefined) return []
  const cells = (values: PerTarget<number>) => mapTargets(values, (value) => `${value.toFixed(0)} MB`)
  const rows: Row[] = [
    {
      figure: 'Memory (RSS), idle',
      bar: `≤ ${BAR.idleMb} MB`,
      cells: cells(memory.idleMb),
      missed: !((memory.idleMb.gateway ?? Number.NaN) <= BAR.idleMb),
    },
    { figure: 'Memory (RSS), most under all of this load', cells: cells(memory.peakMb) },
    { figure: 'Memory (RSS), some seconds after it', cells: cells(memory.afterMb) },
  ]
  // Without load in this run there is no maximum and no memory after load to report.
  return rows.filter((row) => row.cells.gateway !== undefined)
}

function cutRows(cuts: CutsFigures | undefined): Row[] {
  if (cuts === undefined) return []
  const { closing, rss } = cuts
  const counts = mapTargets(closing, (figure) => thousands(figure.streams))
  const count = counts.gateway ?? '0'
  const rows: Row[] = [
    {
      figure: 'Client leaves a stream: vendor connection closed after, p99 / longest',
      bar: `≤ ${BAR.closingMs} ms`,
      cells: mapTargets(closing, describeClosing),
      missed: !closedInTime(closing.gateway),
    },
  ]
  if (rss !== undefined) {
    const growthMb = rss.endMb - rss.warmMb
    const course = `${rss.warmMb.toFixed(0)} → ${rss.peakMb.toFixed(0)} → ${rss.endMb.toFixed(0)}`
    rows.push({
      figure: `Memory growth over ${count} streams left (warm → most → end)`,
      bar: `< ${BAR.growthMb} MB`,
      cells: { gateway: `${growthMb.toFixed(0)} MB (${course})` },
      missed: !(growthMb < BAR.growthMb),
    })
  }
  return rows
}

function pollRows(polls: PollsFigures | undefined): Row[] {
  if (polls === undefined) return []
  const load = `${thousands(polls.tasks)} open tasks, up to ${OLDEST_MS / 60_000} minutes old`
  return [
    {
      figure: `${load}: CPU, share of one core`,
      bar: `≤ ${BAR.pollingCoreShare * 100} %`,
      cells: { gateway: `${(polls.coreShare * 100).toFixed(1)} %` },
      missed: !(polls.coreShare <= BAR.pollingCoreShare),
    },
    { figure: `${load}: polls per second`, cells: { gateway: thousands(polls.pollsPerSecond) } },
    {
      figure: `${load}: due and never polled`,
      bar: '0',
      cells: { gateway: `${thousands(polls.unpolled)} of ${thousands(polls.polled + polls.unpolled)}` },
      missed: polls.unpolled !== 0,
    },
    { figure: `${load}: lateness, p50 / p99`, cells: { gateway: describeSpread(polls.latenessMs) } },
  ]
}

function endingRows(endings: EndingsFigures | undefined): Row[] {
  if (endings === undefined) return []
  const { tasks, open, tookMs, quick, slow } = endings
  const load = `${thousands(tasks)} tasks with webhooks end at once`
  const chat = `chat at ${CHATS_PER_SECOND} requests/s, p50 / p99`
  return [
    { figure: `Before ${load}: ${chat}`, cells: { gateway: describeSpread(endings.chatBeforeMs) } },
    { figure: `While ${load}: ${chat}`, cells: { gateway: describeSpread(endings.chatDuringMs) } },
    {
      figure: `${load}: all ended and delivered to the fast receiver in`,
      cells: { gateway: `${(tookMs / 1000).toFixed(1)} s` },
    },
    {
      figure: `${load}: not ended, not delivered to the fast receiver`,
      bar: '0',
      cells: {
        gateway: `${thousands(open)}, ${thousands(quick.of - quick.received)} of ${thousands(quick.of)}`,
      },
      missed: open !== 0 || quick.received !== quick.of,
    },
    {
      figure: `${load}: delivered to the slow receiver by then`,
      cells: { gateway: `${thousands(slow.received)} of ${thousands(slow.of)}` },
    },
  ]
}

function hostileRows(hostile: HostileFigures | undefined): Row[] {
  if (hostile === undefined) return []
  const row = (load: string, { lag, probe, statuses }: LagFigures): Row => {
    // Anything except an error of the caller would cost somebody money.
    const wrong = Object.keys(statuses).filter((status) => !status.startsWith('4'))
    const reported = wrong.length === 0 ? '' : `, answered ${wrong.join()}`
    return {
      figure: `${load}: event loop lag, p99.9 / worst (with waiting for a processor)`,
      bar: `≤ ${BAR.lagP999Ms} / ${BAR.lagMaxMs} ms`,
      cells: {
        gateway: `${lag.p999.toFixed(1)} / ${lag.max.toFixed(0)} ms (${probe.p999.toFixed(0)} / ${probe.max.toFixed(0)})${reported}`,
      },
      missed: !(lag.p999 <= BAR.lagP999Ms && lag.max <= BAR.lagMaxMs && wrong.length === 0),
    }
  }
  return [
    row(`Chat at ${HONEST_PER_SECOND} requests/s`, hostile.quiet),
    ...Object.entries(hostile.under).map(([name, figures]) =>
      row(`${HOSTILE_KEYS} keys send ${name}`, figures),
    ),
  ]
}

function historyRows(history: HistoryFigures | undefined): Row[] {
  if (history === undefined) return []
  const { charges, closed, before, after } = history
  const name = `${charges.toLocaleString('en')} charges, before / after ${closed.toLocaleString('en')} are closed`
  const ms = (of: ReportFigures, figure: keyof ReportFigures) => of[figure].toFixed(of[figure] < 1 ? 3 : 0)
  const row = (what: string, figure: keyof ReportFigures, barMs?: number): Row => ({
    figure: `${name}: ${what}`,
    ...(barMs !== undefined && {
      bar: `≤ ${barMs} ms`,
      missed: !(before[figure] <= barMs && after[figure] <= barMs),
    }),
    cells: { gateway: `${ms(before, figure)} / ${ms(after, figure)} ms` },
  })
  const bytes = (of: ReportFigures, count: number) => (of.chargeBytes / count).toFixed(0)
  return [
    row('CPU of usage by any dimension, one month', 'monthMs', BAR.usageMs),
    row('CPU of usage by key, all time', 'everMs'),
    row('CPU of the last 50 entries of a month in a ledger', 'pageMs', BAR.usageMs),
    row('CPU of the newest 50 entries of a ledger', 'newestMs', BAR.usageMs),
    row('CPU of a whole ledger, 1/20 of all charges', 'ledgerMs'),
    row('CPU of one charge by its id', 'chargeMs', BAR.usageMs),
    row('CPU of a hold and a settlement, one at a time', 'movementMs'),
    row('CPU of verify after one more day', 'verifyMs', BAR.verifyMs),
    {
      figure: `${name}: CPU of verify --whole`,
      cells: { gateway: `${(history.wholeMs / 1000).toFixed(0)} s` },
    },
    {
      figure: `${name}: bytes of a charge in the database / in an archive`,
      bar: `≤ ${BAR.chargeBytes}`,
      cells: { gateway: `${bytes(before, charges)} / ${(history.archiveBytes / closed).toFixed(0)}` },
      missed: !(before.chargeBytes / charges <= BAR.chargeBytes),
    },
    {
      figure: `${name}: size of charges, with totals`,
      cells: { gateway: `${sizes(before)} / ${sizes(after)}` },
    },
    {
      figure: `${name}: CPU of closing, for each closed charge`,
      cells: { gateway: `${((history.closingMs * 1000) / closed).toFixed(1)} µs` },
    },
    {
      figure: `${name}: memory (RSS) of the process in the end`,
      cells: { gateway: `${after.rssMb.toFixed(0)} MB` },
    },
  ]
}

function sizes({ chargeBytes, sumBytes }: ReportFigures): string {
  return `${(chargeBytes / 1e6).toFixed(0)} + ${(sumBytes / 1e6).toFixed(0)} MB`
}

function nodeRows(nodes: NodesFigures | undefined): Row[] {
  if (nodes === undefined) return []
  const of = (rounds: NodeFigures[], figure: keyof NodeFigures) =>
    median(rounds.map((round) => round[figure]))
  const rows = (
    name: string,
    rounds: NodeFigures[],
    against?: { name: string; rounds: NodeFigures[] },
  ): Row[] => {
    const [perSecond, p99Ms] = [of(rounds, 'repliesPerSecond'), of(rounds, 'p99Ms')]
    const databaseMicros = of(rounds, 'databaseMicros')
    const errors = rounds.reduce((all, round) => all + round.errors, 0)
    const ratio = against ? perSecond / of(against.rounds, 'repliesPerSecond') : undefined
    const cpu: Row = {
      figure: `${name}: processor time of the node / of the database for a request`,
      cells: { gateway: `${of(rounds, 'ownMicros').toFixed(0)} / ${databaseMicros.toFixed(0)} µs` },
    }
    return [
      {
        figure: `${name}: requests per second${against ? ` (against ${against.name})` : ''}`,
        ...(against && { bar: `≥ ${BAR.nodesRatio}×` }),
        cells: {
          gateway: `${perSecond.toFixed(0)}${ratio ? ` (${ratio.toFixed(2)}×)` : ''}${errors ? `, ${errors} errors` : ''}`,
        },
        missed: errors > 0 || (ratio !== undefined && !(ratio >= BAR.nodesRatio)),
      },
      {
        figure: `${name}: latency, p50 / p99`,
        bar: `≤ ${BAR.nodesP99Ms} ms at p99`,
        cells: { gateway: `${of(rounds, 'p50Ms').toFixed(1)} / ${p99Ms.toFixed(1)} ms` },
        missed: !(p99Ms <= BAR.nodesP99Ms),
      },
      rounds === nodes.sqlite
        ? cpu
        : {
            ...cpu,
            bar: `≤ ${BAR.databaseMicros} µs of the database`,
            missed: !(databaseMicros <= BAR.databaseMicros),
          },
    ]
  }
  const at = `${NODE_CONNECTIONS} connections`
  return [
    ...rows(`One node, SQLite, ${at}`, nodes.sqlite),
    ...rows(`One node, PostgreSQL, ${at}`, nodes.postgres, { name: 'SQLite', rounds: nodes.sqlite }),
    ...rows(`${NODES} nodes, one account, ${at}`, nodes.oneAccount, {
      name: 'an account each',
      rounds: nodes.manyAccounts,
    }),
    ...rows(`${NODES} nodes, an account each, ${at}`, nodes.manyAccounts),
  ]
}

function describeSpread({ p50, p99 }: Spread): string {
  return `${p50.toFixed(1)} / ${p99.toFixed(1)} ms`
}

function describeClosing(figure: ClosingFigures): string {
  const times = `${figure.p99Ms.toFixed(0)} / ${figure.maxMs.toFixed(0)} ms`
  return figure.unclosed === 0 ? times : `${times}, ${figure.unclosed} never`
}

function closedInTime(figure: ClosingFigures | undefined): boolean {
  return figure !== undefined && figure.unclosed === 0 && figure.maxMs <= BAR.closingMs
}

function mapTargets<From, To>(values: PerTarget<From>, map: (value: From) => To): PerTarget<To> {
  const entries = Object.entries(values) as [TargetName, From][]
  return Object.fromEntries(entries.map(([name, value]) => [name, map(value)]))
}

function thousands(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}
