// The callers of the simulation: their requests, how they read the answers, and the results that they know.

import type { SpenderRule } from '../../../src/accounts/spender-rule'
import type { Form } from '../../../src/contract/form'
import { type OperationName, operationOf } from '../../../src/contract/operations'
import type { Upload } from '../../../src/contract/upload'
import { GatewayError } from '../../../src/lib/errors'
import { formatUsd } from '../../../src/lib/money'
import type { Incoming } from '../../../src/request/line'
import type { Random } from '../random'
import { videoBody } from '../vendors/task'
import { SECRET_WORD } from './config'
import type { Life } from './life'
import type { SimulatedNode } from './node'
import type { VirtualTime } from './time'

interface Kind {
  operation: OperationName
  model: string
  body(text: string, mark: string): object
  /** The number of vendor answers in one answer of the gateway. */
  parts?: number
}

const chat = (model: string, more: object = {}) => ({
  operation: 'chat' as const,
  model,
  body: (content: string) => ({ model, messages: [{ role: 'user', content }], max_tokens: 40, ...more }),
})
const messages = (model: string, more: object = {}) => ({
  ...chat(model, more),
  operation: 'messages' as const,
})
const speech = (format: string) => ({
  operation: 'speech' as const,
  model: 'test-speech',
  body: (input: string) => ({ model: 'test-speech', input, response_format: format }),
})

const image = {
  operation: 'image' as const,
  model: 'test-image',
  body: (text: string) => ({
    model: 'test-image',
    input: { messages: [{ role: 'user', content: [{ text }] }] },
  }),
}

const edit = {
  operation: 'image-edit' as const,
  model: 'test-edit',
  body: (prompt: string) => ({ model: 'test-edit', prompt }),
}

const transcription = {
  operation: 'transcription' as const,
  model: 'test-transcription',
  body: (prompt: string) => ({ model: 'test-transcription', prompt }),
}

/** The file of a form, and its field, by operation. */
const FILES: Partial<Record<OperationName, { field: string; file: Omit<Upload, 'bytes'> }>> = {
  'image-edit': {
    field: 'image',
    file: {
      filename: 'a.png',
      contentType: 'image/png',
      picture: { format: 'png', width: 64, height: 64 },
    },
  },
  transcription: {
    field: 'file',
    file: { filename: 'a.mp3', contentType: 'audio/mpeg', audio: { format: 'mp3', seconds: 30 } },
  },
}

/** The deferred form of a request of a kind. */
const later = (kind: Kind) => ({
  ...kind,
  body: (text: string, mark: string) => ({ ...kind.body(text, mark), async: true, ...webhookOf(mark) }),
})

/** Every other request has a webhook. */
function webhookOf(mark: string): object {
  return Number(mark.slice(5)) % 2 === 0 ? { webhook_url: 'http://10.0.0.1/ended' } : {}
}

/** Every kind of request, in each form that takes a different path through the gateway. */
export const kinds = {
  chat: chat('test-chat'),
  stream: chat('test-chat', { stream: true }),
  route: chat('either'),
  'route-stream': chat('either', { stream: true }),
  messages: messages('test-claude'),
  'messages-stream': messages('test-claude', { stream: true }),
  'messages-over-chat': messages('test-chat'),
  'messages-over-chat-stream': messages('test-chat', { stream: true }),
  candidates: { ...chat('test-claude', { n: 2 }), parts: 2 },
  'candidates-stream': { ...chat('test-claude', { n: 2, stream: true }), parts: 2 },
  embeddings: {
    operation: 'embeddings',
    model: 'text-embedding-v4',
    body: (text) => {
      const input = Array.from({ length: 23 }, (_none, index) => `${text} number ${index}`)
      return { model: 'text-embedding-v4', input, encoding_format: 'float' }
    },
    parts: 3,
  },
  speech: speech('mp3'),
  wav: speech('wav'),
  image,
  edit,
  video: {
    operation: 'video',
    model: 'vidw2.6-t2v',
    body: (text, mark) => videoBody(text, webhookOf(mark)),
  },
  'chat-later': later(chat('test-chat')),
  'route-later': later(chat('either')),
  'wav-later': later(speech('wav')),
  'image-later': later(image),
  'edit-later': later(edit),
  'transcription-later': later(transcription),
} satisfies Record<string, Kind>

type KindName = keyof typeof kinds
/** All kinds are equally likely, except videos, which take longest. */
const DRAWN = [
  ...Object.keys(kinds).filter((kind) => !kind.endsWith('-later')),
  ...Array(6).fill('video'),
] as KindName[]
/** One of this many requests of a deferrable kind is deferred. */
const DEFERRED_EVERY = 3

export function isStream(kind: KindName): boolean {
  return kind.endsWith('stream')
}

/** Whether the answer is a task of the gateway itself. */
export function isLater(kind: KindName): boolean {
  return kind.endsWith('-later')
}

/** The deferred form of a kind. Embeddings cannot be deferred: a transcription takes their place. */
function laterOf(kind: KindName): KindName {
  const name = kind === 'embeddings' ? 'transcription-later' : `${kind}-later`
  return name in kinds ? (name as KindName) : kind
}

export function partsOf(kind: KindName): number {
  return (kinds[kind] as Kind).parts ?? 1
}

export interface Customer {
  account: string
  keyId: string
  secret: string
  /** The models permitted to the key; null: all. */
  models: string[] | null
  concurrency: number | null
  revokedAt: number
  /** Whether requests of the key name their spenders. */
  hasSpenders: boolean
}

const SPENDER_HEADER = 'x-simulated-spender'
/**
 * The daily budget of each spender in nano-dollars: enough for a video and little else, so that holds and their extensions reach
 * it.
 */
export const SPENDER_BUDGET_NANO = 60_000_000
export const SPENDER_RULE: SpenderRule = {
  from: [SPENDER_HEADER],
  budget_usd: formatUsd(SPENDER_BUDGET_NANO),
  budget_period: 'day',
}
/** The spenders that requests of keys with spenders name in turn; one request in three names nobody. */
const SPENDERS = ['ann', 'ben', null]

/** A caller's request, and its result as far as the caller knows. */
export interface SimulatedRequest {
  id: string
  kind: KindName
  mark: string
  account: string
  keyId: string
  /** The spender named in the request. */
  spender: string | null
  idempotencyKey: string | null
  startedAt: number
  waits: boolean
  /** Undefined: no answer arrived. */
  status?: number
  code?: string
  text: string
  /** The answer was read to its end. */
  isWhole: boolean
  hasLeft: boolean
  isReplay: boolean
  /** The process that got the request. */
  life: Life
}

export interface Callers {
  time: VirtualTime
  random: Random
  customers: readonly Customer[]
  asked: SimulatedRequest[]
  log: string[]
}

/** A customer sends a request to a node, and reads the answer. */
export function ask(
  callers: Callers,
  node: SimulatedNode,
  newId: (prefix: string) => string,
  note: (text: string) => void,
): void {
  const { random, time, asked, log } = callers
  const { one, owner } = draw(callers, node, newId)
  asked.push(one)
  const leaving = new AbortController()
  const leavesAfter = random.chance(0.15) ? random.below(6_000) : undefined
  if (leavesAfter !== undefined) time.after(leavesAfter, () => leaving.abort())
  const incoming: Incoming = {
    operation: operationOf(kinds[one.kind].operation),
    requestId: one.id,
    authorization: `Bearer ${owner.secret}`,
    idempotencyKey: one.idempotencyKey,
    waitMs: one.waits ? random.pick([2_000, 20_000]) : 0,
    headers: {},
    header: (name) => (name === SPENDER_HEADER ? one.spender : null),
    body: async () => bodyOf(one),
    signal: () => leaving.signal,
    gatewayUrl: () => 'https://gateway.example',
  }
  // A slow caller waits between pieces.
  const pauseMs = random.chance(0.2) ? random.below(3_000) : 0
  read(node, incoming, one, { time, leaving: leaving.signal, pauseMs }).then(
    () => note(`${one.id} ${one.status} ${one.code ?? ''} ${one.isWhole} ${one.text.length}`),
    (error) => log.push(`caller failed: ${error}`),
  )
}

function draw(
  { random, time, customers, asked }: Callers,
  { life }: SimulatedNode,
  newId: (prefix: string) => string,
) {
  const drawnKind = random.pick(DRAWN)
  // Chosen without randomness, so that older seeds give the same runs.
  const kind = asked.length % DEFERRED_EVERY === 0 ? laterOf(drawnKind) : drawnKind
  // The same customer always sends an idempotency key with the same request.
  const idempotencyKey = random.chance(0.4) ? `${kind}-${random.below(3)}` : null
  const known = asked.find((one) => idempotencyKey !== null && one.idempotencyKey === idempotencyKey)
  const anyone = random.pick(customers)
  const mayAsk = (customer: Customer) => customer.models?.includes(kinds[kind].model) ?? true
  const drawn = mayAsk(anyone) || random.chance(0.1) ? anyone : (customers.find(mayAsk) ?? anyone)
  const owner = customers.find(({ account }) => account === known?.account) ?? drawn
  const one: SimulatedRequest = {
    id: newId('req'),
    kind,
    mark: known?.mark ?? `mark-${asked.length}`,
    account: owner.account,
    keyId: owner.keyId,
    spender: (owner.hasSpenders && SPENDERS[asked.length % SPENDERS.length]) || null,
    idempotencyKey,
    startedAt: time.monotonic(),
    waits: kind === 'video' ? random.chance(0.3) : isLater(kind) && asked.length % 2 === 0,
    text: '',
    isWhole: false,
    hasLeft: false,
    isReplay: false,
    life,
  }
  return { one, owner }
}

function bodyOf({ kind, mark }: SimulatedRequest): Uint8Array | Form {
  const body = kinds[kind].body(`${SECRET_WORD} ${mark}`, mark)
  const sent = FILES[kinds[kind].operation]
  if (!sent) return Buffer.from(JSON.stringify(body))
  const bytes = new Blob(['the contents of the file'])
  return {
    fields: new Map(Object.entries(body).map(([name, value]) => [name, String(value)])),
    files: new Map([[sent.field, [{ ...sent.file, bytes }]]]),
    textBytes: 64,
    hash: mark,
    dispose: async () => {},
  }
}

interface ReadingOptions {
  time: VirtualTime
  leaving: AbortSignal
  pauseMs: number
}

async function read(
  { gateway, life }: SimulatedNode,
  incoming: Incoming,
  one: SimulatedRequest,
  { time, leaving, pauseMs }: ReadingOptions,
): Promise<void> {
  const { isDead } = life
  let response: Response
  try {
    response = await life.alive(gateway.handle(incoming))
  } catch (error) {
    one.status = error instanceof GatewayError ? error.status : 500
    one.code = error instanceof GatewayError ? error.code : String(error)
    one.text = error instanceof GatewayError ? error.message : ''
    one.isWhole = true
    return
  }
  one.status = response.status
  one.isReplay = response.headers.get('idempotent-replayed') === 'true'
  const reader = response.body?.getReader()
  leaving.addEventListener('abort', () => {
    if (one.isWhole) return
    one.hasLeft = true
    reader?.cancel().catch(() => {})
  })
  if (leaving.aborted) {
    one.hasLeft = true
    await reader?.cancel()
  }
  while (!one.hasLeft) {
    const next = await reader?.read().catch(() => undefined)
    if (isDead() || one.hasLeft || !next) return
    if (next.done) {
      one.isWhole = true
      return
    }
    one.text += Buffer.from(next.value).toString('latin1')
    if (pauseMs > 0) await new Promise<void>((resolve) => void time.after(pauseMs, resolve))
  }
}
