// Traits from OpenRouter's list of models: entries in the form of `Model` and `ModelReasoning` of its SDK (1.3.19).

import { expect, test } from 'bun:test'
import { faultsOf } from '../../src/config/schema'
import { knownModel, traitsOf } from '../../src/families/traits/known-models'
import { openrouter } from '../../src/upstreams/kinds/openrouter'

const pricing = { prompt: '0.000001', completion: '0.000002' }
const fields = ['max_tokens', 'reasoning', 'include_reasoning', 'tools', 'tool_choice']

function settingsOf(about: object) {
  const read = openrouter.listing?.read({ data: [{ id: 'house/thinker', pricing, ...about }] }, new Map())
  return read?.models['house/thinker'] ?? {}
}

test('a model that must think has its efforts, the lowest first, and refuses parameters that are not listed', () => {
  const { traits } = settingsOf({
    supported_parameters: fields,
    reasoning: { mandatory: true, default_enabled: true, supported_efforts: ['high', 'low', 'minimal'] },
  })
  expect(traits).toEqual({
    thinking: 'always',
    thinksByDefault: true,
    efforts: ['minimal', 'low', 'high'],
    sampling: 'never',
    stop: false,
    penalties: false,
    logitBias: false,
    logprobs: false,
    maxTokens: true,
  })
})

test('a model that thinks and accepts a temperature keeps it', () => {
  const { traits } = settingsOf({
    supported_parameters: [...fields, 'temperature'],
    reasoning: { mandatory: false, default_enabled: false, supported_efforts: null },
  })
  expect(traits).toEqual({ thinking: 'optional', thinksByDefault: false })
})

test('a model that does not think has no traits of thinking, nor has an invalid entry', () => {
  expect(settingsOf({ supported_parameters: ['temperature'] })).not.toHaveProperty('traits')
  expect(settingsOf({ supported_parameters: 'reasoning', reasoning: [] })).not.toHaveProperty('traits')
  const { traits } = settingsOf({ supported_parameters: ['reasoning', 'temperature'], reasoning: 7 })
  expect(traits).toEqual({ thinking: 'optional', thinksByDefault: true })
})

test('the derived traits are configuration, and override those known by name', () => {
  const { traits = {} } = settingsOf({
    supported_parameters: fields,
    reasoning: { mandatory: true, supported_efforts: ['max', 7, 'low'] },
  })
  const model = { family: 'openai-chat', upstream: 'one', free: true, traits }
  expect(faultsOf({ upstreams: { one: { kind: 'openrouter', apiKey: 'k' } }, models: { m: model } })).toEqual(
    [],
  )
  expect(traitsOf({ traits }, knownModel('anthropic/claude-haiku-5.5'))).toMatchObject({
    thinking: 'always',
    efforts: ['low', 'max'],
    prefill: 'never',
  })
})
