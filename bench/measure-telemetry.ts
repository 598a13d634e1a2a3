// Processor time per request with metrics and a JSON log line of each, beside two gateways without both,
// whose difference is the error of the measure. They take turns in one run, each round in another order, so that a slow minute of the
// machine falls on all, and none always follows the same.
import { join } from 'node:path'
import { freePort } from './children'
import { WHOLE } from './exchange'
import type { TelemetryFigures } from './figures'
import { type GatewayStart, setUpGateway, startGateway } from './gateway'
import type { LoadClient } from './load-client'
import type { Amounts } from './options'

const CONNECTIONS = 32
/** As often as Prometheus reads by default. */
const SCRAPE_MS = 15_000

export async function measureTelemetry(
  load: LoadClient,
  command: string[],
  directory: string,
  mockPort: number,
  amounts: Amounts,
): Promise<TelemetryFigures> {
  const metricsPort = freePort()
  const start = (name: string, settings: object): Promise<GatewayStart> =>
    startGateway(setUpGateway(command, join(directory, name), mockPort, settings))
  const without = { log: { requests: false } }
  const gateways: Record<keyof TelemetryFigures, GatewayStart> = {
    offMicros: await start('telemetry-off', without),
    againMicros: await start('telemetry-again', without),
    onMicros: await start('telemetry-on', { log: { format: 'json' }, metrics: { port: metricsPort } }),
  }
  const scrape = setInterval(() => void read(metricsPort), SCRAPE_MS)
  const size = { connections: CONNECTIONS, durationMs: amounts.telemetryMs }
  const warmUp = { connections: CONNECTIONS, durationMs: amounts.warmUpMs }
  for (const { target } of Object.values(gateways)) await load.loop(target, WHOLE, false, warmUp)
  const figures: TelemetryFigures = { offMicros: [], againMicros: [], onMicros: [] }
  const names = Object.keys(gateways) as (keyof TelemetryFigures)[]
  for (let round = 0; round < amounts.telemetryRounds; round++) {
    const first = round % names.length
    const order = [...names.slice(first), ...names.slice(0, first)]
    for (const name of round % 2 === 0 ? order : order.toReversed()) {
      const { report, cpuMs } = await load.loop(gateways[name].target, WHOLE, false, size)
      figures[name].push((cpuMs * 1000) / report.replies)
    }
  }
  clearInterval(scrape)
  for (const { child } of Object.values(gateways)) await child.stop()
  return figures
}

async function read(port: number): Promise<void> {
  await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
}
