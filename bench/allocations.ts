// `bun bench/allocations.ts`: how many objects of each type the gateway creates for a whole answer, and for a stream of 100 chunks.
// Processor times differ by a fifth between starts, these numbers by about one object, so they show the cost of a change that no clock
// shows. Code that the last compiler has reached creates fewer: both sides of a comparison need the same version of Bun.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, killAll } from './children'
import { BURST, WHOLE } from './exchange'
import { setUpGateway, startGateway } from './gateway'
import { LoadClient } from './load-client'
import { lined } from './table'
import { startMock } from './targets'

const CONNECTIONS = 32
/** Requests of each connection before the count, and during it. */
const REPLIES_BEFORE = 300
const REPLIES = 200
/** Time in which the gateway writes its request log, in milliseconds. */
const WRITING_MS = 1_500
const TIMEOUT_MS = 120_000
/** The types in the table are those of which a request creates at least this many. */
const FEWEST = 0.5
const GATEWAY = join(import.meta.dir, '../cli/main.ts')

type Counts = Record<string, number>

/** The objects of each type that the gateway has created. */
async function createdBy(port: number): Promise<Counts> {
  await Bun.sleep(WRITING_MS)
  return (await (await fetch(`http://127.0.0.1:${port}`)).json()) as Counts
}

async function measure(directory: string): Promise<Counts[]> {
  const mock = await startMock(directory)
  const load = new LoadClient(directory)
  const setup = setUpGateway([process.execPath, GATEWAY], directory, mock.port)
  const port = freePort()
  const command = [process.execPath, '--preload', join(import.meta.dir, 'created-objects.ts'), GATEWAY]
  const environment = { BUN_JSC_useGC: '0', CREATED_OBJECTS_PORT: String(port) }
  const { target } = await startGateway({ ...setup, command, environment })
  const counts: Counts[] = []
  for (const answer of [WHOLE, BURST]) {
    const size = { connections: CONNECTIONS, durationMs: TIMEOUT_MS }
    const isStream = answer === BURST
    await load.loop(target, answer, isStream, { ...size, repliesPerConnection: REPLIES_BEFORE })
    const before = await createdBy(port)
    const { report } = await load.loop(target, answer, isStream, { ...size, repliesPerConnection: REPLIES })
    const after = await createdBy(port)
    const created = Object.entries(after).map(([type, count]) => [
      type,
      (count - (before[type] ?? 0)) / report.replies,
    ])
    counts.push(Object.fromEntries(created))
  }
  if (load.faults.length > 0) throw new Error(JSON.stringify(load.faults))
  return counts
}

const directory = mkdtempSync(join(tmpdir(), 'gateway-allocations-'))
try {
  const [whole = {}, streamed = {}] = await measure(directory)
  const types = Object.keys(streamed).filter((type) =>
    [whole, streamed].some((counts) => (counts[type] ?? 0) >= FEWEST),
  )
  types.sort((one, other) => (whole[other] ?? 0) - (whole[one] ?? 0))
  const rows = types.map((type) => [
    type,
    ...[whole, streamed].map((counts) => (counts[type] ?? 0).toFixed(1)),
  ])
  console.log(lined([['objects per request', 'whole answer', 'stream of 100 chunks'], ...rows], 1))
} finally {
  killAll()
  rmSync(directory, { recursive: true, force: true })
}
