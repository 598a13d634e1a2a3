// Reads the input of a response as turns of a conversation, for models that know only those: consecutive thoughts, texts and calls
// of an assistant are one turn, followed by the outputs of its calls in the order of the calls. An item must be read, omitted
// because it means nothing to the model, or refused with its place.

import { GatewayError, invalidRequest } from '../../../lib/errors'
import { asObject, isObject } from '../../../lib/objects'
import type {
  AssistantStep,
  Part,
  ToolCall,
  ToolResult,
  Turn,
  UserTurn,
} from '../../conversation/conversation'
import type { ResponsesBody } from '../../responses/caller-side'
import { isTrigger } from '../../responses/compaction'
import { missingField, repeated, textAt, wrongType, wrongValue } from '../../responses/refusals'
import { contentParts, textPartsOf } from './parts'
import { CUSTOM_INPUT, type FlatTools, flatToolsOf, type ToolOrigin } from './tools'

/** The turns of an input, and the settings in it. */
export interface Input {
  turns: readonly Turn[]
  /** Settings that an item changes for later items; the last one counts. */
  effort: unknown
  format: unknown
}

type Item = Record<string, unknown>

/** Items of tools that a vendor runs, which mean nothing to another model. */
export const FOREIGN_ITEMS = [
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'computer_call',
  'computer_call_output',
  'mcp_list_tools',
  'mcp_call',
  'mcp_approval_request',
  'mcp_approval_response',
  'program',
  'program_output',
] as const

/** Items that are omitted: those, and summaries that only the vendor that made them can read. */
const LEFT_OUT: ReadonlySet<unknown> = new Set([...FOREIGN_ITEMS, 'compaction'])

const CALLS: ReadonlySet<string> = new Set([
  'function_call',
  'custom_tool_call',
  'tool_search_call',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
])

const OUTPUTS: ReadonlySet<string> = new Set([
  'function_call_output',
  'custom_tool_call_output',
  'tool_search_output',
  'local_shell_call_output',
  'shell_call_output',
  'apply_patch_call_output',
])

/** Types of items that bridges read. The tools of `additional_tools` are in the list of all tools. */
const TYPES = [
  'message',
  'reasoning',
  ...CALLS,
  ...OUTPUTS,
  'additional_tools',
  'configuration_update',
  'item_reference',
]

const ROLES = ['assistant', 'system', 'developer', 'user'] as const

/** The input of a body. Throws 400 with the place of anything that cannot be parsed. */
export function readInput(body: ResponsesBody): Input {
  const { input } = body
  const reader = new InputReader(flatToolsOf(body))
  if (typeof input === 'string') reader.readText(input)
  else for (const [index, item] of (input ?? []).entries()) reader.read(item as Item, `input[${index}]`)
  return reader.whole()
}

/** A call whose output is still to come. */
interface OpenCall {
  call: ToolCall
  /** The call's own id, and its type. */
  callId: string
  type: string
  turn: AssistantTurn
  result: ToolResult | undefined
}

/** Calls of one id, in order, and the index of the first that may have no output. */
interface Waiting {
  calls: OpenCall[]
  next: number
}

/** A turn that is being read. */
type Begun = Exclude<Turn, { side: 'assistant' }> | AssistantTurn

interface AssistantTurn {
  side: 'assistant'
  steps: AssistantStep[]
  calls: OpenCall[]
}

class InputReader {
  private readonly turns: Begun[] = []
  private readonly waiting = new Map<string, Waiting>()
  private readonly ids = new Set<string>()
  private readonly callIds = new Map<string, number>()
  /** True if the assistant's next item belongs to the last turn. */
  private isSpeaking = false
  private effort: unknown
  private format: unknown

  constructor(private readonly tools: FlatTools) {}

  readText(text: string): void {
    this.turns.push({ side: 'user', results: [], parts: contentParts(text, 'input') })
  }

  read(item: Item, at: string): void {
    const type = typeOf(item, at)
    this.noteId(item, type)
    if (LEFT_OUT.has(type)) return
    if (type === 'message') this.readMessage(item, at)
    else if (CALLS.has(type)) this.readCall(item, type, at)
    else if (OUTPUTS.has(type)) this.readOutput(item, type, at)
    else if (type === 'reasoning') {
      this.assistant().steps.push({ kind: 'reasoning', text: summaryOf(item), ...sealedIn(item), at })
    } else if (type === 'configuration_update') {
      this.effort = asObject(item.reasoning).effort ?? this.effort
      this.format = asObject(item.text).format ?? this.format
    } else if (type !== 'additional_tools') throw refusalOf(item, type, at)
  }

  whole(): Input {
    return { turns: this.folded(), effort: this.effort, format: this.format }
  }

  /** The turns with the outputs right after their calls, and with consecutive items of one side merged. */
  private folded(): Turn[] {
    const folded: Turn[] = []
    let user: OpenUserTurn | undefined
    for (const turn of this.turns) {
      if (turn.side === 'user') {
        user ??= addUser(folded, [])
        for (const part of turn.parts) user.parts.push(part)
        continue
      }
      user = undefined
      if (turn.side === 'system') folded.push(turn)
      else {
        folded.push({ side: 'assistant', steps: turn.steps })
        if (turn.calls.length > 0) user = addUser(folded, turn.calls.map(resultOfCall))
      }
    }
    return folded
  }

  /** Stores the id of an item: two items with one id are a fault of the caller. An output may have the id of its call. */
  private noteId({ id }: Item, type: string): void {
    if (typeof id !== 'string' || id === '' || type.endsWith('_output') || type === 'item_reference') return
    if (this.ids.has(id)) {
      throw invalidRequest(
        'input',
        `Duplicate item found with id ${repeated(id)}. Remove duplicate items from your input and try again.`,
      )
    }
    this.ids.add(id)
  }

  private readMessage(item: Item, at: string): void {
    const { role, content } = item
    const place = `${at}.content`
    switch (role) {
      case 'user': {
        const parts = contentParts(content, place)
        if (parts.length > 0) this.turns.push({ side: 'user', results: [], parts })
        return
      }
      case 'assistant': {
        const text = textPartsOf(content, place)
          .map((part) => part.text)
          .join('\n\n')
        if (text !== '') this.assistant().steps.push({ kind: 'text', text, at: place })
        return
      }
      case 'system':
      case 'developer': {
        const parts = textPartsOf(content, place)
        if (parts.length > 0) this.turns.push({ side: 'system', role, parts, at })
        return
      }
      case undefined:
        throw missingField(`${at}.role`)
    }
    throw wrongValue(`${at}.role`, role, ROLES)
  }

  private assistant(): AssistantTurn {
    const last = this.turns.at(-1)
    if (this.isSpeaking && last?.side === 'assistant') return last
    const turn: AssistantTurn = { side: 'assistant', steps: [], calls: [] }
    this.turns.push(turn)
    this.isSpeaking = true
    return turn
  }

  private readCall(item: Item, type: string, at: string): void {
    // The vendor's own tool search: the tools that it found are in the list.
    if (type === 'tool_search_call' && typeof item.call_id !== 'string') return
    const callId = callIdOf(item, at)
    const call: ToolCall = {
      id: this.uniqueId(callId),
      name: this.flatNameOf(item, type, at),
      input: argumentsOf(item, type, at),
      form: 'function',
      at,
    }
    const turn = this.assistant()
    const open: OpenCall = { call, callId, type, turn, result: undefined }
    turn.calls.push(open)
    turn.steps.push({ kind: 'call', call })
    this.await(callId, open)
    // Outputs of this type name the item.
    const { id } = item
    if (type === 'local_shell_call' && typeof id === 'string' && id !== callId) this.await(id, open)
  }

  private await(id: string, open: OpenCall): void {
    const waiting = this.waiting.get(id)
    if (waiting) waiting.calls.push(open)
    else this.waiting.set(id, { calls: [open], next: 0 })
  }

  /** The first call of an id that has no output yet. */
  private takeWaiting(id: string): OpenCall | undefined {
    const waiting = this.waiting.get(id)
    if (!waiting) return undefined
    while (waiting.calls[waiting.next]?.result) waiting.next++
    return waiting.calls[waiting.next]
  }

  /** Some vendors reuse the ids of their calls in each turn; others refuse a repeated one. */
  private uniqueId(callId: string): string {
    let id = callId
    let count = this.callIds.get(callId) ?? 0
    for (; this.callIds.has(id); id = `${callId}_${count}`) count++
    this.callIds.set(callId, count)
    if (id !== callId) this.callIds.set(id, 0)
    return id
  }

  private flatNameOf(item: Item, type: string, at: string): string {
    const origin = originOf(item, type, at)
    const { name, namespace } = origin
    const isLost = namespace === undefined && !this.tools.find(origin) && !this.tools.byFlatName(name)
    if (isLost && this.tools.isInNamespace(name)) {
      const words = wordsOf(type)
      throw invalidRequest(
        `${at}.namespace`,
        `Missing namespace for ${type} '${repeated(name)}'. Send the ${words} back with its original namespace.`,
        'missing_required_parameter',
      )
    }
    return this.tools.flatNameOf(origin)
  }

  private readOutput(item: Item, type: string, at: string): void {
    if (type === 'tool_search_output' && typeof item.call_id !== 'string') return
    const { call_id: named, id } = item
    const callId =
      type === 'local_shell_call_output' && typeof named !== 'string' && typeof id === 'string'
        ? id
        : callIdOf(item, at)
    const output = outputIn(item, type, at, this.tools)
    const open = this.takeWaiting(callId)
    if (!open) {
      throw invalidRequest(
        'input',
        `No tool call found for ${wordsOf(type)} with call_id ${repeated(callId)}.`,
      )
    }
    open.result = { call: open.call, ...output, at }
    if (open.turn === this.turns.at(-1)) this.isSpeaking = false
  }
}

interface OpenUserTurn extends UserTurn {
  parts: Part[]
}

function addUser(turns: Turn[], results: readonly ToolResult[]): OpenUserTurn {
  const turn: OpenUserTurn = { side: 'user', results, parts: [] }
  turns.push(turn)
  return turn
}

function typeOf({ type, role, id }: Item, at: string): string {
  if (typeof type === 'string') return type
  if (type !== undefined && type !== null) throw wrongType(`${at}.type`, 'a string', type)
  if (role !== undefined) return 'message'
  if (typeof id === 'string') return 'item_reference'
  throw missingField(`${at}.type`)
}

/** A type as errors name it: `function call output`. */
function wordsOf(type: string): string {
  return type.replaceAll('_', ' ')
}

function callIdOf(item: Item, at: string): string {
  const id = textAt(item, 'call_id', at)
  if (id !== '') return id
  throw missingField(`${at}.call_id`)
}

/** The error for an unsupported item. References to stored items have been replaced by now. */
function refusalOf(item: Item, type: string, at: string): GatewayError {
  if (isTrigger(item)) {
    return invalidRequest(at, `Invalid '${at}': a compaction_trigger must be the last item of 'input'.`)
  }
  if (type !== 'item_reference') return wrongValue(`${at}.type`, type, TYPES)
  return new GatewayError(404, {
    code: 'item_not_found',
    message: `Item with id '${repeated(textAt(item, 'id', at))}' not found. Send the item itself.`,
    param: 'input',
  })
}

function sealedIn({ encrypted_content: sealed }: Item): { sealed?: string } {
  return typeof sealed === 'string' && sealed !== '' ? { sealed } : {}
}

/** The text of reasoning that was shown. */
function summaryOf({ summary, content }: Item): string {
  const parts = [content, summary].find((list) => Array.isArray(list) && list.length > 0)
  if (!Array.isArray(parts)) return ''
  return parts
    .map((part) => asObject(part).text)
    .filter((text) => typeof text === 'string')
    .join('\n\n')
}

function originOf(item: Item, type: string, at: string): ToolOrigin {
  if (type !== 'function_call' && type !== 'custom_tool_call') {
    const kind = type.slice(0, -'_call'.length) as ToolOrigin['kind']
    return { kind, name: kind }
  }
  const { namespace } = item
  const kind = type === 'function_call' ? 'function' : 'custom'
  const name = textAt(item, 'name', at)
  if (name === '') throw missingField(`${at}.name`)
  return { kind, name, ...(typeof namespace === 'string' && namespace !== '' && { namespace }) }
}

/** The arguments of a call's function, as JSON text. */
function argumentsOf(item: Item, type: string, at: string): string {
  switch (type) {
    case 'function_call':
      return textAt(item, 'arguments', at)
    case 'custom_tool_call':
      return JSON.stringify({ [CUSTOM_INPUT]: textAt(item, 'input', at) })
    case 'tool_search_call':
      return typeof item.arguments === 'string' ? item.arguments : JSON.stringify(item.arguments ?? {})
    case 'apply_patch_call':
      return JSON.stringify(objectAt(item, 'operation', at))
    default: {
      const { type: _, ...action } = objectAt(item, 'action', at)
      return JSON.stringify(Object.fromEntries(Object.entries(action).filter(([, value]) => value !== null)))
    }
  }
}

function objectAt(item: Item, name: string, at: string): Item {
  const value = item[name]
  if (isObject(value)) return value
  const place = `${at}.${name}`
  if (value === undefined || value === null) throw missingField(place)
  throw wrongType(place, 'an object', value)
}

/** The output of a tool as parts. */
function outputIn(
  item: Item,
  type: string,
  at: string,
  tools: FlatTools,
): Pick<ToolResult, 'parts' | 'hasFailed'> {
  const place = `${at}.output`
  switch (type) {
    case 'function_call_output':
    case 'custom_tool_call_output':
    case 'local_shell_call_output':
      return { parts: contentParts(item.output, place), hasFailed: false }
    case 'tool_search_output':
      return { parts: contentParts(foundBy(item, tools), place), hasFailed: false }
    case 'shell_call_output': {
      if (!Array.isArray(item.output)) {
        throw item.output === undefined ? missingField(place) : wrongType(place, 'an array', item.output)
      }
      return { parts: contentParts(JSON.stringify(item.output), place), hasFailed: false }
    }
    case 'apply_patch_call_output': {
      const hasFailed = item.status === 'failed'
      const text = typeof item.output === 'string' ? item.output : ''
      return { parts: contentParts(text || (hasFailed ? 'Failed.' : 'Done.'), place), hasFailed }
    }
  }
  throw wrongValue(`${at}.type`, type, TYPES)
}

/** The names of the tools that a tool search has found: the model can call these from now on. */
function foundBy({ tools: found }: Item, tools: FlatTools): string {
  const names = listedIn(found).flatMap((tool) =>
    tool.type === 'namespace' && typeof tool.name === 'string'
      ? listedIn(tool.tools).map((inner) => flatNameIn(inner, tools, tool.name as string))
      : [flatNameIn(tool, tools)],
  )
  const known = names.filter((name) => name !== '')
  return known.length === 0 ? 'No tools were found.' : `Tools that can be called now: ${known.join(', ')}`
}

function listedIn(tools: unknown): Item[] {
  return Array.isArray(tools) ? tools.map(asObject) : []
}

/** The flat name of a listed tool; empty for a tool without one. */
function flatNameIn({ type, name }: Item, tools: FlatTools, namespace?: string): string {
  if (typeof name !== 'string') return ''
  const kind = type === 'custom' ? 'custom' : 'function'
  return tools.flatNameOf({ kind, name, ...(namespace !== undefined && { namespace }) })
}

/** The output of a call; without one, no model could read the conversation. */
function resultOfCall({ result, type, callId }: OpenCall): ToolResult {
  if (result) return result
  throw invalidRequest('input', `No tool output found for ${wordsOf(type)} ${repeated(callId)}.`)
}
