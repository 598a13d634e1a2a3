// Webhooks from the submit to the receiver through the whole gateway: receivers get the same result as readers, and neither
// thousands of webhooks nor a restart prevents a delivery.

import { describe, expect, test } from 'bun:test'
import { Webhook as Verifier } from 'standardwebhooks'
import { apply } from '../../src/db/db'
import { insertWebhook } from '../../src/webhooks/rows'
import { databaseKinds, temporaryFolder } from '../support/databases/databases'
import { startTestGateway, type TestGateway, type TestGatewayOptions, waitFor } from '../support/gateway'
import { restart } from '../support/nodes'
import { createCommandLine } from '../support/processes/command-line'
import { type Delivered, HERE, openSite } from '../support/servers/webhook-sending'

const MINUTE_MS = 60_000
const config = { webhooks: { allow: [HERE] } }

/** The vendor works in the past, so that a task has ended when it is first polled. */
function startAhead(options: TestGatewayOptions = {}) {
  const now = () => Date.now() + MINUTE_MS
  return startTestGateway({ config, ...options, outside: { now, ...options.outside } })
}

const keyRow = async (gateway: TestGateway) => {
  const rows = await gateway.server.world.db.query({ sql: 'select * from keys order by created_at' })
  return rows[0] as { id: string; name: string; webhook_secret: string }
}

async function submit(gateway: TestGateway, port: number, words: string): Promise<string> {
  const response = await gateway.post('/v1/videos/generations', {
    model: 'gkx-imagine-video',
    prompt: `a cat [sandbox task_ms=0 ${words}]`,
    duration: 1,
    webhook_url: `http://127.0.0.1:${port}/ended?token=canary-7`,
  })
  expect(response.status).toBe(200)
  return ((await response.json()) as { id: string }).id
}

async function read(gateway: TestGateway, id: string): Promise<string> {
  const headers = { authorization: `Bearer ${gateway.secret}` }
  return (await fetch(`${gateway.url}/v1/videos/generations/${id}`, { headers })).text()
}

const messageOf = ({ headers, body }: Delivered) => ({ id: headers['webhook-id'], body })

/** Webhooks of tasks that have ended, without the tasks. */
async function insertMany(gateway: TestGateway, count: number, port: number): Promise<void> {
  const { db, now } = gateway.server.world
  const { id: keyId } = await keyRow(gateway)
  const webhookUrl = `http://127.0.0.1:${port}/`
  const statements = Array.from({ length: count }, (_none, index) => {
    const task = { id: `video_many_${index}`, account: 'alice', keyId, webhookUrl }
    return insertWebhook(db, `msg_many_${index}`, task, 'succeeded', '{"status":"succeeded"}', now())
  })
  await apply(db, statements)
}

for (const kind of databaseKinds) {
  test.concurrent(`a receiver gets what readers read, signed with the secret of the key, on ${kind}`, async () => {
    using site = openSite()
    const gateway = await startAhead({ database: kind })
    for (const [words, state] of [
      ['', 'succeeded'],
      ['task_end=failed error_text="Too dark."', 'failed'],
    ] as const) {
      const id = await submit(gateway, site.port, words)
      await waitFor(() => site.received.at(-1)?.body.includes(id) === true)
      const delivered = site.received.at(-1) as Delivered
      const document = await read(gateway, id)
      expect(delivered.body).toContain(`"data":${document},`)
      const { webhook_secret: secret } = await keyRow(gateway)
      // The clock of this gateway is a minute ahead, which receivers tolerate.
      const reported = new Verifier(secret).verify(delivered.body, delivered.headers) as Record<
        string,
        unknown
      >
      const { type, timestamp, data, ...copies } = reported
      expect(type).toBe(`video.generation.${state}`)
      expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      expect(copies).toEqual(JSON.parse(document))
      expect(data).toEqual(JSON.parse(document))
      expect(copies).toMatchObject({ id, model: 'gkx-imagine-video', status: state })
    }
    expect(JSON.parse(site.received[1]?.body ?? '').error.message).toBe('Too dark.')
    expect(site.received).toHaveLength(2)
    // Addresses may have a token in them.
    expect(JSON.stringify(gateway.log)).not.toContain('canary-7')
    await gateway.close()
  })
}

test.concurrent('operators see how a webhook fared, send it again, and replace the secret', async () => {
  using site = openSite((_delivered, count) => new Response(null, { status: count === 1 ? 410 : 200 }))
  const gateway = await startAhead()
  const { json, run, allFail } = createCommandLine(temporaryFolder(), gateway.dataDir)
  const id = await submit(gateway, site.port, '')
  const stateOf = async () => (await json(`tasks show ${id}`)).webhook?.state
  await waitFor(async () => (await stateOf()) === 'failed')
  const { name, webhook_secret: old } = await keyRow(gateway)
  const rolled = await json(`keys roll-webhook ${name}`)
  expect(rolled.name).toBe(name)
  expect(rolled.webhook_secret).toMatch(/^whsec_[\w+/]{43}=$/)
  expect((await run(`tasks redeliver ${id}`)).code).toBe(0)
  await waitFor(async () => (await stateOf()) === 'delivered')
  const { webhook } = await json(`tasks show ${id}`)
  expect(webhook.attempts.map(({ status }: { status: number }) => status)).toEqual([410, 200])
  const [first, second] = site.received as [Delivered, Delivered]
  expect(messageOf(second)).toEqual(messageOf(first))
  expect(first.headers['webhook-signature']?.split(' ')).toHaveLength(1)
  expect(second.headers['webhook-signature']?.split(' ')).toHaveLength(2)
  for (const secret of [old, rolled.webhook_secret]) new Verifier(secret).verify(second.body, second.headers)
  expect(() => new Verifier(rolled.webhook_secret).verify(first.body, first.headers)).toThrow()
  const shown = await run(`keys show ${name} --json`)
  expect(shown.stdout).not.toContain('whsec_')
  await run(`keys revoke ${name}`)
  await allFail(1, [
    [`keys roll-webhook ${name}`, 'was revoked at'],
    ['keys roll-webhook nobody', 'There is no key "nobody"'],
    ['tasks redeliver video_none', 'There is no task "video_none"'],
  ])
  await gateway.close()
})

test.concurrent('an operator reads why there was no answer', async () => {
  const site = openSite()
  const { port } = site
  site[Symbol.dispose]()
  const gateway = await startAhead()
  const { run } = createCommandLine(temporaryFolder(), gateway.dataDir)
  const id = await submit(gateway, port, '')
  const shown = async () => (await run(`tasks show ${id}`)).stdout
  await waitFor(async () => (await shown()).includes('last answer none'))
  expect(await shown()).toMatch(/pending after \d attempts?, last answer none \(.*\): .*ECONNREFUSED/)
  await gateway.close()
})

test.concurrent('a restart in the middle: the same webhooks again under the same ids, and none is lost', async () => {
  let first = true
  using site = openSite(() => (first ? new Promise<Response>(() => {}) : new Response('ok')))
  const gateway = await startTestGateway({ config })
  await insertMany(gateway, 20, site.port)
  await waitFor(() => site.received.length === 8)
  const before = site.received.map(messageOf)
  const stopping = restart(gateway, { config })
  await gateway.server.world.db.query({ sql: 'select 1' })
  const next = await stopping
  first = false
  const { db } = next.server.world
  await waitFor(async () => {
    const rows = await db.query({ sql: `select id from webhooks where state = 'pending'` })
    return rows.length === 0
  })
  const after = site.received.slice(8).map(messageOf)
  expect(after).toEqual(expect.arrayContaining(before))
  expect(new Set(after.map(({ id }) => id)).size).toBe(20)
  await next.close()
  await gateway.sandbox.stop()
})

describe('thousands of webhooks at once', () => {
  test('go eight at a time to one host, each once, while chats are answered', async () => {
    const MANY = 5_000
    const held = Promise.withResolvers<void>()
    using site = openSite(async () => {
      await held.promise
      return new Response('ok')
    })
    const gateway = await startTestGateway({ config })
    await insertMany(gateway, MANY, site.port)
    await waitFor(() => site.received.length === 8)
    for (let chat = 0; chat < 20; chat++) expect((await gateway.chat()).status).toBe(200)
    expect(site.received).toHaveLength(8)
    held.resolve()
    await waitFor(() => site.received.length > 100)
    for (let chat = 0; chat < 20; chat++) expect((await gateway.chat()).status).toBe(200)
    // Not behind all of them.
    expect(site.received.length).toBeLessThan(MANY)
    await waitFor(() => site.received.length === MANY)
    expect(site.most).toBe(8)
    expect(new Set(site.received.map(({ headers }) => headers['webhook-id'])).size).toBe(MANY)
    expect(site.received).toHaveLength(MANY)
    await gateway.close()
  })
})
