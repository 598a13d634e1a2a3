// Every model of the shipped lists, as an upstream with `listed: true` serves it: the simulators, which are as strict as the
// vendors, know it by its name and answer it, also if a request has fields that the model does not accept.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { shippedKinds, shippedList } from '../../cli/configuration/shipped-lists'
import { notSimulated, simulated } from '../../cli/configuration/simulated'
import builtIn from '../../gateway.config'
import { type Sandbox, startSandbox } from '../../sandbox'
import { withVendorLists } from '../../src/config/models/vendor-lists'
import type { Config } from '../../src/config/schema'
import type { Model } from '../../src/contract/family'
import { operationOf, pathForModel } from '../../src/contract/operations'
import { wavOf } from '../../src/lib/file-formats/wav'
import { formatUsd } from '../../src/lib/money'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'

const { value } = withVendorLists({ upstreams: builtIn.upstreams, models: {} }, shippedList)
const listed = value as Config
/** OpenAI rejects requests of text alone for models of sound in chat, and the simulator speaks no sound there. */
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

/** Fields that many models reject; each is left out, renamed or mapped according to the known facts about the model. */
const settings = { temperature: 0.5, top_p: 0.9, stop: ['END'], max_tokens: 300, frequency_penalty: 0.1 }

describe('each listed model answers', () => {
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

describe('a batch above the vendor’s limit per call is split', () => {
  // Of some 360,000 tokens, and of 1.8 million bytes, the only known bound of tokens before the call.
  const input = Array.from({ length: 450 }, (_, index) => `${index} ${'word '.repeat(800)}`)
  for (const [model, calls] of [
    ['text-embedding-3-small', 7],
    ['text-embedding-3-large', 7],
    ['voyage-4-lite', 2],
    ['voyage-3.5', 6],
    ['voyage-4-large', 16],
    // No page names a limit of it.
    ['voyage-3-lite', 16],
    // Of 16,000 tokens at most: three of these inputs.
    ['mistral-embed', 150],
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

/** Nano-dollars that the last request cost. */
async function lastCost(): Promise<number> {
  const { db } = gateway.server.world
  const [charge] = await db.query({ sql: 'select * from charges order by created_at desc, id desc limit 1' })
  return Number(charge?.amount)
}

describe('transcriptions of vendors besides OpenAI', () => {
  // $0.111 and $0.04 an hour at Groq, for ten seconds at least; $0.0035 and $0.003 a minute at Mistral.
  for (const [model, seconds, nano] of [
    ['whisper-large-v3', 7, 308_334],
    ['whisper-large-v3', 20, 616_667],
    ['whisper-large-v3-turbo', 1, 111_112],
    ['whisper-large-v3-turbo', 60, 666_667],
    // A second is rounded up to a whole pico-dollar.
    ['voxtral-mini-transcribe-3', 60, 3_500_001],
    ['voxtral-mini-2602', 1, 50_000],
  ] as const) {
    test(`${seconds} s by ${model} cost $${formatUsd(nano)}`, async () => {
      expect((await transcribe(model, {}, seconds)).status).toBe(200)
      expect(await lastCost()).toBe(nano)
    })
  }

  test('the seconds that Mistral reports in its own fields are charged', async () => {
    const response = await transcribe('voxtral-mini-latest', { 'timestamp_granularities[]': 'segment' })
    expect(await response.json()).toMatchObject({ usage: { prompt_audio_seconds: 7 } })
    expect(sandbox.calls.at(-1)?.form).toContainEqual(['timestamp_granularities', 'segment'])
  })

  test('a request that the vendor would reject is rejected before the call', async () => {
    for (const [model, fields, param] of [
      ['voxtral-mini-latest', { stream: 'true' }, 'stream'],
      ['voxtral-mini-latest', { response_format: 'srt' }, 'response_format'],
      ['voxtral-mini-latest', { prompt: 'Names' }, 'prompt'],
      ['whisper-large-v3', { response_format: 'vtt' }, 'response_format'],
      ['whisper-large-v3', { stream: 'true' }, 'stream'],
    ] as const) {
      const before = sandbox.calls.length
      const response = await transcribe(model, fields)
      const { error } = (await response.json()) as { error?: { param?: string } }
      expect({
        model,
        status: response.status,
        param: error?.param,
        calls: sandbox.calls.length - before,
      }).toEqual({
        model,
        status: 400,
        param,
        calls: 0,
      })
    }
  })
})

test('lengths of vectors go to Mistral under its own name', async () => {
  const embed = (model: string, dimensions: number) =>
    gateway.post('/v1/embeddings', { model, input: ['one', 'two'], dimensions })
  const { data } = (await (await embed('codestral-embed', 256)).json()) as { data: { embedding: number[] }[] }
  expect(data.map(({ embedding }) => embedding.length)).toEqual([256, 256])
  expect((await embed('mistral-embed', 256)).status).toBe(400)
  expect((await embed('codestral-embed', 4_000)).status).toBe(400)
})

test('lengths of vectors that a listed model does not have are rejected by name', async () => {
  const response = await gateway.post('/v1/embeddings', { model: 'voyage-4', input: 'x', dimensions: 100 })
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 400,
    body: { error: { param: 'dimensions', code: 'invalid_value' } },
  })
})

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
  for (const model of ['gpt-3.5-turbo', 'gpt-5-mini', 'o4-mini']) {
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

/** Seconds of sound, sent as a form. */
function transcribe(model: string, fields: Record<string, string> = {}, seconds = 7): Promise<Response> {
  const wav = wavOf({ sampleRate: 8_000, channels: 1 }, [new Uint8Array(8_000 * 2 * seconds)])
  const form = new FormData()
  for (const [name, value] of Object.entries({ model, ...fields })) form.append(name, value)
  form.append('file', new File([new Uint8Array(wav)], 'sound.wav'))
  const headers = { authorization: `Bearer ${gateway.secret}` }
  return fetch(`${gateway.url}/v1/audio/transcriptions`, { method: 'POST', headers, body: form })
}

/** The failure of a model for a plain request, then for one with settings; undefined if it answered both. */
async function faultOf(model: Model): Promise<object | undefined> {
  const { path, body: form } = operationOf(model.family.operation)
  const address = pathForModel({ path }, model.id)
  const { plain, operation } = model.family
  if (form === 'form') {
    const response = await transcribe(model.id)
    const text = await response.text()
    return response.ok && /sandbox/.test(text) ? undefined : { id: model.id, operation, text }
  }
  const asked = { model: model.id, ...plain?.body({ text: 'Hello!' }, model) }
  const rich = operation === 'chat' ? [{ model: model.id, messages: say('Hello!'), ...settings }] : []
  for (const body of [asked, ...rich]) {
    const response = await gateway.post(address, body)
    const text = await response.text()
    if (response.status > 202) return { id: model.id, operation, status: response.status, text }
  }
  return undefined
}
