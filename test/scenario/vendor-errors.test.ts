// Streams that end with an error which the vendor itself reports: the request log has that error, whatever the caller's dialect
// and whether a closing event follows. What concerns the operator's account is in the log of events, once.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { chunk, DONE, eventStream, type OddVendor, startVendor } from '../support/vendor'

setDefaultTimeout(180_000)

let vendor: OddVendor
let gateway: TestGateway

beforeAll(async () => {
  vendor = startVendor()
  gateway = await startTestGateway({
    upstreams: { odd: vendor.upstream },
    models: {
      odd: {
        family: 'openai-chat',
        upstream: 'odd',
        price: { per_1m_input_tokens: '1', per_1m_output_tokens: '2' },
      },
    },
  })
})

afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})

const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`
const failure = (fields: object) => data({ error: { message: 'It broke.', ...fields } })

const cases: [name: string, events: string[], code: string, logged: string[]][] = [
  ['an error with a code', [failure({ code: 'content_filter', type: 'x' })], 'content_filter', []],
  ['an error without a code', [failure({ type: 'api_error' })], 'upstream_error', []],
  ['a failing server', [failure({ code: 'server_error' })], 'upstream_error', []],
  ['too many requests', [failure({ code: 'rate_limit_exceeded' })], 'rate_limit_exceeded', []],
  ['a status', [failure({ code: 503 })], 'upstream_error', []],
  ['an error and a closing event', [failure({ code: 'content_filter' }), DONE], 'content_filter', []],
  ['an error in a form that clients do not know', [data({ detail: 'Out of memory.' })], 'upstream_error', []],
  [
    "the operator's bill",
    [failure({ code: 'insufficient_quota', type: 'insufficient_quota' })],
    'upstream_unavailable',
    ['upstream_refused_operator'],
  ],
  [
    "the operator's bill in a form that clients do not know",
    [data({ code: 'insufficient_quota', message: 'You have no money.' })],
    'upstream_unavailable',
    ['upstream_refused_operator'],
  ],
  ['nothing at all', [], 'upstream_cut', []],
]

const paths = {
  '/v1/chat/completions': { messages: [{ role: 'user', content: 'Hi' }] },
  '/v1/messages': { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 100 },
  '/v1/responses': { input: 'Hi' },
}

for (const [path, body] of Object.entries(paths)) {
  for (const [name, events, code, logged] of cases) {
    test(`${name}, at ${path}`, async () => {
      vendor.answer = () => eventStream(chunk('Hello') + events.join(''))
      const before = gateway.log.length
      const response = await gateway.post(path, { ...body, model: 'odd', stream: true })
      expect(response.status).toBe(200)
      await response.text()
      const id = response.headers.get('x-request-id')
      const [row] = (await gateway.requestLog()).filter((each) => each.id === id)
      expect(row).toMatchObject({ status: 200, error_code: code })
      expect(gateway.log.slice(before).map(({ event }) => event)).toEqual(logged)
    })
  }
}
