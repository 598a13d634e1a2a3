// `bun run bench`: measures the gateway against a bare pipe, and nginx where it is installed, in one run on one
// machine, and prints one table. It must never fail because something was slow: it only reports.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { watchBystanders } from './bystanders'
import { childrenCpuMs, killAll, stopAll } from './children'
import type { Figures } from './figures'
import { type GatewaySetup, setUpGateway, startGateway } from './gateway'
import { LoadClient } from './load-client'
import { describeMachine } from './machine'
import { measureAffinity } from './measure-affinity'
import { measureCache } from './measure-cache'
import { measureCpu } from './measure-cpu'
import { measureCuts } from './measure-cuts'
import { measureEndings } from './measure-endings'
import { measureHistory } from './measure-history'
import { measureHostile } from './measure-hostile'
import { measureLatency } from './measure-latency'
import { measureNative } from './measure-native'
import { measureNodes } from './measure-nodes'
import { measureParts } from './measure-parts'
import { measurePolls } from './measure-polls'
import { measureSpenders } from './measure-spenders'
import { measureStart } from './measure-start'
import { measureStreams } from './measure-streams'
import { measureThroughput } from './measure-throughput'
import { measureTranslation } from './measure-translation'
import { type Options, readOptions, type Subject, USAGE } from './options'
import { rssMb } from './process-meter'
import { rowsOf } from './rows'
import { faultList, markdownTable } from './table'
import { type PerTarget, startMock, startNginx, startPipe, type Target } from './targets'

/** Pause after the start, in which a runtime compiles and collects. */
const IDLE_PAUSE_MS = 2000

type Step = (subject: Subject, run: () => Promise<void>) => Promise<void>

/** Compares other ways in which the gateway answers with the usual one. */
async function measureWays(
  step: Step,
  load: LoadClient,
  { gateway, setup }: { gateway: Target; setup: GatewaySetup },
  amounts: Options['amounts'],
  figures: Figures,
): Promise<void> {
  await step('translation', async () => {
    figures.translation = await measureTranslation(load, gateway, amounts)
  })
  await step('cache', async () => {
    figures.cache = await measureCache(load, gateway, amounts)
  })
  await step('affinity', async () => {
    figures.affinity = await measureAffinity(load, gateway, amounts)
  })
  await step('spenders', async () => {
    figures.spenders = await measureSpenders(load, setup, gateway, amounts)
  })
}

async function measure(options: Options, directory: string): Promise<{ figures: Figures; nginx: boolean }> {
  const { amounts } = options
  const load = new LoadClient(directory)
  const figures: Figures = { faults: load.faults }
  const step: Step = async (subject, run) => {
    if (!options.subjects.includes(subject)) return
    console.error(`measuring ${subject} …`)
    load.subject = subject
    await run()
  }
  const mock = await startMock(directory)
  const pipe = await startPipe(directory, mock.port)
  const nginx = await startNginx(directory, mock.port)
  const setup = setUpGateway(options.gatewayCommand, directory, mock.port)
  await step('start', async () => {
    figures.start = await measureStart(setup, mock.port, amounts.starts)
  })
  const gateway = await startGateway(setup)
  const others = nginx === null ? [pipe] : [nginx, pipe]
  const proxies = [...others, gateway.target]

  await Bun.sleep(IDLE_PAUSE_MS)
  const idleMb = residentMb(proxies)
  await step('cpu', async () => {
    figures.cpu = await measureCpu(load, proxies, amounts)
  })
  await step('latency', async () => {
    figures.latency = await measureLatency(load, [mock, ...proxies], amounts)
  })
  await step('throughput', async () => {
    figures.throughput = await measureThroughput(load, [mock, ...proxies], amounts)
  })
  await step('streams', async () => {
    figures.streams = await measureStreams(load, proxies, amounts)
  })
  await step('native', async () => {
    figures.native = await measureNative(load, proxies, amounts)
  })
  await measureWays(step, load, { gateway: gateway.target, setup }, amounts, figures)
  await step('parts', async () => {
    figures.parts = await measureParts(load, options.gatewayCommand, directory, mock.port, amounts)
  })
  const { mock: _mock, ...peakMb } = load.peakRssMb
  const loaded = Object.keys(peakMb).length > 0
  if (loaded) await Bun.sleep(amounts.settleMs)
  figures.memory = { idleMb, peakMb, afterMb: loaded ? residentMb(proxies) : {} }
  // The next measures use new processes: leftovers of earlier load would distort the growth.
  await gateway.child.stop()
  await step('cuts', async () => {
    const fresh = await startGateway(setup)
    figures.cuts = await measureCuts(load, mock, others, fresh.target, amounts)
    await fresh.child.stop()
  })
  await step('tasks', async () => {
    // Each has its own data directory: one must not poll the ended tasks of the other.
    const setUp = (name: string) => setUpGateway(options.gatewayCommand, join(directory, name), mock.port)
    figures.polls = await measurePolls(setUp('polls'), mock, amounts)
    figures.endings = await measureEndings(load, setUp('endings'), mock, amounts)
  })
  await step('hostile', async () => {
    const own = setUpGateway(options.gatewayCommand, join(directory, 'hostile'), mock.port)
    figures.hostile = await measureHostile(load, own, amounts)
  })
  await step('nodes', async () => {
    figures.nodes = await measureNodes(options.gatewayCommand, directory, mock.port, amounts)
  })
  return { figures, nginx: nginx !== null }
}

function residentMb(targets: Target[]): PerTarget<number> {
  return Object.fromEntries(targets.map((target) => [target.name, rssMb(target.pid)]))
}

function ownCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

function print(options: Options, machine: string, figures: Figures, nginx: boolean): void {
  if (options.json) {
    console.log(JSON.stringify({ machine, quick: options.quick, figures }, null, 2))
    return
  }
  console.log(`${machine}${options.quick ? '; quick run' : ''}\n`)
  console.log(markdownTable(rowsOf(figures), nginx))
  if (figures.faults.length > 0) console.log(`\nErrors:\n${faultList(figures.faults)}`)
}

async function main(): Promise<number> {
  if (process.platform === 'win32') throw new Error('the bench reads processor times on Linux and macOS only')
  const options = readOptions(process.argv.slice(2))
  if (options === 'help') {
    console.log(USAGE)
    return 0
  }
  const directory = mkdtempSync(join(options.temporaryDirectory ?? tmpdir(), 'gateway-bench-'))
  const leave = () => {
    killAll()
    rmSync(directory, { recursive: true, force: true })
  }
  process.on('exit', leave)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))
  const bystanders = watchBystanders()
  const { figures, nginx } = await measure(options, directory)
  if (options.subjects.includes('history')) {
    console.error('measuring history …')
    figures.history = await measureHistory(directory, options.amounts)
  }
  const othersShare = bystanders.share(childrenCpuMs() + ownCpuMs())
  print(options, describeMachine(directory, nginx, othersShare), figures, nginx)
  await stopAll()
  return 0
}

try {
  process.exit(await main())
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}
