// Reads the contents of a Gemini request as turns of a conversation: consecutive messages of one side are one turn, and a result
// follows its call. A part must be read or be refused with its place.

import { invalidRequest } from '../../../lib/errors'
import { asObject, isObject } from '../../../lib/objects'
import { sealedInBase64 } from '../../../lib/sealing'
import type {
  AssistantStep,
  AssistantTurn,
  InstructionTurn,
  Part,
  ToolCall,
  ToolResult,
  Turn,
  UserTurn,
} from '../../conversation/conversation'
import { type GeminiBody, memberOf } from './body'

type Fields = Record<string, unknown>

export function turnsOfContents(body: GeminiBody): Turn[] {
  const reader = new ContentReader()
  body.contents.forEach(({ role, parts }, index) => {
    reader.read(role ?? 'user', parts ?? [], `contents[${index}]`)
  })
  return [...instructionsOf(memberOf(body, 'systemInstruction')), ...reader.turns]
}

function instructionsOf(instruction: unknown): InstructionTurn[] {
  const at = 'systemInstruction'
  const parts =
    typeof instruction === 'string' ? [{ text: instruction }] : listOf(asObject(instruction).parts)
  const texts = parts.flatMap((part, index) => {
    const place = `${at}.parts[${index}]`
    if (typeof part.text !== 'string') throw unreadable(place, part)
    return part.text === '' ? [] : [{ type: 'text' as const, text: part.text, at: place }]
  })
  return texts.length === 0 ? [] : [{ side: 'system', role: 'system', parts: texts, at }]
}

class ContentReader {
  readonly turns: (UserTurn | AssistantTurn)[] = []
  private readonly calls: ToolCall[] = []
  /** Calls that have no result yet. */
  private readonly open: ToolCall[] = []

  read(role: string, parts: readonly object[], at: string): void {
    const placed = parts.map((part, index) => ({ part: part as Fields, at: `${at}.parts[${index}]` }))
    if (role === 'model') this.addSteps(stepsOf(placed, (part, place) => this.callOf(part, place)))
    else if (role === 'user' || role === 'function' || role === 'tool') {
      for (const { part, at: place } of placed) this.addUserParts(part, place)
    } else {
      throw invalidRequest(`${at}.role`, `Invalid value for '${at}.role': use 'user' or 'model'.`)
    }
  }

  private addSteps(steps: readonly AssistantStep[]): void {
    if (steps.length === 0) return
    const last = this.turns.at(-1)
    if (last?.side === 'assistant')
      this.turns[this.turns.length - 1] = { ...last, steps: [...last.steps, ...steps] }
    else this.turns.push({ side: 'assistant', steps })
  }

  private addUserParts(part: Fields, at: string): void {
    const response = memberOf(part, 'functionResponse')
    const said =
      response === undefined
        ? { results: [], parts: partsOf(part, at) }
        : { results: [this.resultOf(asObject(response), `${at}.functionResponse`)], parts: [] }
    if (said.results.length + said.parts.length === 0) return
    const last = this.turns.at(-1)
    if (last?.side !== 'user') this.turns.push({ side: 'user', ...said })
    else {
      this.turns[this.turns.length - 1] = {
        side: 'user',
        results: [...last.results, ...said.results],
        parts: [...last.parts, ...said.parts],
      }
    }
  }

  private callOf(call: Fields, at: string): ToolCall {
    const { id, name, args } = call
    if (typeof name !== 'string' || name === '') throw missing(`${at}.name`)
    const own = typeof id === 'string' && id !== '' ? id : `call_${this.calls.length}`
    const read: ToolCall = { id: own, name, input: JSON.stringify(args ?? {}), form: 'function', at }
    this.calls.push(read)
    this.open.push(read)
    return read
  }

  /** A result names its call by its id or, if clients omit that, by the function: then it belongs to the first call without a result. */
  private resultOf(response: Fields, at: string): ToolResult {
    const { id, name, response: value } = response
    const place = this.open.findIndex((call) =>
      typeof id === 'string' && id !== '' ? call.id === id : call.name === name,
    )
    const [call] = place === -1 ? [] : this.open.splice(place, 1)
    if (!call) {
      throw invalidRequest(
        at,
        `Invalid '${at}': it answers no earlier function call. Send the call with its response.`,
      )
    }
    const text = { type: 'text' as const, text: JSON.stringify(value ?? {}), at: `${at}.response` }
    const more = listOf(response.parts).flatMap((part, index) => partsOf(part, `${at}.parts[${index}]`))
    const hasFailed = isObject(value) && value.error !== undefined && Object.keys(value).length === 1
    return { call, parts: [text, ...more], hasFailed, at }
  }
}

/**
 * The steps of the model. A signature is on the part that follows its reasoning, or at the end; preceding thoughts are the text of
 * the same reasoning.
 */
function stepsOf(
  placed: readonly { part: Fields; at: string }[],
  callOf: (call: Fields, at: string) => ToolCall,
): AssistantStep[] {
  const steps: AssistantStep[] = []
  let thought = ''
  const endThought = (at: string, sealed?: string) => {
    if (thought === '' && sealed === undefined) return
    steps.push({ kind: 'reasoning', text: thought, at, ...(sealed !== undefined && { sealed }) })
    thought = ''
  }
  for (const { part, at } of placed) {
    const { text, thought: isThought } = part
    const call = memberOf(part, 'functionCall')
    const signature = memberOf(part, 'thoughtSignature')
    const sealed =
      typeof signature === 'string' && signature !== '' ? (sealedInBase64(signature) ?? signature) : undefined
    if (isThought === true) {
      thought += typeof text === 'string' ? text : ''
      if (sealed !== undefined) endThought(at, sealed)
      continue
    }
    endThought(at, sealed)
    if (call !== undefined) steps.push({ kind: 'call', call: callOf(asObject(call), `${at}.functionCall`) })
    else if (typeof text === 'string') {
      if (text !== '') steps.push({ kind: 'text', text, at })
    } else throw unreadable(at, part)
  }
  endThought(placed.at(-1)?.at ?? '')
  return steps
}

/** The text or the file of a user's part; undefined for an empty text. */
function partsOf(part: Fields, at: string): Part[] {
  const { text } = part
  if (typeof text === 'string') return text === '' ? [] : [{ type: 'text', text, at }]
  const inline = memberOf(part, 'inlineData')
  const file = memberOf(part, 'fileData')
  if (inline !== undefined) {
    const urlAt = `${at}.inlineData.data`
    const { data } = asObject(inline)
    const mimeType = mimeTypeOf(inline, `${at}.inlineData`)
    if (typeof data !== 'string' || data === '') throw missing(urlAt)
    return [filePart(mimeType, `data:${mimeType};base64,${data}`, at, urlAt, asObject(inline))]
  }
  if (file !== undefined) {
    const urlAt = `${at}.fileData.fileUri`
    const url = memberOf(file, 'fileUri')
    if (typeof url !== 'string' || url === '') throw missing(urlAt)
    return [filePart(mimeTypeOf(file, `${at}.fileData`), url, at, urlAt, asObject(file))]
  }
  throw unreadable(at, part)
}

function mimeTypeOf(holder: unknown, at: string): string {
  const type = memberOf(holder, 'mimeType')
  if (typeof type === 'string' && type !== '') return type.toLowerCase()
  throw missing(`${at}.mimeType`)
}

function filePart(mimeType: string, url: string, at: string, urlAt: string, file: Fields): Part {
  const name = memberOf(file, 'displayName')
  const [kind] = mimeType.split('/')
  switch (kind) {
    case 'image':
    case 'audio':
    case 'video':
      return { type: kind, url, at, urlAt }
  }
  return {
    type: 'document',
    url,
    at,
    urlAt,
    ...(typeof name === 'string' && name !== '' && { filename: name }),
  }
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(asObject) : []
}

function missing(at: string) {
  return invalidRequest(at, `Missing required parameter: '${at}'.`, 'missing_required_parameter')
}

function unreadable(at: string, part: object) {
  const named = Object.keys(part).find((name) => name !== 'thought' && name !== 'thoughtSignature')
  return invalidRequest(
    at,
    `Unsupported value: '${at}' is a part with '${named ?? 'nothing in it'}', which this model does not take. It takes text, inlineData, fileData, functionCall and functionResponse.`,
    'unsupported_value',
  )
}
