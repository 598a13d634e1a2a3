// Sealed reasoning of every kind, as marks in a request that are replaced by each model's own seal, and a context that seals
// without encryption.

import type { AnswerContext, Model, ParsedRequest } from '../../../src/contract/family'
import { sealReasoning } from '../../../src/families/sealed-reasoning'
import { SEALED_PREFIX } from '../../../src/lib/sealing'

/** Seals only by the prefix of sealed texts, so that the content is readable in a difference. */
export const openContext: AnswerContext = {
  id: `resp_${'a1'.repeat(16)}`,
  isKept: true,
  isInBackground: false,
  now: () => 1_770_000_002_000,
  seal: (text) => `${SEALED_PREFIX}open.${text}`,
  open: (sealed) =>
    sealed.startsWith(`${SEALED_PREFIX}open.`) ? sealed.slice(SEALED_PREFIX.length + 5) : undefined,
}

const signature = { google: { thought_signature: 'c2ln' } }
const details = [
  { type: 'reasoning.text', text: 'Hm.', signature: 's', index: 0 },
  { type: 'reasoning.encrypted', data: 'x', index: 1 },
]

const reasonings = {
  'chat-text': { kind: 'chat', text: 'Hm.' },
  'chat-details': { kind: 'chat', text: '', details },
  'chat-extra': { kind: 'chat', text: 'Hm.', extra: signature },
  'chat-calls': { kind: 'chat', text: '', calls: { call_1: signature } },
  'chat-all': { kind: 'chat', text: 'Hm.', details, extra: signature, calls: { call_1: signature } },
  'messages-signed': { kind: 'messages', blocks: [{ thinking: 'Hm.', signature: 'EuYB' }] },
  'messages-redacted': {
    kind: 'messages',
    blocks: [{ redacted: 'c2VjcmV0' }, { thinking: 'a', signature: 'b' }],
  },
  responses: {
    kind: 'responses',
    item: {
      type: 'reasoning',
      id: 'rs_9',
      summary: [{ type: 'summary_text', text: 'Hm.' }],
      encrypted_content: 'e',
    },
  },
} as const satisfies Record<string, Parameters<typeof sealReasoning>[2]>

/** Each kind sealed by the model itself and by another one, a text that is not reasoning, and one of another account. */
export const sealedKinds: readonly string[] = [
  ...Object.keys(reasonings),
  ...Object.keys(reasonings).map((kind) => `${kind} of another`),
  'something else',
  'another account',
]

export function sealedMark(kind: string): string {
  return `$sealed ${kind}`
}

/** A request as text, with a model's seals instead of the marks. */
export function withSeals(text: string, model: Model): string {
  return text.replaceAll(/"\$sealed ([\w -]+)"/g, (_, kind: string) => JSON.stringify(sealedBy(kind, model)))
}

function sealedBy(kind: string, model: Model): string {
  const [own = '', other] = kind.split(' of ')
  const reasoning = reasonings[own as keyof typeof reasonings]
  if (!reasoning)
    return kind === 'something else' ? openContext.seal('compaction:So far.') : `${SEALED_PREFIX}aa.x`
  const writer = other === undefined ? model : { ...model, upstreamModel: 'other-model' }
  return sealReasoning({ answer: openContext } as ParsedRequest, writer, reasoning) as string
}
