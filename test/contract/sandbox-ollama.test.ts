// What the simulated Ollama says about its models, read strictly by the types of the official client: every member that the server
// always sends is there, each has its declared type, and there is no other.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type ModelDetails, type ModelResponse, Ollama, type ShowResponse } from 'ollama'
import { type Sandbox, startSandbox } from '../../sandbox'
import { rejection } from '../support/rejection'
import type { Json } from '../support/scenario'

type Check = (value: unknown) => boolean

const text: Check = (value) => typeof value === 'string'
const whole: Check = (value) => Number.isSafeInteger(value)
const texts: Check = (value) => Array.isArray(value) && value.every(text)
const object: Check = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
/** The client declares a Date, but does not convert the text. */
const time: Check = (value) => text(value) && !Number.isNaN(Date.parse(value as string))

// The compiler rejects a table without one of the members that the client declares.
const details: Record<keyof ModelDetails, Check> = {
  parent_model: text,
  format: text,
  family: text,
  families: texts,
  parameter_size: text,
  quantization_level: text,
}
const listed: Record<keyof ModelResponse, Check> = {
  name: text,
  model: text,
  modified_at: time,
  size: whole,
  digest: (value) => /^[0-9a-f]{64}$/.test(String(value)),
  details: (value) => faultsOf(value, details).length === 0,
  // Only loaded models have these: `ollama ps`.
  expires_at: time,
  size_vram: whole,
}
const shown: Record<keyof ShowResponse, Check> = {
  license: text,
  modelfile: text,
  parameters: text,
  template: text,
  system: text,
  details: (value) => faultsOf(value, details).length === 0,
  messages: Array.isArray,
  modified_at: time,
  model_info: object,
  capabilities: texts,
  projector_info: object,
}
/** Members that the server omits if they are empty (`omitempty` in api/types.go of ollama/ollama). */
const OMITTED = new Set<string>(['license', 'parameters', 'system', 'messages', 'projector_info'])
const OF_LOADED_MODELS = new Set<string>(['expires_at', 'size_vram'])

/** Members that are missing, have another type or are not declared. */
function faultsOf(value: unknown, checks: Record<string, Check>, optional = new Set<string>()): string[] {
  if (!object(value)) return ['not an object']
  const given = value as Record<string, unknown>
  const wrong = Object.entries(checks).filter(([name, isRight]) =>
    name in given ? !isRight(given[name]) : !optional.has(name),
  )
  return [...wrong.map(([name]) => name), ...Object.keys(given).filter((name) => !(name in checks))]
}

let sandbox: Sandbox
let client: Ollama
beforeAll(() => {
  sandbox = startSandbox()
  client = new Ollama({ host: `${new URL(sandbox.baseUrls.ollama).origin}/ollama` })
})
afterAll(() => sandbox.stop())

describe('the official client reads strictly', () => {
  test('the list of models', async () => {
    const { models } = await client.list()
    expect(models.length).toBeGreaterThan(1)
    for (const model of models)
      expect([model.name, faultsOf(model, listed, OF_LOADED_MODELS)]).toEqual([model.name, []])
  })

  test('each model that is shown', async () => {
    const { models } = await client.list()
    for (const { model, details: inList } of models) {
      const answer = await client.show({ model })
      expect([model, faultsOf(answer, shown, OMITTED)]).toEqual([model, []])
      expect(answer.details).toEqual(inList)
      const info = answer.model_info as Json
      const architecture = info['general.architecture']
      expect(architecture).toBe(inList.family)
      expect(whole(info[`${architecture}.context_length`])).toBe(true)
      expect(answer.capabilities.length).toBeGreaterThan(0)
    }
  })

  test('a missing model', async () => {
    const error = await rejection(client.show({ model: 'missing' }))
    expect(error).toMatchObject({ status_code: 404, error: "model 'missing' not found" })
  })
})

test('a missing member, one of another type and an unknown one are found', () => {
  const right = { parent_model: '', format: 'gguf', family: 'llama', families: ['llama'] }
  const wrong = { ...right, parameter_size: 3, colour: 'red' }
  expect(faultsOf(wrong, details)).toEqual(['parameter_size', 'quantization_level', 'colour'])
})
