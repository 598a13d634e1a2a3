// Runs the gateway as an operator would: a config file, a separate data directory, a key with a balance, and every feature at its
// default, including the durable ledger. It must never disable anything to look better.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Child, freePort } from './children'
import { BURST, CACHED, EQUAL, gatewayModel, PACED, PREFERRED, VIDEO, vendorModel, WHOLE } from './exchange'
import { DIALECTS, type NativeDialect, nativeAnswer } from './native-streams'
import type { Target } from './targets'

/** A key like those of vendors: a short key that looks like a word would be searched for in each event. */
const VENDOR_KEY = 'sk-mock-Zq4Yx7Wm2Vn9Bk5Lt8Rc3Hd6Jf1Gs0Pa'

export interface GatewaySetup {
  command: string[]
  directory: string
  flags: string[]
  key: string
  /** Further variables of the server's environment. */
  environment?: Record<string, string>
}

export interface GatewayStart {
  target: Target
  child: Child
  /** Time from the start of the process to the first answer with status 200. */
  healthMs: number
  modelsMs: number
}

export function setUpGateway(
  command: string[],
  directory: string,
  mockPort: number,
  settings: object = {},
): GatewaySetup {
  const [executable = ''] = command
  if (Bun.which(executable) === null) {
    throw new Error(
      `there is no ${executable}: build it with \`bun run build\`, or say what to run by --gateway`,
    )
  }
  mkdirSync(directory, { recursive: true })
  const configFile = join(directory, 'gateway.config.ts')
  writeFileSync(
    configFile,
    `export default ${JSON.stringify({ ...config(mockPort), ...settings }, null, 2)}\n`,
  )
  const flags = ['--config', configFile, '--data-dir', join(directory, 'data')]
  return {
    command,
    directory,
    flags,
    key: createKey({ command, flags }, `bench-${Bun.randomUUIDv7()}`, '1000000'),
  }
}

/** A key of a new account, without money by default. */
export function createKey(
  setup: Pick<GatewaySetup, 'command' | 'flags'>,
  name: string,
  balance = '0',
): string {
  const funds = balance === '0' ? [] : ['--balance', balance]
  const created = runCommand(setup, ['keys', 'create', name, ...funds, '--json'])
  return (JSON.parse(created) as { key: string }).key
}

/** Runs a command on the data of a gateway, which may serve meanwhile. Returns what it prints. */
export function runCommand(
  { command, flags }: Pick<GatewaySetup, 'command' | 'flags'>,
  words: readonly string[],
): string {
  const ran = Bun.spawnSync([...command, ...words, ...flags])
  if (!ran.success) throw new Error(`${words.join(' ')}: ${ran.stderr}${ran.stdout}`)
  return ran.stdout.toString()
}

/** Models with different prices, so that no start benefits from equal ones. */
export function manyModels(count: number): object {
  const models = Array.from({ length: count }, (_, index) => [
    `model-${index}`,
    {
      family: 'openai-chat',
      upstream: 'mock',
      upstreamModel: `vendor-${index}`,
      price: {
        per_1m_input_tokens: (0.25 + index / 1000).toFixed(3),
        per_1m_cached_input_tokens: (0.025 + index / 10_000).toFixed(4),
        per_1m_output_tokens: (2 + index / 100).toFixed(2),
      },
    },
  ])
  return Object.fromEntries(models)
}

function config(mockPort: number): object {
  const price = {
    per_1m_input_tokens: '0.25',
    per_1m_cached_input_tokens: '0.025',
    per_1m_output_tokens: '2.00',
  }
  const model = (answer: string) => [
    gatewayModel(answer),
    { family: 'openai-chat', upstream: 'mock', upstreamModel: vendorModel(answer), ownedBy: 'mock', price },
  ]
  const native = (dialect: NativeDialect, answer: string) => [
    gatewayModel(nativeAnswer(dialect, answer)),
    {
      family: dialect === 'messages' ? 'anthropic-messages' : 'openai-responses',
      upstream: dialect === 'messages' ? 'anthropic' : 'mock',
      upstreamModel: vendorModel(nativeAnswer(dialect, answer)),
      ownedBy: 'mock',
      price,
    },
  ]
  return {
    upstreams: {
      mock: { kind: 'openai', baseUrl: `http://127.0.0.1:${mockPort}/v1`, apiKey: VENDOR_KEY },
      second: { kind: 'openai', baseUrl: `http://127.0.0.1:${mockPort}/v1`, apiKey: VENDOR_KEY },
      anthropic: { kind: 'anthropic', baseUrl: `http://127.0.0.1:${mockPort}/v1`, apiKey: VENDOR_KEY },
      // The default would be the bottleneck: it protects vendors that limit the requests of one account.
      videos: {
        kind: 'xai',
        baseUrl: `http://127.0.0.1:${mockPort}/v1`,
        apiKey: VENDOR_KEY,
        pollsPerSecond: 10_000,
      },
    },
    models: {
      ...Object.fromEntries([WHOLE, BURST, PACED].map(model)),
      ...Object.fromEntries(
        DIALECTS.flatMap((dialect) => [BURST, PACED].map((answer) => native(dialect, answer))),
      ),
      [gatewayModel(CACHED)]: {
        family: 'openai-chat',
        upstream: 'mock',
        upstreamModel: vendorModel(WHOLE),
        ownedBy: 'mock',
        price,
        cache: { ttl: '1h' },
      },
      [gatewayModel(EQUAL)]: {
        family: 'openai-chat',
        upstream: { mock: 1, second: 1 },
        upstreamModel: vendorModel(WHOLE),
        ownedBy: 'mock',
        price,
      },
      [gatewayModel(PREFERRED)]: { route: [gatewayModel(WHOLE), gatewayModel(EQUAL)], prefer: 'cheapest' },
      [gatewayModel(VIDEO)]: {
        family: 'xai-video',
        upstream: 'videos',
        upstreamModel: vendorModel(VIDEO),
        ownedBy: 'mock',
        price: { per_second: '0.01' },
      },
    },
    // The receivers of the run are on this machine, where webhooks are not allowed by default.
    webhooks: { allow: ['127.0.0.0/8'] },
  }
}

export async function startGateway(setup: GatewaySetup): Promise<GatewayStart> {
  const port = freePort()
  const headers = { authorization: `Bearer ${setup.key}` }
  const startedAt = performance.now()
  const child = new Child({
    name: 'gateway',
    command: [...setup.command, 'serve', '--port', String(port), ...setup.flags],
    directory: setup.directory,
    ...(setup.environment && { environment: setup.environment }),
  })
  const answers = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
    await response.arrayBuffer()
    return response.status === 200
  }
  await child.ready(() => answers('/health'), { pauseMs: 1 })
  const healthMs = performance.now() - startedAt
  await child.ready(() => answers('/v1/models'), { pauseMs: 1 })
  const modelsMs = performance.now() - startedAt
  const target: Target = { name: 'gateway', port, pid: child.pid, headers, model: gatewayModel }
  return { target, child, healthMs, modelsMs }
}
