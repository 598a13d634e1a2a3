// Converts tools of responses to flat functions, for models that know only those: namespaces become part of the name, and tools of
// other types become functions with the same purpose. A call must come back with exactly the name, the namespace and the type that
// the caller gave the tool. A tool must never be dropped silently if the answer depends on it.

import { type GatewayError, invalidRequest } from '../../../lib/errors'
import { asObject, isObject } from '../../../lib/objects'
import { OFFERED_TYPES } from '../../client-defaults'
import type { Tool, ToolChoice } from '../../conversation/conversation'
import { withoutKeywords } from '../../json-schema'
import type { ResponsesBody } from '../../responses/caller-side'
import { missingField, repeated, unsupportedField, wrongType, wrongValue } from '../../responses/refusals'
import { isNeverBridged } from '../../responses/sent-tools'

/** A tool as the model on a bridge sees it: a function with this name. */
export interface FlatTool extends Tool {
  /** Unique among the tools of the request; at most 64 characters of `A-Z a-z 0-9 _ -`. */
  name: string
  /** The caller's own tool. */
  origin: ToolOrigin
}

/**
 * A caller's tool. The arguments of its function are: those of a `function` and a `tool_search`; for `custom` the raw
 * text under CUSTOM_INPUT; for `local_shell` and `shell` the members of the call's `action`, without its type; for
 * `apply_patch` those of its `operation`.
 */
export interface ToolOrigin {
  kind: 'function' | 'custom' | 'tool_search' | 'local_shell' | 'shell' | 'apply_patch'
  name: string
  namespace?: string
}

/** The only member of the arguments of a custom tool: its raw text. */
export const CUSTOM_INPUT = 'input'

/** All tools of a request: those in its list, and those that items of its input add. */
export interface FlatTools {
  readonly list: readonly FlatTool[]
  /** The tool that a model calls by a name; undefined if the model invented the name. */
  byFlatName(flatName: string): FlatTool | undefined
  /** The tool that a caller knows by its own name. */
  find(origin: ToolOrigin): FlatTool | undefined
  /** The tools of a namespace; undefined if none has this name. */
  ofNamespace(name: string): readonly FlatTool[] | undefined
  /** Whether a namespace has a tool of this name. */
  isInNamespace(name: string): boolean
  /** The name of a tool in an earlier call, even if the request no longer lists it. */
  flatNameOf(origin: ToolOrigin): string
}

type Fields = Record<string, unknown>

/** The tools of a body, flattened when they are first used. Throws 400 for an unsupported tool. */
export function flatToolsOf(body: ResponsesBody): FlatTools {
  const known = flattened.get(body)
  if (known) return known
  const tools = new ToolList()
  const { tools: listed, input } = body
  addTools(tools, listed, 'tools')
  if (Array.isArray(input)) {
    // A tool search returns tools that can be called from then on.
    for (const [index, item] of (input as Fields[]).entries()) {
      const { type } = item
      if (type !== 'additional_tools' && type !== 'tool_search_output') continue
      const at = `input[${index}].tools`
      if (!Array.isArray(item.tools)) throw missingField(at)
      addTools(tools, item.tools, at)
    }
  }
  flattened.set(body, tools)
  return tools
}
const flattened = new WeakMap<ResponsesBody, FlatTools>()

/** Maximum length of a function name that vendors accept, in characters. */
const MAX_NAME_LENGTH = 64
/** Digits of the hash that keeps a shortened name unique. */
const HASH_LENGTH = 8

class ToolList implements FlatTools {
  readonly list: FlatTool[] = []
  private readonly places = new Map<string, number>()
  private readonly names = new Map<string, FlatTool>()
  private namesInside: ReadonlySet<string> | undefined
  private namespaces: ReadonlyMap<string | undefined, readonly FlatTool[]> | undefined

  byFlatName(flatName: string): FlatTool | undefined {
    return this.names.get(flatName)
  }

  find(origin: ToolOrigin): FlatTool | undefined {
    const place = this.places.get(keyOf(origin))
    return place === undefined ? undefined : this.list[place]
  }

  ofNamespace(name: string): readonly FlatTool[] | undefined {
    this.namespaces ??= Map.groupBy(this.list, ({ origin }) => origin.namespace)
    return this.namespaces.get(name)
  }

  isInNamespace(name: string): boolean {
    this.namesInside ??= new Set(
      this.list.flatMap(({ origin }) => (origin.namespace === undefined ? [] : [origin.name])),
    )
    return this.namesInside.has(name)
  }

  flatNameOf(origin: ToolOrigin): string {
    return this.find(origin)?.name ?? plainName(origin)
  }

  /** Adds a tool; a repeated one replaces the earlier one. */
  add(tool: Omit<FlatTool, 'name'>): void {
    const key = keyOf(tool.origin)
    const place = this.places.get(key) ?? this.list.length
    const name = this.list[place]?.name ?? this.freeName(tool.origin)
    const named = { ...tool, name }
    this.list[place] = named
    this.places.set(key, place)
    this.names.set(name, named)
  }

  private freeName(origin: ToolOrigin): string {
    const wanted = plainName(origin)
    let name = wanted
    // A hash instead of a counter: thousands of names may collide.
    for (let attempt = 0; this.names.has(name); attempt++) name = hashedName(wanted, keyOf(origin) + attempt)
    return name
  }
}

/** Identifies a tool: a function and a custom tool may have the same name. */
function keyOf({ kind, name, namespace }: ToolOrigin): string {
  return JSON.stringify([kind === 'function' || kind === 'custom' ? '' : kind, namespace ?? '', name])
}

/** The name of a tool, if it is unique. Letters that vendors refuse are replaced, and long names are shortened. */
function plainName({ name, namespace }: ToolOrigin): string {
  const whole = namespace === undefined ? name : `${namespace}__${name}`
  const plain = whole.replaceAll(/[^\w-]/g, '_')
  return plain.length <= MAX_NAME_LENGTH ? plain : hashedName(plain, whole)
}

function hashedName(name: string, hashed: string): string {
  const hash = new Bun.CryptoHasher('sha256').update(hashed).digest('hex').slice(0, HASH_LENGTH)
  return `${name.slice(0, MAX_NAME_LENGTH - HASH_LENGTH - 1)}_${hash}`
}

function addTools(tools: ToolList, listed: unknown, at: string): void {
  if (!Array.isArray(listed)) return
  for (const [index, tool] of listed.entries()) addTool(tools, asObject(tool), `${at}[${index}]`)
}

function addTool(tools: ToolList, tool: Fields, at: string): void {
  const { type } = tool
  if (typeof type !== 'string') throw missingField(`${at}.type`)
  if (type === 'function' || type === 'custom') tools.add(calledTool(tool, at))
  else if (type === 'namespace') addNamespace(tools, tool, at)
  else if (!isNeverBridged(tool)) {
    const builtIn = builtInTool(type, tool, at)
    if (!builtIn) throw unsupportedTool(type, `${at}.type`)
    tools.add(builtIn)
  }
}

/** Adds the tools of a namespace. The description of the namespace is added to that of its first tool. */
function addNamespace(tools: ToolList, { name, description, tools: inner }: Fields, at: string): void {
  if (typeof name !== 'string' || name === '') throw missingField(`${at}.name`)
  if (!Array.isArray(inner)) throw missingField(`${at}.tools`)
  const about =
    typeof description === 'string' && description !== '' ? `About the tools ${name}: ${description}` : ''
  for (const [index, tool] of inner.entries()) {
    const fields = asObject(tool)
    const place = `${at}.tools[${index}]`
    if (fields.type !== 'function' && fields.type !== 'custom') {
      throw typeof fields.type === 'string'
        ? unsupportedTool(fields.type, `${place}.type`)
        : missingField(`${place}.type`)
    }
    const called = calledTool(fields, place, name)
    const said = index === 0 ? joined(about, called.description) : called.description
    tools.add({ ...called, description: said })
  }
}

function calledTool(tool: Fields, at: string, namespace?: string): Omit<FlatTool, 'name'> {
  const { name } = tool
  if (typeof name !== 'string' || name === '') throw missingField(`${at}.name`)
  const origin = { name, ...(namespace !== undefined && { namespace }) }
  return tool.type === 'custom' ? customTool(tool, at, origin) : functionTool(tool, at, origin)
}

function functionTool(
  { description, parameters, strict }: Fields,
  at: string,
  origin: Omit<ToolOrigin, 'kind'>,
) {
  if (parameters !== undefined && parameters !== null && !isObject(parameters)) {
    throw wrongType(`${at}.parameters`, 'a JSON schema', parameters)
  }
  return {
    description: optionalText(description, `${at}.description`),
    parameters: isObject(parameters) ? (withoutKeywords(parameters, isMark) as Fields) : NO_PARAMETERS,
    isStrict: strict === true,
    at,
    origin: { kind: 'function' as const, ...origin },
  }
}

const NO_PARAMETERS: Fields = { type: 'object', properties: {} }

function customTool({ description, format }: Fields, at: string, origin: Omit<ToolOrigin, 'kind'>) {
  return {
    description: joined(optionalText(description, `${at}.description`), grammarOf(format, `${at}.format`)),
    parameters: {
      type: 'object',
      properties: {
        [CUSTOM_INPUT]: { type: 'string', description: 'The whole input of the tool, as plain text.' },
      },
      required: [CUSTOM_INPUT],
      additionalProperties: false,
    },
    isStrict: false,
    at,
    origin: { kind: 'custom' as const, ...origin },
  }
}

/** The grammar of a custom tool as a text: only its own vendor can force a model to follow it. */
function grammarOf(format: unknown, at: string): string {
  const { type, syntax, definition } = asObject(format)
  if (type === 'grammar') {
    if (typeof definition !== 'string') throw missingField(`${at}.definition`)
    const kind = syntax === 'regex' ? 'regular expression' : 'Lark grammar'
    return `The ${CUSTOM_INPUT} must match this ${kind} exactly:\n${definition}`
  }
  if (format === undefined || format === null || type === 'text') return ''
  throw wrongValue(`${at}.type`, type, ['text', 'grammar'])
}

const texts = { type: 'array', items: { type: 'string' } }
const LOCAL_SHELL: Fields = {
  type: 'object',
  properties: {
    command: { ...texts, description: 'The program and its arguments.' },
    working_directory: { type: 'string' },
    timeout_ms: { type: 'integer' },
    env: { type: 'object', additionalProperties: { type: 'string' } },
  },
  required: ['command'],
}
const SHELL: Fields = {
  type: 'object',
  properties: {
    commands: { ...texts, description: 'Commands for a shell, which run side by side.' },
    timeout_ms: { type: 'integer' },
    max_output_length: { type: 'integer', description: 'Characters of output to be returned at most.' },
  },
  required: ['commands'],
}
const APPLY_PATCH: Fields = {
  type: 'object',
  properties: {
    type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
    path: { type: 'string' },
    diff: { type: 'string', description: 'The change in V4A diff format; not for delete_file.' },
  },
  required: ['type', 'path'],
}
const SEARCH: Fields = {
  type: 'object',
  properties: { query: { type: 'string' } },
  required: ['query'],
}

/** A tool that the caller runs, and whose form the API defines; undefined for one that the vendor runs. */
function builtInTool(type: string, tool: Fields, at: string): Omit<FlatTool, 'name'> | undefined {
  const { description, parameters, environment } = tool
  switch (type) {
    case 'tool_search': {
      const text = typeof description === 'string' ? description : 'Searches for more tools.'
      const schema = isObject(parameters) ? (withoutKeywords(parameters, isMark) as Fields) : SEARCH
      return builtIn(type, text, schema, at)
    }
    case 'local_shell':
      return builtIn(type, "Runs a program on the user's machine.", LOCAL_SHELL, at)
    case 'shell': {
      // Other environments are containers of the vendor.
      const isOwn =
        environment === undefined || environment === null || asObject(environment).type === 'local'
      const text = joined("Runs commands on the user's machine.", skillsOf(environment))
      return isOwn ? builtIn(type, text, SHELL, at) : undefined
    }
    case 'apply_patch':
      return builtIn(type, 'Creates, changes or deletes one file.', APPLY_PATCH, at)
    default:
      return undefined
  }
}

function builtIn(kind: ToolOrigin['kind'], description: string | undefined, parameters: Fields, at: string) {
  return { description, parameters, isStrict: false, at, origin: { kind, name: kind } }
}

/** The skills of a shell: folders with instructions on the caller's machine. */
function skillsOf(environment: unknown): string {
  const { skills } = asObject(environment)
  if (!Array.isArray(skills) || skills.length === 0) return ''
  const lines = skills.map((skill) => {
    const { name, description, path } = asObject(skill)
    return `- ${name} (${path}): ${description}`
  })
  return ['Skills, which are folders with instructions:', ...lines].join('\n')
}

/** The choice of a body; undefined if it has none. Throws 400 for a tool that it does not list or that is not served. */
export function callersChoice(body: ResponsesBody): ToolChoice | undefined {
  const { tool_choice: choice } = body
  if (choice === undefined || choice === null) return undefined
  if (typeof choice === 'string') {
    const mode = modeOf(choice, 'tool_choice')
    if (mode === 'required' && flatToolsOf(body).list.length === 0) throw nothingToCall()
    return { mode }
  }
  const { type, mode, tools } = choice as Fields
  if (type !== 'allowed_tools') {
    const allowed = chosenTools(choice as Fields, body, 'tool_choice')
    if (allowed.length === 0) throw nothingToCall()
    return { mode: 'required', allowed: namesOf(allowed) }
  }
  if (!Array.isArray(tools)) throw missingField('tool_choice.tools')
  const allowed = new Set<FlatTool>()
  const namespaces = new Set<unknown>()
  for (const [index, tool] of tools.entries()) {
    const chosen = asObject(tool)
    // A name that appears a thousand times adds its tools once.
    if (chosen.type === 'namespace' && namespaces.has(chosen.name)) continue
    if (chosen.type === 'namespace') namespaces.add(chosen.name)
    for (const each of chosenTools(chosen, body, `tool_choice.tools[${index}]`)) allowed.add(each)
  }
  const named = modeOf(mode ?? 'auto', 'tool_choice.mode')
  if (named === 'required' && allowed.size === 0) throw nothingToCall()
  return { mode: named, allowed: namesOf([...allowed]) }
}

const namesOf = (tools: readonly FlatTool[]): string[] => tools.map(({ name }) => name)

/** The error for a forced call when no tool is left to call. */
function nothingToCall(): GatewayError {
  return invalidRequest(
    'tool_choice',
    "Invalid 'tool_choice': 'tools' has nothing that this model can call: it cannot search the web or make pictures.",
  )
}

const MODES = ['none', 'auto', 'required'] as const

function modeOf(mode: unknown, at: string): ToolChoice['mode'] {
  const known = MODES.find((name) => name === mode)
  if (known) return known
  throw wrongValue(at, mode, MODES)
}

/** The tools that a part of a choice names; empty for an omitted one. */
function chosenTools(chosen: Fields, body: ResponsesBody, at: string): readonly FlatTool[] {
  const { type, name, namespace } = chosen
  const tools = flatToolsOf(body)
  if (typeof type !== 'string') throw missingField(`${at}.type`)
  if (OFFERED_TYPES.test(type)) return []
  if (type !== 'function' && type !== 'custom' && type !== 'namespace') {
    if (!BUILT_IN.has(type)) throw unsupportedTool(type, `${at}.type`)
    const found = tools.find({ kind: type as ToolOrigin['kind'], name: type })
    return found ? [found] : absent(type, at)
  }
  if (typeof name !== 'string') throw missingField(`${at}.name`)
  if (type === 'namespace') return tools.ofNamespace(name) ?? absent(name, at)
  const own = { kind: type, name, ...(typeof namespace === 'string' && { namespace }) } as const
  const found = tools.find(own) ?? tools.byFlatName(name)
  return found?.origin.kind === type ? [found] : absent(name, at)
}
const BUILT_IN: ReadonlySet<string> = new Set(['tool_search', 'local_shell', 'shell', 'apply_patch'])

function absent(name: string, at: string): never {
  throw invalidRequest(at, `Invalid '${at}': tool choice '${repeated(name)}' not found in 'tools'.`)
}

/** Whether a keyword of a schema has a meaning for one client only, and is refused by others. */
function isMark(keyword: string, value: unknown): boolean {
  return keyword === 'encrypted' && typeof value === 'boolean'
}

function joined(...parts: readonly (string | undefined)[]): string | undefined {
  return parts.filter((text) => text !== undefined && text !== '').join('\n\n') || undefined
}

function unsupportedTool(type: string, at: string): GatewayError {
  const shown = repeated(type)
  return unsupportedField(
    at,
    `this model calls tools of the caller, and has none of type '${shown}'. Leave it out, or choose another model`,
  )
}

function optionalText(value: unknown, at: string): string | undefined {
  if (value === undefined || value === null || typeof value === 'string') return value ?? undefined
  throw wrongType(at, 'a string', value)
}
