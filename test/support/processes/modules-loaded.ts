// A gateway in a process of its own that prints which modules it has loaded: while it serves, and after the first request of the
// console. In the process of a test, modules of other files would be among them.

import { startSandbox } from '../../../sandbox'
import { createKey, makeSecret, unlimited } from '../../../src/accounts/keys'
import { startServer } from '../../../src/app/server'
import { newId, outside, randomBytes } from '../../../src/app/world'
import { addCredit } from '../../../src/billing/ledger/ledger'
import { makeWebhookSecret } from '../../../src/webhooks/secrets'

interface ModulesLoaded {
  /** Paths of files loaded after a paid chat. */
  whileServing: string[]
  /** Paths of files loaded by the first request of the console. */
  byConsole: string[]
}

export async function modulesLoaded(dataDir: string): Promise<ModulesLoaded> {
  const child = Bun.spawn([process.execPath, import.meta.path, dataDir], {
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const text = await new Response(child.stdout).text()
  if ((await child.exited) !== 0) throw new Error('the gateway that lists its modules failed')
  return JSON.parse(text) as ModulesLoaded
}

async function serveAndTell(dataDir: string): Promise<ModulesLoaded> {
  const sandbox = startSandbox({ record: false })
  const upstream = {
    kind: 'openai',
    baseUrl: sandbox.baseUrls.openai,
    apiKey: sandbox.secrets.openai,
  } as const
  const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '2' }
  const server = await startServer({
    config: {
      upstreams: { openai: upstream },
      models: { chat: { family: 'openai-chat', upstream: 'openai', upstreamModel: 'gpt-4.1-mini', price } },
    },
    dataDir,
    placeOf: () => ({ hostname: '127.0.0.1', port: 0 }),
    outside: { ...outside, log: () => {} },
  })
  const { db, now } = server.world
  const secret = makeSecret(randomBytes)
  const webhookSecret = makeWebhookSecret(randomBytes)
  const key = { id: 'key-1', name: 'alice', account: 'alice', secret, webhookSecret, createdAt: now() }
  await createKey(db, { ...key, ...unlimited })
  const credit = { id: newId('tr'), account: 'alice', amountNano: 1_000_000_000, now: now(), note: null }
  await addCredit(db, credit)
  const chat = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  if (chat.status !== 200) throw new Error(await chat.text())
  await chat.text()
  const whileServing = Object.keys(require.cache)
  for (const path of ['/console', '/console/session']) await (await fetch(`${server.url}${path}`)).text()
  const known = new Set(whileServing)
  const byConsole = Object.keys(require.cache).filter((path) => !known.has(path))
  await server.stop(0)
  await sandbox.stop()
  return { whileServing, byConsole }
}

if (import.meta.main) console.log(JSON.stringify(await serveAndTell(process.argv[2] ?? '')))
