// Vendors that frame their answers loosely serve two customers at once through the whole gateway: nobody reads a byte of
// what the other one wrote, and what a strict reader refuses reaches nobody.

import { expect, test } from 'bun:test'
import type { ModelConfig, UpstreamConfig } from '../src/config'
import { startTestGateway, testModels } from './support/gateway'
import { type Extra, extras, type Framing, framings, startLooseVendor } from './support/loose-vendor'
import { createRandom } from './support/random'

const REQUESTS = 10
const CUSTOMERS = ['alice', 'bob'] as const
const PAUSES_MS = [0, 0, 5, 20, 60, 130]

interface Case {
  model: string
  framing: Framing
  extra: Extra
  name: string
}

const cases = framings.flatMap((framing) =>
  Object.entries(extras).map(
    ([more, extra]): Omit<Case, 'model'> => ({
      framing,
      extra,
      name: `${framing.name}, ${more}`,
    }),
  ),
)

test(`${cases.length} kinds of loose framing let nothing cross`, async () => {
  const vendors = await Promise.all(cases.map(({ framing, extra }) => startLooseVendor(framing, extra)))
  const upstreams: Record<string, UpstreamConfig> = {}
  const models: Record<string, Partial<ModelConfig>> = {}
  for (const [index, { url }] of vendors.entries()) {
    upstreams[`loose-${index}`] = { kind: 'openai', baseUrl: `${url}/v1`, apiKey: 'none' }
    models[`loose-${index}`] = { ...testModels['test-chat'], upstream: `loose-${index}` }
  }
  const gateway = await startTestGateway({ upstreams, models })
  const secrets = { alice: gateway.secret, bob: (await gateway.makeKey('bob', '100')).secret }
  const faults: string[] = []
  let proper = 0

  async function ask(customer: (typeof CUSTOMERS)[number], model: string, stream: boolean) {
    const messages = [{ role: 'user', content: `said by ${customer}` }]
    const response = await gateway.post(
      '/v1/chat/completions',
      { model, messages, stream },
      { authorization: `Bearer ${secrets[customer]}` },
    )
    return { status: response.status, text: await response.text() }
  }

  async function run({ model, framing, name }: Case, customer: (typeof CUSTOMERS)[number], seed: number) {
    const random = createRandom(seed)
    const other = customer === 'alice' ? 'bob' : 'alice'
    for (let count = 0; count < REQUESTS; count++) {
      const stream = random.chance(0.3)
      const { status, text } = await ask(customer, model, stream)
      if (text.includes(`said by ${other}`)) faults.push(`${name}: ${customer} reads ${other}`)
      const isWhole = status === 200 && (!stream || text.includes('[DONE]'))
      if (isWhole && !framing.isProper && text.includes('loosely')) faults.push(`${name}: was accepted`)
      if (status !== 200 && status !== 502) faults.push(`${name}: ${status} ${text}`)
      if (status === 200 && text.includes(`said by ${customer}, properly`)) proper++
      await Bun.sleep(random.pick(PAUSES_MS))
    }
  }

  await Promise.all(
    cases.flatMap((each, index) =>
      CUSTOMERS.map((customer, at) => run({ ...each, model: `loose-${index}` }, customer, 2 * index + at)),
    ),
  )
  for (const vendor of vendors) vendor.stop()
  await gateway.close()
  expect(faults).toEqual([])
  // Those that were in order arrived.
  expect(proper).toBeGreaterThan(cases.length * REQUESTS * 0.5)
}, 60_000)
