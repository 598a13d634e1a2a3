// `gateway requests` next to a running gateway: a request by its id with its bodies, and requests as they end.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { testEvent } from '../../src/events/send'
import { insertEvent } from '../../src/webhooks/rows'
import { makeAdminToken } from '../support/browser/console-visit'
import { temporaryFolder } from '../support/databases/databases'
import { startTestGateway } from '../support/gateway'
import { TERMINAL_CONTROL } from '../support/hostile-text'
import { createCommandLine, PROGRAM } from '../support/processes/command-line'
import type { Json } from '../support/scenario'
import { completion, eventStream, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(60_000)

const command = [...PROGRAM, 'requests']
const ESCAPE = '\u001b'
/** One of the styles that commands print. */
const STYLE = new RegExp(`${ESCAPE}\\[\\d+m`, 'g')

async function run(dataDir: string, ...words: string[]) {
  const child = Bun.spawn([...command, ...words, '--data-dir', dataDir], { stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return { stdout, stderr, code: await child.exited }
}

test('show prints the charge and, on request, the bodies; tail prints requests as they end', async () => {
  const gateway = await startTestGateway({ config: { log: { bodies: { redact: ['user'] } } } })
  const { dataDir, server } = gateway
  const response = await gateway.chat({ user: 'me' })
  const answer = await response.json()
  const id = response.headers.get('x-request-id') as string
  await server.world.requestLog.flush()
  await server.world.requestLog.bodies?.flush()

  const shown = await run(dataDir, 'show', id, '--bodies', '--json')
  const { charges, bodies } = JSON.parse(shown.stdout)
  expect(charges).toMatchObject([{ id, state: 'settled' }])
  expect(JSON.parse(bodies.request)).toMatchObject({ model: 'test-chat', user: '[redacted]' })
  expect(JSON.parse(bodies.answer)).toEqual(answer)
  const forPeople = await run(dataDir, 'show', id, '--bodies')
  expect(forPeople.stdout).toMatch(/^ *money +\$[\d.]+ paid of \$[\d.]+ held, by the vendor's usage$/m)
  expect(forPeople.stdout).toMatch(/^ *price +\d+ input tokens x \$1\.00 per 1M = \$0\.\d+$/m)
  expect(forPeople.stdout).toMatch(/^ +\d+ output tokens x \$2\.00 per 1M = \$0\.\d+$/m)
  expect(forPeople.stdout).toContain('"user": "[redacted]"')
  expect((await run(dataDir, 'show', id)).stdout).not.toContain('[redacted]')
  const unknown = await run(dataDir, 'show', 'req_none', '--bodies')
  expect([unknown.code === 0, unknown.stderr]).toEqual([
    false,
    expect.stringContaining('no request req_none'),
  ])

  const tail = Bun.spawn([...command, 'tail', '--data-dir', dataDir], { stdout: 'pipe', stderr: 'pipe' })
  const [lines, notes] = [tail.stdout.getReader(), tail.stderr.getReader()]
  const next = async (from = lines) => Buffer.from((await from.read()).value ?? []).toString()
  expect(await next(notes)).toContain('as they end')
  // tail begins now: requests that ended before are not shown.
  const failed = await gateway.chat({ max_tokens: 'many' })
  const line = await next()
  expect(line).not.toContain(id)
  expect(line).toContain(failed.headers.get('x-request-id') as string)
  expect(line).toContain('400')
  tail.kill()
  await tail.exited
  await gateway.close()
})

test('no text of a vendor ends a line, sets a colour or sets a title, in lists, blocks and bodies, on a terminal too', async () => {
  const vendor = startVendor()
  const hostile = (name: string) => `\u001b[32m${name}\u001b]0;owned\u0007\u009b2J\r\nforged ${name}\u202e`
  const refuse = () =>
    Response.json({ error: { message: hostile('text'), code: hostile('code') } }, { status: 400 })
  vendor.answer = refuse
  const gateway = await startTestGateway({
    upstreams: { openai: vendor.upstream },
    config: { log: { bodies: {} } },
  })
  const { dataDir, server } = gateway
  const response = await gateway.chat()
  await response.text()
  const id = response.headers.get('x-request-id') as string
  vendor.answer = () => eventStream(`data: {"note":"${'x'}\r\nforged stream\u001b[2J"}\n\n`)
  const broken = await gateway.chat({ stream: true })
  await broken.text().catch(() => '')
  await server.world.requestLog.flush()
  await server.world.requestLog.bodies?.flush()

  const { onTerminal } = createCommandLine(dataDir, dataDir)
  const streamed = broken.headers.get('x-request-id') as string
  const lines = [['list'], ['show', id], ['show', id, '--bodies'], ['show', streamed, '--bodies']]
  for (const words of lines) {
    const piped = await run(dataDir, ...words)
    const shown = await onTerminal(['requests', ...words, '--data-dir', dataDir])
    // A terminal gets our own styles, and a carriage return from its driver.
    const ours = shown.replaceAll(STYLE, '').replaceAll('\r\n', '\n')
    for (const text of [piped.stdout, piped.stderr, ours]) {
      expect(text).not.toMatch(TERMINAL_CONTROL)
      expect(text).not.toMatch(/^forged/m)
    }
    // Our own green appears only on marks of success.
    expect(shown).not.toContain('\u001b[32mcode')
  }
  expect((await run(dataDir, 'list')).stdout).toContain('\\u001b[32mcode')
  const { rows } = JSON.parse((await run(dataDir, 'list', '--json')).stdout)
  expect(rows.map(({ error_code }: Json) => error_code)).toContain(hostile('code'))
  vendor.answer = refuse
  const tail = Bun.spawn([...command, 'tail', '--data-dir', dataDir], { stdout: 'pipe', stderr: 'pipe' })
  await tail.stderr.getReader().read()
  await gateway.chat()
  const { value } = await tail.stdout.getReader().read()
  expect(Buffer.from(value ?? []).toString()).not.toMatch(TERMINAL_CONTROL)
  expect(Buffer.from(value ?? []).toString()).not.toMatch(/^forged/m)
  tail.kill()
  await tail.exited
  await gateway.close()
  await vendor.stop()
})

test('failed means the same on the command line, in both APIs and in the overview, and includes broken streams', async () => {
  const gateway = await startTestGateway()
  const { server, dataDir } = gateway
  const broken = { stream: true, messages: [{ role: 'user', content: '[sandbox cut_after=3]' }] }
  const ids: (string | null)[] = []
  for (const body of [{}, { max_tokens: 'many' }, broken, { stream: true }]) {
    const response = await gateway.chat(body)
    await response.text()
    ids.push(response.headers.get('x-request-id'))
  }
  await server.world.requestLog.flush()
  const [, refused, cut] = ids
  const { stdout } = await run(dataDir, 'list', '--status', 'failed', '--json')
  const rows: { id: string; status: number; error_code: string }[] = JSON.parse(stdout).rows
  expect(rows).toMatchObject([
    { id: cut, status: 200, error_code: 'upstream_cut' },
    { id: refused, status: 400 },
  ])
  const own = await fetch(`${gateway.url}/v1/requests?status=failed`, {
    headers: { authorization: `Bearer ${gateway.secret}` },
  })
  expect(((await own.json()) as { data: object[] }).data).toMatchObject([{ id: cut }, { id: refused }])
  const headers = { authorization: `Bearer ${await makeAdminToken(gateway, 'viewer')}` }
  const asked = async (path: string) =>
    (await fetch(`${gateway.url}/admin/v1${path}`, { headers })).json() as Promise<Json>
  expect((await asked('/requests?status=failed')).data).toMatchObject([{ id: cut }, { id: refused }])
  expect((await asked('/requests?status=2xx')).data.length).toBe(3)
  expect((await asked('/overview')).total).toMatchObject({ requests: 4, failed: 2 })
  await gateway.close()
})

test('on 80 columns, lists show whole ids and error codes, and every line fits', async () => {
  const gateway = await startTestGateway()
  const { dataDir, server } = gateway
  const paid = (await gateway.chat()).headers.get('x-request-id') as string
  const failed = (await gateway.chat({ messages: undefined })).headers.get('x-request-id') as string
  await server.world.requestLog.flush()
  const { db, newId, now } = server.world
  const event = newId('evt')
  const body = JSON.stringify(testEvent(event, now()))
  await db.batch([insertEvent(db, { id: event, recipient: 'operations-on-call', body }, now())])
  const { onTerminal } = createCommandLine(temporaryFolder())
  const shown = (words: string) => onTerminal([...words.split(' '), '--data-dir', dataDir], { NO_COLOR: '1' })
  const lists = ['requests list', 'balance ledger alice', 'events list']
  const [requests, ledger, events] = await Promise.all(lists.map(shown))
  const lines = [requests, ledger, events].flatMap((shown = '') => shown.split(/\r?\n/))
  expect(lines.filter((line) => line.length > 80)).toEqual([])
  for (const text of [paid, failed, 'missing_required_parameter']) expect(requests).toContain(text)
  expect(ledger).toContain(paid)
  expect(events).toContain(event)
  await gateway.close()
})

test('show prints the attempts with other keys of the same upstream, and the price that the vendor reported', async () => {
  const vendor = startVendor()
  const answer = completion('hello', 1, 1) as Json
  const named = { ...answer, usage: { ...answer.usage, cost_in_usd_ticks: 12_340 } }
  vendor.answer = ({ headers }) =>
    headers.get('authorization') === 'Bearer good'
      ? Response.json(named)
      : Response.json(
          { error: { message: 'No.' } },
          { status: 401, headers: { 'x-request-id': 'refused-1' } },
        )
  const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '2' }
  const gateway = await startTestGateway({
    upstreams: { house: { ...vendor.upstream, apiKey: ['bad', 'good'] } },
    models: { keyed: { family: 'openai-chat', upstream: 'house', price } },
    config: { metrics: { port: 0 }, affinity: false },
  })
  const response = await gateway.chat({ model: 'keyed' })
  expect(response.status).toBe(200)
  const id = response.headers.get('x-request-id') as string
  await gateway.server.world.requestLog.flush()
  const { stdout } = await run(gateway.dataDir, 'show', id)
  expect(stdout).toMatch(
    /^ *before +keyed on house with key 1: 503 upstream_unavailable after \d+ ms, its id refused-1$/m,
  )
  expect(stdout).toMatch(
    /^ *vendor +\$0\.000001234 by its own figure; by our list \$0\.000003, so -58\.86 %$/m,
  )
  const { request } = JSON.parse((await run(gateway.dataDir, 'show', id, '--json')).stdout)
  expect(request.attempts).toMatchObject([{ upstream: 'house', status: 503 }])
  await gateway.close()
  await vendor.stop()
})
