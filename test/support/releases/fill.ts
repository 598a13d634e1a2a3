// Fills a database with every kind of row, through ordinary requests and commands, to record a release.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeSessionToken, openSession, subjectOfRole } from '../../../src/accounts/sessions'
import { randomBytes } from '../../../src/app/world'
import { addCredit, hold, settle } from '../../../src/billing/ledger/ledger'
import { renewAllowances } from '../../../src/billing/selling/allowances'
import { apply } from '../../../src/db/db'
import { migrate } from '../../../src/db/migrations'
import { watchEvents } from '../../../src/events/watch'
import { type DatabaseKind, databaseAddress, openAddress, temporaryFolder } from '../databases/databases'
import { storeTexts } from '../databases/encrypted-gateway'
import { makeCharge, makeSettlement } from '../databases/ledger-rows'
import {
  say,
  startTestGateway,
  type TestGateway,
  type TestGatewayOptions,
  testConfig,
  waitFor,
} from '../gateway'
import { createCommandLine } from '../processes/command-line'
import { HERE, openSite } from '../servers/webhook-sending'

/** The key that encrypts all recordings, so that their readers need no other. */
export const RECORDING_KEY = Buffer.alloc(32, 'recording').toString('base64')
/** Text in the requests of every recording. */
export const KEPT_TEXT = 'a text of the recording'

/** The settings of a recorded gateway, for the version that records it and for those that open it later. */
export function recordingOptions(kind: DatabaseKind): TestGatewayOptions {
  return {
    config: {
      webhooks: { allow: [HERE] },
      secrets: { key: RECORDING_KEY },
      // On PostgreSQL results need a bucket.
      ...(kind === 'sqlite' && { artifacts: { keep: '30d' } }),
      statements: { seller: { name: 'Gateways & Sons' } },
      plans: { team: { allowance: { usd: '5', per: 'month' } } },
      retention: { charges: '12mo' },
      usage: { metadata: ['project'] },
      events: { to: { nobody: { slack: 'http://127.0.0.1:1/' } } },
    },
    models: {
      'test-responses': {
        family: 'openai-responses',
        upstream: 'openai',
        upstreamModel: 'gpt-5-mini',
        reasoning: true,
        price: { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' },
      },
      'test-image': {
        family: 'xai-images',
        upstream: 'xai',
        upstreamModel: 'grok-imagine-image',
        price: { per_image: '0.02', per_input_image: '0.002' },
      },
    },
  }
}

/** Facts about a recorded gateway that are not in its rows. */
export interface Filled {
  /** The secret of the first key. */
  secret: string
  /** The id of a kept response, with `KEPT_TEXT` in its input. */
  responseId: string
}

/** Fills a new database, and calls back while it has open charges and an unfinished video, as when a process is killed. */
export async function fillDatabase(
  kind: DatabaseKind,
  record: (source: { file: string } | { url: string }) => Promise<void>,
): Promise<Filled> {
  const dataDir = temporaryFolder()
  const url = kind === 'postgres' ? await databaseAddress(kind) : undefined
  const file = join(dataDir, 'gateway.sqlite')
  await fillHistory(url ?? file)
  const now = () => Date.now() + AHEAD_MS
  const gateway = await startTestGateway({
    ...recordingOptions(kind),
    ...{ dataDir, ...(url && { databaseUrl: url }) },
    outside: { now },
  })
  const responseId = await traffic(gateway)
  await commands(gateway)
  await jobs(gateway)
  const abort = new AbortController()
  const stream = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'test-chat',
      stream: true,
      messages: say('[sandbox tokens=4000 token_delay_ms=50] Go on'),
    }),
    signal: abort.signal,
  })
  await record(url ? { url } : { file })
  abort.abort()
  await stream.text().catch(() => {})
  await gateway.server.stop(0)
  await gateway.sandbox.stop()
  return { secret: gateway.secret, responseId }
}

/** Two years ago: months to close, and a month to issue statements for. */
async function fillHistory(address: string): Promise<void> {
  const db = openAddress(address)
  await migrate(db)
  const first = Date.UTC(2024, 0, 5)
  await addCredit(db, {
    id: 'paid',
    account: 'old',
    amountNano: 1_000_000_000,
    now: first,
    note: 'invoice 7',
  })
  for (let month = 0; month < 4; month++) {
    const at = Date.UTC(2024, month, 10, 12)
    const fields = { account: 'old', keyId: 'key-old', model: 'test-chat' }
    const charge = makeCharge(50_000_000, { ...fields, id: `charge-of-${month}`, createdAt: at })
    await hold(db, charge)
    const costs = month % 2 === 0 ? { costNano: 10_000_000 } : {}
    await settle(db, charge, makeSettlement(50_000_000 - month, { endedAt: at, ...costs }))
  }
  await db.close()
}

/** Makes requests for every kind of row. Returns the id of a kept response. */
async function traffic(gateway: TestGateway): Promise<string> {
  const { db } = gateway.server.world
  await storeTexts(gateway, KEPT_TEXT)
  await (await gateway.chat({ metadata: { project: 'blue' } })).text()
  await (await gateway.chat({ stream: true, messages: say('[sandbox cut_after=3 tokens=50] Hello') })).text()
  await (await gateway.chat({ messages: say('[sandbox status=400] Hello') })).text()
  await (await gateway.chat({ messages: say('[sandbox usage=missing] Hello') })).text()
  const limits = {
    requestsPerMinute: 60,
    tokensPerMinute: 100_000,
    concurrency: 5,
    budgetNano: 5e9,
    budgetPeriod: 'month',
  }
  const limited = await gateway.makeKey('bob', '1', limits as never)
  await (await gateway.chat({}, { authorization: `Bearer ${limited.secret}` })).text()
  const picture = await gateway.post('/v1/images/generations', { model: 'test-image', prompt: 'a fox' })
  await picture.text()
  using gone = openSite(() => new Response('gone', { status: 410 }))
  const video = (words: string, more: object) =>
    gateway.post('/v1/videos/generations', {
      model: 'vidw2.6-t2v',
      input: { prompt: `${KEPT_TEXT} [sandbox ${words}]` },
      parameters: { size: '1280*720', duration: 5 },
      ...more,
    })
  await video('task_ms=0', { webhook_url: `http://127.0.0.1:${gone.port}/` })
  await waitFor(
    async () => (await db.query({ sql: `select id from webhooks where state = 'failed'` })).length > 0,
  )
  // An unfinished task with a webhook that waits for its end, and a task that failed at the vendor.
  await video('task_ms=86400000', { webhook_url: `http://127.0.0.1:${gone.port}/` })
  await video('task_ms=0 task_end=failed', {})
  await waitFor(
    async () => (await db.query({ sql: `select id from tasks where state = 'failed'` })).length > 0,
  )
  const [response] = await db.query({ sql: 'select id from responses order by created_at limit 1' })
  return response?.id as string
}

/** Runs commands of operators. */
async function commands({ server, dataDir, sandbox, databaseUrl }: TestGateway): Promise<void> {
  const folder = temporaryFolder()
  const config = testConfig(sandbox, recordingOptions(server.world.db.kind), databaseUrl)
  const file = join(folder, 'gateway.config.json')
  writeFileSync(file, JSON.stringify(config))
  const { run } = createCommandLine(folder, dataDir, ['--config', file])
  for (const line of [
    'keys create carol --balance 5',
    'keys roll carol',
    'keys pause carol',
    'keys create dave',
    'keys revoke dave',
    'accounts update carol --note new',
    'accounts freeze carol',
    'accounts update bob --plan team',
    'balance adjust bob --note gift -- 0.5',
    'codes create --amount 1 --count 2',
    'admins create ada --role viewer',
    'console',
    'statements issue --month 2024-02',
    'retention apply --charges 24mo',
    'balance verify',
    'events test nobody',
  ]) {
    const { code, stderr } = await run(line)
    // No receiver accepts the event, so it is stored as undelivered.
    if (code !== 0 && !line.startsWith('events')) throw new Error(`gateway ${line}: ${stderr}`)
  }
}

/** Runs the scheduled jobs at once. */
async function jobs({ server: { world } }: TestGateway): Promise<void> {
  const { db, now } = world
  await renewAllowances(db, world.plans.values(), now())
  world.log('backup_failed', { name: 'gateway-20261125T060000Z.sqlite.zst', reason: 'no room' })
  await watchEvents(world)
  const session = { id: 'ses_known', token: makeSessionToken(randomBytes), kind: 'admin' as const }
  const times = { now: now(), idleMs: 60_000, maxMs: 60_000, clientAddress: null, userAgent: null }
  await apply(db, openSession({ ...session, ...times, subject: subjectOfRole('owner') }))
  await world.requestLog.flush()
  await world.requestLog.storeFigures()
  await world.followTime()
  // Contains nothing about the recording machine.
  await apply(db, [
    { sql: `update audit_trail set actor = 'cli:ada@rack1'` },
    { sql: `update times set name = 'node:rack1/1' where name like 'node:%'` },
  ])
}

/** Simulated vendors work in the past, so that tasks end at once. */
const AHEAD_MS = 60_000
