// Real models behind the gateway: an unchanged llama.cpp server with 270 million parameters, which gets the same requests directly
// and through the gateway, and one with an instruction model, which calls tools. Their words, their usage and its price must agree,
// whole and streamed, in each dialect.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import { named } from '../support/processes/python-packages'
import { instructedPackage, llamaPackages, startLlama } from '../support/vendors/llama-server'

// An answer takes half a minute on a machine with other work.
setDefaultTimeout(900_000)

const packages = await llamaPackages()
const real = test.skipIf(packages.fault !== undefined)
const name = (text: string) => named(text, packages)
const instructed = await instructedPackage()
const tooled = packages.fault === undefined ? instructed : packages
const realTool = test.skipIf(tooled.fault !== undefined)

// One nano-dollar is a thousandth of these prices of a token.
const price = {
  per_1m_input_tokens: '1.00',
  per_1m_cached_input_tokens: '0.10',
  per_1m_output_tokens: '2.00',
}
const inUsd = (input: number, cached: number, output: number) =>
  ((input - cached) * 1_000 + cached * 100 + output * 2_000) / 1e9

const parameters = {
  type: 'object' as const,
  properties: { city: { type: 'string', enum: ['Rome', 'Oslo'] } },
  required: ['city'],
}
const weather = { name: 'get_weather', description: 'Weather of a city', parameters }
const request = { messages: say('Name the capital of Italy.'), max_tokens: 8, temperature: 0 }
const calling = {
  messages: say('What is the weather in Rome?'),
  tools: [{ type: 'function' as const, function: weather }],
  max_tokens: 8,
  temperature: 0,
}
const city = { type: 'json_schema' as const, json_schema: { name: 'city', schema: parameters, strict: true } }

let url: string
let gateway: TestGateway
let direct: OpenAI
let client: OpenAI
let anthropic: Anthropic

describe('llama.cpp', () => {
  beforeAll(async () => {
    if (packages.folder === undefined) return
    url = await startLlama(packages.folder)
    const model = { upstreamModel: 'gemma', price }
    gateway = await startTestGateway({
      upstreams: {
        llama: { kind: 'openai', baseUrl: url, apiKey: null },
        'llama-messages': { kind: 'anthropic', baseUrl: url, apiKey: null },
      },
      models: {
        gemma: { ...model, family: ['openai-chat', 'openai-completions'], upstream: 'llama' },
        'gemma-messages': { ...model, family: 'anthropic-messages', upstream: 'llama-messages' },
      },
    })
    direct = new OpenAI({ baseURL: url, apiKey: 'none' })
    client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret, maxRetries: 0 })
    anthropic = new Anthropic({
      baseURL: gateway.url,
      apiKey: gateway.secret,
      authToken: null,
      maxRetries: 0,
    })
  })
  afterAll(() => gateway?.close())

  real(
    name('says through the gateway what it says itself, and is paid for the tokens that it counts'),
    async () => {
      const own = await direct.chat.completions.create({ model: 'gemma', ...request })
      const { data, response } = await client.chat.completions
        .create({ model: 'gemma', ...request })
        .withResponse()
      expect(data.choices[0]?.message.content).toBe(own.choices[0]?.message.content as string)
      expect(data.choices[0]?.finish_reason).toBe(own.choices[0]?.finish_reason as 'stop')
      const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = data.usage ?? {}
      expect([input, output, total]).toEqual([
        own.usage?.prompt_tokens,
        own.usage?.completion_tokens,
        own.usage?.total_tokens,
      ])
      const cached = data.usage?.prompt_tokens_details?.cached_tokens ?? 0
      expect(Number(response.headers.get('x-gateway-cost-usd'))).toBe(inUsd(input ?? 0, cached, output ?? 0))
      expect(output).toBeGreaterThan(0)
    },
  )

  real(name('streams the same, and reports its usage only where that is requested'), async () => {
    const whole = await client.chat.completions.create({ model: 'gemma', ...request })
    for (const include_usage of [false, true]) {
      const stream = await client.chat.completions.create({
        ...{ model: 'gemma', ...request },
        ...(include_usage && { stream_options: { include_usage } }),
        stream: true,
      })
      const chunks = await Array.fromAsync(stream)
      const streamed = chunks.map(({ choices: [choice] }) => choice?.delta.content ?? '').join('')
      expect(streamed).toBe(whole.choices[0]?.message.content as string)
      const ends = chunks.flatMap(({ choices: [choice] }) => choice?.finish_reason ?? [])
      expect(ends).toEqual([whole.choices[0]?.finish_reason as 'stop'])
      const figures = chunks.flatMap(({ usage }) => usage ?? [])
      expect(figures.map(({ completion_tokens: count }) => count)).toEqual(
        include_usage ? [whole.usage?.completion_tokens as number] : [],
      )
      const charge = await gateway.newestCharge()
      expect(charge).toMatchObject({ state: 'settled' })
      expect(Number(charge?.amount)).toBeGreaterThan(0)
    }
  })

  // This model has no template for tools, so the server ignores them, both directly and through the gateway.
  real(name('takes tools and a schema as the server itself does'), async () => {
    for (const ask of [calling, { ...request, response_format: city, max_tokens: 20 }]) {
      const own = await direct.chat.completions.create({ model: 'gemma', ...ask })
      const through = await client.chat.completions.create({ model: 'gemma', ...ask })
      expect(through.choices[0]?.message.content).toBe(own.choices[0]?.message.content as string)
      expect(through.usage?.completion_tokens).toBe(own.usage?.completion_tokens as number)
    }
  })

  for (const model of ['gemma', 'gemma-messages']) {
    real(name(`${model}: messages, whole and streamed`), async () => {
      const ask = { model, max_tokens: 8, messages: say('Name the capital of Italy.') }
      const whole = await anthropic.messages.create(ask)
      expect(whole).toMatchObject({ type: 'message', role: 'assistant', model })
      expect(whole.usage.input_tokens + (whole.usage.cache_read_input_tokens ?? 0)).toBeGreaterThan(5)
      expect(whole.usage.output_tokens).toBeGreaterThan(0)
      const streamed = await anthropic.messages.stream(ask).finalMessage()
      expect(streamed.content as Anthropic.ContentBlock[]).toEqual(whole.content)
      expect(streamed.stop_reason).toBe(whole.stop_reason)
      expect(streamed.usage.output_tokens).toBe(whole.usage.output_tokens)
    })

    real(name(`${model}: a response, whole and streamed`), async () => {
      const ask = { model, input: 'Name the capital of Italy.', max_output_tokens: 16, store: false }
      const whole = await client.responses.create(ask)
      expect(whole.output_text.length).toBeGreaterThan(0)
      expect(whole.usage?.output_tokens).toBeGreaterThan(0)
      const stream = client.responses.stream(ask)
      const streamed = await stream.finalResponse()
      expect(streamed.output_text).toBe(whole.output_text)
      expect(streamed.status).toBe(whole.status as 'completed')
      expect(streamed.usage?.output_tokens).toBe(whole.usage?.output_tokens as number)
    })
  }

  real(name('completes a text'), async () => {
    const ask = { model: 'gemma', prompt: 'The capital of Italy is', max_tokens: 4, temperature: 0 }
    const [own, through] = [await direct.completions.create(ask), await client.completions.create(ask)]
    expect(through.choices[0]?.text).toBe(own.choices[0]?.text as string)
    expect(through.usage?.completion_tokens).toBe(own.usage?.completion_tokens as number)
  })

  real(name('is rejected in its own words, which costs nothing'), async () => {
    const before = await gateway.balance()
    const refused = await gateway.post('/v1/chat/completions', {
      ...{ model: 'gemma', messages: say('word '.repeat(6_000)), max_tokens: 5 },
    })
    expect(refused.status).toBe(400)
    expect(await refused.text()).toContain('context')
    expect(await gateway.balance()).toEqual(before)
  })
})

describe('a call of a tool by a real model', () => {
  let own: OpenAI
  beforeAll(async () => {
    if (packages.folder === undefined || instructed.folder === undefined) return
    url = await startLlama(packages.folder, instructed.folder)
    gateway = await startTestGateway({
      upstreams: { llama: { kind: 'openai', baseUrl: url, apiKey: null } },
      models: { smollm: { family: 'openai-chat', upstream: 'llama', upstreamModel: 'smollm', price } },
    })
    own = new OpenAI({ baseURL: url, apiKey: 'none' })
    client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret, maxRetries: 0 })
    anthropic = new Anthropic({
      baseURL: gateway.url,
      apiKey: gateway.secret,
      authToken: null,
      maxRetries: 0,
    })
  })
  afterAll(() => gateway?.close())

  const model = 'smollm'
  const content = 'What is the weather in Rome?'
  const input = { city: 'Rome' }
  const request = { model, messages: say(content), max_tokens: 30, temperature: 0 }
  const tools = [{ type: 'function' as const, function: weather }]

  realTool(
    named('chat: the same as of the server itself, whole, streamed, and after a result', tooled),
    async () => {
      const ask = { ...request, tools, tool_choice: 'required' as const }
      const direct = await own.chat.completions.create(ask)
      const through = await client.chat.completions.create(ask)
      const [call] = through.choices[0]?.message.tool_calls ?? []
      if (call?.type !== 'function') throw new Error(JSON.stringify(through))
      const [theirs] = direct.choices[0]?.message.tool_calls ?? []
      expect({ ...call, id: theirs?.id }).toEqual(theirs as typeof call)
      expect([call.function.name, JSON.parse(call.function.arguments)]).toEqual(['get_weather', input])
      expect(through.choices[0]?.finish_reason).toBe('tool_calls')
      expect(through.usage?.completion_tokens).toBe(direct.usage?.completion_tokens as number)

      const streamed = await client.chat.completions.stream(ask).finalChatCompletion()
      const [again] = streamed.choices[0]?.message.tool_calls ?? []
      expect(again).toMatchObject({ function: call.function })
      expect(streamed.choices[0]?.finish_reason).toBe('tool_calls')

      const result = { role: 'tool' as const, tool_call_id: call.id, content: 'sunny' }
      const turn = { role: 'assistant' as const, content: null, tool_calls: [call] }
      const next = { role: 'user' as const, content: 'And in Oslo?' }
      const messages = [...say(content), turn, result, next]
      const last = await client.chat.completions.create({ ...ask, messages })
      expect(last.choices[0]?.finish_reason).toBe('tool_calls')
    },
  )

  realTool(named('messages, whole and streamed', tooled), async () => {
    const ask = {
      ...request,
      tools: [{ name: weather.name, description: weather.description, input_schema: parameters }],
      tool_choice: { type: 'any' as const },
    }
    const call = { type: 'tool_use', name: 'get_weather', input }
    const whole = await anthropic.messages.create(ask)
    expect(whole).toMatchObject({ stop_reason: 'tool_use', content: [call] })
    const streamed = await anthropic.messages.stream(ask).finalMessage()
    expect(streamed).toMatchObject({ stop_reason: 'tool_use', content: [call] })
    expect(streamed.usage.output_tokens).toBe(whole.usage.output_tokens)
  })

  realTool(named('a response, whole and streamed', tooled), async () => {
    const ask = {
      model,
      input: content,
      max_output_tokens: 30,
      temperature: 0,
      store: false,
      tools: [{ type: 'function' as const, ...weather, strict: false }],
      tool_choice: 'required' as const,
    }
    const whole = await client.responses.create(ask)
    const [item] = whole.output
    if (item?.type !== 'function_call') throw new Error(JSON.stringify(whole))
    expect([item.name, JSON.parse(item.arguments)]).toEqual(['get_weather', input])
    const streamed = await client.responses.stream(ask).finalResponse()
    expect(streamed.output).toMatchObject([
      { type: 'function_call', name: item.name, arguments: item.arguments },
    ])
    expect(streamed.usage?.output_tokens).toBe(whole.usage?.output_tokens as number)
  })
})
