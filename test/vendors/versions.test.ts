// Version 2026-10-21 of the messages API, which Anthropic's current SDKs send and which has no sampling fields: from
// callers to every vendor that serves Claude, and at the simulated clouds directly.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Sandbox, startSandbox } from '../../sandbox'
import { bedrock } from '../../sandbox/bedrock/simulator'
import type { Simulator, VendorRequest } from '../../sandbox/simulator'
import { vertex } from '../../sandbox/vertex/simulator'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import { sweptModels } from './models'

const NEWEST = '2026-10-21'
const served: [model: string, version: string][] = [
  ['claude-opus-5-5', NEWEST],
  ['claude-haiku-4-5', NEWEST],
  ['bedrock/us.anthropic.claude-opus-5', NEWEST],
  ['bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0', 'bedrock-2023-05-31'],
  ['vertex/claude-opus-4-7', NEWEST],
]

let sandbox: Sandbox
let gateway: TestGateway

beforeAll(async () => {
  sandbox = startSandbox({ record: true })
  gateway = await startTestGateway({ sandbox, models: sweptModels })
})
afterAll(async () => {
  await gateway.close()
  await sandbox.stop()
})

/** The version in the last call to the vendor. */
function lastVersion(): unknown {
  const { headers, body } = sandbox.calls.findLast(({ path }) => !path.startsWith('/token')) ?? {}
  return JSON.parse(body ?? '{}').anthropic_version ?? headers?.['anthropic-version']
}

describe.each(served)('%s', (model, version) => {
  test.each([false, true])('answers an SDK of version 2026-10-21; stream: %p', async (stream) => {
    const body = { model, max_tokens: 100, messages: say('Hello'), stream }
    const response = await gateway.post('/v1/messages', body, { 'anthropic-version': NEWEST })
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"message"')])
    expect(lastVersion()).toBe(version)
  })

  test('counts tokens for version 2026-10-21', async () => {
    const body = { model, messages: say('Hello') }
    const response = await gateway.post('/v1/messages/count_tokens', body, { 'anthropic-version': NEWEST })
    expect([response.status, await response.json()]).toEqual([200, { input_tokens: expect.any(Number) }])
  })
})

test('a request translated to messages is sent in the version with sampling fields', async () => {
  const response = await gateway.chat({ model: 'claude-haiku-4-5', temperature: 0.5 })
  expect(response.status).toBe(200)
  expect(lastVersion()).toBe('2023-06-01')
  expect(JSON.parse(sandbox.calls.at(-1)?.body ?? '{}').temperature).toBe(0.5)
})

const clouds: [name: string, Simulator, path: string, version: string, status: number][] = [
  ['Bedrock for newer models', bedrock, '/model/us.anthropic.claude-opus-5/invoke', NEWEST, 200],
  [
    'Bedrock for older models',
    bedrock,
    '/model/anthropic.claude-sonnet-4-5-20250929-v1:0/invoke',
    NEWEST,
    400,
  ],
  ['Vertex', vertex, vertexPath('claude-opus-4-7'), NEWEST, 200],
  ['Vertex for older models', vertex, vertexPath('claude-haiku-4-5@20251001'), NEWEST, 200],
  ['Bedrock', bedrock, '/model/us.anthropic.claude-opus-5/invoke', '2026-10-22', 400],
  ['Vertex', vertex, vertexPath('claude-opus-4-7'), '2026-10-22', 400],
]

function vertexPath(model: string): string {
  return `/v1/projects/sandbox-project/locations/global/publishers/anthropic/models/${model}:rawPredict`
}

describe.each(clouds)('%s', (_name, simulator, path, version, status) => {
  const ask = async (more: object) => {
    const json = { anthropic_version: version, max_tokens: 100, messages: say('Hello'), ...more }
    const request: VendorRequest = {
      method: 'POST',
      path,
      query: new URLSearchParams(),
      headers: {},
      text: JSON.stringify(json),
      json,
      form: undefined,
      filesUrl: '',
      now: Date.now(),
      directives: {},
    }
    return simulator.answer(request)
  }

  test(`answers version ${version} with ${status}`, async () => {
    expect((await ask({})).status).toBe(status)
  })

  test.each(['temperature', 'top_p', 'top_k'])(`refuses %s in version ${version}`, async (field) => {
    const reply = await ask({ [field]: 1 })
    expect(reply.status).toBe(400)
    if (status === 200)
      expect(JSON.stringify(reply.body)).toContain(`${field}: Extra inputs are not permitted`)
  })
})
