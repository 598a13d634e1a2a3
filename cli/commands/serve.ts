// gateway serve: runs the gateway in the foreground until a signal stops it. It must never cut running answers without
// waiting for them first.

import { defineCommand } from 'citty'
import type { Sandbox } from '../../sandbox'
import { createLogOutput, type LogOutput } from '../../src/app/log'
import type { ReadConfig } from '../../src/app/reload'
import { type Server, startServer } from '../../src/app/server'
import { writeLog } from '../../src/app/world'
import type { Config } from '../../src/config/schema'
import { SchemaRefused } from '../../src/db/schema/rules'
import { assertFree, portOfAddress } from '../../src/listen/listening'
import {
  judgeConfig,
  loadConfig,
  openDataDir,
  type SettingsFlags,
  settingsArgs,
} from '../configuration/settings'
import { notSimulated, simulated } from '../configuration/simulated'
import { prepareDemonstration } from '../lib/demonstration'
import { CommandFailed, databaseLineOf, StartFailed, WrongUsage } from '../lib/errors'
import { makeHistory } from '../lib/sandbox-history'
import { network } from '../lib/upstreams'
import type { Status } from '../process/control-channel'
import { DRAIN_SECONDS_WHEN_REPLACED, openControls } from '../process/controlled-server'
import { notifySystemd } from '../process/notify-systemd'
import { takePassedSocket } from '../process/passed-socket'
import { registerProcess } from '../process/processes'
import { lockDataDir, serveLock } from '../process/serve-lock'
import { openSockets } from '../process/sockets'
import { findPredecessor, succeed } from '../process/take-over'
import { watchConfig } from '../process/watch-config'
import { say } from '../view/output'
import { introduce } from '../view/started-server'

const DEFAULT_HOST = '127.0.0.1'
const DEFAULT_PORT = 8080
const MAX_PORT = 65_535
/** Ports that a sandbox tries if one is taken. */
const MAX_PORTS = 100
/** How long running requests may continue after SIGTERM, in seconds. */
const DRAIN_SECONDS = 30
/** Signals within this time count as one, in milliseconds: a terminal and a script runner may each send it. */
const SAME_SIGNAL_MS = 1_000
/** How long a process may continue after its stop, so that its output is written. */
const LAST_MS = 1_000
const SANDBOX_TOKEN_DELAY_MS = 15
const SERVES_ALREADY = ', give this one another --data-dir, or take its place without a gap with --take-over'

export const serve = defineCommand({
  meta: {
    name: 'serve',
    description: 'Run the gateway until SIGTERM or Ctrl-C.',
    examples: [
      'gateway serve --sandbox',
      'gateway serve --host 0.0.0.0 --port 8080 --config ./gateway.config.ts',
    ],
  },
  args: {
    host: { type: 'string', valueHint: 'H', description: `Address to listen on (default ${DEFAULT_HOST})` },
    port: {
      type: 'string',
      valueHint: 'P',
      description: `Port to listen on, 0 for any free one (default ${DEFAULT_PORT})`,
    },
    'take-over': {
      type: 'boolean',
      description: 'Replace the gateway that serves from this data directory, without a gap',
    },
    sandbox: {
      type: 'boolean',
      description: 'Serve everything from simulated vendors: no vendor key, no internet',
    },
    ...settingsArgs,
  },
  async run({ args }) {
    // Needed until there is something to reload: without a listener the signal ends the process.
    process.on('SIGHUP', () => {})
    const serving = await start(args).catch((error) => {
      throw error instanceof WrongUsage ? error : new StartFailed(error)
    })
    await serving.stopped
    await serving.closeControl()
    // A connection to a database that does not answer would keep the process alive.
    setTimeout(() => process.exit(), LAST_MS).unref()
  },
})

interface ServeFlags extends SettingsFlags {
  host?: string | undefined
  port?: string | undefined
  'take-over'?: boolean | undefined
  json?: boolean | undefined
}

/** Starts to serve, and says so. */
async function start(args: ServeFlags): Promise<{ stopped: Promise<void>; closeControl(): Promise<void> }> {
  const flagPort = portOf('--port', args.port) ?? portOf('GATEWAY_PORT', process.env.GATEWAY_PORT)
  const { config, file } = await loadConfig(args)
  const dataDir = openDataDir(args)
  const predecessor = args['take-over'] ? await findPredecessor(dataDir) : undefined
  let unlock = predecessor ? undefined : lockDataDir(dataDir, SERVES_ALREADY)
  const sandbox = args.sandbox
    ? (await import('../../sandbox')).startSandbox({ tokenDelayMs: SANDBOX_TOKEN_DELAY_MS, anyModel: true })
    : undefined
  const { log, requests } = logOf(config)
  const inForce = (read: Config) => (sandbox ? simulated(read, sandbox) : read)
  const flagHost = args.host || process.env.GATEWAY_HOST
  const passed = takePassedSocket(process.env)
  const sockets = openSockets(passed?.descriptor)
  const isFixed = !sandbox || predecessor !== undefined || passed !== undefined
  const ownPort = flagPort ?? (isFixed ? undefined : portBesideTaken(config, flagHost))
  const server = await listen({
    config: inForce(config),
    dataDir,
    placeOf: ({ server: { host = DEFAULT_HOST, port = DEFAULT_PORT, unixSocket } = {} }) => ({
      hostname: passed?.hostname ?? (flagHost || host),
      // Port 0 stays the port that the system chose for the first listener.
      port: passed?.port ?? ((ownPort ?? port) || portOfAddress(predecessor?.url ?? '') || 0),
      unixSocket: passed || flagHost || flagPort !== undefined ? undefined : unixSocket,
    }),
    readConfig: readerOf({ ...args, config: file }, inForce),
    processes: registerProcess(dataDir),
    predecessor,
    outside: { ...network(), environment: process.env, log, logRequests: requests },
    sockets,
    passed,
    processFigures,
    ...(sandbox ? { mark: { 'x-gateway-sandbox': 'true' }, makeHistory } : {}),
  })
  const running = { server, sandbox }
  if (predecessor) unlock = await orStopped(running, () => succeedAsMain(dataDir, predecessor))
  // Until it is ready a signal ends the process at once, and no stop closes the database meanwhile.
  const demonstration = sandbox ? await orStopped(running, () => prepareDemonstration(server)) : undefined
  const leaving = Promise.withResolvers<void>()
  // Set before anybody can see that it runs: until then a signal ends it at once.
  const stopped = stopOnSignal(server, sandbox, leaving.promise)
  // Also sent when the terminal closes, which must not cut running answers.
  process.on('SIGHUP', () => void server.reload('SIGHUP'))
  const lock = serveLock(dataDir, () => unlock?.())
  const control = { dataDir, file, leaving, lock, isPassed: passed !== undefined, log }
  const closeControl = openControls(server, control)
  notifySystemd('READY=1')
  watchConfig(file, server)
  const unknown = sandbox ? notSimulated(server.world.config, sandbox) : []
  introduce(server, { file, dataDir, demonstration, notSimulated: unknown, flags: args }, sockets)
  return { stopped, closeControl }
}

/**
 * The next free port if the configured one is taken, for a sandbox, which should always start; undefined if the configuration names
 * no port, or a free one.
 */
function portBesideTaken({ server }: Config, flagHost: string | undefined): number | undefined {
  const { host = DEFAULT_HOST, port: wanted = DEFAULT_PORT, unixSocket } = server ?? {}
  if (unixSocket && !flagHost) return undefined
  for (let port = wanted; port < wanted + MAX_PORTS && port <= MAX_PORT; port++) {
    try {
      assertFree({ hostname: flagHost || host, port })
    } catch (error) {
      if ((error as { code?: string }).code === 'EADDRINUSE') continue
      return undefined
    }
    if (port === wanted) return undefined
    say(`Port ${wanted} is in use: the sandbox listens on ${port}. Choose another with --port.`)
    return port
  }
  return undefined
}

/** The log on standard error: for people on a terminal, otherwise for programs. */
function logOf(config: Config): LogOutput {
  const format = process.stderr.isTTY ? 'text' : 'json'
  return createLogOutput(config, { write: writeLog, format, wall: Date.now })
}

function processFigures() {
  const { user, system } = process.cpuUsage()
  return { residentBytes: process.memoryUsage.rss(), cpuSeconds: (user + system) / 1e6 }
}

async function listen(options: Parameters<typeof startServer>[0]): Promise<Server> {
  const { hostname, port } = options.placeOf(options.config)
  try {
    return await startServer(options)
  } catch (error) {
    const { code, syscall } = error as { code?: string; syscall?: string }
    if (code === 'EADDRINUSE') {
      throw new CommandFailed(`Port ${port} on ${hostname} is in use: choose another with --port.`)
    }
    // A name that does not resolve gives ENOENT.
    if (syscall === 'listen' && (code === 'EADDRNOTAVAIL' || code === 'ENOENT')) {
      throw new CommandFailed(
        `This machine has no address ${hostname} to listen on: choose another with --host.`,
      )
    }
    if (error instanceof SchemaRefused) throw error
    throw new CommandFailed(`The gateway cannot start: ${databaseLineOf(error)}`)
  }
}

/**
 * Takes the place of another process, also as the main process for systemd, before the other process ends: the service ends with
 * its main process. Returns how to unlock the data directory.
 */
async function succeedAsMain(dataDir: string, predecessor: Status): Promise<() => void> {
  notifySystemd(`MAINPID=${process.pid}`)
  try {
    return await succeed(dataDir)
  } catch (error) {
    notifySystemd(`MAINPID=${predecessor.pid}`)
    throw error
  }
}

/** Runs what a server needs to be complete; without it, the server and its sandbox are stopped. */
async function orStopped<Result>(
  { server, sandbox }: { server: Server; sandbox: Sandbox | undefined },
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    await server.stop(0)
    await sandbox?.stop()
    throw error
  }
}

/** Reads the configuration again: the original file, so that a lost one is not mistaken for none. */
function readerOf(flags: SettingsFlags, inForce: (config: Config) => Config): ReadConfig {
  return async () => {
    const { value, faults } = await judgeConfig(flags)
    return faults.length > 0 ? { faults } : { config: inForce(value as Config) }
  }
}

function portOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > MAX_PORT)
    throw new WrongUsage(`${name} takes a number from 0 to 65535, not "${text}".`)
  return port
}

/**
 * Resolves when the gateway has stopped, by a signal or because another one has taken over. Another signal, more than a
 * second later, stops it within seconds.
 */
async function stopOnSignal(
  server: Server,
  sandbox: Sandbox | undefined,
  isLeft: Promise<void>,
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    let stoppingSince: number | undefined
    const stop = async (what: string, seconds: number) => {
      say(`${what}: no new requests; waiting for the running ones.`)
      try {
        const cut = await server.stop((server.world.config.server?.drainSeconds ?? seconds) * 1000)
        if (cut > 0) say(`Requests that were cut and settled: ${cut}.`)
        await sandbox?.stop()
        resolve()
      } catch (error) {
        reject(error)
      }
    }
    const stopBy = async (signal: NodeJS.Signals) => {
      const now = performance.now()
      if (stoppingSince !== undefined) {
        if (now - stoppingSince <= SAME_SIGNAL_MS) return
        // Running requests are cut off. Delivered output is paid first, or recorded on disk to be paid at the next start.
        process.exitCode = 1
        await server.stopNow()
        process.exit(1)
      }
      stoppingSince = now
      // A new line after the ^C that the terminal shows.
      if (signal === 'SIGINT' && process.stderr.isTTY) say('')
      await stop('Stopping', DRAIN_SECONDS)
    }
    process.on('SIGTERM', stopBy)
    process.on('SIGINT', stopBy)
    void isLeft.then(() => stop('Another gateway has taken over', DRAIN_SECONDS_WHEN_REPLACED))
  })
}
