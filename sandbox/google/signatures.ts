// Thought signatures of Gemini 3 and later, on both paths: made for texts and for the first of parallel calls, and required on the
// first call of each step in the current turn. It must never look at turns before it.
//
// https://ai.google.dev/gemini-api/docs/thought-signatures (read 2026-11-24); texts as in
// https://discuss.ai.google.dev/t/109823; refusals in the words of manthanabc/paws#103 (2026-02-19) and
// google-gemini/gemini-cli#13467 (2025-11-20).

import { asObject, asObjects, asString, isGiven, type JsonObject } from '../json'

const SIGNING = /^gemini-(?:[3-9]|\d\d)/
/** A signature that the vendor takes for every call. */
const SKIP = 'skip_thought_signature_validator'
const MARK = 'sandbox-signature'

export function signs(model: string): boolean {
  return SIGNING.test(model)
}

/** A new signature of a model. */
export function newSignature(model: string): string {
  return btoa(`${MARK} ${model} ${crypto.randomUUID()}`)
}

/** A new signature, in the member that the OpenAI-compatible path uses. */
export function signatureOf(model: string): JsonObject {
  return { google: { thought_signature: newSignature(model) } }
}

/** The refusal of a conversation with an invalid signature, or whose current turn lacks one. */
export function signatureFault({ messages }: JsonObject, model: string): string | undefined {
  if (!signs(model)) return undefined
  const given = asObjects(messages).flatMap((message) =>
    [message, ...asObjects(message.tool_calls)].map(signatureIn),
  )
  if (given.some((signature) => signature !== '' && !isGenuine(signature)))
    return 'Corrupted thought signature.'
  // Results of tools in a row are one content.
  let position = 0
  let before: unknown
  let lost: string | undefined
  for (const { role, tool_calls: calls } of asObjects(messages)) {
    if (role === 'system' || role === 'developer') continue
    if (role !== 'tool' || before !== 'tool') position++
    before = role
    if (role === 'user') lost = undefined
    const [first] = asObjects(calls)
    if (!first || signatureIn(first) !== '') continue
    lost ??= `function call \`default_api:${asString(asObject(first.function)?.name)}\` , position ${position}`
  }
  return lost === undefined ? undefined : missing(lost)
}

/** The refusal of native contents, for the same reasons as that of messages. */
export function contentsFault(contents: readonly JsonObject[], model: string): string | undefined {
  if (!signs(model)) return undefined
  const given = contents.flatMap(({ parts }) =>
    asObjects(parts).map((part) => asString(part.thoughtSignature)),
  )
  if (given.some((signature) => signature && !isGenuine(signature))) return 'Corrupted thought signature.'
  let lost: string | undefined
  for (const [index, { role, parts }] of contents.entries()) {
    if (role !== 'model' && !asObjects(parts).some((part) => isGiven(part.functionResponse))) lost = undefined
    const first = asObjects(parts).find((part) => isGiven(part.functionCall))
    if (!first || asString(first.thoughtSignature)) continue
    lost ??= `function call \`default_api:${asString(asObject(first.functionCall)?.name)}\` , position ${index + 1}`
  }
  return lost === undefined ? undefined : missing(lost)
}

function missing(lost: string): string {
  return `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, ${lost}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`
}

function signatureIn({ extra_content: extra }: JsonObject): string {
  return asString(asObject(asObject(extra)?.google)?.thought_signature) ?? ''
}

function isGenuine(signature: string): boolean {
  return signature === SKIP || decoded(signature).startsWith(`${MARK} `)
}

function decoded(signature: string): string {
  try {
    return atob(signature)
  } catch {
    return ''
  }
}
