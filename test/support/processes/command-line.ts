// Command lines as a shell runs them: real processes in their own folder, where they find their configuration. The environment of
// the tests must not affect a command.

import { expect } from 'bun:test'
import { join, resolve } from 'node:path'
import { whenTestsEnd } from '../ending'
import { waitFor } from '../gateway'
import type { Json } from '../scenario'
import { type CommandShell, openCommandShell } from './command-shell'

/** The program under test: the executable of the whole run, or the source if a file runs by itself. */
export const PROGRAM: readonly string[] = process.env.TEST_EXECUTABLE
  ? [process.env.TEST_EXECUTABLE]
  : [process.execPath, resolve(import.meta.dir, '../../../cli/main.ts')]

/**
 * Settings of the runtime for a process that a test starts with these arguments. A command ends before compiled code pays off:
 * without compilation it takes half of the processor time. A test's server lives for seconds, so only quick compilation pays off.
 */
export function runtimeFor(words: readonly string[]): Record<string, string> {
  return words[0] === 'serve' ? { BUN_JSC_useDFGJIT: '0' } : { BUN_JSC_useJIT: '0' }
}

export interface Ran {
  code: number
  stdout: string
  stderr: string
}

interface RunOptions {
  env?: Record<string, string>
  cwd?: string
}

export interface Lines {
  /** Runs these arguments unchanged. */
  call(words: string[], options?: RunOptions): Promise<Ran>
  /** A line as typed; single quotes keep words together. */
  run(line: string, data?: string): Promise<Ran>
  /** The one document that a command prints with --json. */
  json(line: string, data?: string): Promise<Json>
}

export interface CommandLine extends Lines {
  environment(more?: Record<string, string>): Record<string, string>
  /**
   * Runs lines one after another in one process, for tables of lines. The process reads each configuration file once, and keeps the
   * locks of its commands.
   */
  inShell: Lines
  /** Runs the arguments on a terminal of 80 columns, and returns everything that it shows. */
  onTerminal(words: string[], env?: Record<string, string>): Promise<string>
  /**
   * Runs lines that must fail, each with the expected text on standard error and nothing on standard output: the first as a process
   * of its own, the others of a long table in the shell.
   */
  allFail(code: number, rows: readonly (readonly [string, string])[], data?: string): Promise<void>
}

/** The line on standard error of a command that writes. */
export const WRITTEN = /^Written to \S.*\.\n/m

/** Starting a shell takes as long as starting a few processes. */
const MIN_TABLE_ROWS = 6
/** More processes at a time would only wait for each other. */
const PARALLEL = 6
let free = PARALLEL
const waiting: (() => void)[] = []

/** `flags` are added to each line. */
export function createCommandLine(
  folder: string,
  dataDir = join(folder, 'data'),
  flags: readonly string[] = [],
): CommandLine {
  const environment: CommandLine['environment'] = (more = {}) => ({
    PATH: process.env.PATH ?? '',
    HOME: folder,
    XDG_DATA_HOME: join(folder, 'share'),
    ...more,
  })

  const call: Lines['call'] = async (words, { env, cwd = folder } = {}) => {
    if (free > 0) free--
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await spawn([...PROGRAM, ...words], cwd, environment({ ...runtimeFor(words), ...env }))
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free++
    }
  }

  let shell: CommandShell | undefined
  let last: Promise<unknown> = Promise.resolve()
  const callInShell = (words: string[]): Promise<Ran> => {
    if (!shell) {
      const opened = openCommandShell(folder, environment())
      whenTestsEnd(() => opened.end())
      shell = opened
    }
    const { run } = shell
    const ran = last.then(() => run(words))
    last = ran.catch(() => {})
    return ran
  }

  const real = linesOf(call, dataDir, flags)
  const inShell = linesOf(callInShell, dataDir, flags)
  return {
    environment,
    ...real,
    inShell,
    onTerminal: (words, env) =>
      runOnTerminal(words, folder, environment({ ...runtimeFor(words), TERM: 'xterm', ...env })),
    async allFail(code, rows, data) {
      await Promise.all(
        rows.map(async ([line, words], place) => {
          const isReal = place === 0 || rows.length < MIN_TABLE_ROWS
          const ran = await (isReal ? real : inShell).run(line, data)
          expect({ line, ...ran }).toEqual({
            line,
            code,
            stdout: '',
            stderr: expect.stringContaining(words),
          })
          expect({ line, hasStack: /\n\s+at /.test(ran.stderr) }).toEqual({ line, hasStack: false })
        }),
      )
    },
  }
}

/** Runs the arguments on a terminal of 80 columns, and returns everything that it shows. */
async function runOnTerminal(words: string[], cwd: string, env: Record<string, string>): Promise<string> {
  let shown = ''
  const decoder = new TextDecoder()
  const data = (_: unknown, bytes: Uint8Array) => {
    shown += decoder.decode(bytes)
  }
  const options = { cwd, env, terminal: { cols: 80, rows: 24, data } }
  await Bun.spawn([...PROGRAM, ...words], options as object).exited
  // The last output of the process may still be on its way.
  await waitFor(() => shown.endsWith('\n'))
  return shown
}

function linesOf(call: Lines['call'], dataDir: string, flags: readonly string[]): Lines {
  const run: Lines['run'] = (line, data = dataDir) => {
    const words = [...line.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word)
    const end = words.indexOf('--')
    words.splice(end === -1 ? words.length : end, 0, '--data-dir', data, ...flags)
    return call(words)
  }
  return {
    call,
    run,
    async json(line, data) {
      const { code, stdout, stderr } = await run(`${line} --json`, data)
      // A command that writes prints only where.
      expect({ line, code, stderr: stderr.replace(WRITTEN, '') }).toEqual({ line, code: 0, stderr: '' })
      return JSON.parse(stdout)
    },
  }
}

async function spawn(words: string[], cwd: string, env: Record<string, string>): Promise<Ran> {
  const child = Bun.spawn(words, { cwd, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, stdout, stderr }
}
