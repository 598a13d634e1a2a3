// gateway serve: runs the gateway in the foreground until it is told to stop.

import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { defineCommand } from 'citty'
import type { Config } from '../src/config'
import { createKey, findKey, makeSecret, rollKey } from '../src/keys'
import { addCredit } from '../src/ledger'
import { NANO_PER_USD } from '../src/lib/money'
import { type Sandbox, startSandbox } from '../src/sandbox'
import { type Server, startServer } from '../src/server'
import { makeDataDir, newId } from '../src/world'
import { liftConnectionLimit } from './connections'
import { CommandFailed, WrongUsage } from './run'
import { dataDirOf, loadConfig, settingsArgs } from './settings'

const DEFAULT_HOST = '127.0.0.1'
const DEFAULT_PORT = 8080
/** How long running requests may go on after SIGTERM. */
const GRACE_MS = 30_000
const DEMO_KEY = 'demo'
const DEMO_BALANCE_NANO = 10 * NANO_PER_USD
const SANDBOX_TOKEN_DELAY_MS = 15

export const serve = defineCommand({
  meta: {
    name: 'serve',
    description: 'Run the gateway until SIGTERM or Ctrl-C.',
    ...{
      examples: [
        'gateway serve --sandbox',
        'gateway serve --host 0.0.0.0 --port 8080 --config ./gateway.config.ts',
      ],
    },
  },
  args: {
    ...settingsArgs,
    host: { type: 'string', valueHint: 'H', description: `Address to listen on (default ${DEFAULT_HOST})` },
    port: { type: 'string', valueHint: 'P', description: `Port to listen on (default ${DEFAULT_PORT})` },
    sandbox: {
      type: 'boolean',
      description: 'Serve everything from simulated vendors: no vendor key, no internet',
    },
  },
  async run({ args }) {
    await liftConnectionLimit()
    const sandboxed = args.sandbox === true
    const { config, file } = await loadConfig(args)
    const dataDir = dataDirOf(args, sandboxed)
    makeDataDir(dataDir)
    lockDataDir(dataDir)
    const sandbox = sandboxed ? startSandbox({ tokenDelayMs: SANDBOX_TOKEN_DELAY_MS }) : undefined
    const server = await listen({
      config: sandbox ? simulated(config, sandbox) : config,
      dataDir,
      host: args.host ?? process.env.GATEWAY_HOST ?? config.server?.host ?? DEFAULT_HOST,
      port: portOf(args.port ?? process.env.GATEWAY_PORT) ?? config.server?.port ?? DEFAULT_PORT,
      ...(sandbox ? { mark: { 'x-gateway-sandbox': 'true' } } : {}),
    })
    console.log(await introduction(server, { file, dataDir, sandboxed }))
    await stopOnSignal(server, sandbox)
  },
})

async function listen(options: Parameters<typeof startServer>[0]): Promise<Server> {
  try {
    return await startServer(options)
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === 'EADDRINUSE') {
      throw new CommandFailed(
        `Port ${options.port} on ${options.host} is in use: choose another with --port.`,
      )
    }
    throw new CommandFailed(`The gateway cannot start: ${error instanceof Error ? error.message : error}`)
  }
}

/** One server a data directory: the lock is the operating system's, so it cannot outlive a process that was killed. */
function lockDataDir(dataDir: string): void {
  const lock = new Database(join(dataDir, 'serve.lock'), { create: true })
  try {
    lock.run('pragma locking_mode = exclusive')
    lock.run('begin exclusive')
    // Kept open as long as the process lives.
    process.on('exit', () => lock.close())
  } catch {
    throw new CommandFailed(
      `Another gateway is serving from ${dataDir}. Stop it first, or give this one another --data-dir.`,
    )
  }
}

/** The same catalogue with every vendor simulated; servers that speak OpenAI's API are simulated as OpenAI. */
function simulated(config: Config, sandbox: Sandbox): Config {
  const { database: _, ...rest } = config
  const upstreams = Object.entries(config.upstreams).map(([name, upstream]) => {
    const vendor = upstream.kind as keyof Sandbox['baseUrls']
    return [name, { ...upstream, baseUrl: sandbox.baseUrls[vendor], apiKey: sandbox.secrets[vendor] }]
  })
  return { ...rest, upstreams: Object.fromEntries(upstreams) }
}

async function introduction(
  server: Server,
  { file, dataDir, sandboxed }: { file: string | undefined; dataDir: string; sandboxed: boolean },
): Promise<string> {
  const { catalogue, config } = server.world
  const lines = [
    `Gateway listening on ${server.url}${sandboxed ? ' (sandbox: all vendors are simulated)' : ''}`,
    `  configuration  ${file ?? 'built in'}`,
    `  data           ${config.database ? 'PostgreSQL' : dataDir}`,
    `  models         ${[...catalogue.models.keys()].join(', ') || 'none'}`,
  ]
  for (const [reason, models] of Map.groupBy(catalogue.hidden, ([, why]) => why)) {
    lines.push(`  not available  ${models.map(([id]) => id).join(', ')}: ${reason}`)
  }
  if (sandboxed) lines.push('', 'Try it:', '', ...(await demonstration(server)))
  else lines.push('', 'Make a key with: gateway keys create NAME --balance 5')
  return lines.join('\n')
}

/** A key with a balance, and a line to paste that uses it. The secret is new at every start: only its hash is kept. */
async function demonstration({ world, url }: Server): Promise<string[]> {
  const { db, now } = world
  const secret = makeSecret((count) => crypto.getRandomValues(new Uint8Array(count)))
  const key = await findKey(db, DEMO_KEY)
  if (key) {
    await rollKey(db, key.id, secret)
  } else {
    await createKey(db, {
      id: newId('key'),
      name: DEMO_KEY,
      account: DEMO_KEY,
      secret,
      createdAt: now(),
      models: null,
      requestsPerMinute: null,
      tokensPerMinute: null,
      concurrency: null,
      budgetNano: null,
      budgetPeriod: null,
      expiresAt: null,
    })
  }
  const deposit = { account: DEMO_KEY, amountNano: DEMO_BALANCE_NANO, now: now(), note: 'sandbox start' }
  await addCredit(db, { id: newId('tr'), ...deposit })
  const model = [...world.catalogue.models.values()].find(({ family }) => family.operation === 'chat')
  if (!model) throw new CommandFailed('The configuration has no chat model to try.')
  const body = JSON.stringify({
    model: model.id,
    stream: true,
    messages: [{ role: 'user', content: 'Hello!' }],
  })
  return [
    `curl -N ${url}/v1/chat/completions -H 'Authorization: Bearer ${secret}' -H 'Content-Type: application/json' -d '${body}'`,
  ]
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65535)
    throw new WrongUsage(`--port takes a number from 0 to 65535, not "${text}".`)
  return port
}

/** Resolves when the gateway has stopped. A second signal stops it at once. */
async function stopOnSignal(server: Server, sandbox: Sandbox | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    let stopping = false
    const stop = async () => {
      if (stopping) process.exit(1)
      stopping = true
      console.error('Stopping: no new requests; waiting for the running ones.')
      const cut = await server.stop(GRACE_MS)
      if (cut > 0) console.error(`${cut} requests were cut and settled.`)
      await sandbox?.stop()
      resolve()
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
  })
}
