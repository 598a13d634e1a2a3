// `bun bench/peers/main.ts`: the gateway next to other gateways, with the same requests and mock vendor, in turns in one run. It
// must always state what is enabled in each: ours does its billing, most others only pass requests on.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { watchBystanders } from '../bystanders'
import { childrenCpuMs, killAll, stopAll } from '../children'
import { BURST, CONTENT_FRAMES, WHOLE } from '../exchange'
import { setUpGateway, startGateway } from '../gateway'
import { LoadClient } from '../load-client'
import { describeMachine } from '../machine'
import { chats, type Turns, takeTurns } from '../measure-cpu'
import { median } from '../statistics'
import { faultList, lined } from '../table'
import { type PerTarget, startMock, startPipe, type Target, type TargetName } from '../targets'
import { folderOf, missingPrograms, PEERS } from './peers'

const CONNECTIONS = 32
const FULL = { rounds: 5, durationMs: 3000, warmUpMs: 8000 }
const QUICK = { rounds: 2, durationMs: 1000, warmUpMs: 1500 }
const GATEWAY_ON = 'everything: keys, balances, a hold and a synced settlement for each request, request log'
const USAGE = `bun bench/peers/main.ts [options]

  --quick             shorter rounds
  --gateway COMMAND   how to run the gateway (default dist/gateway)
  --peers DIR         where peers are installed and looked for (default a folder for temporary files)
`

interface Contestant {
  title: string
  switchedOn: string
  target: Target
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      gateway: { type: 'string', default: 'dist/gateway' },
      peers: { type: 'string', default: join(tmpdir(), 'gateway-bench-peers') },
    },
  })
  if (values.help) {
    console.log(USAGE)
    return
  }
  const directory = mkdtempSync(join(tmpdir(), 'gateway-bench-'))
  process.on('exit', () => {
    killAll()
    rmSync(directory, { recursive: true, force: true })
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))
  mkdirSync(values.peers, { recursive: true })
  const mock = await startMock(directory)
  const contestants = await start(directory, values.gateway.split(/\s+/), values.peers, mock.port)
  await compare(directory, contestants, values.quick ? QUICK : FULL)
  await stopAll()
}

async function start(
  directory: string,
  gateway: string[],
  peersDirectory: string,
  mockPort: number,
): Promise<Contestant[]> {
  const contestants: Contestant[] = [
    { title: 'bare pipe', switchedOn: 'nothing', target: await startPipe(directory, mockPort) },
    {
      title: 'gateway',
      switchedOn: GATEWAY_ON,
      target: (await startGateway(setUpGateway(gateway, directory, mockPort))).target,
    },
  ]
  for (const peer of PEERS) {
    const missing = missingPrograms(peer)
    if (missing.length > 0) {
      console.error(`${peer.release} is left out: it needs ${missing.join(' and ')}`)
      continue
    }
    console.error(`installing and starting ${peer.release} …`)
    const folder = folderOf(peersDirectory, peer)
    try {
      peer.install(folder)
      const target = await peer.start(folder, mockPort)
      contestants.push({ title: peer.release, switchedOn: peer.switchedOn, target })
    } catch (error) {
      console.error(`${peer.release} is left out: ${error instanceof Error ? error.message : error}`)
    }
  }
  return contestants
}

async function compare(directory: string, contestants: Contestant[], amounts: typeof FULL): Promise<void> {
  const load = new LoadClient(directory)
  const targets = contestants.map(({ target }) => target)
  const { rounds, durationMs, warmUpMs } = amounts
  const size = { connections: CONNECTIONS, durationMs }
  const warmUp = { connections: CONNECTIONS, durationMs: warmUpMs }
  const bystanders = watchBystanders()
  load.subject = 'whole answers'
  const whole = await takeTurns(chats(load, WHOLE), targets, rounds, size, warmUp)
  load.subject = 'streams'
  const burst = await takeTurns(chats(load, BURST), targets, rounds, size, warmUp)
  const { user, system } = process.cpuUsage()
  const othersShare = bystanders.share(childrenCpuMs() + (user + system) / 1000)
  console.log(`${describeMachine(directory, false, othersShare)}; ${CONNECTIONS} connections\n`)
  console.log(tableOf(contestants, whole, burst, load.peakRssMb))
  console.log('\nSwitched on:')
  for (const { title, switchedOn } of contestants) console.log(`- ${title}: ${switchedOn}`)
  if (load.faults.length > 0) console.log(`\nErrors:\n${faultList(load.faults)}`)
}

function tableOf(
  contestants: Contestant[],
  whole: PerTarget<Turns>,
  burst: PerTarget<Turns>,
  peakMb: PerTarget<number>,
): string {
  const stream = `stream of ${CONTENT_FRAMES} chunks`
  const head = ['', 'CPU a request', `CPU a ${stream}`, 'requests/s', 'p50 / p99', 'most memory']
  const microsOf = (turns: PerTarget<Turns>, name: TargetName) => median(turns[name]?.cpuMicros ?? [])
  const cost = (turns: PerTarget<Turns>, name: TargetName) => {
    // Without a correct reply there is nothing to compare; the errors are below the table.
    if (median(turns[name]?.repliesPerSecond ?? []) === 0) return 'fails'
    const micros = microsOf(turns, name)
    return `${micros.toFixed(0)} µs (${(micros / microsOf(turns, 'gateway')).toFixed(1)}×)`
  }
  const rows = contestants.map(({ title, target: { name } }) => {
    const turns = whole[name]
    return [
      title,
      cost(whole, name),
      cost(burst, name),
      Math.round(median(turns?.repliesPerSecond ?? [])).toLocaleString('en-US'),
      `${median(turns?.p50Ms ?? []).toFixed(1)} / ${median(turns?.p99Ms ?? []).toFixed(1)} ms`,
      `${(peakMb[name] ?? Number.NaN).toFixed(0)} MB`,
    ]
  })
  return lined([head, ...rows], 1)
}

await main().catch((error) => {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
})
process.exit(0)
