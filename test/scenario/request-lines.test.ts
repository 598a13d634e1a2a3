// The lines of a price over the admin API, for requests of all kinds: each charge has them, and they add up to the price.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { makeAdminToken } from '../support/browser/console-visit'
import { databaseKinds } from '../support/databases/databases'
import { imageModel, startTestGateway, waitFor } from '../support/gateway'

setDefaultTimeout(60_000)

const models = {
  'test-image': imageModel,
  'test-fee': {
    family: 'openai-chat',
    upstream: 'openai',
    upstreamModel: 'gpt-4.1-mini',
    price: {
      per_1m_input_tokens: '0.001',
      per_1m_output_tokens: '0.001',
      per_request: '0.001',
      minimum: '0.01',
    },
  },
}
const said = (content: string) => ({ messages: [{ role: 'user', content }] })
/** Requests with the first words of each line of their prices. */
const requests: [path: string, body: object, lines: string[]][] = [
  ['/v1/chat/completions', { model: 'test-chat', ...said('Hello') }, ['input tokens', 'output tokens']],
  [
    '/v1/chat/completions',
    { model: 'test-chat', stream: true, ...said('[sandbox cached=2] Hello') },
    ['input tokens', 'cached input tokens', 'output tokens'],
  ],
  [
    '/v1/messages',
    { model: 'test-messages', max_tokens: 50, ...said('[sandbox cached=2 written=3] Hello') },
    ['input tokens', 'cached input tokens', 'cache write tokens', 'output tokens'],
  ],
  [
    '/v1/chat/completions',
    { model: 'test-fee', ...said('Hello') },
    ['request', 'input tokens', 'output tokens', 'minimum'],
  ],
  ['/v1/embeddings', { model: 'test-embedding', input: 'Hello there' }, ['input tokens']],
  ['/v1/images/generations', { model: 'test-image', prompt: 'An owl', n: 2 }, ['images']],
  [
    '/v1/videos',
    { model: 'test-long-video', prompt: '[sandbox task_ms=1] An owl', seconds: '5' },
    ['seconds'],
  ],
]

interface Shown {
  state: string
  amount_usd: string
  lines: { kind: string; unit?: string; amount_usd: string }[] | null
}

function picoOf(usd: string): bigint {
  const [whole = '', decimals = ''] = usd.replace('-', '').split('.')
  const pico = BigInt(`${whole}${decimals.padEnd(12, '0')}`)
  return usd.startsWith('-') ? -pico : pico
}

for (const database of databaseKinds) {
  test(`the charge of each kind of request has lines that add up to it (${database})`, async () => {
    const gateway = await startTestGateway({ database, models })
    const authorization = `Bearer ${await makeAdminToken(gateway, 'viewer')}`
    const chargeOf = async (id: string) => {
      await gateway.server.world.requestLog.flush()
      const response = await fetch(`${gateway.url}/admin/v1/requests/${id}`, { headers: { authorization } })
      return ((await response.json()) as { charges: Shown[] }).charges[0]
    }
    for (const [path, body, words] of requests) {
      const response = await gateway.post(path, body)
      expect({ path, body, status: response.status }).toEqual({ path, body, status: 200 })
      await response.text()
      const id = response.headers.get('x-request-id') as string
      await waitFor(async () => (await chargeOf(id))?.state === 'settled')
      const { lines, amount_usd: amount } = (await chargeOf(id)) as Shown
      expect({ path, lines: lines?.map(({ kind, unit }) => unit ?? kind) }).toEqual({ path, lines: words })
      const sum = lines?.reduce((total, line) => total + picoOf(line.amount_usd), 0n)
      expect({ path, sum }).toEqual({ path, sum: picoOf(amount) })
    }
    await gateway.close()
  })
}
