// `gateway models`: what the configuration offers, and what requests of every family would cost. The prices are checked
// by hand here, and once against what the gateway really holds.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { picture } from '../../sandbox/pictures'
import type { ModelConfig } from '../../src/config/schema'
import { operations } from '../../src/contract/operations'
import { temporaryFolder } from '../support/databases/databases'
import { startTestGateway, testConfig } from '../support/gateway'
import { createCommandLine } from '../support/processes/command-line'
import type { Json } from '../support/scenario'

setDefaultTimeout(180_000)

const folder = temporaryFolder()
const { json, run, inShell, allFail } = createCommandLine(folder)

const tokens = { per_1m_input_tokens: '0.25', per_1m_output_tokens: '2.00' }
const imageTokens = { ...tokens, per_1m_input_image_tokens: '8', per_1m_output_image_tokens: '30' }
const sizes = { '256x256': '0.016', '512x512': '0.018', '1024x1024': '0.02' }

const models: Record<string, ModelConfig> = {
  chat: {
    family: 'openai-chat',
    upstream: 'openai',
    upstreamModel: 'local-model',
    ownedBy: 'somebody',
    price: tokens,
  },
  embed: {
    family: 'voyage-embeddings',
    upstream: 'voyage',
    upstreamModel: 'voyage-4',
    price: { per_1m_input_tokens: '0.02', per_request: '0.001' },
  },
  gratis: { family: 'openai-chat', upstream: 'openai', free: true },
  voice: {
    family: 'dashscope-speech',
    upstream: 'dashscope',
    upstreamModel: 'qwen3-tts-flash',
    price: { per_1m_characters: '10' },
  },
  picture: {
    family: 'dashscope-images',
    upstream: 'dashscope',
    upstreamModel: 'qwen-image-2.0',
    price: { per_image: '0.035' },
  },
  editor: {
    family: 'dashscope-images',
    upstream: 'dashscope',
    upstreamModel: 'qwen-image-edit-plus',
    referenceImages: { min: 1, max: 3 },
    price: { per_image: '0.03' },
  },
  series: {
    family: 'ark-images',
    upstream: 'ark',
    upstreamModel: 'seedream-4-5-251128',
    price: { per_image: '0.04' },
  },
  tiered: {
    family: 'xai-images',
    upstream: 'xai',
    upstreamModel: 'grok-imagine-image',
    referenceImages: { min: 0, max: 3 },
    price: { per_image: { '1k': '0.02', '2k': '0.07' }, per_input_image: '0.002' },
  },
  long: {
    family: 'openai-chat',
    upstream: 'openai',
    upstreamModel: 'Long-Model',
    price: {
      per_1m_input_tokens: '1.25',
      per_1m_output_tokens: '10',
      per_1k_web_searches: '10',
      above_200k: { per_1m_input_tokens: '2.50', per_1m_output_tokens: '15' },
      service_tiers: { flex: '0.5', priority: '2' },
      minimum: '0.001',
      source: 'https://example.com/prices',
      as_of: '2026-11-05',
    },
  },
  'half-tiered': {
    family: 'xai-images',
    upstream: 'xai',
    upstreamModel: 'grok-imagine-image',
    price: { per_image: { '1k': '0.02' }, per_input_image: '0.002' },
  },
  steps: {
    family: 'gemini-images',
    upstream: 'google',
    upstreamModel: 'gemini-3.1-flash-image',
    price: { ...tokens, per_1m_output_image_tokens: '60' },
  },
  both: {
    family: ['openai-images', 'openai-image-edits'],
    upstream: 'openai',
    upstreamModel: 'gpt-image-1',
    referenceImages: { min: 1, max: 16 },
    price: imageTokens,
  },
  legacy: {
    family: ['dalle-images', 'dalle-image-edits'],
    upstream: 'openai',
    upstreamModel: 'dall-e-2',
    price: { per_image: sizes },
  },
  film: {
    family: 'dashscope-video',
    upstream: 'dashscope',
    upstreamModel: 'wan2.6-t2v',
    durations: { min: 2, max: 15, default: 5 },
    price: { per_second: { '720p': '0.1', '1080p': '0.15' } },
  },
  'film-from-image': {
    family: 'xai-video',
    upstream: 'xai',
    upstreamModel: 'grok-imagine-video-1.5-preview',
    durations: { min: 1, max: 15, default: 8 },
    referenceImages: { min: 1, max: 1 },
    price: { per_second: { '480p': '0.08', '720p': '0.14' } },
  },
}
const config = {
  upstreams: {
    openai: { kind: 'openai', apiKey: 'sk-vendor' },
    dashscope: { kind: 'dashscope', apiKey: 'sk-vendor' },
    xai: { kind: 'xai', apiKey: 'sk-vendor' },
    google: { kind: 'google', apiKey: 'sk-vendor' },
    ark: { kind: 'ark', apiKey: 'sk-vendor' },
    voyage: { kind: 'voyage' },
  },
  models,
}
writeFileSync(join(folder, 'gateway.config.ts'), `export default ${JSON.stringify(config)}\n`)

test('models list shows what each model serves, at what price, and why it is not available', async () => {
  const [list, sandboxed, table] = await Promise.all([
    json('models list'),
    json('models list --sandbox'),
    run('models list'),
  ])
  const find = (id: string) => list.find((model: Json) => model.id === id)
  expect(list.map((model: Json) => model.id)).toEqual(Object.keys(models))
  expect(find('chat')).toEqual({
    id: 'chat',
    aliases: [],
    operations: ['chat', 'messages', 'responses', 'contents'],
    families: ['openai-chat', 'messages-on-chat', 'responses-on-chat', 'gemini-on-chat'],
    upstream: 'openai',
    upstream_model: 'local-model',
    owned_by: 'somebody',
    available: true,
    reason: null,
    price: {
      per_1m_input_tokens: '0.25',
      per_1m_output_tokens: '2.00',
    },
    price_source: null,
    price_as_of: null,
    context_tokens: null,
    max_output_tokens: null,
    retires: null,
    successor: null,
    cost: null,
  })
  expect(find('long')).toMatchObject({
    price: {
      above_200k: { per_1m_output_tokens: '15.00' },
      service_tiers: { flex: { per_1m_output_tokens: '5.00' } },
    },
    price_source: 'https://example.com/prices',
    price_as_of: '2026-11-05',
  })
  expect(find('embed')).toMatchObject({
    available: false,
    reason: expect.stringContaining('VOYAGE_API_KEY'),
    price: { per_1m_input_tokens: '0.02', per_request: '0.001' },
  })
  expect(find('legacy')).toMatchObject({
    operations: ['image', 'image-edit'],
    families: ['dalle-images', 'dalle-image-edits'],
    price: { per_image: { '256x256': '0.016', '512x512': '0.018', '1024x1024': '0.02' } },
  })
  expect(sandboxed.every((model: Json) => model.available)).toBe(true)

  const { stdout, stderr } = table
  expect(stdout).toContain('\nPrices as of 2026-11-05.\n')
  expect(stdout).toMatch(/^MODEL +SERVES +UPSTREAM +READY +CONTEXT +ENDS +PRICE IN USD$/m)
  expect(stdout).toMatch(
    /^chat +chat, messages, responses, contents +openai +yes +0\.25 in, 2\.00 out per 1M tokens$/m,
  )
  expect(stdout).toMatch(/^embed +embeddings +voyage +no +0\.02 in per 1M tokens; 0\.001 per request$/m)
  expect(stdout).toMatch(/^gratis .* free$/m)
  expect(stdout).toMatch(/^voice +speech +dashscope +yes +10 per 1M characters$/m)
  expect(stdout).toMatch(/^picture .* 0\.035 per image$/m)
  expect(stdout).toMatch(/^tiered .* 1k 0\.02, 2k 0\.07 per image; 0\.002 per input image$/m)
  expect(stdout).toMatch(
    /^both +image, image-edit .* 0\.25 in, 2\.00 out, 8 input image, 30 output image per 1M tokens$/m,
  )
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('1.25 in, 10 out per 1M tokens; 10 per 1K web searches;')
  expect(stderr).toContain('set VOYAGE_API_KEY')
})

const body = { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100, n: 2 }
writeFileSync(join(folder, 'request.json'), JSON.stringify(body))
const chatBytes = JSON.stringify({ ...body, model: 'chat' }).length

/** Each line, and its output: the price is computed by hand. */
const priced: [line: string, answer: Json][] = [
  [
    'chat --input-tokens 1000 --output-tokens 10',
    { at_most: false, amount_usd: '0.00027', operation: 'chat' },
  ],
  ['chat --cached-input-tokens 4 --cache-write-tokens 4', { amount_usd: '0.000002' }],
  ['long --input-tokens 200000', { amount_usd: '0.25' }],
  ['long --input-tokens 200001', { amount_usd: '0.5000025', above: 'above_200k' }],
  ['long --input-tokens 1000 --service-tier flex', { amount_usd: '0.001', service_tier: 'flex' }],
  [
    'long --input-tokens 200001 --service-tier priority',
    { amount_usd: '1.000005', service_tier: 'priority' },
  ],
  ['long --input-tokens 1 --web-searches 3', { amount_usd: '0.03000125' }],
  ['long --input-tokens 1', { amount_usd: '0.001' }],
  // The vendor's own name.
  ['Long-Model --output-tokens 1000', { amount_usd: '0.01', model: 'long' }],
  ['embed --input-tokens 1000', { amount_usd: '0.00102', quantities: { requests: 1, input_tokens: 1000 } }],
  ['embed --requests 3', { amount_usd: '0.003' }],
  ['gratis --output-tokens 1000', { amount_usd: '0.00' }],
  ['voice --characters 500', { at_most: false, amount_usd: '0.005' }],
  ['picture --images 3', { amount_usd: '0.105', price: { per_image: '0.035' } }],
  ['tiered --images 3 --tier 2k', { amount_usd: '0.21', price: { per_image: '0.07' } }],
  ['tiered --images 3 --input-images 1', { amount_usd: '0.062', price: { per_image: '0.02' } }],
  ['tiered --images 3 --size 2048x2048', { amount_usd: '0.21' }],
  ['tiered --images 2 --resolution 2k', { amount_usd: '0.14' }],
  ['tiered --images 2 --quality high', { amount_usd: '0.14' }],
  ['legacy --images 2 --size 256x256', { amount_usd: '0.032', operation: 'image' }],
  ['legacy --images 2', { amount_usd: '0.04' }],
  [
    'legacy --images 2 --operation image-edit --tier 512x512',
    { amount_usd: '0.036', operation: 'image-edit' },
  ],

  ['chat --text Hello', { at_most: true, quantities: { output_tokens: 4096 } }],
  ['chat --text Hello --n 2', { quantities: { output_tokens: 8192 } }],
  [
    'embed --text Hello',
    { quantities: { requests: 1, input_tokens: '{"model":"embed","input":"Hello"}'.length } },
  ],
  [`voice --text 'Grüße 😀!'`, { amount_usd: '0.00008', quantities: { characters: 8 } }],
  ['picture --text A', { at_most: true, amount_usd: '0.035', operation: 'image' }],
  ['picture --size 1664x928', { amount_usd: '0.035' }],
  ['editor --text A', { amount_usd: '0.03', quantities: { images: 1 } }],
  ['editor --reference-images 3', { amount_usd: '0.03' }],
  ['series --n 4', { amount_usd: '0.16', quantities: { images: 4 } }],
  ['tiered --n 2 --size 1024x1024', { amount_usd: '0.04', quantities: { images: 2, input_images: 0 } }],
  ['tiered --text A --size 2048x1152 --reference-images 2', { amount_usd: '0.074' }],
  ['steps --size 4K', { quantities: { output_image_tokens: 2520 } }],
  ['both --quality low --size 1024x1024', { operation: 'image', quantities: { output_image_tokens: 272 } }],
  ['both --quality hd --reference-images 2', { operation: 'image-edit' }],
  [
    'both --operation image-edit --text A',
    { operation: 'image-edit', quantities: { input_image_tokens: 8192 } },
  ],
  ['legacy --n 3 --size 512x512', { amount_usd: '0.054', operation: 'image' }],
  [
    'film --duration 10 --resolution 1080p',
    { amount_usd: '1.50', operation: 'video', quantities: { seconds: 10 } },
  ],
  ['film --text A', { amount_usd: '0.50' }],
  ['film --seconds 7', { at_most: false, amount_usd: '0.70' }],
  ['film --seconds 7 --resolution 1080P', { amount_usd: '1.05' }],
  ['film-from-image --duration 2', { amount_usd: '0.16' }],

  ['chat --body request.json', { quantities: { input_tokens: chatBytes, output_tokens: 200 } }],
  [`chat --body '${JSON.stringify(body)}'`, { quantities: { input_tokens: chatBytes, output_tokens: 200 } }],
  [`tiered --body '{"prompt":"A","n":3,"resolution":"2k"}'`, { amount_usd: '0.21' }],
  [`picture --body '{"prompt":"A","n":3}'`, { amount_usd: '0.105' }],
  [
    `picture --body '{"input":{"messages":[{"role":"user","content":[{"text":"A"}]}]}}'`,
    { amount_usd: '0.035', quantities: { images: 1 } },
  ],
  [
    `both --operation image-edit --reference-images 2 --body '{"prompt":"A","n":2,"quality":"low","size":"1024x1024"}'`,
    { quantities: { input_image_tokens: 2 * 8192, output_image_tokens: 2 * 272 } },
  ],
]

test.each(priced)('models price %s', async (line, answer) => {
  expect(await inShell.json(`models price ${line}`)).toMatchObject(answer)
})

test('the table for people has rows that add up', async () => {
  const [chat, embed, edit] = await Promise.all([
    run('models price chat --input-tokens 1000 --output-tokens 10'),
    run('models price embed --text Hello'),
    run('models price legacy --operation image-edit --n 2'),
  ])
  expect(chat.stdout).toMatch(/^chat chat +COUNT +PRICE +USD$/m)
  expect(chat.stdout).toMatch(/^input tokens +1000 +0\.25 per 1M +0\.00025$/m)
  expect(chat.stdout).toMatch(/^output tokens +10 +2\.00 per 1M +0\.00002$/m)
  expect(chat.stdout).toMatch(/^total +0\.00027$/m)
  expect(chat.stderr).toBe('')
  expect(embed.stdout).toMatch(/^requests +1 +0\.001 +0\.001$/m)
  expect(embed.stdout).toMatch(/^input tokens +33 +0\.02 per 1M +0\.00000066$/m)
  expect(embed.stdout).toMatch(/^at most +0\.00100066$/m)
  expect(embed.stderr).toContain('is held when the request arrives')
  expect(edit.stdout).toMatch(/^legacy image-edit +COUNT/m)
  expect(edit.stdout).toMatch(/^images +2 +0\.02 +0\.04$/m)
})

test('wrong usage and unpriceable requests say what to do', async () => {
  await allFail(2, [
    ['models price', 'MODEL'],
    ['models price chat', 'Nothing to price:'],
    ['models price chat --text a --input-tokens 1', 'Give only one of'],
    ['models price chat --text a --body {}', 'Give only one of'],
    ['models price chat --input-tokens -1', '--input-tokens takes a whole number from 0'],
    ['models price tiered --n 0', '--n takes a whole number from 1'],
    ['models price tiered --images 2 --n 2', '--n does not go with quantities'],
    ['models price tiered --images 2 --tier 1k --size 1024x1024', '--size cannot be combined with --tier'],
    ['models price tiered --tier 1k', '--tier needs quantities'],
    ['models price long --text a --service-tier flex', '--service-tier needs quantities'],
    ['models price tiered --body {} --size 1024x1024', '--size works with --text, not with --body'],
    ['models price tiered --body {} --reference-images 1', 'the body of tiered names them itself'],
    ['models price chat --body {broken', '--body takes a JSON object'],
  ])
  await allFail(1, [
    ['models price unknown --text a', 'no model "unknown"'],
    ['models price embed --output-tokens 1', 'embed has no price for output tokens; it has one for'],
    ['models price both --images 2', 'describe the request with --text, --n, --size, --quality'],
    ['models price chat --body missing.json', 'There is no file missing.json'],
    ['models price chat --body {"messages":[]}', "The gateway would refuse this request: Invalid 'messages'"],
    ['models price chat --n 2', 'give --text too'],
    ['models price chat --text a --size 1024x1024', 'chat takes no --size for chat; it takes --n'],
    ['models price voice --text a --n 2', 'voice takes no --n for speech; it takes only --text'],
    ['models price picture --reference-images 1', 'makes images from text alone'],
    ['models price picture --size 3x40', 'It has 1024x1024'],
    ['models price tiered --size big', "Invalid value for 'size'"],
    ['models price half-tiered --size 2048x2048', 'has no price for'],
    ['models price half-tiered --images 1 --resolution 2k', 'It has one for: 1k'],
    ['models price tiered --images 1 --tier 8k', 'tiered has no tier "8k"; it has 1k, 2k'],
    ['models price picture --images 1 --tier 1k', 'picture has no price tiers'],
    [
      'models price long --input-tokens 1 --service-tier fast',
      'long has no service tier "fast"; it has flex, priority',
    ],
    ['models price chat --input-tokens 1 --service-tier flex', 'chat has no prices by service tier'],
    ['models price film --duration 16', 'makes videos of 2 to 15 seconds'],
    ['models price film-from-image --resolution 4k', 'It has one for: 480p, 720p'],
    ['models price both --operation speech --text a', 'both serves image and image-edit, not speech'],
    [
      'models price legacy --size 512x512 --quality high',
      'legacy takes no --quality for image; it takes --n, --size',
    ],
  ])
})

test('the quoted price is what the gateway holds', async () => {
  // The task of the video is polled seconds later; this clock makes them short.
  const startedAt = Date.now()
  const now = () => startedAt + 20 * (Date.now() - startedAt)
  const gateway = await startTestGateway({ models, outside: { now } })
  const own = createCommandLine(temporaryFolder())
  const file = join(temporaryFolder(), 'held.ts')
  writeFileSync(file, `export default ${JSON.stringify(testConfig(gateway.sandbox, { models }, undefined))}`)
  const message = [{ role: 'user', content: [{ text: 'A quiet harbour' }] }]
  const requests: [model: string, operation: string, body: Record<string, Json>][] = [
    ['chat', 'chat', { messages: [{ role: 'user', content: 'Grüße' }], max_tokens: 7, n: 2 }],
    ['embed', 'embeddings', { input: ['a', 'b'] }],
    ['voice', 'speech', { input: 'Grüße 😀!' }],
    ['picture', 'image', { input: { messages: message } }],
    [
      'tiered',
      'image',
      { prompt: 'A', n: 2, size: '2048x1152', image: { url: 'https://example.com/a.png' } },
    ],
    ['steps', 'image', { input: 'A quiet harbour' }],
    ['both', 'image', { prompt: 'Größe', n: 2, quality: 'low' }],
    ['both', 'image-edit', { prompt: 'Größe', n: 2, quality: 'low' }],
    [
      'film-from-image',
      'video',
      { image: { url: 'https://example.com/a.png' }, duration: 3, resolution: '720p' },
    ],
  ]
  for (const [model, operation, body] of requests) {
    const words = [
      'models',
      'price',
      model,
      '--operation',
      operation,
      '--body',
      JSON.stringify({ model, ...body }),
    ]
    const { stdout, stderr } = await own.call([...words, '--json', '--config', file])
    expect({ model, stderr }).toEqual({ model, stderr: '' })
    const { path, body: kind } = operations.find(({ name }) => name === operation) ?? {}
    const response = await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gateway.secret}`,
        ...(kind === 'json' && { 'content-type': 'application/json' }),
      },
      body: kind === 'form' ? formOf({ model, ...body }) : JSON.stringify({ model, ...body }),
    })
    const text = await response.text()
    expect({ model, ok: response.ok, text: text.slice(0, 200) }).toMatchObject({ model, ok: true })
    const held = Number((await gateway.newestCharge())?.held)
    expect({ model, operation, held }).toEqual({
      model,
      operation,
      held: Math.round(Number(JSON.parse(stdout).amount_usd) * 1e9),
    })
  }
  await gateway.close()
})

function formOf(fields: Record<string, Json>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value))
  const { bytes, contentType } = picture('png')
  form.append('image', new File([new Uint8Array(bytes)], 'a.png', { type: contentType }))
  return form
}
