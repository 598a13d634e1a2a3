// Reasoning of a vendor of responses as the signature of a block of thinking: sealed for the caller's account, so that a
// client which sends its conversation back lets the model go on where it was. The item must come back as it was made.

import type { AnswerContext, Model, ParsedRequest } from '../../../contract/family'
import { isObject } from '../../../lib/objects'

type Fields = Record<string, unknown>

/** The word by which sealed items of this kind are told from other sealed reasoning. */
const KIND = 'responses'

/** The signature of a block for an item of reasoning; empty for one that the vendor would not take back. */
export function signatureOf(item: Fields, { answer }: ParsedRequest, { upstreamModel }: Model): string {
  if (typeof item.encrypted_content !== 'string' || !answer) return ''
  const { id, type, summary, encrypted_content } = item
  const kept = { type, id, summary, encrypted_content }
  return answer.seal(JSON.stringify({ kind: KIND, model: upstreamModel, item: kept }))
}

/** The item in a signature; undefined for one of another account, vendor or model. */
export function openedReasoning(
  signature: string,
  { upstreamModel }: Model,
  answer: AnswerContext | undefined,
): Fields | undefined {
  const text = answer?.open(signature)
  if (text === undefined) return undefined
  const { kind, model, item }: Fields = JSON.parse(text)
  return kind === KIND && model === upstreamModel && isObject(item) ? item : undefined
}
