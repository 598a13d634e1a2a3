// The table of known models: names as vendors and resellers write them, names that only look similar, and
// configurations that override it.

import { describe, expect, test } from 'bun:test'
import { faultsOf } from '../../src/config/schema'
import { plainTraits, Traits } from '../../src/contract/traits'
import { edited } from '../../src/families/traits/edit'
import { knownModel, knownModels, traitsOf } from '../../src/families/traits/known-models'
import { upstreamKinds } from '../../src/upstreams/kinds'

const rowOf = (name: string) => knownModel(name)?.names[0]

describe('a model is recognized', () => {
  test.each([
    ['claude-opus-5-5', 'claude-opus-5-5'],
    ['anthropic/claude-opus-5.5', 'claude-opus-5-5'],
    ['anthropic/claude-opus-5.5:beta', 'claude-opus-5-5'],
    ['us.anthropic.claude-opus-5-5', 'claude-opus-5-5'],
    ['us-gov.anthropic.claude-haiku-5-5', 'claude-haiku-5-5'],
    ['bedrock/us.anthropic.claude-haiku-5-5', 'claude-haiku-5-5'],
    ['global.anthropic.claude-haiku-4-5-20251001-v1:0', 'claude-haiku-4-5'],
    ['anthropic.claude-opus-4-6-v1', 'claude-opus-4-6'],
    ['claude-haiku-4-5@20251001', 'claude-haiku-4-5'],
    ['publishers/anthropic/models/claude-sonnet-5-5', 'claude-sonnet-5-5'],
    ['Claude-Sonnet-4-20250514', 'claude-sonnet-4'],
    ['claude-opus-5', 'claude-opus-5'],
    ['claude-opus-5-20260801', 'claude-opus-5'],
    ['claude-fable-5-1', 'claude-opus-5-5'],
    ['gpt-5-mini-2025-08-07', 'gpt-5'],
    ['openai/gpt-5-mini', 'gpt-5'],
    ['gpt-5.4-mini', 'gpt-5.4-mini'],
    ['gpt-5.1-chat-latest', 'gpt-5.1-chat*'],
    ['gpt-5.1-codex-max', 'gpt-5.1-codex-max'],
    ['gpt-5.1-codex', 'gpt-5.1-codex'],
    ['gpt-5-codex', 'gpt-5.1-codex'],
    ['gpt-5.5-pro', 'gpt-5.2-pro'],
    ['gpt-5-pro-2025-10-06', 'gpt-5-pro'],
    ['gpt-6-luna', 'gpt-6*'],
    ['gpt-6.1-sol', 'gpt-6-astra*'],
    ['o3-mini', 'o1'],
    ['deepseek/deepseek-v4-flash', 'deepseek-v4*'],
    ['accounts/fireworks/models/deepseek-v4-pro', 'deepseek-v4*'],
    ['qwen3.8-max', 'qwen3.5*'],
    ['google/gemini-3.8-flash', 'gemini-2.5-pro'],
    ['xai.grok-4.3', 'grok-4.3'],
  ])('%s', (name, row) => expect(rowOf(name)).toBe(row))

  test('and a later version is not mistaken for an earlier one', () => {
    expect(rowOf('claude-opus-5-6')).toBe('claude-*')
    expect(rowOf('claude-opus-4-10')).toBe('claude-*')
    expect(rowOf('gpt-5.7')).toBeUndefined()
    expect(rowOf('grok-4.30')).toBeUndefined()
  })

  test.each([
    'my-gpt-6-luna',
    'gpt-60',
    'o30',
    'o3x',
    'claude',
    'house-claude-opus-5-5',
    'gpt-oss-120b',
    'qwen3:8b',
    'qwen3.80',
    'notclaude-opus-5-5',
    '',
  ])('but not by %j', (name) => expect(knownModel(name)).toBeUndefined())
})

test('every row has a source, a month, and traits of the schema only', () => {
  for (const row of knownModels) {
    const {
      names,
      traits,
      at = {},
      source,
      limitsSource = source,
      asOf,
      contextTokens = 1,
      maxOutputTokens = 1,
    } = row
    const sources = [source, limitsSource]
    expect(names.length).toBeGreaterThan(0)
    expect(sources.filter((each) => !each.startsWith('https://'))).toEqual([])
    expect(asOf).toMatch(/^20\d\d-\d\d$/)
    const named = [traits, ...Object.values(at)].flatMap(Object.keys)
    expect(Object.keys(at).filter((kind) => !upstreamKinds.has(kind))).toEqual([])
    expect(named.filter((name) => !Object.hasOwn(Traits.properties, name))).toEqual([])
    expect(Math.min(contextTokens, maxOutputTokens)).toBeGreaterThan(0)
  }
})

describe('traits', () => {
  test('of the configuration override each of those by name, which override those of "reasoning"', () => {
    const known = knownModel('claude-opus-5-5')
    expect(traitsOf({}, known)).toMatchObject({ thinking: 'always', sampling: 'never', stop: true })
    expect(traitsOf({ reasoning: true }, known).stop).toBe(true)
    expect(traitsOf({ traits: { sampling: 'always' } }, known)).toMatchObject({
      thinking: 'always',
      sampling: 'always',
    })
    expect(traitsOf({ reasoning: true }, undefined)).toMatchObject({ thinking: 'always', stop: false })
    expect(traitsOf({}, undefined)).toEqual(plainTraits)
    expect(traitsOf({}, known, 'anthropic')).toMatchObject({ schemas: true, strictTools: true })
    expect(traitsOf({}, known, 'bedrock')).toMatchObject({ schemas: false, strictTools: false })
    expect(traitsOf({ traits: { schemas: true } }, known, 'bedrock').schemas).toBe(true)
  })

  test('that do not exist are faults of the configuration that list the existing ones', () => {
    const model = { family: 'openai-chat', upstream: 'one', free: true }
    const faults = (traits: object) =>
      faultsOf({ upstreams: { one: { kind: 'openai', apiKey: 'k' } }, models: { m: { ...model, traits } } })
    expect(faults({ sampling: 'never', efforts: [] })).toEqual([])
    const [fault, ...others] = faults({ smpling: 'never' })
    expect(others).toEqual([])
    expect(fault).toStartWith('models.m.traits.smpling: unknown trait; the traits are ')
    for (const name of Object.keys(Traits.properties)) expect(fault).toContain(name)
    expect(faults({ sampling: 'sometimes' })[0]).toStartWith('models.m.traits.sampling: ')
  })
})

test('an edit without a field of the request returns the same object', () => {
  const request = { a: 1, b: { c: 2 } }
  expect(edited(request, { drop: ['z'], set: {}, inside: {} })).toBe(request)
  expect(
    edited(request, {
      drop: ['a'],
      set: { d: '3' },
      inside: { b: { set: { e: '4' } }, f: { set: { g: '5' } } },
    }),
  ).toEqual({
    b: { c: 2, e: 4 },
    d: 3,
    f: { g: 5 },
  } as never)
  expect(request).toEqual({ a: 1, b: { c: 2 } })
})
