// Processor time that parts of the gateway add to a request, each separately: metrics that are scraped, a JSON log line per
// request, and a console that somebody watches. Each is compared with a gateway without them; a second such gateway shows the error
// of the measure. Two processes of one program permanently differ by some percent, depending on memory layout and compilation, so
// several generations of new processes are measured, and the error is that between generations. It must never give one of them a
// longer warm-up than the others.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { openConsolePage } from './console-page'
import { WHOLE } from './exchange'
import type { PartsFigures } from './figures'
import { type GatewaySetup, type GatewayStart, setUpGateway, startGateway } from './gateway'
import type { LoadClient } from './load-client'
import type { TurnsFigures } from './load-job'
import type { Amounts } from './options'
import type { Target } from './targets'

/** Number of replies per turn, equal to the rows of a batch of the request log, so that no row is left for the next turn. */
const SIZE = { connections: 32, repliesPerConnection: 8 }
/** Interval between scrapes, as by default in Prometheus. */
const SCRAPE_MS = 15_000
const METRICS_TOKEN = 'bench-metrics-token'

type Name = keyof PartsFigures

/** Nothing here requests the admin API, which has no switch: it is loaded with its first request. */
const NONE = { log: { requests: false }, console: { enabled: false } }
const SETTINGS: Record<Name, object> = {
  none: NONE,
  again: NONE,
  metrics: { ...NONE, metrics: { token: METRICS_TOKEN } },
  lines: { ...NONE, log: { format: 'json' } },
  console: { ...NONE, console: {} },
}
const NAMES = Object.keys(SETTINGS) as Name[]

export async function measureParts(
  load: LoadClient,
  command: string[],
  directory: string,
  mockPort: number,
  amounts: Amounts,
): Promise<PartsFigures> {
  const figures: PartsFigures = { none: [], again: [], metrics: [], lines: [], console: [] }
  const own = join(directory, 'parts')
  const start = async (name: Name): Promise<Started> => {
    const setup = setUpGateway(command, join(own, name), mockPort, SETTINGS[name])
    return { setup, ...(await startGateway(setup)) }
  }
  for (let generation = 0; generation < amounts.partsGenerations; generation++) {
    const gateways: Gateways = {
      none: await start('none'),
      again: await start('again'),
      metrics: await start('metrics'),
      lines: await start('lines'),
      console: await start('console'),
    }
    const measured = await whileUsed(gateways, () => takeTurns(load, gateways, amounts))
    for (const [index, name] of NAMES.entries()) figures[name].push(measured[index] as TurnsFigures)
    for (const { child } of Object.values(gateways)) await child.stop()
    rmSync(own, { recursive: true })
  }
  return figures
}

interface Started extends GatewayStart {
  setup: GatewaySetup
}
type Gateways = Record<Name, Started>

/** Runs something while metrics are scraped and a page of the console is open. */
async function whileUsed<Value>(gateways: Gateways, run: () => Promise<Value>): Promise<Value> {
  const page = await openConsolePage(gateways.console.setup, gateways.console.target.port)
  const metricsPort = gateways.metrics.target.port
  await scrape(metricsPort)
  const timer = setInterval(() => void scrape(metricsPort), SCRAPE_MS)
  const value = await run()
  clearInterval(timer)
  await page.close()
  return value
}

/** The figures of each gateway, in the order of the names. */
function takeTurns(load: LoadClient, gateways: Gateways, amounts: Amounts): Promise<TurnsFigures[]> {
  const targets = NAMES.map((name) => gateways[name].target) as [Target, ...Target[]]
  const times = { warmUpMs: amounts.partsWarmUpMs, durationMs: amounts.partsMs }
  return load.turns(targets, WHOLE, { ...SIZE, ...times })
}

async function scrape(port: number): Promise<void> {
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
  const response = await fetch(`http://127.0.0.1:${port}/metrics`, { headers })
  await response.text()
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status}`)
}
