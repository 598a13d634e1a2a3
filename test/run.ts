// Runs the tests: `bun test/run.ts` all of them, `bun test/run.ts quick` those that need no PostgreSQL, browser, killed process
// or load, `bun test/run.ts test/cli/commands.test.ts` only the named files. Shared resources are created once and named in the
// environment of all tests: the executable, a browser, a PostgreSQL server, and one folder for everything that tests leave behind.
// Further arguments are passed to `bun test`.

import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism, freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepareBrowser } from './support/browser/browser'
import { type PostgresServer, startPostgres } from './support/databases/postgres'

const ROOT = join(import.meta.dir, '..')
const QUICK = ['architecture.test.ts', 'unit/', 'contract/', 'vendors/']
const ALL = ['architecture.test.ts', 'browser/', 'unit/', 'contract/', 'vendors/', 'scenario/', 'cli/']
/** Only computes, and takes as long as many others together: it runs in parallel with the first ones, which often wait. */
const LONGEST_FILE = 'scenario/simulation.test.ts'
/** Tests that put the machine under load: they run one after another, because two of them would disturb each other. */
const ONE_BY_ONE = ['load/']
/** Tests often wait, so several run in parallel. Each additional process loads and compiles the gateway again. */
const WORKERS_PER_CORE = 3
const MAX_WORKERS = 12
/** Duration of each file, written by `--update-timings`: the longest begin first. */
const TIMINGS = './test/timings.json'
const MEMORY = '/dev/shm'
const MIN_MEMORY_BYTES = 4 * 1024 ** 3
/** Memory for all processes of a run, which release none before they end; all at once take at most 12 GiB. */
const MIN_KEPT_MEMORY_BYTES = 16 * 1024 ** 3
const TIMEOUT_MS = 180_000

const words = Bun.argv.slice(2)
const isQuick = words[0] === 'quick'
/** The named test files: only these run. */
const chosen = words.filter((word) => word.startsWith('test/'))
const more = [
  `--timings=${TIMINGS}`,
  ...words.slice(isQuick ? 1 : 0).filter((word) => !chosen.includes(word)),
]
const folder = mkdtempSync(join(inMemory() ? MEMORY : tmpdir(), 'gateway-tests-'))
// The PostgreSQL server may run as another user, who must be able to reach its folder.
chmodSync(folder, 0o755)
process.env.TMPDIR = folder
const environment: Record<string, string | undefined> = { ...process.env }
// Processes of tests live for seconds: compiling code longer costs more processor time than it saves.
environment.BUN_JSC_useFTLJIT ??= '0'
// Releasing and allocating memory again, or searching it each second for releasable parts, costs a few percent more time.
if (freemem() >= MIN_KEPT_MEMORY_BYTES) {
  environment.MIMALLOC_PURGE_DELAY ??= '-1'
  environment.BUN_GC_TIMER_DISABLE ??= '1'
}
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
let postgres: PostgresServer | undefined
let code = 1
try {
  if (isQuick) environment.TEST_QUICK = '1'
  const preparations = await Promise.allSettled([
    build(),
    isQuick ? undefined : preparePostgres(),
    isQuick ? undefined : prepareBrowser().then((fault = '') => (environment.TEST_BROWSER_FAULT = fault)),
  ])
  // Waits for all of them, so that a server that has started is stopped.
  for (const each of preparations) if (each.status === 'rejected') throw each.reason
  const workers = Math.min(Math.round(WORKERS_PER_CORE * availableParallelism()), MAX_WORKERS)
  // A process keeps its loaded modules for all its files: loading the gateway for each file takes longer than most files.
  const flags = [
    `--parallel=${workers}`,
    '--no-isolate',
    `--path-ignore-patterns=**/${LONGEST_FILE}`,
    ...more,
  ]
  if (chosen.length > 0)
    code = await run(
      more,
      chosen.map((path) => path.slice('test/'.length)),
    )
  else if (isQuick) code = await run(flags, QUICK)
  else {
    const oneByOne = run(more, ONE_BY_ONE)
    const longest = oneByOne.then(() => run(more, [LONGEST_FILE]))
    code = Math.max(...(await Promise.all([longest, oneByOne, run(flags, ALL)])))
  }
  console.log(code === 0 ? 'All tests passed.' : 'Tests failed: look for "(fail)" above.')
  const { TEST_BROWSER_FAULT: fault } = environment
  if (fault) console.log(`The pages in test/browser were not tested: no browser starts here. ${fault}`)
} finally {
  await postgres?.stop()
}
process.exit(code)

/** Whether files fit into memory: syncing a file to a disk hundreds of times a second delays all tests. */
function inMemory(): boolean {
  if (!existsSync(MEMORY)) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  return bavail * bsize >= MIN_MEMORY_BYTES
}

async function build(): Promise<void> {
  const path = join(folder, 'gateway')
  const words = [process.execPath, 'build.ts', '--outfile', path]
  const builder = Bun.spawn(words, { cwd: ROOT, stdout: 'ignore', stderr: 'pipe' })
  const faults = await builder.stderr.text()
  if ((await builder.exited) !== 0) throw new Error(faults)
  environment.TEST_EXECUTABLE = path
}

async function preparePostgres(): Promise<void> {
  postgres = await startPostgres(folder)
  environment.TEST_POSTGRES_URL = postgres.url
}

function run(flags: string[], parts: string[]): Promise<number> {
  const paths = parts.map((part) => `./test/${part}`)
  // A missing part would be omitted silently.
  for (const path of paths) if (!existsSync(join(ROOT, path))) throw new Error(`there is no ${path}`)
  const command = [process.execPath, 'test', '--timeout', String(TIMEOUT_MS), ...flags, ...paths]
  return Bun.spawn(command, { cwd: ROOT, env: environment, stdio: ['inherit', 'inherit', 'inherit'] }).exited
}
