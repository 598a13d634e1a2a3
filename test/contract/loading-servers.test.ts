// A model server that is still loading a model: the caller is asked to retry when the model may be ready, which is later than a
// client's automatic retry, and with a route another model answers meanwhile. The bodies are those of the servers.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { ModelConfig } from '../../src/config/schema'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'
import { completion, type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(60_000)

let vendor: OddVendor
let other: OddVendor
let gateway: TestGateway

beforeAll(async () => {
  vendor = startVendor()
  other = startVendor({ answer: () => Response.json(completion('Hi', 3, 1)) })
  const model = (upstream: string): ModelConfig => ({ family: 'openai-chat', upstream, free: true })
  gateway = await startTestGateway({
    upstreams: { local: vendor.upstream, other: other.upstream },
    models: { local: model('local'), other: model('other'), either: { route: ['local', 'other'] } },
  })
})
afterAll(async () => {
  await gateway.close()
  await Promise.all([vendor.stop(), other.stop()])
})

const ask = (model: string) => gateway.post('/v1/chat/completions', { model, messages: say('Hi') })

const rows: [server: string, body: object, seconds: string][] = [
  // https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md, and middleware_server_state of server-http.cpp.
  ['llama.cpp', { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } }, '10'],
  // huggingface/transformers#23793, huggingface/transformers#32665.
  [
    'Hugging Face',
    { error: 'Model meta-llama/Llama-2-13b-chat is currently loading', estimated_time: 20.0 },
    '20',
  ],
  // The same issue; no client waits for longer than a minute.
  ['Hugging Face, slow', { error: 'Model m is currently loading', estimated_time: 300.889 }, '60'],
]

test.each(rows)('%s', async (_server, body, seconds) => {
  vendor.answer = () => Response.json(body, { status: 503 })
  const response = await ask('local')
  const { error } = (await response.json()) as Json
  expect([response.status, error.code, response.headers.get('retry-after')]).toEqual([
    503,
    'upstream_error',
    seconds,
  ])
  expect(response.headers.get('x-should-retry')).toBe('true')
  expect(error.message).toMatch(
    /^The upstream local is loading the model\. Try again in \d+ seconds\. It said: /,
  )
  expect((await ask('either')).status).toBe(200)
})

test('a wait requested by the server has precedence', async () => {
  const headers = { 'retry-after': '3' }
  vendor.answer = () => Response.json({ error: { message: 'Loading model' } }, { status: 503, headers })
  expect((await ask('local')).headers.get('retry-after')).toBe('3')
})

test('a busy server is not mistaken for one that is loading', async () => {
  // server/routes.go of Ollama.
  const error = 'server busy, please try again.  maximum pending requests exceeded'
  vendor.answer = () => Response.json({ error }, { status: 503 })
  const response = await ask('local')
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await response.text()).toContain(error)
})
