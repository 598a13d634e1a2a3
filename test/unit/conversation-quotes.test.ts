// The maximum usage of a conversation, by the prices of its model: each unit of a hold must have a price, otherwise
// nothing is held for it.

import { expect, test } from 'bun:test'
import type { Model, ParsedRequest } from '../../src/contract/family'
import type { Unit } from '../../src/contract/units'
import { quoteConversation } from '../../src/families/conversation/quote'
import { readMessages } from '../../src/families/dialects/messages/read'
import type { MessagesBody } from '../../src/families/messages/caller-side'

const sound = { type: 'base64', media_type: 'audio/wav', data: 'A'.repeat(16_000) }
const body = {
  model: 'm',
  max_tokens: 100,
  messages: [{ role: 'user', content: [{ type: 'document', source: sound }] }],
} as unknown as MessagesBody

function held(...priced: readonly Unit[]) {
  const listed = Object.fromEntries(priced.map((unit) => [unit, 1]))
  const model = { id: 'm', traits: {}, priceList: { tables: [{ listed }] } } as unknown as Model
  const byteLength = JSON.stringify(body).length
  return quoteConversation(readMessages(body, model), { byteLength } as ParsedRequest, model, {})
}

test('sound is held as sound if that has a price, otherwise as other input', () => {
  const apart = held('input_token', 'input_audio_token')
  expect(apart.input_audio_token).toBe(1_024 + 1_000)
  const together = held('input_token')
  expect(together.input_audio_token).toBeUndefined()
  expect(together.input_token).toBe((apart.input_token as number) + 1_024 + 1_000)
})
