// Random answers of vendors of generateContent, as events, with the words in them.

import { type AnswerWords, cut, type StreamSample } from '../bridges/answer-samples'
import { words } from '../bridges/request-samples'
import type { Random } from '../random'
import type { Json } from '../scenario'

const usageMetadata = {
  promptTokenCount: 29,
  candidatesTokenCount: 15,
  thoughtsTokenCount: 4,
  totalTokenCount: 48,
}

export function geminiStream(random: Random): StreamSample {
  const reported: AnswerWords = { thinking: '', answer: '', calls: [] }
  const parts: Json[] = []
  const signed = () => (random.chance(0.3) ? { thoughtSignature: `s${parts.length}` } : {})
  for (let left = random.below(6); left > 0; left--) {
    const kind = random.pick(['thought', 'text', 'text', 'call', 'call', 'nothing'])
    const written = words(random)
    if (kind === 'thought') {
      for (const text of cut(random, written)) parts.push({ text, thought: true })
      reported.thinking += written
    } else if (kind === 'text') {
      for (const text of cut(random, written)) parts.push({ text, ...signed() })
      reported.answer += written
    } else if (kind === 'call') {
      const args = random.pick<Json>([{}, { query: written }, { list: [1, null] }])
      const name = `tool_${random.below(3)}`
      parts.push({
        functionCall: { ...(random.chance(0.5) && { id: `call_${parts.length}` }), name, args },
        ...signed(),
      })
      reported.calls.push({ name, arguments: JSON.stringify(args) })
    } else parts.push({ text: '', ...signed() })
  }
  const events: Json[] = []
  while (parts.length > 0) events.push(eventOf(parts.splice(0, 1 + random.below(3))))
  const reason = random.pick(['STOP', 'STOP', 'MAX_TOKENS'])
  return { label: 'generated', events: [...events, { ...eventOf([{ text: '' }], reason) }], reported }
}

const eventOf = (parts: readonly Json[], finishReason?: string): Json => ({
  candidates: [{ content: { parts, role: 'model' }, index: 0, ...(finishReason && { finishReason }) }],
  usageMetadata,
  responseId: 'r1',
})

const piece = (parts: Json[] | undefined, more: Json = {}): Json => ({
  candidates: [{ index: 0, ...(parts && { content: { role: 'model', parts } }), ...more }],
})
const end: Json = { finishReason: 'STOP' }
const figures: Json = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 }

/** Valid but rare streams. */
export const oddGeminiStreams: readonly StreamSample[] = Object.entries<Json[]>({
  'no candidates at first': [{ candidates: [] }, piece([{ text: 'Hi' }], end)],
  'an end without parts': [piece([{ text: 'Hi' }]), piece(undefined, end)],
  'nothing but an end': [piece(undefined, end)],
  'a call that nobody can make': [
    piece([{ text: 'Hi' }]),
    piece(undefined, { finishReason: 'MALFORMED_FUNCTION_CALL' }),
  ],
  'a blocked prompt': [{ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: figures }],
  'figures after the end': [piece([{ text: 'Hi' }], end), { usageMetadata: figures }],
  'a signature alone': [
    piece([{ text: 'Hi' }]),
    piece([{ text: '', thoughtSignature: 'c2ln' }]),
    piece(undefined, end),
  ],
  'two candidates in a chunk': [
    {
      candidates: [
        ...piece([{ text: 'Hi' }], end).candidates,
        { ...piece([{ text: 'Ho' }], end).candidates[0], index: 1 },
      ],
    },
  ],
}).map(([label, events]) => ({ label, events }))
