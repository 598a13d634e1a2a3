// Reasoning that must be sent back to the model that wrote it, sealed for a caller whose dialect has no place for it: as the
// `encrypted_content` of an item, or the signature of a block. It must never be opened for another model or account.

import type { Model, ParsedRequest } from '../contract/family'
import { asObject, isObject } from '../lib/objects'

type Fields = Record<string, unknown>

/** A block of thinking as Anthropic signed it, or one that only that vendor can read. */
export type ThinkingBlock = { thinking: string; signature: string } | { redacted: string }

/** Parts of an answer that are sent back to a vendor of chat completions. Absent members are empty. */
export interface ChatReasoning {
  kind: 'chat'
  /** The `reasoning_content`, which every model of the same model family can read. */
  text: string
  /** The `reasoning_details`. */
  details?: readonly unknown[]
  /** The `extra_content` of the message. */
  extra?: Fields
  /** The `extra_content` of its calls, by their ids. */
  calls?: Readonly<Record<string, Fields>>
}

/** Signatures of parts of an answer of Gemini's own API. Absent members are empty. */
export interface GeminiReasoning {
  kind: 'gemini'
  /** The signature of the text that follows; of a part with an empty text, if something else follows. */
  text?: string
  /** Signatures of calls, by id. */
  calls?: Readonly<Record<string, string>>
}

/** Reasoning by the protocol of its vendor: signed blocks, parts of a completion, an item of a response, or signatures of parts. */
export type SealedReasoning =
  | { kind: 'messages'; blocks: readonly ThinkingBlock[] }
  | ChatReasoning
  | GeminiReasoning
  | { kind: 'responses'; item: Fields }

/** The reasoning of two consecutive items, merged. */
export function together(one: SealedReasoning, other: SealedReasoning): SealedReasoning {
  if (one.kind === 'messages' && other.kind === 'messages') {
    return { kind: one.kind, blocks: [...one.blocks, ...other.blocks] }
  }
  if (one.kind === 'gemini' && other.kind === 'gemini') {
    const calls = (one.calls ?? other.calls) && { calls: { ...one.calls, ...other.calls } }
    return { ...one, ...other, ...calls }
  }
  if (one.kind !== 'chat' || other.kind !== 'chat') return other
  const details = [...(one.details ?? []), ...(other.details ?? [])]
  return {
    kind: one.kind,
    text: one.text + other.text,
    ...(details.length > 0 && { details }),
    ...((one.extra ?? other.extra) && { extra: { ...one.extra, ...other.extra } }),
    ...((one.calls ?? other.calls) && { calls: { ...one.calls, ...other.calls } }),
  }
}

/** The sealed form; undefined if the request belongs to no account. */
export function sealReasoning(
  { answer }: ParsedRequest,
  model: Model,
  reasoning: SealedReasoning,
): string | undefined {
  const isSigned = reasoning.kind === 'chat' && (reasoning.details ?? reasoning.extra ?? reasoning.calls)
  const makers = { writer: writerOf(reasoning.kind, model), ...(isSigned && { signer: signerOf(model) }) }
  return answer?.seal(JSON.stringify({ ...reasoning, ...makers }))
}

/** The reasoning in a sealed text, without parts that another model or vendor wrote; undefined if none is left. */
export function openReasoning(
  { answer }: Pick<ParsedRequest, 'answer'>,
  model: Model,
  sealed: string,
): SealedReasoning | undefined {
  const text = answer?.open(sealed)
  if (text === undefined) return undefined
  const { kind, writer, signer, ...parts } = parsedObject(text)
  const isOwn = typeof kind === 'string' && isKind(kind) && writer === writerOf(kind, model)
  switch (kind) {
    case 'messages':
      return isOwn && Array.isArray(parts.blocks) ? { kind, blocks: parts.blocks.filter(isBlock) } : undefined
    case 'responses':
      return isOwn && isObject(parts.item) ? { kind, item: parts.item } : undefined
    case 'gemini':
      return isOwn ? { kind, ...signaturesIn(parts) } : undefined
    case 'chat':
      return {
        kind,
        text: isOwn && typeof parts.text === 'string' ? parts.text : '',
        ...(signer === signerOf(model) && signedParts(parts)),
      }
  }
  return undefined
}

/** The parts of a completion that only their own endpoint can verify. */
function signedParts({ details, extra, calls }: Fields): Partial<ChatReasoning> {
  return {
    ...(Array.isArray(details) && { details }),
    ...(isObject(extra) && { extra }),
    ...(isObject(calls) && {
      calls: Object.fromEntries(
        Object.entries(calls).filter((call): call is [string, Fields] => isObject(call[1])),
      ),
    }),
  }
}

function signaturesIn({ text, calls }: Fields): Omit<GeminiReasoning, 'kind'> {
  const signed = Object.entries(asObject(calls)).filter(
    (call): call is [string, string] => typeof call[1] === 'string',
  )
  return {
    ...(typeof text === 'string' && { text }),
    ...(signed.length > 0 && { calls: Object.fromEntries(signed) }),
  }
}

/** The object in a sealed text; an empty one if it was sealed for another purpose. */
function parsedObject(text: string): Fields {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return {}
  }
}

function isKind(kind: string): kind is SealedReasoning['kind'] {
  return kind === 'messages' || kind === 'chat' || kind === 'responses' || kind === 'gemini'
}

/** Who can read reasoning: for text, any model with the same make; for signatures, only the model that made them. */
function writerOf(kind: SealedReasoning['kind'], model: Model): string {
  if (kind === 'responses') return model.upstreamModel
  if (kind === 'gemini') return signerOf(model)
  return kind === 'chat' ? makeOf(model) : nameOf(model)
}

/**
 * Who can verify signatures of a completion, or of Gemini: the same model at the same vendor. Google's own client drops those of
 * the Gemini API before it calls Vertex AI (google-gemini/gemini-cli, geminiChat.ts, 2026-08).
 */
function signerOf(model: Model): string {
  return `${model.upstream.kind} ${nameOf(model)}`
}

/** The make of a model, from the vendor's name for it: `claude`, `deepseek`, `kimi`. */
function makeOf(model: Model): string {
  const name = nameOf(model)
  return /^[a-z]+/.exec(name)?.[0] ?? name
}

/**
 * The name of a model on any platform: without the prefixes of a cloud, and without its dates and versions at the end.
 */
export function nameOf({ upstreamModel }: Pick<Model, 'upstreamModel'>): string {
  const name = upstreamModel.toLowerCase()
  const part = name.split('/').findLast((each) => /^[a-z]/.test(each)) ?? name
  return part.replace(/^(?:[a-z-]+\.)+(?=[a-z])/, '').replace(/(?:[-@]\d{8})?(?:-v\d+)?(?:[:@].*)?$/, '')
}

function isBlock(block: unknown): block is ThinkingBlock {
  if (!isObject(block)) return false
  const { thinking, signature, redacted } = block
  return typeof redacted === 'string' || (typeof thinking === 'string' && typeof signature === 'string')
}
