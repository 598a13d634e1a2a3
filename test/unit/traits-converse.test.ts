// Traits applied to Converse requests, for callers of messages. The models are those of the table of known models,
// under their names on Bedrock.

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
  if (!sentBody || !('json' in sentBody)) throw new Error('there is no call with a JSON body')
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
  test('has no sampling fields for a model that refuses them', () => {
    const sampling = { temperature: 0.5, top_p: 0.5, stop_sequences: ['#'] }
    expect(sent(sampling, newest).inferenceConfig).toEqual({ maxTokens: 100, stopSequences: ['#'] })
    expect(sent(sampling, plain).inferenceConfig).toMatchObject({ temperature: 0.5, topP: 0.5 })
  })

  test('has one of two sampling fields for a model that accepts only one', () => {
    const both = { temperature: 0.5, top_p: 0.5 }
    expect(sent(both, older).inferenceConfig).toEqual({ maxTokens: 100, temperature: 0.5 })
    expect(sent({ top_p: 0.5 }, older).inferenceConfig).toEqual({ maxTokens: 100, topP: 0.5 })
  })

  test('has the lowest effort if thinking cannot be turned off, and none for a model without efforts', () => {
    expect(sent({ thinking: { type: 'disabled' } }, newest).outputConfig).toEqual({ effort: 'low' })
    expect(sent({ output_config: { effort: 'max' } }, newest).outputConfig).toEqual({ effort: 'max' })
    expect(sent({ output_config: { effort: 'high' } }, older)).not.toHaveProperty('outputConfig')
    expect(sent({ output_config: { effort: 'high' } }, plain)).not.toHaveProperty('outputConfig')
  })

  test('keeps the format of the answer if the effort is omitted', () => {
    const format = { type: 'json_schema', schema: { type: 'object' } }
    const { outputConfig } = sent({ output_config: { effort: 'high', format } }, older)
    expect(Object.keys(outputConfig)).toEqual(['textFormat'])
  })

  test('is refused with the name of a field that the model refuses', () => {
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
