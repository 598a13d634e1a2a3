// Converts a model's calls of flat functions to items of a response: each has the type, name and namespace of the caller's own
// tool. It must never throw: models write broken arguments, and answers may be cut in the middle of them.

import { asObject, isObject } from '../../lib/objects'
import { callInput } from '../chat/answer-parts'
import { CUSTOM_INPUT, type ToolOrigin } from '../dialects/responses/tools'
import { type Fields, type NewItem, type OutputItem, withoutNulls } from './response-object'

interface CallForm {
  /** Prefix of the item's id. */
  prefix: string
  /** True if pieces of the arguments, or of the input, have their own events. */
  hasPieces?: true
  /** The status of a truncated call, for clients that do not know that an item can end incomplete. */
  cutStatus?: 'incomplete' | 'in_progress'
  /** Members other than the id and the status, before any argument is known. */
  empty(callId: string, origin: ToolOrigin): NewItem
  /** Sets the members that the arguments determine. */
  fill(item: OutputItem, text: string): void
}

const named = ({ name, namespace }: ToolOrigin) => ({ name, ...(namespace !== undefined && { namespace }) })

const forms: Record<ToolOrigin['kind'], CallForm> = {
  function: {
    prefix: 'fc',
    hasPieces: true,
    empty: (callId, origin) => ({
      type: 'function_call',
      call_id: callId,
      ...named(origin),
      arguments: '',
    }),
    fill(item, text) {
      item.arguments = text
    },
  },
  custom: {
    prefix: 'ctc',
    hasPieces: true,
    cutStatus: 'incomplete',
    empty: (callId, origin) => ({ type: 'custom_tool_call', call_id: callId, ...named(origin), input: '' }),
    fill(item, text) {
      item.input = customInput(text)
    },
  },
  tool_search: {
    prefix: 'tsc',
    empty: (callId) => ({ type: 'tool_search_call', call_id: callId, execution: 'client', arguments: {} }),
    fill(item, text) {
      item.arguments = callInput(text)
    },
  },
  local_shell: {
    prefix: 'lsh',
    empty: (callId) => ({ type: 'local_shell_call', call_id: callId, action: localAction({}) }),
    fill(item, text) {
      item.action = localAction(membersOf(text, 'action'))
    },
  },
  shell: {
    prefix: 'sh',
    empty: (callId) => ({
      type: 'shell_call',
      call_id: callId,
      action: shellAction({}),
      environment: { type: 'local' },
    }),
    fill(item, text) {
      item.action = shellAction(membersOf(text, 'action'))
    },
  },
  apply_patch: {
    prefix: 'apc',
    cutStatus: 'in_progress',
    empty: (callId) => ({ type: 'apply_patch_call', call_id: callId, operation: patchOperation({}) }),
    fill(item, text) {
      item.operation = patchOperation(membersOf(text, 'operation'))
    },
  },
}

/** Prefix of the id of a call's item. */
export function callPrefix({ kind }: ToolOrigin): string {
  return forms[kind].prefix
}

/** Whether pieces of a call have their own events; the items of other calls are sent once complete. */
export function hasPieces({ kind }: ToolOrigin): boolean {
  return forms[kind].hasPieces === true
}

/** The status of a truncated call whose item must not end: clients would run it, or throw. */
export function cutStatusOf({ kind }: ToolOrigin): 'incomplete' | 'in_progress' | undefined {
  return forms[kind].cutStatus
}

/** The item of a call that has just begun, without id and status. */
export function emptyCall(origin: ToolOrigin, callId: string): NewItem {
  return forms[origin.kind].empty(callId, origin)
}

/** Sets the arguments or the input in the item of a call. `text` is everything that the model wrote for them. */
export function fillCall({ kind }: ToolOrigin, item: OutputItem, text: string): void {
  forms[kind].fill(item, text)
}

/**
 * The raw text of a custom tool. The function asks for an object with one member, but some models write the text itself, escape a
 * long one wrongly, or are cut in its middle: even then nothing of their text is dropped.
 */
function customInput(text: string): string {
  const parsed = parsedOrUndefined(text)
  if (typeof parsed === 'string') return parsed
  if (isObject(parsed)) {
    const values = Object.values(parsed)
    const value = CUSTOM_INPUT in parsed ? parsed[CUSTOM_INPUT] : values.length === 1 ? values[0] : undefined
    if (typeof value === 'string') return value
    return value === undefined ? (values.length === 0 ? '' : text) : JSON.stringify(value)
  }
  const opening = BROKEN_INPUT.exec(text)
  if (opening) return unescaped(withoutEnd(text.slice(opening[0].length)))
  return isBegunObject(text) ? '' : text
}

/** The beginning of a custom tool's arguments, up to its text. */
const BROKEN_INPUT = new RegExp(String.raw`^\s*\{\s*"${CUSTOM_INPUT}"\s*:\s*"`)

/** Whether a text was cut before the first character of the input. */
function isBegunObject(text: string): boolean {
  return `{"${CUSTOM_INPUT}":"`.startsWith(text.replaceAll(/\s/g, ''))
}

/** The body of a string, as much of it as has arrived, without the quote and the brace after it. */
function withoutEnd(body: string): string {
  const object = body.trimEnd()
  const string = object.endsWith('}') ? object.slice(0, -1).trimEnd() : object
  const quote = string.length - 1
  let escaping = quote
  while (string[escaping - 1] === '\\') escaping--
  return string[quote] === '"' && (quote - escaping) % 2 === 0 ? string.slice(0, -1) : body
}

const escapes: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }

/** The text of a JSON string that no parser accepts: anything but an escape stays, and half an escape at the end is dropped. */
function unescaped(body: string): string {
  return body.replaceAll(
    /\\(?:u([0-9a-f]{4})|u[0-9a-f]{0,3}$|$|([\s\S]))/gi,
    (_, code: string | undefined, letter: string | undefined) =>
      code === undefined
        ? (escapes[letter ?? ''] ?? letter ?? '')
        : String.fromCharCode(Number.parseInt(code, 16)),
  )
}

function parsedOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The members of an action or an operation, which some models wrap twice. */
function membersOf(text: string, wrapper: string): Fields {
  const input = callInput(text)
  return isObject(input[wrapper]) ? asObject(input[wrapper]) : input
}

function localAction({ command, env, timeout_ms, working_directory, user }: Fields): Fields {
  return {
    type: 'exec',
    command: typeof command === 'string' ? ['bash', '-lc', command] : textsOf(command),
    env: asObject(env),
    ...withoutNulls({ timeout_ms, working_directory, user }),
  }
}

function shellAction({ commands, command, timeout_ms, max_output_length }: Fields): Fields {
  return { commands: textsOf(commands ?? command), ...withoutNulls({ timeout_ms, max_output_length }) }
}

function patchOperation({ type, path, diff }: Fields): Fields {
  const known = type === 'create_file' || type === 'delete_file' ? type : 'update_file'
  const at = { type: known, path: typeof path === 'string' ? path : '' }
  return known === 'delete_file' ? at : { ...at, diff: typeof diff === 'string' ? diff : '' }
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}
