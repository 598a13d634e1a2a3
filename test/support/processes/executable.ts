// The compiled executable as an operator runs it: built once, run as a server that can be killed, and queried through its own
// commands. Its vendors are a sandbox in the process of the tests, which counts their requests across crashes.

import { expect } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Subprocess } from 'bun'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../sandbox'
import { audit } from '../../../src/billing/proofs/audit'
import type { Db, Row } from '../../../src/db/db'
import { openAddress, temporaryFolder } from '../databases/databases'
import { whenTestsEnd } from '../ending'
import { say, type TestGatewayOptions, testConfig } from '../gateway'
import { runtimeFor } from './command-line'

const ROOT = join(import.meta.dir, '..', '..', '..')
/** Generous, because the machine may be busy. */
const START_DEADLINE_MS = 30_000
const COMMAND_DEADLINE_MS = 120_000

export interface Finished {
  code: number | null
  /** The signal that ended it. */
  signal: NodeJS.Signals | number | null
  stdout: string
  stderr: string
}

export interface Running {
  url: string
  pid: number
  /** Everything that it has printed so far. */
  stdout(): string
  stderr(): string
  kill(signal: NodeJS.Signals): void
  ended: Promise<Finished>
}

export interface StartOptions {
  cwd?: string
  environment?: Record<string, string>
  /** Default: any free port. */
  port?: number
  /** Whether it listens at the address in the configuration instead of on a port. */
  isPlaceConfigured?: boolean
  /** More flags of `serve`. */
  flags?: string[]
  /** Lines for a shell that then becomes the executable, such as limits of the process. */
  before?: string
  /** A file descriptor of this process that the child gets as number 3. */
  passed?: number
}

/** A place where the executable is installed: its configuration, its data, and simulated vendors. */
export interface Installation {
  sandbox: Sandbox
  /** The executable. */
  path: string
  dataDir: string
  configFile: string
  /** Runs a command such as `keys list`. */
  command(words: string[], options?: Pick<StartOptions, 'cwd' | 'environment'>): Promise<Finished>
  /** Runs a command with --json; fails unless the command succeeds. */
  // biome-ignore lint/suspicious/noExplicitAny: each command has its own document, and the tests say what they expect of it
  json(...words: string[]): Promise<any>
  /** Creates a key on an account of the same name and returns the secret. */
  makeKey(name: string, balance: string, ...flags: string[]): Promise<string>
  /** Starts `gateway serve` on a free port and waits until it listens. */
  serve(options?: StartOptions): Promise<Running>
  /** Starts `gateway serve` and waits until it has ended, for a start that must fail. */
  serveUntilRefused(options?: StartOptions): Promise<Finished>
  /** Reads the database while a server runs. */
  rows(sql: string, ...parameters: (string | number)[]): Promise<Row[]>
  /** The faults in the books. */
  problems(): Promise<string[]>
}

let built: Promise<string> | undefined

/** The path of the executable: that of the whole run, or one built when the first test of a file needs it. */
export function executable(): Promise<string> {
  const { TEST_EXECUTABLE: shared } = process.env
  if (shared !== undefined) return Promise.resolve(shared)
  if (!built) {
    built = build()
    whenTestsEnd(() => {
      built = undefined
    })
  }
  return built
}

async function build(): Promise<string> {
  const path = join(temporaryFolder(), 'gateway')
  const builder = Bun.spawn([process.execPath, 'build.ts', '--outfile', path], {
    cwd: ROOT,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const { code, stderr } = await finish(builder)
  if (code !== 0) throw new Error(stderr)
  return path
}

export async function install(
  options: Omit<TestGatewayOptions, 'sandbox'> & { vendors?: SandboxOptions } = {},
): Promise<Installation> {
  const path = await executable()
  const sandbox = startSandbox({ record: true, ...options.vendors })
  whenTestsEnd(() => sandbox.stop())
  const folder = temporaryFolder()
  const dataDir = join(folder, 'data')
  const configFile = join(folder, 'gateway.config.ts')
  const { databaseUrl } = options
  writeFileSync(configFile, `export default ${JSON.stringify(testConfig(sandbox, options, databaseUrl))}\n`)
  const settings = ['--config', configFile, '--data-dir', dataDir]

  function run(
    words: string[],
    { cwd = folder, environment = {}, before = '', passed }: StartOptions = {},
  ): Subprocess {
    const command = [path, ...words, ...settings]
    const child = Bun.spawn(before ? ['sh', '-c', `${before}\nexec "$@"`, 'sh', ...command] : command, {
      cwd,
      // Nothing from the tester's own environment: a key or a data directory in it would change the test.
      env: { PATH: process.env.PATH, HOME: folder, ...runtimeFor(words), ...environment },
      stdio: ['ignore', 'pipe', 'pipe', ...(passed === undefined ? [] : [passed])],
    })
    whenTestsEnd(() => killed(child))
    return child
  }

  async function command(words: string[], options: Pick<StartOptions, 'cwd' | 'environment'> = {}) {
    const child = run(words, options)
    const deadline = setTimeout(() => child.kill('SIGKILL'), COMMAND_DEADLINE_MS)
    return finish(child).finally(() => clearTimeout(deadline))
  }

  async function json(...words: string[]) {
    const { code, stdout, stderr } = await command([...words, '--json'])
    if (code !== 0) throw new Error(`gateway ${words.join(' ')}: exit ${code}\n${stdout}${stderr}`)
    return JSON.parse(stdout)
  }

  async function withDb<Result>(work: (db: Db) => Promise<Result>): Promise<Result> {
    const db = openAddress(databaseUrl ?? join(dataDir, 'gateway.sqlite'))
    try {
      return await work(db)
    } finally {
      await db.close()
    }
  }

  return {
    sandbox,
    path,
    dataDir,
    configFile,
    command,
    json,
    async makeKey(name, balance, ...flags) {
      const { key } = await json('keys', 'create', name, '--balance', balance, ...flags)
      return key
    },
    serve: (options = {}) => listening(run(serveWords(options), options)),
    serveUntilRefused: (options = {}) => finish(run(serveWords(options), options)),
    rows: (sql, ...parameters) => withDb((db) => db.query({ sql, parameters })),
    problems: () => withDb(async (db) => (await audit(db, Date.now())).problems),
  }
}

/** The command that starts a server. */
const serveWords = ({ port = 0, isPlaceConfigured = false, flags = [] }: StartOptions) => [
  'serve',
  ...(isPlaceConfigured ? [] : ['--port', String(port)]),
  ...flags,
]

/** Waits for the line that says where the gateway listens. */
async function listening(child: Subprocess): Promise<Running> {
  const stdout = follow(child.stdout)
  const stderr = follow(child.stderr)
  const ended = child.exited.then(async (): Promise<Finished> => {
    await Promise.all([stdout.end, stderr.end])
    return { code: child.exitCode, signal: child.signalCode, stdout: stdout.text(), stderr: stderr.text() }
  })
  const deadline = performance.now() + START_DEADLINE_MS
  for (;;) {
    const url = /^Gateway listening on ((?:https?|unix):\S+)/m.exec(stdout.text())?.[1]
    if (url) {
      return {
        url,
        pid: child.pid,
        stdout: stdout.text,
        stderr: stderr.text,
        kill: (signal) => child.kill(signal),
        ended,
      }
    }
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > deadline) {
      child.kill('SIGKILL')
      const { code, signal, stderr: reason } = await ended
      throw new Error(`the gateway did not start: exit ${code} ${signal ?? ''}\n${reason}`)
    }
    await Bun.sleep(2)
  }
}

/** Collects the output of a process while it runs. */
function follow(stream: Subprocess['stdout']): { text: () => string; end: Promise<void> } {
  let text = ''
  const read = async () => {
    if (!(stream instanceof ReadableStream)) return
    const decoder = new TextDecoder()
    for await (const piece of stream) text += decoder.decode(piece, { stream: true })
  }
  return { text: () => text, end: read() }
}

async function finish(child: Subprocess): Promise<Finished> {
  const [stdout, stderr] = await Promise.all(
    [child.stdout, child.stderr].map((stream) => new Response(stream as ReadableStream).text()),
  )
  await child.exited
  return { code: child.exitCode, signal: child.signalCode, stdout: stdout ?? '', stderr: stderr ?? '' }
}

/** Stops a server as an operator does, and fails unless it exits cleanly and leaves correct books. */
export async function stopWell(installation: Installation, server: Running): Promise<void> {
  server.kill('SIGTERM')
  const { code, signal, stderr } = await server.ended
  expect({ code, signal, stderr }).toMatchObject({ code: 0, signal: null })
  expect(await installation.rows(`select id from charges where state = 'held'`)).toEqual([])
  expect(await installation.problems()).toEqual([])
}

/** A chat request to a running server. */
export function ask(
  { url }: Pick<Running, 'url'>,
  secret: string,
  body: Record<string, unknown> = {},
  options: { headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...options.headers },
    body: JSON.stringify({ model: 'test-chat', messages: say('Hello!'), ...body }),
    ...(options.signal ? { signal: options.signal } : {}),
  })
}

/** An empty folder, for the working directory of a child. */
export function emptyFolder(): string {
  const folder = join(temporaryFolder(), 'empty')
  mkdirSync(folder)
  return folder
}

function killed(child: Subprocess): Promise<number> {
  child.kill('SIGKILL')
  return child.exited
}

/** Whether a process lives, including one that was not started here. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
