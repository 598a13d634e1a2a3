// Vendors' usage beyond plain tokens, and the holds for it: sound, caches by lifetime, searches, service tiers, in whole answers
// and in streams. And tasks that began before prices were in pico-dollars.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { ModelConfig } from '../../src/config/schema'
import { readChunk, readCompletion } from '../../src/families/chat/caller-side'
import { openaiChat } from '../../src/families/chat/openai'
import { chatUsage } from '../../src/families/chat/usage'
import { readMessage, readMessageEvent } from '../../src/families/messages/caller-side'
import { endTask } from '../../src/tasks/finish'
import { databaseKinds, openTestDatabase } from '../support/databases/databases'
import { START } from '../support/databases/ledger-rows'
import { followTask, fund, readTask } from '../support/databases/task-rows'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { VIDEO_NANO } from '../support/vendors/task'
import { chunk, completion, DONE, eventStream, type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

describe('a completion', () => {
  const read = (usage: object) => readCompletion({ choices: [], usage }).usage?.figures

  test('with sound in and out counts it apart, once', () => {
    const details = {
      prompt_tokens_details: { audio_tokens: 60 },
      completion_tokens_details: { audio_tokens: 30 },
    }
    expect(read({ prompt_tokens: 100, completion_tokens: 40, total_tokens: 140, ...details })).toEqual({
      input_token: 40,
      output_token: 10,
      input_audio_token: 60,
      output_audio_token: 30,
    })
  })

  test('whose sound was read from a cache is sound, and cached as far as it must be', () => {
    const details = { prompt_tokens_details: { audio_tokens: 60, cached_tokens: 80, cache_write_tokens: 5 } }
    expect(read({ prompt_tokens: 100, completion_tokens: 0, ...details })).toEqual({
      input_token: 0,
      cached_input_token: 35,
      cache_write_token: 5,
      input_audio_token: 20,
      cached_input_audio_token: 40,
      output_token: 0,
    })
  })

  test.each([
    { prompt_tokens_details: { audio_tokens: 101 } },
    { prompt_tokens_details: { audio_tokens: -1 } },
    { completion_tokens_details: { audio_tokens: 41 } },
    { completion_tokens_details: { audio_tokens: 1.5 } },
    { num_sources_used: 'many' },
  ])('with impossible usage is not charged by it: %p', (details) => {
    expect(read({ prompt_tokens: 100, completion_tokens: 40, ...details })).toBe('invalid')
  })

  test('says which tier served it, whole or in pieces, and what its searches used', () => {
    const usage = {
      prompt_tokens: 1,
      completion_tokens: 1,
      num_sources_used: 3,
    }
    expect(readCompletion({ choices: [], usage, service_tier: 'flex' })).toMatchObject({
      serviceTier: 'flex',
      usage: { figures: { search_source: 3 } },
    })
    expect(readChunk({ choices: [], service_tier: 'priority' }).serviceTier).toBe('priority')
    expect(readChunk({ choices: [], service_tier: null }).serviceTier).toBeUndefined()
  })
})

describe('a message', () => {
  const ask = { body: { max_tokens: 10 }, byteLength: 0, at: 0 }
  const lifetimes = (short: number, long: number) => ({
    cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
  })

  test('counts what was written to caches by how long it stays, and searches', () => {
    const usage = {
      input_tokens: 5,
      cache_creation_input_tokens: 30,
      ...lifetimes(10, 20),
      output_tokens: 2,
      server_tool_use: { web_search_requests: 3, web_fetch_requests: 9 },
      service_tier: 'priority',
    }
    expect(readMessage({ content: [], usage }, ask)).toMatchObject({
      usage: {
        figures: {
          input_token: 5,
          cache_write_token: 10,
          cache_write_1h_token: 20,
          output_token: 2,
          web_search: 3,
        },
      },
      serviceTier: 'priority',
    })
    expect(
      readMessage({ content: [], usage: { output_tokens: 2, ...lifetimes(10, 20) } }, ask).usage?.figures,
    ).toMatchObject({
      cache_write_token: 10,
      cache_write_1h_token: 20,
    })
  })

  test('with more long-lived cache writes than cache writes is not charged by them', () => {
    const usage = { input_tokens: 5, cache_creation_input_tokens: 10, ...lifetimes(0, 20), output_tokens: 2 }
    expect(readMessageEvent({ type: 'message_start', message: { usage } }).usage?.figures).toBe('invalid')
  })

  test('is reported to clients of chat with all of it in the prompt', () => {
    const usage = {
      input_token: 5,
      cached_input_token: 7,
      cache_write_token: 10,
      cache_write_1h_token: 20,
      output_token: 2,
    }
    expect(chatUsage(usage)).toMatchObject({
      prompt_tokens: 42,
      prompt_tokens_details: { cached_tokens: 7, cache_write_tokens: 30 },
    })
  })
})

describe('through the gateway', () => {
  const chatPrice = {
    per_1m_input_tokens: '1',
    per_1m_output_tokens: '2',
    per_1m_input_audio_tokens: '10',
    per_1m_output_audio_tokens: '20',
    per_1k_search_sources: '25',
    service_tiers: { priority: '2', flex: '0.5' },
  }
  const messagePrice = {
    per_1m_input_tokens: '1',
    per_1m_cached_input_tokens: '0.1',
    per_1m_cache_write_tokens: '1.25',
    per_1m_cache_write_1h_tokens: '2',
    per_1m_output_tokens: '5',
    per_1k_web_searches: '10',
  }
  const model = (family: string, price: object): ModelConfig => ({
    family,
    upstream: family === 'openai-chat' ? 'chat' : 'messages',
    upstreamModel: 'odd',
    price: price as Record<string, string>,
  })
  let vendor: OddVendor
  let gateway: TestGateway

  beforeAll(async () => {
    vendor = startVendor()
    gateway = await startTestGateway({
      upstreams: {
        chat: vendor.upstream,
        messages: { kind: 'anthropic', baseUrl: vendor.url, apiKey: 'none' },
      },
      models: {
        'odd-chat': model('openai-chat', chatPrice),
        'loud-chat': model('openai-chat', { ...chatPrice, per_1m_input_audio_tokens: '100' }),
        'odd-messages': model('anthropic-messages', messagePrice),
        'long-messages': model('anthropic-messages', {
          per_1m_input_tokens: '1',
          per_1m_output_tokens: '5',
          above_100: { per_1m_input_tokens: '10', per_1m_output_tokens: '50' },
          service_tiers: { priority: '3' },
        }),
      },
    })
  })
  afterAll(async () => {
    await gateway.close()
    await vendor.stop()
  })

  const charge = async () =>
    (await gateway.newestCharge()) as { amount: number; held: number; prices: string }
  const message = (more: object) => ({
    model: 'odd-messages',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Hello!' }],
    ...more,
  })
  const said = (usage: object) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'odd',
    content: [{ type: 'text', text: 'Hi' }],
    stop_reason: 'end_turn',
    usage,
  })

  test('a tier that only the first event of a stream names is the one that is billed', async () => {
    const first = chunk('Hello').replace('"id"', '"service_tier":"priority","id"')
    const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 }
    vendor.answer = () =>
      eventStream(`${first}${chunk('', 'stop')}data: ${JSON.stringify({ choices: [], usage })}\n\n${DONE}`)
    await (await gateway.chat({ model: 'odd-chat', stream: true })).text()
    expect((await charge()).amount).toBe(60_000)
  })

  test('the billed table is kept, and the cost is in the answer', async () => {
    vendor.answer = () => Response.json({ ...(completion('Hi', 10, 10) as object), service_tier: 'flex' })
    const response = await gateway.chat({ model: 'odd-chat', service_tier: 'flex' })
    expect(response.headers.get('x-gateway-cost-usd')).toBe('0.000015')
    const { amount, prices } = await charge()
    expect(amount).toBe(15_000)
    expect(JSON.parse(prices)).toMatchObject([{ tier: 'flex', pico: { input_token: 500_000 } }])
  })

  test('sound is held at its price and billed at it', async () => {
    const usage = {
      prompt_tokens: 1_000,
      completion_tokens: 50,
      total_tokens: 1_050,
      prompt_tokens_details: { audio_tokens: 900 },
      completion_tokens_details: { audio_tokens: 40 },
    }
    vendor.answer = () =>
      Response.json({ ...(completion('Hi', 1, 1) as object), usage, service_tier: 'default' })
    const parts = [
      { type: 'text', text: 'What is said?' },
      { type: 'input_audio', input_audio: { data: 'A'.repeat(16_000), format: 'mp3' } },
    ]
    const response = await gateway.chat({
      model: 'odd-chat',
      messages: [{ role: 'user', content: parts }],
      modalities: ['text', 'audio'],
      audio: { voice: 'alloy', format: 'wav' },
      max_tokens: 60,
    })
    expect(response.status).toBe(200)
    const { amount, held } = await charge()
    expect(amount).toBe(100 * 1_000 + 900 * 10_000 + 10 * 2_000 + 40 * 20_000)
    expect(held).toBeGreaterThan(amount)
  })

  test.each([
    { type: 'file', file: { file_data: `data:audio/mpeg;base64,${'A'.repeat(16_000)}`, filename: 'a.mp3' } },
    { type: 'image_url', image_url: { url: `data:audio/wav;base64,${'A'.repeat(16_000)}` } },
    { type: 'audio_url', audio_url: { url: 'https://example.com/a.mp3' } },
    { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } },
  ])('whatever form it comes in, as $type', async (part) => {
    const usage = {
      prompt_tokens: 2_000,
      completion_tokens: 5,
      prompt_tokens_details: { audio_tokens: 2_000 },
    }
    vendor.answer = () =>
      Response.json({ ...(completion('Hi', 1, 1) as object), usage, service_tier: 'default' })
    const response = await gateway.chat({
      model: 'loud-chat',
      messages: [{ role: 'user', content: [part] }],
      max_tokens: 5,
      service_tier: 'default',
    })
    expect([response.status, await response.text()]).toEqual([200, expect.any(String)])
    const { amount, held } = await charge()
    expect(amount).toBe(2_000 * 100_000 + 5 * 2_000)
    expect(held).toBeGreaterThanOrEqual(amount)
  })

  test('sources of a search are held up to their limit, and billed as they were used', async () => {
    const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20, num_sources_used: 4 }
    vendor.answer = () =>
      Response.json({ ...(completion('Hi', 1, 1) as object), usage, service_tier: 'default' })
    await gateway.chat({ model: 'odd-chat', search_parameters: { mode: 'on', max_search_results: 5 } })
    const { amount, held } = await charge()
    expect(amount).toBe(30_000 + 4 * 25_000_000)
    expect(held).toBeGreaterThan(5 * 25_000_000)
  })

  test('cache writes for an hour are held and billed as such, in a stream too', async () => {
    const start = {
      input_tokens: 5,
      cache_creation_input_tokens: 60,
      cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 50 },
      output_tokens: 1,
    }
    const events = [
      { type: 'message_start', message: said(start) },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
      { type: 'content_block_stop', index: 0 },
      // The last figures say only how much was written in all.
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn' },
        usage: { input_tokens: 5, cache_creation_input_tokens: 60, output_tokens: 7 },
      },
    ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    vendor.answer = () =>
      eventStream(`${events.join('')}event: message_stop\ndata: {"type":"message_stop"}\n\n`)
    const long = { type: 'ephemeral', ttl: '1h' }
    const system = [{ type: 'text', text: 'A long text'.repeat(20), cache_control: long }]
    await (await gateway.post('/v1/messages', message({ system, stream: true }))).text()
    const { amount, held } = await charge()
    expect(amount).toBe(5 * 1_000 + 10 * 1_250 + 50 * 2_000 + 7 * 5_000)
    expect(held).toBeGreaterThan(amount)
  })

  test('searches are held by the caller’s limit, and billed by their number', async () => {
    const usage = { input_tokens: 5, output_tokens: 7, server_tool_use: { web_search_requests: 2 } }
    vendor.answer = () => Response.json(said(usage))
    const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }]
    const response = await gateway.post('/v1/messages', message({ tools }))
    expect(response.status).toBe(200)
    const { amount, held } = await charge()
    expect(amount).toBe(5 * 1_000 + 7 * 5_000 + 2 * 10_000_000)
    expect(held).toBeGreaterThan(3 * 10_000_000)
  })

  test('several candidates are each of the length that the vendor counted', async () => {
    const counted = (input: number, tier = 'standard') =>
      Response.json(said({ input_tokens: input, output_tokens: 7, service_tier: tier }))
    const ask = (n: number) =>
      gateway.chat({ model: 'long-messages', n, messages: [{ role: 'user', content: 'Hi' }] })
    vendor.answer = () => counted(80)
    await ask(2)
    expect((await charge()).amount).toBe(2 * (80 * 1_000 + 7 * 5_000))
    vendor.answer = () => counted(120)
    await ask(2)
    expect((await charge()).amount).toBe(2 * (120 * 10_000 + 7 * 50_000))
    // One of them in a more expensive tier: all of them are billed by it.
    let calls = 0
    vendor.answer = () => counted(80, calls++ === 0 ? 'priority' : 'standard')
    await ask(2)
    expect((await charge()).amount).toBe(2 * 3 * (80 * 1_000 + 7 * 5_000))
  })

  test('searches without number that no request can have made are not believed', async () => {
    const usage = { input_tokens: 5, output_tokens: 7, server_tool_use: { web_search_requests: 100_000 } }
    vendor.answer = () => Response.json(said(usage))
    const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }]
    await gateway.post('/v1/messages', message({ tools }))
    expect((await charge()).amount).toBeLessThan(10_000_000)
  })

  test('searches without a price in the list are neither requested nor billed', async () => {
    const before = (await gateway.charges()).length
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }]
    const refused = await gateway.post('/v1/messages', message({ model: 'test-messages', tools }))
    expect(refused.status).toBe(400)
    expect((await gateway.charges()).length).toBe(before)
    expect(openaiChat.fieldRules?.some(({ price }) => price === 'service_tier')).toBe(true)
  })
})

test('a video is paid at the tier that its vendor says it was made in', async () => {
  const price = { per_second: { '720p': '0.1' }, service_tiers: { flex: '0.5' } }
  const gateway = await startTestGateway({ models: { 'test-seedance': { price } } })
  const make = async (more: object) => {
    const body = {
      model: 'test-seedance',
      content: [{ type: 'text', text: 'A cat [sandbox task_ms=0]' }],
      resolution: '720p',
      duration: 5,
    }
    const submitted = await gateway.post('/v1/videos/generations?wait=300', { ...body, ...more })
    expect(submitted.status).toBe(200)
    return gateway.charges().then((charges) => charges.at(-1))
  }
  expect(await make({})).toMatchObject({ state: 'settled', held: 500_000_000, amount: 500_000_000 })
  // A slow tier may turn out to be the usual one, so the usual price is held.
  expect(await make({ service_tier: 'flex' })).toMatchObject({ held: 500_000_000, amount: 250_000_000 })
  const refused = await gateway.post('/v1/videos/generations', {
    model: 'test-seedance',
    service_tier: 'fast',
  })
  expect(refused.status).toBe(400)
  await gateway.close()
})

test('the sandbox answers with the requested tier', async () => {
  const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '2', service_tiers: { priority: '2' } }
  const gateway = await startTestGateway({ models: { 'test-chat': { price } } })
  for (const stream of [false, true]) {
    const amounts: unknown[] = []
    for (const tier of ['default', 'priority']) {
      await (await gateway.chat({ stream, service_tier: tier })).text()
      amounts.push((await gateway.newestCharge())?.amount)
    }
    expect(amounts[1]).toBe(2 * (amounts[0] as number))
  }
  await gateway.close()
})

describe('a task that began before prices were pico-dollars', () => {
  test.each(databaseKinds)('is charged at the price that was quoted, on %s', async (kind) => {
    const db = await openTestDatabase(kind)
    await fund(db, 'alice', 10 * VIDEO_NANO, START)
    // Its charge was opened with `{"second": nano-dollars}`.
    const { id } = await followTask(db, { createdAt: START })
    const task = await readTask(db, id)
    const ending = {
      state: 'succeeded' as const,
      document: {},
      videoUrl: 'https://example.com/1',
      usageJson: null,
    }
    expect(await endTask(db, task, ending, { now: START + 1, webhookId: 'w' })).toBe(true)
    const [charge] = await db.query({ sql: 'select amount, held, prices from charges' })
    expect(charge).toMatchObject({ amount: VIDEO_NANO, held: VIDEO_NANO })
    expect(JSON.parse(charge?.prices as string)).toEqual({ second: expect.any(Number) })
    await db.close()
  })
})
