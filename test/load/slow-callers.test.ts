// Many callers who take nothing of large answers: the memory of the gateway, which is a process of its own here, must not
// grow with them, and the slowest are cut.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { rssMb } from '../../bench/process-meter'
import { say, testModels, waitFor } from '../support/gateway'
import { ask, type Installation, install, type Running, stopWell } from '../support/processes/executable'
import { chatRequest, RawCaller } from '../support/servers/raw-caller'
import { completion, type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(600_000)

const CALLERS = 100
const ANSWER_BYTES = 20 * 1024 * 1024
/** Half of what all answers would take. */
const MAX_GROWTH_MB = 1_000

let vendor: OddVendor
let installation: Installation
let server: Running
let secret: string

beforeAll(async () => {
  vendor = startVendor()
  const answer = Buffer.from(JSON.stringify(completion('x'.repeat(ANSWER_BYTES), 10, 20)))
  vendor.answer = () => new Response(answer, { headers: { 'content-type': 'application/json' } })
  installation = await install({
    upstreams: { odd: vendor.upstream },
    models: { 'test-odd': { ...testModels['test-chat'], upstream: 'odd' } },
  })
  secret = await installation.makeKey('alice', '1000')
  server = await installation.serve()
})
afterAll(async () => {
  await vendor.stop()
  await stopWell(installation, server)
})

test(`${CALLERS} callers who read nothing of answers of ${ANSWER_BYTES / 1024 / 1024} MiB`, async () => {
  const before = rssMb(server.pid)
  const callers: RawCaller[] = []
  for (let count = 0; count < CALLERS; count++) {
    const caller = await RawCaller.connect(server.url)
    callers.push(caller)
    caller.send(chatRequest(secret, { model: 'test-odd', messages: say('Hello!') }))
    await waitFor(() => caller.bytes > 0, 30_000)
    caller.pause()
  }
  // What was cut is in memory until it is collected.
  await waitFor(() => rssMb(server.pid) - before < MAX_GROWTH_MB, 30_000)
  const cuts = server.stderr().split('"slow_caller_cut"').length - 1
  expect(cuts).toBeGreaterThan(CALLERS / 2)
  const last = callers.at(-1) as RawCaller
  last.resume()
  await waitFor(() => last.tail().endsWith('\r\n0\r\n\r\n'), 30_000)
  expect(last.bytes).toBeGreaterThan(ANSWER_BYTES)
  const reply = await ask(server, secret, { model: 'test-odd' })
  expect((await reply.bytes()).length).toBeGreaterThan(ANSWER_BYTES)
  for (const caller of callers) caller.leave('rst')
})
