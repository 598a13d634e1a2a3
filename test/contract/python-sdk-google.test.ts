// Google's SDK for Python, and the clients of others that are built on it, in their default modes: texts, streams, tools, schemas,
// images and a wrong key, for models of every protocol.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { googlePackages, named, type Python, runOverLines } from '../support/processes/python-packages'
import type { Json } from '../support/scenario'

setDefaultTimeout(600_000)

const [newest, clients] = await googlePackages()
const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }

let gateway: TestGateway

async function ask(client: string, model: string, { folder = '' }: Python = clients): Promise<Json> {
  const line = JSON.stringify({ client, model, url: gateway.url, key: gateway.secret })
  const [answer] = await runOverLines<Json>(folder, 'google_calls.py', [line])
  expect(answer).toEqual({ result: expect.anything() })
  return answer.result
}

describe.each(['test-chat', 'test-messages', 'on-responses', 'on-contents'])('%s', (model) => {
  // A gateway for each: it logs ten requests with unknown keys a minute.
  beforeAll(async () => {
    gateway = await startTestGateway({
      models: {
        'on-responses': {
          family: 'openai-responses',
          upstream: 'openai',
          upstreamModel: 'gpt-5-mini',
          price,
        },
        'on-contents': {
          family: 'gemini-contents',
          upstream: 'google',
          upstreamModel: 'gemini-3-flash-preview',
          price,
        },
      },
    })
  })
  afterAll(() => gateway.close())

  const sdks: [name: string, python: Python][] = [
    ['by the SDK', newest],
    ['by the older SDK', clients],
  ]
  for (const [name, python] of sdks)
    test.skipIf(!python.folder)(named(name, python), async () => {
      const result = await ask('genai', model, python)
      expect(result.text).toContain('You said: Hello there')
      expect(result.streamed).toBe(result.text)
      expect(result.pieces).toBeGreaterThan(1)
      expect(result.tokens).toBeGreaterThan(0)
      // The SDK calls the function and sends its result by itself.
      expect(result.tool).toContain('sunny in')
      expect(result.city).toHaveProperty('city')
      expect(result.picture).toContain('Describe it')
      expect(result.chat[1]).toContain('Second')
      expect(result.counted).toBeGreaterThan(0)
      expect(result.listed).toBe(true)
      expect(result.refused).toEqual([401, 'UNAUTHENTICATED'])
    })

  for (const client of ['langchain', 'llama-index', 'pydantic-ai'])
    test.skipIf(!clients.folder)(named(`by ${client}`, clients), async () => {
      const { logRow } = await gateway.newest()
      const result = await ask(client, model)
      expect(result.text).toContain('You said: Hello there')
      expect(result.streamed).toBe(result.text)
      expect(result.tool).toContain('sunny in')
      // LlamaIndex has no call of its own for a schema.
      if (client !== 'llama-index') expect(result.city).toEqual({ city: expect.any(String) })
      expect(result.picture).toContain('Describe it')
      expect(result.rejected).toMatch(/401|UNAUTHENTICATED/)
      const statuses = (await gateway.requestLog(logRow)).map(({ status }) => status)
      // LlamaIndex stops when it reads the model, which is not a logged request.
      const rejected = client === 'llama-index' ? [] : [401]
      expect(statuses.filter((status) => status !== 200)).toEqual(rejected)
    })
})
