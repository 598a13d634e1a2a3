// The session of a request: the conversation whose beginning a vendor has in its prompt cache. The same conversation must get the same
// hash in every turn and on every node. It is used only for the choice of a key, of an equal upstream and of a preferred model.

import { inOrderOfSession } from '../catalogue/models'
import type { Config } from '../config/schema'
import type { Model } from '../contract/family'
import type { OperationName } from '../contract/operations'
import { asObject, isObject } from '../lib/objects'
import { hashOf } from '../lib/rendezvous'
import type { System } from '../lib/system'
import type { ReadRequest } from './check'

export interface RequestSession {
  hash: number
  /** The header or field that named it; `content` if none did. */
  by: string
}

/** Operations with prompts that vendors cache. */
const CACHED: ReadonlySet<OperationName> = new Set(['chat', 'messages', 'responses', 'completions'])

/**
 * Headers that name a session, in order of precedence: those of gateways, of Claude Code
 * (https://code.claude.com/docs/en/llm-gateway-protocol), of Codex and of Open WebUI.
 */
const HEADERS = [
  'x-session-id',
  'x-session-affinity',
  'x-claude-code-session-id',
  'session-id',
  'session_id',
  'x-openwebui-chat-id',
] as const

/** The end of the user id of earlier versions of Claude Code. */
const SESSION_OF_USER = /_session_([0-9a-f-]{36})$/

/** Maximum number of characters read from a text, and of values from a request: more would cost time and distinguish nothing. */
const MAX_CHARACTERS = 4_096
const MAX_VALUES = 300

/** A request with headers; a tool has none. */
interface Headed {
  header?(name: string): string | null
}

/**
 * Puts equal upstreams of a request in the order in which they are tried: by its session, or at random by their shares. A request
 * without any choice of upstreams or keys has no session, because nobody would use it.
 */
export function chooseOrder(
  { config, random }: { config: Pick<Config, 'affinity'> } & Pick<System, 'random'>,
  read: ReadRequest,
  from: Headed,
): void {
  const { candidates } = read
  const areEqual = candidates.length > 1 && candidates.some((model) => hasEqual(model, candidates))
  const isPreferred = read.route?.prefer !== undefined
  if (!areEqual && !isPreferred && !candidates.some(({ upstream }) => upstream.hasSeveralKeys)) return
  const { affinity } = config
  if (affinity !== false) read.session = sessionOf(read, from, affinity?.headers ?? [])
  if (areEqual) read.candidates = inOrderOfSession(candidates, read.session?.hash, random)
}

function hasEqual({ id, upstream }: Model, candidates: readonly Model[]): boolean {
  return candidates.some((other) => other.id === id && other.upstream !== upstream)
}

function sessionOf(
  { key, operation, given: { body }, candidates: [model], answer }: ReadRequest,
  from: Headed,
  ownHeaders: readonly string[],
): RequestSession | undefined {
  if (!CACHED.has(operation.name)) return undefined
  const account = hashOf(key.account)
  const named = namedByHeader(from, ownHeaders) ?? namedByBody(body, answer?.conversationId)
  if (named) return { by: named[0], hash: hashOf(named[1], account) }
  const hash = contentHash(body, hashOf(model.id, account))
  return hash === undefined ? undefined : { by: 'content', hash }
}

type Named = readonly [by: string, name: string]

function namedByHeader(from: Headed, ownHeaders: readonly string[]): Named | undefined {
  if (!from.header) return undefined
  for (const names of [ownHeaders, HEADERS])
    for (const name of names) {
      const value = from.header(name)
      if (value) return [name.toLowerCase(), value]
    }
  return undefined
}

/**
 * The field of a body that names its session. `previous_response_id` is not one: it differs in each turn, and its content is part
 * of the input by now.
 */
function namedByBody(body: Record<string, unknown>, conversationId: string | undefined): Named | undefined {
  const { session_id: session, prompt_cache_key: cacheKey, metadata, user } = body
  if (isNamed(session)) return ['session_id', session]
  if (isNamed(cacheKey)) return ['prompt_cache_key', cacheKey]
  const ofUser = sessionOfUser(asObject(metadata).user_id)
  if (isNamed(ofUser)) return ['metadata.user_id', ofUser]
  if (isNamed(conversationId)) return ['conversation', conversationId]
  return isNamed(user) ? ['user', user] : undefined
}

function isNamed(name: unknown): name is string {
  return typeof name === 'string' && name !== ''
}

/** The session in the user that a client of messages names: Claude Code puts JSON there, with the session in it. */
function sessionOfUser(userId: unknown): unknown {
  if (typeof userId !== 'string') return undefined
  const [, session] = SESSION_OF_USER.exec(userId) ?? []
  if (session !== undefined) return session
  if (!userId.startsWith('{')) return userId
  try {
    const { session_id: named } = asObject(JSON.parse(userId))
    return typeof named === 'string' ? named : userId
  } catch {
    return userId
  }
}

/**
 * The hash of the beginning of a conversation: its instructions, its tools, and everything up to the first message of the user.
 * Undefined without messages.
 */
function contentHash(body: Record<string, unknown>, seed: number): number | undefined {
  const items = body.messages ?? body.input
  if (typeof items !== 'string' && !Array.isArray(items)) return undefined
  const first = typeof items === 'string' ? items : items.slice(0, 1 + firstOfUser(items))
  return new TextHash(seed).add([body.instructions, body.system, first, body.tools])
}

function firstOfUser(items: readonly unknown[]): number {
  return items.findIndex((item) => isObject(item) && item.role === 'user')
}

/** Members outside the prompt, or that a client changes from turn to turn, such as the mark of its cache. */
const NOT_CONTENT: ReadonlySet<string> = new Set(['type', 'role', 'id', 'status', 'cache_control'])

/** The hash of all texts in a value, however they are wrapped. */
class TextHash {
  private values = 0

  constructor(private hash: number) {}

  add(value: unknown): number {
    if (this.values++ >= MAX_VALUES) return this.hash
    if (typeof value === 'string') this.hash = hashOf(value.slice(0, MAX_CHARACTERS), this.hash)
    else if (Array.isArray(value)) for (const item of value) this.add(item)
    else if (isObject(value)) for (const name in value) if (!NOT_CONTENT.has(name)) this.add(value[name])
    return this.hash
  }
}

/** A session in the form of the request log. */
export function sessionText({ hash, by }: RequestSession): string {
  return `${by} ${hash.toString(16).padStart(8, '0')}`
}
