// `gateway tasks` and the keys that sign webhooks, used by an operator while a gateway runs: the output, the exit code, and the
// effects on the charge and the webhook.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lockDataDir } from '../../cli/process/serve-lock'
import { jobId } from '../../sandbox/video-jobs'
import type { Config } from '../../src/config/schema'
import { temporaryFolder } from '../support/databases/databases'
import { startTestGateway, testModels, videoModels, waitFor } from '../support/gateway'
import { type CommandLine, createCommandLine, PROGRAM, WRITTEN } from '../support/processes/command-line'
import { type Serving, startServing } from '../support/processes/serving'
import type { Json } from '../support/scenario'
import { RECEIVER_NETWORK, startReceiver } from '../support/servers/webhook-receiver'
import { heldBack, startTaskVendor, succeeded, videoBody } from '../support/vendors/task'

setDefaultTimeout(180_000)

const LONG = '[sandbox task_ms=600000]'
const LOST = '[sandbox garbage]'
const kinds = ['openai', 'dashscope', 'xai', 'ark']
const config: Config = {
  upstreams: {
    ...Object.fromEntries(kinds.map((kind) => [kind, { kind, apiKey: 'none' }])),
  },
  models: {
    'test-chat': testModels['test-chat'],
    ...videoModels,
  } as Config['models'],
  webhooks: { allow: [RECEIVER_NETWORK] },
}

let serving: Serving
let line: CommandLine
let alice: Json

beforeAll(async () => {
  serving = await startServing(config)
  line = createCommandLine(serving.folder, serving.dataDir, ['--sandbox'])
  alice = await line.inShell.json('keys create alice --balance 50')
})

afterAll(async () => {
  // Tasks that would otherwise take ten minutes.
  const open: Json[] = await line.inShell.json('tasks list --state submitted')
  await Promise.all(open.map(({ id }) => line.run(`tasks cancel ${id}`)))
  await serving.stop()
})

/** The id of a new task of alice's. */
async function submit(prompt: string, more: object = {}): Promise<string> {
  const body = {
    model: 'vidw2.6-t2v',
    duration: 5,
    resolution: '720p',
    input: { prompt },
    parameters: { duration: 5, size: '1280*720' },
    ...more,
  }
  return submitted(body)
}

async function submitted(body: object): Promise<string> {
  const response = await fetch(`${serving.url}/v1/videos/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${alice.key}` },
    body: JSON.stringify(body),
  })
  const task = (await response.json()) as Json
  expect({ task, ok: response.ok }).toMatchObject({ ok: true })
  return task.id
}

const show = (id: string): Promise<Json> => line.inShell.json(`tasks show ${id}`)

// Waits query the database, because on a busy machine a process for each check takes longer than the task.
const waitUntil = (id: string, state: string) =>
  waitFor(async () => (await serving.rows(`select state from tasks where id = '${id}'`))[0]?.state === state)
const webhookOf = async (id: string) =>
  (await serving.rows(`select state, attempts from webhooks where task = '${id}'`))[0]

const onTerminal = (words: string[]) =>
  line.onTerminal([...words, '--data-dir', serving.dataDir, '--sandbox'], { NO_COLOR: '1' })

describe('looking', () => {
  let vendors: string
  let failing: string
  beforeAll(async () => {
    vendors = await submit(`a fox ${LONG}`)
    failing = await submitted({
      model: 'test-seedance',
      content: [{ type: 'text', text: 'a fox [sandbox task_ms=0 task_end=failed]' }],
    })
    await waitUntil(failing, 'failed')
  })

  test('list shows the newest tasks first, and applies its filters', async () => {
    const ids = async (flags: string) =>
      (await line.inShell.json(`tasks list ${flags}`)).map(({ id }: Json) => id)
    const [all, open, failed, byModel, byAccount, ofNobody, ofToday, one] = await Promise.all([
      ids(''),
      ids('--state submitted'),
      ids('--state failed'),
      ids('--model test-seedance'),
      ids('--account alice'),
      ids('--account nobody'),
      ids('--since 1h'),
      ids('--limit 1'),
    ])
    expect(all.indexOf(failing)).toBeLessThan(all.indexOf(vendors))
    expect(open).toContain(vendors)
    expect(open).not.toContain(failing)
    expect(failed).toEqual([failing])
    expect(byModel).toEqual([failing])
    expect(byAccount).toEqual(all)
    expect(ofNobody).toEqual([])
    expect(ofToday).toEqual(all)
    expect(one).toEqual([all[0]])
    const nobody = await line.run('tasks list --account nobody')
    expect(nobody).toEqual({ code: 0, stdout: '', stderr: 'There are no such tasks.\n' })
  })

  test('the list is shortened to fit a terminal, and complete elsewhere', async () => {
    const [narrow, piped] = await Promise.all([onTerminal(['tasks', 'list']), line.run('tasks list')])
    for (const row of narrow.split(/\r?\n/)) expect(row.length).toBeLessThanOrEqual(80)
    expect(narrow).toContain(vendors)
    expect(piped.stdout).toMatch(/^TASK +STATE +FOR +MODEL +ACCOUNT +AGE +USD$/m)
    expect(piped.stdout).toMatch(
      new RegExp(`^${vendors} +submitted +video +vidw2.6-t2v +alice +\\d+[sm] +0.05$`, 'm'),
    )
    expect(piped.stdout).toMatch(
      new RegExp(`^${failing} +failed +video +test-seedance +alice +\\d+[sm] +0.00$`, 'm'),
    )
  })

  test('show prints everything about a task, by either id', async () => {
    const { upstream_id: upstreamId, ...task } = await show(vendors)
    expect(upstreamId).toMatch(/^ds-/)
    expect(task).toMatchObject({
      id: vendors,
      state: 'submitted',
      model: 'vidw2.6-t2v',
      account: 'alice',
      upstream: 'dashscope',
      held_usd: '0.05',
      amount_usd: '0.00',
      error: null,
      ended_at: null,
      webhook: null,
    })
    expect((await show(upstreamId)).id).toBe(vendors)
    const [open, ended, narrow] = await Promise.all([
      line.run(`tasks show ${vendors}`),
      line.run(`tasks show ${failing}`),
      onTerminal(['tasks', 'show', vendors]),
    ])
    expect(open.stdout).toMatch(/^ {2}money +\$0\.05 held$/m)
    expect(open.stdout).toMatch(/^ {2}polls +\d+, the next (is due|in \d+ seconds?)$/m)
    expect(ended.stdout).toMatch(/^ {2}money +nothing paid$/m)
    expect(ended.stdout).toMatch(/^ {2}error +OutputVideoSensitiveContentDetected: /m)
    // Text to be copied is not shortened, however long it is.
    expect(narrow.replaceAll(/\s/g, '')).toContain(upstreamId)
  })

  test('watch fails if the task fails', async () => {
    const ran = await line.run(`tasks watch ${failing}`)
    expect(ran.code).toBe(1)
    expect(ran.stdout).toContain(failing)
    expect(ran.stderr).toContain('The task failed: The request failed because the output video may contain')
  })
})

describe('a request that is answered later', () => {
  async function later(content: string): Promise<string> {
    const response = await fetch(`${serving.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${alice.key}`, prefer: 'respond-async' },
      body: JSON.stringify({ model: 'test-chat', messages: [{ role: 'user', content }] }),
    })
    expect(response.status).toBe(202)
    return ((await response.json()) as Json).id
  }

  test('is listed with its operation, watched to its end, and shown with the address of its answer', async () => {
    const id = await later('Hi')
    expect((await line.run(`tasks watch ${id}`)).code).toBe(0)
    const shown = (await line.run(`tasks show ${id}`)).stdout
    expect(shown).toMatch(/^ *operation +chat$/m)
    expect(shown).toContain(`/v1/tasks/${id}/result`)
    expect(shown).not.toContain('not known')
    const listed: Json[] = await line.inShell.json('tasks list --model test-chat')
    expect(listed.find((task) => task.id === id)).toMatchObject({ operation: 'chat', state: 'succeeded' })
    await line.allFail(1, [
      [`tasks cancel ${id}`, `${id} has ended`],
      [`tasks reconcile ${id} --not-begun`, 'it ends by itself'],
    ])
  })

  test('is not stopped once its request was sent to the vendor', async () => {
    const id = await later('[sandbox delay_ms=4000] Hi.')
    const ran = await line.run(`tasks cancel ${id}`)
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be undone') })
    expect((await line.run(`tasks watch ${id}`)).code).toBe(0)
  })
})

describe('a task that runs', () => {
  test.concurrent('is watched until it succeeds', async () => {
    const [quiet, watched, paid] = await Promise.all(
      [1, 2, 3].map(() => submitted({ model: 'gkx-imagine-video', prompt: 'a fox [sandbox task_ms=12000]' })),
    )
    const [ran, terminal, free] = await Promise.all([
      line.run(`tasks watch ${quiet} --json`),
      onTerminal(['tasks', 'watch', watched as string]),
      line.run(`tasks watch ${paid}`),
    ])
    expect(ran.code).toBe(0)
    expect(JSON.parse(ran.stdout)).toMatchObject({ id: quiet, state: 'succeeded', amount_usd: '0.04' })
    const lines = ran.stderr.trimEnd().split('\n')
    expect(lines[0]).toMatch(/^submitted(, \d+ polls?| \d+ %, \d+ polls?)$/)
    expect(lines).toContainEqual(expect.stringMatching(/^submitted \d+ %, \d+ polls?$/))
    expect(lines.at(-1)).toMatch(/^succeeded 100 %, \d+ polls$/)
    expect(new Set(lines).size).toBe(lines.length)
    // One changing line, of which nothing remains above the result.
    const shown = terminal.slice(0, terminal.indexOf(`${watched}`))
    expect(shown.split('\r\u001b[2K').length).toBeGreaterThan(3)
    expect(shown).not.toContain('\n')
    expect(shown).toEndWith('\u001b[2K')
    expect(free.stdout).toMatch(/^ {2}video +http:\/\/127\.0\.0\.1:\d+\/xai\/files\/\S+\.mp4$/m)
  })

  test.concurrent('cancel prints the vendor’s own message, and the task runs to its end', async () => {
    const id = await submit('a fox [sandbox task_ms=30000]')
    const document = async () =>
      (await serving.rows(`select document from tasks where id = '${id}'`))[0]?.document
    await waitFor(async () => String(await document()).includes('RUNNING'))
    const ran = await line.run(`tasks cancel ${id}`)
    expect(ran).toMatchObject({ code: 1, stdout: '' })
    expect(ran.stderr).toMatch(new RegExp(`^${id} continues: .*(cancel|pending)`, 'im'))
    const watched = await line.run(`tasks watch ${id} --json`)
    expect(JSON.parse(watched.stdout)).toMatchObject({ state: 'succeeded', amount_usd: '0.05' })
  })
})

describe('stopping', () => {
  test.concurrent('a task that has not begun: its hold is released, and the webhook reports the end', async () => {
    using receiver = startReceiver()
    const id = await submit(`a fox ${LONG}`, { webhook_url: receiver.url })
    const ran = await line.inShell.json(`tasks cancel ${id}`)
    expect(ran).toMatchObject({ id, state: 'failed', held_usd: '0.00', amount_usd: '0.00' })
    expect(ran.error).toMatchObject({ code: 'canceled' })
    const charges = await serving.rows(`select state, amount from charges where id = '${ran.charge}'`)
    expect(charges).toEqual([{ state: 'released', amount: 0 }])
    await waitFor(() => receiver.deliveries.length > 0)
    expect(JSON.parse(receiver.deliveries[0]?.body ?? '')).toMatchObject({
      type: 'video.generation.failed',
      data: { id, status: 'failed', error: { code: 'canceled' } },
    })
    await line.allFail(1, [[`tasks cancel ${id}`, `${id} has ended: it failed.`]])
  })

  test.concurrent('a task of a vendor that cannot stop tasks', async () => {
    const id = await submitted({ model: 'gkx-imagine-video', prompt: `a fox ${LONG}` })
    const ran = await line.run(`tasks cancel ${id}`)
    expect(ran).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        new RegExp(`^Written to .*\n${id} continues: Tasks of this model cannot be stopped.\n$`),
      ),
    })
  })

  test.concurrent('a task whose id at the vendor is unknown', async () => {
    const id = await submit(`a fox ${LOST}`)
    await line.allFail(1, [[`tasks cancel ${id}`, 'see `tasks reconcile`']])
    await line.inShell.json(`tasks reconcile ${id} --not-begun`)
  })

  test.concurrent('is stopped by the next server if none runs', async () => {
    const folder = temporaryFolder()
    const dataDir = join(folder, 'data')
    mkdirSync(dataDir)
    writeFileSync(join(folder, 'gateway.config.ts'), `export default ${JSON.stringify(config)}\n`)
    const offline = createCommandLine(folder, dataDir)
    const first = await startTestGateway({ dataDir })
    const body = { model: 'gkx-imagine-video', prompt: `a fox ${LONG}` }
    const content = [{ type: 'text', text: `a fox ${LONG}` }]
    const answers = [await first.post('/v1/videos/generations', { model: 'test-seedance', content })]
    answers.push(await first.post('/v1/videos/generations', body))
    const [stopped, other] = await Promise.all(
      answers.map(async (answer) => ((await answer.json()) as Json).id),
    )
    await first.server.stop(0)
    await offline.allFail(1, [
      [`tasks cancel ${stopped}`, `No server has stopped ${stopped} yet: a running one does`],
      [`tasks redeliver ${other}`, 'was submitted without a webhook_url'],
    ])
    const next = await startTestGateway({ dataDir, sandbox: first.sandbox, balance: '0' })
    const states = () =>
      next.server.world.db.query({ sql: `select state from tasks where id = '${stopped}'` })
    await waitFor(async () => (await states())[0]?.state === 'failed')
    expect(await offline.json(`tasks show ${stopped}`)).toMatchObject({
      error: { code: 'canceled' },
      held_usd: '0.00',
    })
    await next.server.stop(0)
    await offline.allFail(1, [[`tasks reconcile ${stopped} --ask-again`, 'No server is running to ask']])
    await first.sandbox.stop()
  })
})

describe('a task whose submit got no answer', () => {
  test.concurrent('is in the list, and continues under the id that the vendor lists', async () => {
    const id = await submit(`a fox ${LOST}`)
    const unknown: Json[] = await line.inShell.json('tasks list --state unknown')
    expect(unknown.map((task) => task.id)).toContain(id)
    const job = {
      durationMs: 0,
      end: 'succeeded',
      code: '',
      message: '',
      seconds: 5,
      model: 'wan2.6-t2v',
    } as const
    const upstreamId = jobId('ds-', { ...job, startedAt: Date.now(), echo: {}, pollStatus: undefined })
    const taken = await line.inShell.json(`tasks reconcile ${id} --upstream-id ${upstreamId}`)
    expect(taken).toMatchObject({
      state: 'submitted',
      upstream_id: upstreamId,
      error: null,
      held_usd: '0.05',
    })
    const ended = await line.run(`tasks watch ${id} --json`)
    expect(JSON.parse(ended.stdout)).toMatchObject({ state: 'succeeded', amount_usd: '0.05' })
    const other = await submit(`a fox ${LOST}`)
    await line.allFail(1, [
      [`tasks reconcile ${id} --not-begun`, `${id} has ended: it succeeded.`],
      [`tasks reconcile ${other} --upstream-id ${upstreamId}`, 'the id belongs to another task'],
    ])
    await line.inShell.json(`tasks reconcile ${other} --not-begun`)
  })

  test.concurrent('is ended as never begun: nothing is paid, and the webhook reports it', async () => {
    using receiver = startReceiver()
    const id = await submit(`a fox ${LOST}`, { webhook_url: receiver.url })
    expect(await show(id)).toMatchObject({ state: 'unknown', upstream_id: null, held_usd: '0.05' })
    const ran = await line.run(`tasks reconcile ${id} --not-begun`)
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringMatching(WRITTEN) })
    expect(ran.stdout).toMatch(/^ {2}error +not_begun: /m)
    await waitFor(() => receiver.deliveries.length > 0)
    expect(JSON.parse(receiver.deliveries[0]?.body ?? '')).toMatchObject({ error: { code: 'not_begun' } })
    expect(await show(id)).toMatchObject({ held_usd: '0.00', amount_usd: '0.00' })
  })

  test.concurrent('cannot get the id of another task', async () => {
    const id = await submit(`a fox ${LONG}`)
    await line.allFail(1, [[`tasks reconcile ${id} --not-begun`, "already has the vendor's id"]])
  })
})

describe('a task that failed', () => {
  const textOf = (prompt: string) => [{ type: 'text', text: `a fox ${prompt}` }]
  const hasFailed = (id: string) => waitUntil(id, 'failed')

  test.concurrent('has succeeded after all when its vendor is polled again: it is charged, and the webhook reports it', async () => {
    using receiver = startReceiver()
    using vendor = startTaskVendor()
    const gateway = await startTestGateway({
      upstreams: { dashscope: { ...vendor.upstream, taskDeadlineMs: 1_000 } },
      config: { webhooks: { allow: [RECEIVER_NETWORK] } },
    })
    const unlock = lockDataDir(gateway.dataDir)
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'gateway.config.ts'), `export default ${JSON.stringify(config)}\n`)
    const own = createCommandLine(folder, gateway.dataDir)
    const body = videoBody('a fox', { webhook_url: receiver.url })
    const submit = await gateway.post('/v1/videos/generations', body)
    const { id } = (await submit.json()) as { id: string }
    await waitFor(async () => (await own.inShell.json(`tasks show ${id}`)).state === 'failed')
    const failed = await own.inShell.json(`tasks show ${id}`)
    expect(failed).toMatchObject({ error: { code: 'timed_out' }, amount_usd: '0.00' })
    const held = heldBack(succeeded)
    vendor.answerPoll = held.answer
    const words = ['tasks', 'reconcile', id, '--ask-again', '--json', '--data-dir', gateway.dataDir]
    const ran = Bun.spawn([...PROGRAM, ...words], {
      cwd: folder,
      env: own.environment(),
      stdout: 'pipe',
      stderr: 'pipe',
    })
    // Its state is shown until it ends.
    let shown = ''
    for await (const bytes of ran.stderr) {
      shown += Buffer.from(bytes).toString()
      if (shown.includes('submitted')) held.letGo()
    }
    expect(shown).toMatch(/^submitted/m)
    expect(await ran.exited).toBe(0)
    const task = JSON.parse(await new Response(ran.stdout).text())
    expect(task).toMatchObject({ id, state: 'succeeded', error: null, amount_usd: '0.05' })
    expect(task.document.video_url).toMatch(/^http/)
    const charges = await gateway.server.world.db.query({
      sql: `select state, amount, shortfall from charges where id in ('${failed.charge}', '${task.charge}') order by state`,
    })
    expect(charges).toEqual([
      { state: 'released', amount: 0, shortfall: 0 },
      { state: 'settled', amount: 50_000_000, shortfall: 0 },
    ])
    await waitFor(() => receiver.deliveries.length === 2)
    expect(receiver.deliveries.map((delivery) => JSON.parse(delivery.body).type)).toEqual([
      'video.generation.failed',
      'video.generation.succeeded',
    ])
    expect((await own.inShell.json(`tasks show ${id}`)).webhook.id).toBe(receiver.deliveries[1]?.id)
    await own.allFail(1, [
      [`tasks reconcile ${id} --ask-again`, `${id} has not failed: its state is succeeded.`],
    ])
    expect((await own.run('balance verify')).code).toBe(0)
    unlock()
    await gateway.close()
  })

  test.concurrent('fails again if its vendor reports the same', async () => {
    const id = await submitted({
      model: 'test-seedance',
      content: textOf('[sandbox task_ms=0 task_end=failed]'),
    })
    await hasFailed(id)
    const ran = await line.run(`tasks reconcile ${id} --ask-again`)
    expect(ran.code).toBe(1)
    expect(ran.stdout).toMatch(/^ {2}error +OutputVideoSensitiveContentDetected: /m)
    expect(ran.stdout).toMatch(/^ {2}money +nothing paid$/m)
    expect(ran.stderr).toContain('The task failed: The request failed because the output video may contain')
  })

  test.concurrent('is not polled if it was stopped or never begun', async () => {
    const [stopped, lost] = [await submit(`a fox ${LONG}`), await submit(`a fox ${LOST}`)]
    await line.inShell.json(`tasks cancel ${stopped}`)
    await line.inShell.json(`tasks reconcile ${lost} --not-begun`)
    const why =
      'was not changed: it was cancelled, its id at the vendor is unknown, its charge is in an archive, or it has changed in the meantime.'
    await line.allFail(1, [
      [`tasks reconcile ${stopped} --ask-again`, `${stopped} ${why}`],
      [`tasks reconcile ${lost} --ask-again`, `${lost} ${why}`],
    ])
    expect(await show(stopped)).toMatchObject({ state: 'failed', error: { code: 'canceled' } })
  })
})

test.concurrent('a webhook is delivered again, under the same id', async () => {
  using receiver = startReceiver()
  receiver.answer = () => new Response('not now', { status: 503 })
  const id = await submit(`a fox ${LONG}`, { webhook_url: receiver.url })
  await line.allFail(1, [[`tasks redeliver ${id}`, 'it has not ended yet']])
  await line.inShell.json(`tasks cancel ${id}`)
  // The third attempt is minutes away: it cannot happen in between.
  await waitFor(async () => Number((await webhookOf(id))?.attempts) > 1)
  const { stdout } = await line.run(`tasks show ${id}`)
  expect(stdout).toMatch(
    /^ {2}webhook +http:\S+: pending after 2 attempts, last answer 503 .*, next attempt in /m,
  )
  receiver.answer = () => new Response('thanks')
  const again = await line.run(`tasks redeliver ${id}`)
  expect(again).toEqual({
    code: 0,
    stderr: expect.stringMatching(WRITTEN),
    stdout: `The webhook of ${id} is delivered again by the running server.\n`,
  })
  await waitFor(async () => (await webhookOf(id))?.state === 'delivered')
  expect(new Set(receiver.deliveries.map((delivery) => delivery.id)).size).toBe(1)
  expect((await show(id)).webhook.attempts.map(({ status }: Json) => status)).toEqual([503, 503, 200])
  expect(await line.inShell.json(`tasks redeliver ${id}`)).toMatchObject({
    id,
    webhook: { state: 'pending' },
  })
})

test.concurrent('the secret of webhooks is shown when it is created, and never again', async () => {
  const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/
  const made = await line.run('keys create signer')
  const [secret] = /whsec_\S+/.exec(made.stderr) ?? []
  expect(secret).toMatch(SECRET)
  expect(made.stdout).not.toContain('whsec_')
  const rolled = await line.inShell.json('keys roll-webhook signer')
  expect(rolled).toEqual({
    id: expect.stringMatching(/^key_/),
    name: 'signer',
    webhook_secret: expect.stringMatching(SECRET),
    old_until: expect.any(String),
  })
  expect(rolled.webhook_secret).not.toBe(secret)
  expect(Date.parse(rolled.old_until) - Date.now()).toBeGreaterThan(23 * 3_600_000)
  const human = await line.run('keys roll-webhook signer')
  expect(human.stdout.trim()).toMatch(SECRET)
  expect(human.stderr).toContain('The old secret signs too until')
  const after = await Promise.all(
    ['keys show signer', 'keys list', 'keys roll signer'].map((words) => line.run(words)),
  )
  for (const { stdout, stderr } of after) expect(stdout + stderr).not.toContain('whsec_')
  await line.inShell.json('keys revoke signer')
  await line.allFail(1, [
    ['keys roll-webhook signer', 'was revoked'],
    ['keys roll-webhook nobody', 'There is no key "nobody"'],
  ])
})

test.concurrent('the newest requests show the cost of their videos, also of deleted ones', async () => {
  const bob: Json = await line.inShell.json('keys create bob --balance 5')
  const headers = { authorization: `Bearer ${bob.key}` }
  const make = async (prompt: string): Promise<string> => {
    const response = await fetch(`${serving.url}/v1/videos`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'vidw2.6-t2v', prompt, seconds: '5', size: '1280x720' }),
    })
    return ((await response.json()) as Json).id
  }
  const ids = [
    await make('a fox [sandbox task_ms=0]'),
    await make('a fox [sandbox task_ms=0 task_end=failed]'),
  ]
  await waitUntil(ids[0] as string, 'succeeded')
  await waitUntil(ids[1] as string, 'failed')
  const running = await make(`a fox ${LONG}`)
  await fetch(`${serving.url}/v1/videos/${ids[0]}`, { method: 'DELETE', headers })
  let requests: Json[] = []
  await waitFor(async () => {
    const { rows } = await line.inShell.json('requests list --limit 50')
    requests = (rows as Json[]).filter(({ key, operation }) => key === 'bob' && operation === 'video')
    return requests.length === 3
  })
  expect(requests).toMatchObject([
    { status: 202, amount_usd: null, usage_source: null, ended_by: null },
    { status: 202, amount_usd: '0.00', usage_source: null, ended_by: 'upstream' },
    { status: 202, amount_usd: '0.05', usage_source: 'counted', ended_by: 'done' },
  ])
  const { stdout } = await line.run('requests list --limit 50')
  expect(stdout).toMatch(/ bob +202 +0\.05 +\d+ ms +vidw2\.6-t2v$/m)
  await line.run(`tasks cancel ${running}`)
})

test.concurrent('wrong usage exits with 2, an unknown task with 1', async () => {
  await line.allFail(2, [
    ['tasks stop video_1', 'There is no command gateway tasks stop'],
    ['tasks show', 'ID'],
    ['tasks list --state running', '--state takes submitted, succeeded, failed, unknown'],
    ['tasks list --limit 0', '--limit takes a whole number from 1'],
    ['tasks list --since yesterday', '--since takes a duration'],
    ['tasks reconcile video_1', 'Give one of --upstream-id ID, --not-begun and --ask-again'],
    ['tasks reconcile video_1 --not-begun --upstream-id x', 'Give one of --upstream-id ID, --not-begun and'],
    ['tasks reconcile video_1 --not-begun --ask-again', 'Give one of --upstream-id ID, --not-begun and'],
  ])
  const absent = 'There is no task "video_1"; `tasks list` shows the newest.'
  await line.allFail(1, [
    ['tasks show video_1', absent],
    ['tasks watch video_1', absent],
    ['tasks cancel video_1', absent],
    ['tasks redeliver video_1', absent],
    ['tasks reconcile video_1 --not-begun', absent],
  ])
})
