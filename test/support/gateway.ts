// The real gateway on a real port, with the sandbox as its vendors. Closing it audits the books, so that every test also tests
// charges and balances.

import { expect } from 'bun:test'
import { type Sandbox, startSandbox } from '../../sandbox'
import { createKey, type KeySettings, makeSecret, unlimited } from '../../src/accounts/keys'
import type { ReadConfig } from '../../src/app/reload'
import { type Server, startServer } from '../../src/app/server'
import { databaseFile, type MediaWorkers, newId, type Outside, outside } from '../../src/app/world'
import { type Balance, balanceOf } from '../../src/billing/ledger/balances'
import { addCredit } from '../../src/billing/ledger/ledger'
import { type Audit, audit } from '../../src/billing/proofs/audit'
import { withWholeUsage } from '../../src/billing/reports/usage-form'
import type { Config, ModelConfig, RouteConfig } from '../../src/config/schema'
import { faultsOf } from '../../src/config/schema'
import type { Row } from '../../src/db/db'
import { parseUsd } from '../../src/lib/money'
import { AudioReader } from '../../src/media/audio'
import { createTokenCounter } from '../../src/media/token-counter'
import type { UpstreamConfig } from '../../src/upstreams/settings'
import { makeWebhookSecret } from '../../src/webhooks/secrets'
import {
  copyTables,
  type DatabaseKind,
  postgresUrl,
  temporaryFolder,
  withFewConnections,
} from './databases/databases'
import { TABLES } from './databases/postgres'

export interface TestGatewayOptions {
  database?: DatabaseKind
  /** Serves from the database and folder of another gateway, as a second node or after a restart. */
  databaseUrl?: string
  dataDir?: string
  /** Dollars on the account of the first key. */
  balance?: string
  upstreams?: Record<string, Partial<UpstreamConfig>>
  models?: Record<string, Partial<ModelConfig> | RouteConfig>
  /** Further parts of the configuration. */
  config?: Partial<Config>
  sandbox?: Sandbox
  /** `now` replaces all clocks. */
  outside?: Partial<Outside> & { now?: () => number }
  tokenDelayMs?: number
  /** Reads the configuration for a reload. */
  readConfig?: ReadConfig
  /** Headers that mark simulated vendors. */
  mark?: Readonly<Record<string, string>>
  /** Fills the gateway with requests of the last days, as the sandbox can. */
  makeHistory?: Parameters<typeof startServer>[0]['makeHistory']
}

type Readers = Pick<
  TestGateway,
  'charges' | 'charge' | 'newestCharge' | 'requestLog' | 'newestLogged' | 'newest'
>

export interface TestGateway {
  server: Server
  sandbox: Sandbox
  url: string
  databaseUrl: string | undefined
  dataDir: string
  /** The secret of the first key, whose account is `alice`. */
  secret: string
  log: { event: string; fields: Record<string, unknown> }[]
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>
  chat(body?: Record<string, unknown>, headers?: Record<string, string>): Promise<Response>
  makeKey(
    account: string,
    balance: string,
    settings?: Partial<KeySettings>,
  ): Promise<{ secret: string; id: string }>
  balance(account?: string): Promise<Balance>
  /** All charges, or those of requests after the one with this id. */
  charges(after?: string): Promise<Row[]>
  /** The charge of a request. */
  charge(id: string | null): Promise<Row | undefined>
  /** The newest of `charges`, without those before it. */
  newestCharge(): Promise<Row | undefined>
  /** All rows of the request log, or those after the one with this number. */
  requestLog(after?: number): Promise<Row[]>
  /** The newest of `requestLog`, without those before it. */
  newestLogged(): Promise<Row | undefined>
  /** The current ends of both, to get later rows from `charges` and `requestLog`. */
  newest(): Promise<{ charge: string; logRow: number }>
  audit(): Promise<Audit>
  /** Stops the server, and fails if the books are wrong. */
  close(): Promise<void>
}

/** Chat models of every kind that tests need, and the spec's embedding models; all with prices that are easy to add up. */
export const testModels: Record<string, ModelConfig> = {
  // 1,000 nano-dollars per input token, 100 per cached one, 2,000 per output token.
  'test-chat': chatModel('openai', 'gpt-4.1-mini'),
  'test-reasoning': { ...chatModel('openai', 'gpt-5-mini'), reasoning: true },
  // Accepts any field, like Ollama and vLLM.
  'test-local': chatModel('openai', 'local-model'),
  'test-dashscope': chatModel('dashscope', 'qwen-plus'),
  // Its cost is the price of the simulated vendor, so that the price that the vendor reports does not differ.
  'test-xai': {
    ...chatModel('xai', 'grok-4.3'),
    cost: {
      per_1m_input_tokens: '1.25',
      per_1m_cached_input_tokens: '0.20',
      per_1m_output_tokens: '2.50',
    },
  },
  'test-google': chatModel('google', 'gemini-2.5-flash-lite'),
  'test-messages': {
    family: 'anthropic-messages',
    upstream: 'anthropic',
    upstreamModel: 'claude-sonnet-4-5',
    price: {
      per_1m_input_tokens: '1.00',
      per_1m_cached_input_tokens: '0.10',
      per_1m_cache_write_tokens: '1.25',
      per_1m_output_tokens: '2.00',
    },
  },
  'text-embedding-v4': {
    ...embeddingModel('openai-embeddings', 'dashscope', 'text-embedding-v4'),
    batchSize: 10,
    dimensions: [64, 128, 256, 512, 768, 1024, 1536, 2048],
  },
  'test-embedding': embeddingModel('openai-embeddings', 'openai', 'text-embedding-3-small'),
  'gmx-embedding-001': {
    ...embeddingModel('gemini-embeddings', 'google', 'gemini-embedding-001'),
    dimensions: { min: 128, max: 3072 },
  },
  'text-embedding-004': embeddingModel('gemini-embeddings', 'google', 'text-embedding-004'),
  'vgx-4': {
    ...embeddingModel('voyage-embeddings', 'voyage', 'voyage-4'),
    dimensions: [256, 512, 1024, 2048],
    batchTokens: 320_000,
  },
}

/** An image model: two cents per picture, a fifth of a cent per input picture. */
export const imageModel: ModelConfig = {
  family: 'xai-images',
  upstream: 'xai',
  upstreamModel: 'grok-imagine-image',
  price: { per_image: '0.02', per_input_image: '0.002' },
}

/** Edits of images at three cents each. */
export const imageEditModel: ModelConfig = {
  family: 'dalle-image-edits',
  upstream: 'openai',
  upstreamModel: 'dall-e-2',
  price: { per_image: { '1024x1024': '0.03' } },
}

/** Video models: one cent per second at 720p, two at 1080p, half a cent at 480p. */
export const videoModels: Record<string, ModelConfig> = {
  'vidw2.6-t2v': videoModel('dashscope-video', 'dashscope', 'wan2.6-t2v', {
    durations: { min: 2, max: 15, default: 5 },
    price: { per_second: { '720p': '0.01', '1080p': '0.02' } },
  }),
  'vidw2.5-t2v-preview': videoModel('dashscope-video', 'dashscope', 'wan2.5-t2v-preview', {
    durations: { min: 5, max: 10, default: 5 },
  }),
  'vidw2.7-i2v': videoModel('dashscope-video', 'dashscope', 'wan2.7-i2v', {
    durations: { min: 2, max: 15, default: 5 },
    price: { per_second: { '720p': '0.01' } },
  }),
  'test-long-video': videoModel('dashscope-video', 'dashscope', 'wan3.0-video', {
    durations: { min: 2, max: 30, default: 5, vendorMayChoose: true },
  }),
  'gkx-imagine-video': videoModel('xai-video', 'xai', 'grok-imagine-video', {
    durations: { min: 1, max: 15, default: 8 },
    referenceImages: { min: 0, max: 7 },
  }),
  'gkx-imagine-video-1.5-preview': videoModel('xai-video', 'xai', 'grok-imagine-video-1.5-preview', {
    durations: { min: 1, max: 15, default: 8 },
    referenceImages: { min: 1, max: 1 },
  }),
  'test-seedance': videoModel('ark-video', 'ark', 'seedance-2-0-260128', {
    durations: { min: 4, max: 15, default: 5, vendorMayChoose: true },
    referenceImages: { min: 0, max: 9 },
  }),
}

/** Shared by all gateways of a process, because the tables of the tokenizer take half a second to load. */
const [tokenCounter, audioReader] = [createTokenCounter(), new AudioReader()]
const sharedWorkers: Pick<MediaWorkers, 'tokenCounter' | 'audioReader'> = {
  tokenCounter: { count: tokenCounter.count, close() {} },
  audioReader: { read: (file, signal) => audioReader.read(file, signal), close() {} },
}

export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const sandbox = options.sandbox ?? startOwnSandbox(options)
  const databaseUrl =
    options.databaseUrl ??
    (options.database === 'postgres' ? await postgresUrl({ template: TABLES }) : undefined)
  const dataDir = options.dataDir ?? temporaryFolder()
  if (options.dataDir === undefined && databaseUrl === undefined) await copyTables(databaseFile(dataDir))
  const log: TestGateway['log'] = []
  const server = await startServer({
    config: testConfig(sandbox, options, databaseUrl),
    dataDir,
    placeOf: ({ server: { port = 0, unixSocket } = {} }) => ({ hostname: '127.0.0.1', port, unixSocket }),
    ...(options.readConfig && { readConfig: options.readConfig }),
    ...(options.mark && { mark: options.mark }),
    makeHistory: options.makeHistory,
    outside: {
      ...outside,
      openWorkers: () => ({ ...outside.openWorkers(), ...sharedWorkers }),
      log: (event, fields) => log.push({ event, fields }),
      ...clocksOf(options.outside?.now),
      ...options.outside,
    },
  })
  const { db, now } = server.world

  async function makeKey(account: string, balance: string, settings: Partial<KeySettings> = {}) {
    const secret = makeSecret(randomBytes)
    const id = newId('key')
    const created = await createKey(db, {
      id,
      name: id,
      account,
      secret,
      webhookSecret: makeWebhookSecret(randomBytes),
      createdAt: now(),
      ...unlimited,
      ...settings,
    })
    if (!created) throw new Error('the key was not made')
    const amountNano = parseUsd(balance)
    if (amountNano) await addCredit(db, { id: newId('tr'), account, amountNano, now: now(), note: null })
    return { secret, id }
  }

  const { secret } = await makeKey('alice', options.balance ?? '100')
  const post: TestGateway['post'] = (path, body, headers = {}) =>
    fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
    })

  const gateway: TestGateway = {
    server,
    sandbox,
    url: server.url,
    databaseUrl,
    dataDir,
    secret,
    log,
    post,
    chat: (body = {}, headers) =>
      post('/v1/chat/completions', { model: 'test-chat', messages: say('Hello!'), ...body }, headers),
    makeKey,
    async balance(account = 'alice') {
      const balance = await balanceOf(db, account)
      if (!balance) throw new Error(`no account ${account}`)
      return balance
    },
    ...readersOf(server.world),
    audit: () => audit(db, now()),
    async close() {
      await waitFor(async () => (await db.query({ sql: 'select id from open_charges' })).length === 0)
      const { problems } = await gateway.audit()
      await server.stop(0)
      if (!options.sandbox) await sandbox.stop()
      expect(problems).toEqual([])
    },
  }
  return gateway
}

/** Reads the records of requests. */
function readersOf({ db, requestLog }: Server['world']): Readers {
  const readers: Readers = {
    async charges(after = '') {
      const sql = 'select * from charges where id > $1 order by created_at, id'
      return (await db.query({ sql, parameters: [after] })).map(withWholeUsage)
    },
    async charge(id) {
      const sql = 'select * from charges where id = $1'
      return (await db.query({ sql, parameters: [id] })).map(withWholeUsage)[0]
    },
    async newestCharge() {
      const sql = 'select * from charges order by created_at desc, id desc limit 1'
      return (await db.query({ sql })).map(withWholeUsage)[0]
    },
    async requestLog(after = 0) {
      await requestLog.flush()
      const isAfter = ({ number }: Row) => Number(number) > after
      // Rows after another one are few, while reading a whole log for each request of a table would take long.
      for (let limit = after === 0 ? MAX_LOG_ROWS : LOG_ROWS_FIRST; ; limit *= 16) {
        const rows = await requestLog.recent(limit)
        // The newest row need not have the highest number: several nodes may write to one log.
        const isWhole = rows.length < limit || !rows.slice(limit / 2).some(isAfter)
        if (isWhole) return rows.filter(isAfter).reverse()
      }
    },
    async newestLogged() {
      await requestLog.flush()
      return (await requestLog.recent(1))[0]
    },
    async newest() {
      const [charge, logged] = [await readers.newestCharge(), await readers.newestLogged()]
      return { charge: String(charge?.id ?? ''), logRow: Number(logged?.number ?? 0) }
    },
  }
  return readers
}

function startOwnSandbox({ tokenDelayMs = 0, outside: { now } = {} }: TestGatewayOptions): Sandbox {
  return startSandbox({ record: true, tokenDelayMs, ...(now && { now }) })
}

/** A single clock for the whole gateway, moved by a test. */
export function clocksOf(now: (() => number) | undefined): Partial<Outside> {
  return now ? { wall: now, monotonic: now, databaseTime: async () => now() } : {}
}

/** One user message. */
export function say(content: string): { role: 'user'; content: string }[] {
  return [{ role: 'user', content }]
}

/** Maximum pause between two checks: a check of a database may open it each time. */
const MAX_PAUSE_MS = 50

/** Waits until a condition holds, and checks less often the longer it waits. Throws at the deadline, which only bounds hangs. */
export async function waitFor(
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 100_000,
): Promise<void> {
  // Created here, while its stack still names the waiting test.
  const late = new Error(`not so within ${timeoutMs / 1_000} s: ${condition}`)
  const begun = performance.now()
  while (!(await condition())) {
    const waitedMs = performance.now() - begun
    if (waitedMs >= timeoutMs) throw late
    await Bun.sleep(Math.min(Math.max(5, waitedMs / 20), MAX_PAUSE_MS))
  }
}

/** Maximum difference between the clock of a gateway and that of this process. */
const CLOCKS_MS = 1_000

/** Runs work within one minute of the clock. Repeats it if a minute ended meanwhile. */
export async function withinOneMinute(work: () => Promise<void>): Promise<void> {
  const minute = (aheadMs: number) => Math.floor((Date.now() + aheadMs) / 60_000)
  for (;;) {
    const before = minute(-CLOCKS_MS)
    try {
      return await work()
    } catch (error) {
      if (minute(CLOCKS_MS) === before) throw error
    }
  }
}

/** More rows than any test writes. */
const MAX_LOG_ROWS = 100_000
/** The number of rows read first if only rows after another one are needed: more than a request of a test writes. */
const LOG_ROWS_FIRST = 64

const randomBytes = (count: number) => crypto.getRandomValues(new Uint8Array(count))

export function testConfig(
  sandbox: Sandbox,
  options: TestGatewayOptions,
  databaseUrl: string | undefined,
): Config {
  const upstreams: Record<string, UpstreamConfig> = {}
  for (const kind of Object.keys(sandbox.baseUrls) as (keyof Sandbox['baseUrls'])[]) {
    upstreams[kind] = {
      kind,
      baseUrl: sandbox.baseUrls[kind],
      apiKey: sandbox.secrets[kind],
      ...options.upstreams?.[kind],
    }
  }
  for (const [name, upstream] of Object.entries(options.upstreams ?? {})) {
    upstreams[name] ??= upstream as UpstreamConfig
  }
  const models: Record<string, ModelConfig> = { ...testModels, ...videoModels }
  for (const [id, model] of Object.entries(options.models ?? {})) {
    models[id] = { ...models[id], ...model } as ModelConfig
  }
  const config: Config = {
    ...options.config,
    ...(databaseUrl ? { database: withFewConnections(databaseUrl) } : {}),
    upstreams,
    models,
  }
  expect(faultsOf(config)).toEqual([])
  return config
}

function chatModel(upstream: string, upstreamModel: string): ModelConfig {
  return {
    family: 'openai-chat',
    upstream,
    upstreamModel,
    price: { per_1m_input_tokens: '1.00', per_1m_cached_input_tokens: '0.10', per_1m_output_tokens: '2.00' },
  }
}

function videoModel(
  family: string,
  upstream: string,
  upstreamModel: string,
  more: Partial<ModelConfig>,
): ModelConfig {
  const price = { per_second: { '480p': '0.005', '720p': '0.01', '1080p': '0.02' } }
  return { family, upstream, upstreamModel, price, ...more }
}

function embeddingModel(family: string, upstream: string, upstreamModel: string): ModelConfig {
  return { family, upstream, upstreamModel, price: { per_1m_input_tokens: '1.00' } }
}
