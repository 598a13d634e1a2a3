// The command line of the bench, and how much work a quick and a full run do. It must never start anything.
import { parseArgs } from 'node:util'

const SUBJECTS = [
  'start',
  'cpu',
  'latency',
  'throughput',
  'streams',
  'native',
  'translation',
  'cache',
  'affinity',
  'spenders',
  'parts',
  'cuts',
  'tasks',
  'hostile',
  'nodes',
  'history',
] as const
export type Subject = (typeof SUBJECTS)[number]

export interface Options {
  gatewayCommand: string[]
  quick: boolean
  json: boolean
  subjects: readonly Subject[]
  temporaryDirectory: string | undefined
  amounts: Amounts
}

export interface Amounts {
  starts: number
  rounds: number
  /** Warm-up for each target and kind of answer, in which the runtime compiles hot code. */
  warmUpMs: number
  wholeMs: number
  burstMs: number
  pacedConnections: number
  pacedStreamsPerConnection: number
  singleConnectionMs: number
  throughputRounds: number
  throughputMs: number
  manyStreamsPerConnection: number
  cutStreams: number
  cutWarmUpStreams: number
  /** Pause between the last request and a reading of memory, for idle workers to stop. */
  settleMs: number
  openTasks: number
  pollingMs: number
  endingTasks: number
  chatBeforeMs: number
  /** Time under each of the hostile bodies. */
  hostileMs: number
  /** How often all processes are restarted to measure the parts. */
  partsGenerations: number
  partsWarmUpMs: number
  partsMs: number
  nodeRounds: number
  nodesMs: number
  /** Charges of the history, over two years. */
  historyCharges: number
}

const FULL: Amounts = {
  starts: 7,
  rounds: 5,
  warmUpMs: 8000,
  wholeMs: 2500,
  burstMs: 2500,
  pacedConnections: 200,
  pacedStreamsPerConnection: 2,
  singleConnectionMs: 2000,
  throughputRounds: 3,
  throughputMs: 3000,
  manyStreamsPerConnection: 3,
  cutStreams: 20_000,
  cutWarmUpStreams: 2000,
  settleMs: 15_000,
  openTasks: 10_000,
  pollingMs: 40_000,
  endingTasks: 5000,
  chatBeforeMs: 10_000,
  hostileMs: 10_000,
  partsGenerations: 12,
  partsWarmUpMs: 7000,
  partsMs: 16_000,
  nodeRounds: 4,
  nodesMs: 4000,
  historyCharges: 10_000_000,
}

const QUICK: Amounts = {
  starts: 3,
  rounds: 2,
  warmUpMs: 800,
  wholeMs: 700,
  burstMs: 700,
  pacedConnections: 100,
  pacedStreamsPerConnection: 1,
  singleConnectionMs: 500,
  throughputRounds: 2,
  throughputMs: 700,
  manyStreamsPerConnection: 1,
  cutStreams: 2000,
  cutWarmUpStreams: 500,
  settleMs: 3000,
  openTasks: 10_000,
  pollingMs: 8000,
  endingTasks: 1000,
  chatBeforeMs: 3000,
  hostileMs: 3000,
  partsGenerations: 2,
  partsWarmUpMs: 2000,
  partsMs: 6000,
  nodeRounds: 2,
  nodesMs: 2000,
  historyCharges: 1_000_000,
}

export const USAGE = `bun bench/main.ts [options]

  --quick             less of everything; under two minutes
  --only A,B          only these subjects: ${SUBJECTS.join(', ')}
  --cuts N            how many streams are cut (default ${FULL.cutStreams}, quick ${QUICK.cutStreams})
  --gateway COMMAND   how to run the gateway (default dist/gateway; from source: "bun cli/main.ts")
  --temp DIR          where the run keeps its files (default the system's temporary directory)
  --json              the raw figures instead of the table
`

/** Reads the options. Throws with a sentence for the user. */
export function readOptions(argv: string[]): Options | 'help' {
  const { values } = parseArgs({
    args: argv,
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      only: { type: 'string', default: SUBJECTS.join(',') },
      gateway: { type: 'string', default: 'dist/gateway' },
      temp: { type: 'string' },
      cuts: { type: 'string' },
    },
  })
  if (values.help) return 'help'
  const amounts = values.quick ? QUICK : FULL
  const cutStreams = values.cuts === undefined ? amounts.cutStreams : Number(values.cuts)
  if (!Number.isSafeInteger(cutStreams) || cutStreams < 1 || cutStreams > 1_000_000) {
    throw new Error('--cuts wants a whole number from 1 to 1000000')
  }
  return {
    gatewayCommand: values.gateway.split(/\s+/).filter((word) => word !== ''),
    quick: values.quick,
    json: values.json,
    subjects: readSubjects(values.only),
    temporaryDirectory: values.temp,
    amounts: { ...amounts, cutStreams },
  }
}

function readSubjects(list: string): Subject[] {
  return list.split(',').map((name) => {
    const subject = SUBJECTS.find((known) => known === name.trim())
    if (subject === undefined) throw new Error(`--only knows ${SUBJECTS.join(', ')}, not "${name}"`)
    return subject
  })
}
