// `bun tools/console-picture.ts [FILE]`: writes the picture of the console that README.md shows. A gateway with simulated vendors
// serves two weeks of requests on an adjusted clock, and a browser captures the overview of the second week. It must never call a
// real vendor.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../cli/configuration/settings'
import { simulated } from '../cli/configuration/simulated'
import { startSandbox } from '../sandbox'
import { createKey, makeSecret, unlimited } from '../src/accounts/keys'
import { createAdmin, makeToken } from '../src/admin/admins'
import { type Server, startServer } from '../src/app/server'
import { newId, outside, randomBytes } from '../src/app/world'
import { balanceOf } from '../src/billing/ledger/balances'
import { addCredit, adjust } from '../src/billing/ledger/ledger'
import { NANO_PER_USD } from '../src/lib/money'
import { makeWebhookSecret } from '../src/webhooks/secrets'
import { openBrowser } from '../test/support/browser/browser'

const STEP_MS = 3 * 3_600_000
const STEPS = 14 * 8
/** Requests of the busiest step. */
const BUSIEST = 40
const SIZE = { width: 1280, height: 800 }
/** Accounts with their balance in dollars. */
const ACCOUNTS = { search: 400, support: 250, research: 120 } as const
/** The final balance of an account, so low that the overview reports it. */
const LOW = { account: 'support', leftNano: 840_000_000 } as const

interface Kind {
  model: string
  path: string
  body(text: string): object
}

const talk = (model: string): Kind => ({
  model,
  path: '/v1/chat/completions',
  body: (content) => ({ model, stream: true, messages: [{ role: 'user', content }] }),
})

/** Models by use, most used first, each with its number of requests in a round. */
const USED: readonly (readonly [times: number, kind: Kind])[] = [
  [8, talk('pgt-6-luna')],
  [6, talk('claude-sonnet-5-5')],
  [5, talk('gemini-3.5-flash')],
  [3, talk('grok-4.6')],
  [
    4,
    {
      model: 'text-embedding-3-small',
      path: '/v1/embeddings',
      body: (input) => ({ model: 'text-embedding-3-small', input }),
    },
  ],
]

/** Numbers between 0 and 1, the same in every run. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** The share of the busiest step's requests: few at night, fewer at weekends. */
function share(at: Date): number {
  const byHour = 0.15 + 0.85 * Math.max(0, Math.sin(((at.getUTCHours() - 5) / 16) * Math.PI))
  return at.getUTCDay() % 6 === 0 ? byHour * 0.45 : byHour
}

async function makeKeys({ world: { db, now } }: Server): Promise<string[]> {
  const secrets: string[] = []
  for (const [account, dollars] of Object.entries(ACCOUNTS)) {
    const secret = makeSecret(randomBytes)
    const key = { id: newId('key'), name: account, account, secret, createdAt: now() }
    await createKey(db, { ...key, webhookSecret: makeWebhookSecret(randomBytes), ...unlimited })
    const amountNano = dollars * NANO_PER_USD
    await addCredit(db, { id: newId('tr'), account, amountNano, now: now(), note: null })
    secrets.push(secret)
  }
  return secrets
}

/** The requests of a step, side by side. */
async function serveStep(url: string, secrets: readonly string[], count: number, random: () => number) {
  const kinds = USED.flatMap(([times, kind]) => Array.from({ length: times }, () => kind))
  const pick = <T>(all: readonly T[], bend = 1) => all[Math.floor(random() ** bend * all.length)] as T
  const requests = Array.from({ length: count }, async () => {
    const kind = pick(kinds)
    const prompt = 1_500 + Math.floor(random() * 14_000)
    const directive =
      random() < 0.008
        ? 'status=500'
        : `prompt_tokens=${prompt} tokens=${Math.floor(60 + random() * 400)} delay_ms=${Math.floor(80 + random() ** 3 * 900)}`
    const response = await fetch(`${url}${kind.path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${pick(secrets, 1.8)}`, 'content-type': 'application/json' },
      body: JSON.stringify(kind.body(`[sandbox ${directive}] ${'words and '.repeat(prompt / 8)}`)),
    })
    const text = await response.text()
    if (response.status >= 400 && !directive.startsWith('status'))
      throw new Error(`${kind.model}: ${response.status} ${text}`)
  })
  await Promise.all(requests)
}

/** Withdraws the money of an account above a low balance. */
async function lower({ world: { db, now } }: Server): Promise<void> {
  const { account, leftNano } = LOW
  const balance = await balanceOf(db, account)
  const amountNano = leftNano - (balance?.availableNano ?? 0)
  await adjust(db, { id: newId('tr'), account, amountNano, now: now(), note: 'contract ended' })
}

async function takePicture({ world: { db, now }, url }: Server, file: string): Promise<void> {
  const token = makeToken(randomBytes)
  await createAdmin(db, {
    id: newId('adm'),
    name: 'ada',
    role: 'owner',
    token,
    expiresAt: null,
    createdAt: now(),
  })
  const browser = await openBrowser()
  try {
    const context = await browser.newContext({ viewport: SIZE, colorScheme: 'light', locale: 'en-GB' })
    const page = await context.newPage()
    await page.goto(`${url}/console#/overview?range=7d`)
    await page.getByLabel('Token or key').fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('main h1').waitFor({ state: 'attached' })
    await page.locator('.loading, [aria-busy="true"]').waitFor({ state: 'detached' })
    await Bun.sleep(1_000)
    await page.screenshot({ path: file })
  } finally {
    await browser.close()
  }
}

const file = process.argv[2] ?? 'docs/console.png'
const dataDir = mkdtempSync(join(tmpdir(), 'console-picture-'))
const sandbox = startSandbox({ anyModel: true, tokenDelayMs: 1 })
let behindMs = STEPS * STEP_MS
const clock = () => Date.now() - behindMs
const { config } = await loadConfig({ config: join(import.meta.dir, '../gateway.config.ts') })
const server = await startServer({
  config: simulated(config, sandbox),
  dataDir,
  placeOf: () => ({ hostname: '127.0.0.1', port: 0 }),
  outside: { ...outside, log: () => {}, wall: clock, monotonic: clock, databaseTime: async () => clock() },
})
try {
  const random = randomOf(7)
  const secrets = await makeKeys(server)
  for (; behindMs >= 0; behindMs -= STEP_MS) {
    const count = Math.round(BUSIEST * share(new Date(clock())) * (0.8 + 0.4 * random()))
    await serveStep(server.url, secrets, count, random)
  }
  behindMs = 0
  await lower(server)
  await takePicture(server, file)
} finally {
  await server.stop(0)
  await sandbox.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
process.exit()
