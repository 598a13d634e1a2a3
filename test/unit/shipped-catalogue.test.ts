// The catalogue that ships, with the lists of its vendors: the days on which vendors retire its models, by their own pages, and the
// models that agents and clients request this autumn.

import { expect, test } from 'bun:test'
import { shippedList } from '../../cli/configuration/shipped-lists'
import builtIn from '../../gateway.config'
import { withVendorLists } from '../../src/config/models/vendor-lists'
import type { Config, ModelConfig } from '../../src/config/schema'

const { models } = withVendorLists(builtIn, shippedList).value as Config
const entries = Object.entries(models as Record<string, ModelConfig>)

/** Entries for a model by the vendor's name. */
const entriesOf = (name: string) => entries.filter(([id, { upstreamModel = id }]) => upstreamModel === name)

// developers.openai.com/api/docs/deprecations, ai.google.dev/gemini-api/docs/deprecations and docs.x.ai/developers/models, 2026-11.
const retired: [name: string, day: string][] = [
  ['dall-e-2', '2026-05-12'],
  ['gpt-image-1', '2026-10-23'],
  ['text-embedding-004', '2026-01-14'],
  ['gemini-embedding-2-preview', '2026-11-06'],
  ['grok-imagine-image-quality', '2026-11-02'],
  ['gpt-5-mini', '2026-12-11'],
  ['gpt-4.1-mini', '2027-01-14'],
  ['whisper-1', '2027-02-26'],
  ['gpt-4o-transcribe', '2027-02-26'],
]

test.each(retired)('%s is served, retires on %s and has a successor', (name, day) => {
  const found = entriesOf(name)
  expect(found.length).toBeGreaterThan(0)
  for (const [id, { retires, successor }] of found)
    expect([id, retires, successor]).toEqual([id, day, expect.any(String)])
})

test.each(['sora-2', 'sora-2-pro', 'veo-3.1-generate-preview', 'gpt-image-1.5'])(
  '%s, which its vendor has ended or ends within days, is not served',
  (name) => expect(entriesOf(name)).toEqual([]),
)

const newest = {
  openai:
    'gpt-6.1-sol gpt-6.1-terra gpt-6-sol gpt-6-astra gpt-6-luna gpt-5.6-luna gpt-5.5 gpt-5.4 gpt-5.4-nano gpt-4o',
  anthropic:
    'claude-opus-5 claude-sonnet-5 claude-opus-4-5 claude-opus-4-8 claude-sonnet-4-5 claude-sonnet-4-6',
  google: 'gemini-4-argon gemini-4-hydrogen gemini-3.8-flash gemini-3.1-pro-preview',
  xai: 'grok-4.20 grok-imagine-image-2.0 grok-imagine-video-1.5-lite',
  dashscope: 'qwen3.7-max qwen3.8-omni-flash',
  cohere: 'rerank-v5.0-pro rerank-v5.0-fast',
  voyage: 'rerank-3 voyage-code-4',
}

test.each(
  Object.entries(newest).flatMap(([upstream, names]) => names.split(' ').map((name) => [name, upstream])),
)('%s of %s is served at a price', (name, upstream) => {
  const found = entriesOf(String(name))
  expect(found.map(([, entry]) => entry.upstream)).toContain(upstream)
  for (const [id, { price, cost, free }] of found)
    expect([id, price ?? cost ?? free]).not.toContain(undefined)
})

test.each(['mistral', 'deepseek', 'zai', 'moonshot', 'groq'])('%s has models', (kind) => {
  expect(entries.filter(([, { upstream }]) => upstream === kind).length).toBeGreaterThan(2)
})

// docs.x.ai/developers/models, 2026-11.
test.each([
  ['grok-imagine-video', '0.002'],
  ['grok-imagine-video-1.5-preview', '0.01'],
])('a reference image of %s costs $%s', (name, usd) => {
  const found = entriesOf(name)
  expect(found.length).toBeGreaterThan(0)
  for (const [id, { price }] of found) expect([id, price]).toMatchObject([id, { per_input_image: usd }])
})
