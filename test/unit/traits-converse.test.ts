// The pass of traits over Converse requests, for callers of messages: the models are those of the table, under the names that
// Bedrock has for them.

import { describe, expect, test } from 'bun:test'
import type { Call, MadeFamily, Model } from '../../src/contract/family'
import { families } from '../../src/families'
import { knownModel, traitsOf } from '../../src/families/traits/known-models'
import { GatewayError } from '../../src/lib/errors'
import type { Json } from '../support/scenario'

const modelOf = (upstreamModel: string) =>
  ({
    id: 'm',
    upstreamModel,
    family: { operation: 'messages' },
    traits: traitsOf({}, knownModel(upstreamModel)),
    priceList: { tables: [], isFree: true },
  }) as unknown as Model

const newest = modelOf('us.anthropic.claude-opus-5-5')
const older = modelOf('us.anthropic.claude-haiku-4-5-20251001-v1:0')
const plain = modelOf('us.amazon.nova-lite-v1:0')

function sent(body: Json, model: Model): Json {
  const whole = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }], ...body }
  const { call } = families.get('bedrock-converse') as MadeFamily
  const { body: sentBody } = call({ body: whole, byteLength: 50, at: 0 }, model) as Call
  if (!sentBody || !('json' in sentBody)) throw new Error('no call with a JSON body')
  return sentBody.json as Json
}

function refusal(body: Json, model: Model): GatewayError {
  try {
    sent(body, model)
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error(`nothing was refused in ${JSON.stringify(body)}`)
}

const tools = [{ name: 'look', input_schema: { type: 'object' } }]

describe('a Converse request', () => {
  test('has no sampling for a model that refuses it', () => {
    const sampling = { temperature: 0.5, top_p: 0.5, stop_sequences: ['#'] }
    expect(sent(sampling, newest).inferenceConfig).toEqual({ maxTokens: 100, stopSequences: ['#'] })
    expect(sent(sampling, plain).inferenceConfig).toMatchObject({ temperature: 0.5, topP: 0.5 })
  })

  test('has one of two settings of sampling for a model that takes no more', () => {
    const both = { temperature: 0.5, top_p: 0.5 }
    expect(sent(both, older).inferenceConfig).toEqual({ maxTokens: 100, temperature: 0.5 })
    expect(sent({ top_p: 0.5 }, older).inferenceConfig).toEqual({ maxTokens: 100, topP: 0.5 })
  })

  test('has the lowest effort where thinking cannot be turned off, and none for a model that takes none', () => {
    expect(sent({ thinking: { type: 'disabled' } }, newest).outputConfig).toEqual({ effort: 'low' })
    expect(sent({ output_config: { effort: 'max' } }, newest).outputConfig).toEqual({ effort: 'max' })
    expect(sent({ output_config: { effort: 'high' } }, older)).not.toHaveProperty('outputConfig')
    expect(sent({ output_config: { effort: 'high' } }, plain)).not.toHaveProperty('outputConfig')
  })

  test('keeps the format of the answer where the effort is left out', () => {
    const format = { type: 'json_schema', schema: { type: 'object' } }
    const { outputConfig } = sent({ output_config: { effort: 'high', format } }, older)
    expect(Object.keys(outputConfig)).toEqual(['textFormat'])
  })

  test('is refused by its field for what the model refuses', () => {
    for (const tool_choice of [{ type: 'any' }, { type: 'tool', name: 'look' }]) {
      expect(refusal({ tools, tool_choice }, newest).param).toBe('tool_choice')
      expect(sent({ tools, tool_choice }, older).toolConfig.toolChoice).toBeDefined()
    }
    const begun = {
      messages: [
        { role: 'user', content: 'Count' },
        { role: 'assistant', content: 'One,' },
      ],
    }
    expect(refusal(begun, newest).param).toBe('messages[1]')
    expect(sent(begun, plain).messages).toHaveLength(2)
  })
})
