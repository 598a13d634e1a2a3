// Signatures of thinking in a request that goes to Gemini's own API. Signatures that were sealed here belong to another model, and
// this vendor would refuse them; the documented filler replaces a required one. It must never change a signature that the vendor
// itself made. https://ai.google.dev/gemini-api/docs/thought-signatures

import type { Model, ParsedRequest } from '../../contract/family'
import { asObject } from '../../lib/objects'
import { sealedInBase64 } from '../../lib/sealing'
import { demandsSignatures, NO_SIGNATURE } from '../chat/returned-reasoning'
import { type GeminiBody, memberOf } from '../dialects/gemini/body'
import { openReasoning } from '../sealed-reasoning'

type Part = Record<string, unknown>

/** The contents as this model can read them; the same list if nothing changes. */
export function withOwnSignatures(parsed: ParsedRequest<GeminiBody>, model: Model): GeminiBody['contents'] {
  const { contents } = parsed.body
  let isChanged = false
  const own = contents.map((content) => {
    const { role, parts } = content
    if (role !== 'model' || !Array.isArray(parts)) return content
    const signed = signedParts(parts as Part[], parsed, model)
    if (signed.length === parts.length && signed.every((part, place) => part === parts[place])) return content
    isChanged = true
    return { ...content, parts: signed }
  })
  return isChanged ? own : contents
}

function signedParts(parts: readonly Part[], parsed: ParsedRequest, model: Model): Part[] {
  let needsSignature = demandsSignatures(model)
  return parts.flatMap((part) => {
    const own = opened(part, parsed, model)
    // A text that contained only its signature.
    if (own !== part && own.text === '' && own.thoughtSignature === undefined && parts.length > 1) return []
    if (memberOf(own, 'functionCall') === undefined) return [own]
    const isLacking = needsSignature && memberOf(own, 'thoughtSignature') === undefined
    needsSignature = false
    return [isLacking ? { ...own, thoughtSignature: NO_SIGNATURE } : own]
  })
}

/** The part with the signature that was sealed, or without one if it belongs to another model. */
function opened(part: Part, parsed: ParsedRequest, model: Model): Part {
  const signature = memberOf(part, 'thoughtSignature')
  const sealed = typeof signature === 'string' ? sealedInBase64(signature) : undefined
  if (sealed === undefined) return part
  const { thoughtSignature: _, thought_signature: __, ...rest } = part
  const own = ownSignature(parsed, model, sealed)
  return own === undefined ? rest : { ...rest, thoughtSignature: own }
}

/** The signature in a sealed text: that of a text, or of its only call. */
function ownSignature(parsed: ParsedRequest, model: Model, sealed: string): string | undefined {
  const reasoning = openReasoning(parsed, model, sealed)
  if (reasoning?.kind !== 'gemini') return undefined
  const [call] = Object.values(asObject(reasoning.calls))
  return typeof call === 'string' ? call : reasoning.text
}
