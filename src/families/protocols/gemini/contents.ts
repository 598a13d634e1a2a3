// Writes the turns of a conversation as contents. Signatures go back on the parts that had them, and only to the model that signed
// them. Anything that contents cannot express is refused with its place.

import type { Model } from '../../../contract/family'
import { callInput } from '../../chat/answer-parts'
import { demandsSignatures, NO_SIGNATURE } from '../../chat/returned-reasoning'
import type { WriteOptions } from '../../conversation/bridge'
import type {
  AssistantTurn,
  Conversation,
  ReasoningStep,
  ToolResult,
  Turn,
  UserTurn,
} from '../../conversation/conversation'
import { sidesOf } from '../../conversation/sides'
import { type GeminiReasoning, openReasoning } from '../../sealed-reasoning'
import { isOlderGemini } from '../../traits/gemini'
import { filePart, isTakenInResults } from './files'

type Part = Record<string, unknown>

export interface Content {
  role: 'user' | 'model'
  parts: Part[]
}

const BLANK_LINE = '\n\n'

/**
 * The turns of both sides, those of one side merged with results first: "Please ensure that function call turn comes immediately
 * after a user turn or after a function response turn." (google-gemini/gemini-cli#26486).
 */
export function writtenContents(conversation: Conversation, model: Model, options: WriteOptions): Content[] {
  const { turns } = conversation
  const sides = sidesOf<Part>(conversation, model, {
    results: (turn) => inOrder(turn, turns).map((result) => resultPart(result, model)),
    user: (turn) => [
      ...inOrder(turn, turns).flatMap((result) => filesBehind(result, model)),
      ...turn.parts.flatMap((part): Part[] => {
        if (part.type !== 'text') return [filePart(part)]
        return part.text === '' ? [] : [{ text: part.text }]
      }),
    ],
    instruction: (text) => [{ text }],
    assistant: (turn) => modelParts(turn, model, options),
  })
  return sides.map(({ isAssistant, blocks }) => ({ role: isAssistant ? 'model' : 'user', parts: blocks }))
}

/** The results of a turn in the order of their calls: without ids, they are matched by this order. */
function inOrder(turn: UserTurn, turns: readonly Turn[]): readonly ToolResult[] {
  const calls = callsBefore(turn, turns)
  return turn.results.toSorted((a, b) => calls.indexOf(a.call.id) - calls.indexOf(b.call.id))
}

/** The ids of the calls that a turn answers, in order. */
function callsBefore(turn: Turn, turns: readonly Turn[]): string[] {
  const before = turns.slice(0, turns.indexOf(turn)).findLast(({ side }) => side === 'assistant')
  if (before?.side !== 'assistant') return []
  return before.steps.flatMap((step) => (step.kind === 'call' ? [step.call.id] : []))
}

/**
 * The result of a call: `output` and `error` are the members that Google documents. Vertex AI refuses ids: "Unknown name "id" at
 * 'contents[2].parts[0].function_response': Cannot find field." (langchain-ai/langchainjs#10266, vercel/ai#15891, 2026-06).
 */
function resultPart({ call, parts, hasFailed }: ToolResult, model: Model): Part {
  const texts = parts.flatMap((part) => (part.type === 'text' && part.text !== '' ? [part.text] : []))
  const text = texts.join(BLANK_LINE)
  const files = parts.flatMap((part) => (isWithin(part, model) ? [filePart(part)] : []))
  return {
    functionResponse: {
      ...idOf(call.id, model),
      name: call.name,
      response: hasFailed ? { error: text } : { output: text },
      ...(files.length > 0 && { parts: files }),
    },
  }
}

/** Files of a result that cannot be inside it, after all results: there must be as many results as calls. */
function filesBehind({ call, parts }: ToolResult, model: Model): Part[] {
  const files = parts.flatMap((part) =>
    part.type === 'text' || isWithin(part, model) ? [] : [filePart(part)],
  )
  return files.length === 0 ? [] : [{ text: `Files in the result of ${call.name}:` }, ...files]
}

/** Whether a file is sent inside its result; models before Gemini 3 do not accept that. */
function isWithin(
  part: ToolResult['parts'][number],
  model: Model,
): part is Exclude<ToolResult['parts'][number], { type: 'text' }> {
  return part.type !== 'text' && !isOlderGemini(model) && isTakenInResults(part)
}

function idOf(id: string, { upstream }: Model): { id?: string } {
  return upstream.kind === 'vertex' ? {} : { id }
}

/**
 * Texts and calls of the model. A signature is on the part that follows its reasoning; a text of reasoning need not come back
 * (https://ai.google.dev/gemini-api/docs/thought-signatures).
 */
function modelParts({ steps }: AssistantTurn, model: Model, options: WriteOptions): Part[] {
  const ids = steps.flatMap((step) => (step.kind === 'call' ? [step.call.id] : []))
  const parts: Part[] = []
  const kept = new Kept()
  let needsSignature = demandsSignatures(model)
  for (const step of steps) {
    if (step.kind === 'reasoning') kept.add(openedIn(step, model, options))
    else if (step.kind === 'text') {
      if (step.text !== '') parts.push({ text: step.text, ...kept.takeOfText() })
    } else {
      parts.push(...kept.takeAsText())
      const { id, name, input } = step.call
      const signed = kept.takeOfCall(id, ids) ?? (needsSignature ? { thoughtSignature: NO_SIGNATURE } : {})
      needsSignature = false
      parts.push({ functionCall: { ...idOf(id, model), name, args: callInput(input) }, ...signed })
    }
  }
  return parts.length > 0 ? [...parts, ...kept.takeAsText()] : parts
}

interface Signed {
  thoughtSignature: string
}

/** Signatures of parts that are still to come. */
class Kept {
  private text: string | undefined
  private readonly calls = new Map<string, string>()

  add(opened: GeminiReasoning | undefined): void {
    this.text = opened?.text ?? this.text
    for (const [id, signature] of Object.entries(opened?.calls ?? {})) this.calls.set(id, signature)
  }

  takeOfText(): Partial<Signed> {
    const { text } = this
    this.text = undefined
    return text === undefined ? {} : { thoughtSignature: text }
  }

  /** The signature of a text that arrives late: the vendor sends it on an empty part. */
  takeAsText(): Part[] {
    const signed = this.takeOfText()
    return signed.thoughtSignature === undefined ? [] : [{ text: '', ...signed }]
  }

  /** The signature of a call. Clients that drop the ids of calls send results in the order of the calls. */
  takeOfCall(id: string, ids: readonly string[]): Signed | undefined {
    const known = this.calls.has(id) ? id : [...this.calls.keys()].find((each) => !ids.includes(each))
    const signature = known === undefined ? undefined : this.calls.get(known)
    if (known === undefined || signature === undefined) return undefined
    this.calls.delete(known)
    return { thoughtSignature: signature }
  }
}

/** The signatures in a step that were sealed for this account; those of another account, vendor or model are excluded. */
function openedIn(
  { sealed }: ReasoningStep,
  model: Model,
  { answer }: WriteOptions,
): GeminiReasoning | undefined {
  if (sealed === undefined || !answer) return undefined
  const opened = openReasoning({ answer }, model, sealed)
  return opened?.kind === 'gemini' ? opened : undefined
}
