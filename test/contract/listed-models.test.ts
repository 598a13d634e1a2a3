// Every model of the lists that ship, as an upstream with `listed: true` serves it: the simulators, which are as strict as the
// vendors, know it by its name and answer it, also where a request has fields that the model does not take.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { shippedKinds, shippedList } from '../../cli/configuration/shipped-lists'
import { notSimulated, simulated } from '../../cli/configuration/simulated'
import builtIn from '../../gateway.config'
import { type Sandbox, startSandbox } from '../../sandbox'
import { withVendorLists } from '../../src/config/models/vendor-lists'
import type { Config } from '../../src/config/schema'
import type { Model } from '../../src/contract/family'
import { operationOf } from '../../src/contract/operations'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'

const { value } = withVendorLists({ upstreams: builtIn.upstreams, models: {} }, shippedList)
const listed = value as Config
/** OpenAI refuses requests of text alone for models of sound in chat, and the simulator speaks no sound there. */
const isSound = (id: string) => /^gpt-(4o-)?(mini-)?audio/.test(id)

let sandbox: Sandbox
let gateway: TestGateway

beforeAll(async () => {
  sandbox = startSandbox({ record: true })
  const { upstreams, models } = simulated(listed, sandbox)
  gateway = await startTestGateway({ sandbox, balance: '1000', upstreams, models: models as never })
})
afterAll(async () => {
  await gateway.close()
  await sandbox.stop()
})

test('each is known to the simulator of its vendor, except those that make and hear sound in chat', () => {
  expect(notSimulated(listed, sandbox).filter((id) => !isSound(id))).toEqual([])
})

/** Fields that many models refuse; each is left out, renamed or mapped by what is known of the model. */
const settings = { temperature: 0.5, top_p: 0.9, stop: ['END'], max_tokens: 300, frequency_penalty: 0.1 }

describe('each answers', () => {
  for (const kind of shippedKinds) {
    test(kind, async () => {
      const { catalogue } = gateway.server.world
      const forms = [...catalogue.models].flatMap(([id, models]) =>
        id in listed.models && !isSound(id) ? models.filter(({ upstream }) => upstream.kind === kind) : [],
      )
      expect(forms.length).toBeGreaterThan(3)
      const answers = await Promise.all(forms.map(faultOf))
      expect(answers.filter((fault) => fault !== undefined)).toEqual([])
    })
  }
})

describe('a batch above what the vendor takes in one call is split', () => {
  // Of some 360,000 tokens, and of 1.8 million bytes, which are what is known of tokens before the call.
  const input = Array.from({ length: 450 }, (_, index) => `${index} ${'word '.repeat(800)}`)
  for (const [model, calls] of [
    ['text-embedding-3-small', 7],
    ['text-embedding-3-large', 7],
    ['voyage-4-lite', 2],
    ['voyage-3.5', 6],
    ['voyage-4-large', 16],
    // No page names a limit of it.
    ['voyage-3-lite', 16],
  ] as const) {
    test(model, async () => {
      const before = sandbox.calls.length
      const response = await gateway.post('/v1/embeddings', { model, input })
      const { data, error } = (await response.json()) as { data?: unknown[]; error?: object }
      expect({ status: response.status, error, length: data?.length }).toEqual({
        status: 200,
        error: undefined,
        length: input.length,
      })
      expect(sandbox.calls.length - before).toBe(calls)
    })
  }
})

test('lengths of vectors that a listed model does not have are refused by name', async () => {
  const response = await gateway.post('/v1/embeddings', { model: 'voyage-4', input: 'x', dimensions: 100 })
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 400,
    body: { error: { param: 'dimensions', code: 'invalid_value' } },
  })
})

/** Names that clients ask for unless they are told another: of each client, the version in which they stand. */
const defaults = {
  'openai-agents 0.24.0, llm 0.36': ['gpt-5.6-luna'],
  'agno 3.1.10': ['gpt-5.4-mini', 'claude-sonnet-5-5', 'gemini-3.7-flash'],
  opencode: ['gpt-5.4-nano', 'gpt-5.4'],
  'sgpt 1.5.1': ['gpt-5.4-mini', 'gpt-4o'],
  'aider 0.86.2': ['gpt-4o', 'claude-sonnet-4-5', 'claude-haiku-4-5'],
  'langchain-openai 1.7.4': ['text-embedding-ada-002'],
}

describe('what a client asks for by default is served', () => {
  for (const [client, names] of Object.entries(defaults)) {
    test(client, async () => {
      for (const model of names) {
        const operation = model.startsWith('text-embedding') ? 'embeddings' : 'chat/completions'
        const { status, headers } = await gateway.post(`/v1/${operation}`, {
          model,
          ...(operation === 'embeddings' ? { input: 'Hello!' } : { messages: say('Hello!') }),
        })
        expect({ model, status }).toEqual({ model, status: 200 })
        // By itself: no alias leads elsewhere.
        expect([model, null]).toContain(headers.get('x-gateway-model'))
      }
    })
  }

  test('the built-in catalogue answers names that their vendor has ended, by its aliases', async () => {
    const whole = simulated(withVendorLists(builtIn, shippedList).value as Config, sandbox)
    const { upstreams, models } = whole
    const own = await startTestGateway({
      sandbox,
      balance: '1000',
      upstreams,
      models: models as never,
      config: { aliases: whole.aliases ?? {}, realNames: true },
    })
    for (const model of ['gpt-3.5-turbo', 'gpt-5-mini', 'o4-mini', ...Object.values(defaults).flat()]) {
      if (model.startsWith('text-embedding')) continue
      const { status } = await own.chat({ model })
      expect({ model, status }).toEqual({ model, status: 200 })
    }
    // A model is listed once: by its id here, not by the vendor's name or an alias too.
    const listed = await fetch(`${own.url}/v1/models`, { headers: { authorization: `Bearer ${own.secret}` } })
    const ids = ((await listed.json()) as { data: { id: string }[] }).data.map(({ id }) => id)
    const { models: all, realNames, aliases } = own.server.world.catalogue
    expect(ids.filter((id) => realNames.has(id) || aliases.some(({ name }) => name === id))).toEqual([])
    expect(ids).toEqual([...all.keys()])
    const names = Object.entries(models).map(([id, { upstream, upstreamModel = id }]: [string, Json]) =>
      [upstream, upstreamModel].join('/'),
    )
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
    await own.close()
  })
})

/** The failure of a model that is sent a plain request, then one with settings; undefined if it answered both. */
async function faultOf(model: Model): Promise<object | undefined> {
  const { path, body: form } = operationOf(model.family.operation)
  if (form === 'form') return undefined
  const { plain, operation } = model.family
  const asked = { model: model.id, ...plain?.body({ text: 'Hello!' }, model) }
  const rich = operation === 'chat' ? [{ model: model.id, messages: say('Hello!'), ...settings }] : []
  for (const body of [asked, ...rich]) {
    const response = await gateway.post(path, body)
    const text = await response.text()
    if (response.status > 202) return { id: model.id, operation, status: response.status, text }
  }
  return undefined
}
