// Everything that the console requests from the gateway: `call('getAccount', { params, query })`. `operations` lists the operations
// of the admin API that pages use; the types of each come from the operation itself. Addresses are relative to the page, so that it
// works below a path of a proxy. A secret must never be stored here: the user is identified by a cookie that scripts cannot read.

import { signal } from '@preact/signals'
import type { KnownOperation } from '../admin/operations'
import { texts } from './texts'

/** Method and path below /admin/v1 of each operation that the console calls. */
export const operations = {
  getOverview: 'GET /overview',
  search: 'GET /search',
  fillSandbox: 'POST /sandbox/history',
  listCustomers: 'GET /customers',
  getCustomer: 'GET /customers/{account}',
  createCustomer: 'POST /customers',
  updateAccount: 'PATCH /accounts/{account}',
  freezeAccount: 'POST /accounts/{account}/freeze',
  unfreezeAccount: 'POST /accounts/{account}/unfreeze',
  closeAccount: 'POST /accounts/{account}/close',
  listLedger: 'GET /accounts/{account}/ledger',
  creditAccount: 'POST /accounts/{account}/credits',
  adjustAccount: 'POST /accounts/{account}/adjustments',
  listCodes: 'GET /codes',
  createCodes: 'POST /codes',
  revokeCode: 'POST /codes/{code}/revoke',
  reconcileUpstream: 'POST /upstreams/{upstream}/reconciliation',
  reconcileOwn: 'GET /reconciliation',
  listConditions: 'GET /conditions',
  listEvents: 'GET /events',
  testEvent: 'POST /events/test',
  redeliverEvent: 'POST /events/{event}/redeliver',
  listSessions: 'GET /sessions',
  revokeSession: 'POST /sessions/{session}/revoke',
  listPlans: 'GET /plans',
  getPlan: 'GET /plans/{plan}',
  listPlanAccounts: 'GET /plans/{plan}/accounts',
  listKeys: 'GET /keys',
  getKey: 'GET /keys/{key}',
  createKey: 'POST /keys',
  updateKey: 'PATCH /keys/{key}',
  pauseKey: 'POST /keys/{key}/pause',
  resumeKey: 'POST /keys/{key}/resume',
  revokeKey: 'POST /keys/{key}/revoke',
  rollKey: 'POST /keys/{key}/roll',
  rollWebhookSecret: 'POST /keys/{key}/roll-webhook',
  listRequests: 'GET /requests',
  summariseRequests: 'GET /requests/summary',
  getRequest: 'GET /requests/{id}',
  getRequestBodies: 'GET /requests/{id}/bodies',
  getUsage: 'GET /usage',
  listStatements: 'GET /statements',
  issueStatements: 'POST /statements',
  verifyStatements: 'GET /statements/verification',
  getStatement: 'GET /statements/{number}',
  listTasks: 'GET /tasks',
  getTask: 'GET /tasks/{task}',
  cancelTask: 'POST /tasks/{task}/cancel',
  reconcileTask: 'POST /tasks/{task}/reconcile',
  redeliverWebhook: 'POST /tasks/{task}/redeliver',
  listWebhooks: 'GET /webhooks',
  listArtifacts: 'GET /artifacts',
  getArtifactContent: 'GET /artifacts/{artifact}/content',
  listModels: 'GET /models',
  quotePrice: 'GET /models/{model}/quote',
  listUpstreams: 'GET /upstreams',
  listRefusals: 'GET /upstreams/refusals',
  testUpstream: 'POST /upstreams/{upstream}/test',
  listDrills: 'GET /drills',
  listSpenders: 'GET /spenders',
  revokeSpender: 'POST /spenders/{spender}/revoke',
  forgetSpender: 'POST /spenders/{spender}/forget',
  stopDrill: 'POST /drills/{drill}/stop',
  getConfiguration: 'GET /configuration',
  compareConfiguration: 'GET /configuration/changes',
  reloadConfiguration: 'POST /configuration/reload',
  listBackups: 'GET /backups',
  makeBackup: 'POST /backups',
  getRetention: 'GET /retention',
  listMonthsToClose: 'GET /retention/months',
  closeMonths: 'POST /retention/closings',
  listAdmins: 'GET /admins',
  createAdmin: 'POST /admins',
  revokeAdmin: 'POST /admins/{admin}/revoke',
  listAudit: 'GET /audit',
} as const satisfies { [Id in KnownOperation['id']]?: string }

export type OperationId = keyof typeof operations
type TypesOf<Id extends OperationId> = NonNullable<Extract<KnownOperation, { id: Id }>['types']>
/** The answer of an operation. */
export type Reply<Id extends OperationId> = TypesOf<Id>['reply']
/** A row of an operation that returns a list. */
export type RowOf<Id extends OperationId> = Reply<Id> extends { data: (infer Row)[] } ? Row : never

/** One page of a list. `next` requests the next one; null at the end. */
export interface PageOf<Row> {
  data: Row[]
  next: string | null
}

export interface Session {
  kind: 'admin' | 'key'
  /** The id of the key or the admin: several may have had the same name. */
  id: string
  name: string
  role?: 'viewer' | 'operator' | 'owner'
  /** Sent with every request that changes something. */
  csrf: string
  expiresAt: string | number
}

/** Whether the paths of keys are called with a key instead of the session. URLs that a page displays contain no key. */
export const isCallingAs = (): boolean => callingKey !== null

/** Who is signed in: undefined until the server has answered, null if nobody is. */
export const session = signal<Session | null | undefined>(undefined)

/** How many changes this page has made: each may invalidate earlier answers. */
export const changes = signal(0)

/** Why a sign-in by an identity provider failed; empty if no sign-in failed. */
export const signInFault = signal('')

/** Whether vendors are simulated. */
export const isSandbox = signal(false)

const ROLES = ['viewer', 'operator', 'owner'] as const

/** Whether the signed-in user has this role. Forbidden actions are not offered, and the server refuses them in any case. */
export function hasRole(role: (typeof ROLES)[number]): boolean {
  const own = session.value?.role
  return own !== undefined && ROLES.indexOf(own) >= ROLES.indexOf(role)
}

export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string | null,
    /** The field that is wrong. */
    readonly param: string | null,
  ) {
    super(message)
  }

  static from(error: unknown): ApiError {
    if (error instanceof ApiError) return error
    return new ApiError(texts.notAnswering, 0, null, null)
  }
}

type Values = Readonly<Record<string, unknown>>
/** Values of a query; absent ones are left out. */
export type QueryValues = Readonly<Record<string, string | number | null | undefined>>

interface Options<Id extends OperationId> {
  params?: Readonly<Record<string, string>>
  /** Empty and absent values are left out. */
  query?: { [Name in keyof TypesOf<Id>['query']]?: TypesOf<Id>['query'][Name] | null | undefined }
  body?: TypesOf<Id>['body']
  /** Makes a change happen once, however often it is sent. */
  idempotencyKey?: string
  signal?: AbortSignal | undefined
}

/** Calls an operation of the admin API. Rejects with an ApiError. */
export async function call<Id extends OperationId>(id: Id, options: Options<Id> = {}): Promise<Reply<Id>> {
  const { params = {}, query = {}, ...sent } = options
  const [method = 'GET'] = operations[id].split(' ')
  const response = await send(method, pathOf(id, params, query), sent)
  const reply = (await response.json()) as Reply<Id>
  if (method !== 'GET') changes.value++
  return reply
}

/** The URL of an operation that answers with a file. */
export function fileAddress<Id extends OperationId>(
  id: Id,
  { params = {}, query = {} }: Pick<Options<Id>, 'params' | 'query'>,
): string {
  return urlOf(pathOf(id, params, query))
}

function pathOf(id: OperationId, params: Readonly<Record<string, string>>, query: Values): string {
  const [, template = ''] = operations[id].split(' ')
  const path = template.replace(/\{(\w+)\}/g, (_, param) => encodeURIComponent(params[param] ?? ''))
  return withQuery(`admin/v1${path}`, query)
}

/** A path with the values of a query; empty and absent ones are left out. */
export function withQuery(path: string, query: Values): string {
  const set = Object.entries(query).flatMap(([name, value]) =>
    value === null || value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  const search = new URLSearchParams(set).toString()
  return `${path}${search && `?${search}`}`
}

/** A URL of the gateway that serves this page, possibly below a path of a proxy. */
export function urlOf(path: string): string {
  return new URL(path, new URL('.', location.href)).href
}

/** The secret with which the paths of keys are called; null if they are called with the session. */
let callingKey: string | null = null

/** Calls the paths of keys with a key from now on, or with the session again. */
export function callAs(secret: string | null): void {
  callingKey = secret
}

interface Sent {
  /** JSON, or a form with files. */
  body?: object
  idempotencyKey?: string
  signal?: AbortSignal | undefined
}

/** Sends a request to any path of the gateway with the session. Rejects with an ApiError for an error of any kind. */
export async function send(
  method: string,
  path: string,
  { body, idempotencyKey, signal }: Sent = {},
): Promise<Response> {
  const csrf = session.peek()?.csrf
  const secret = path.startsWith('v1/') ? callingKey : null
  const response = await fetch(urlOf(path), {
    method,
    credentials: 'same-origin',
    headers: {
      ...(body && !(body instanceof FormData) && { 'content-type': 'application/json' }),
      ...(method !== 'GET' && csrf && { 'x-csrf-token': csrf }),
      ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
      ...(secret !== null && { authorization: `Bearer ${secret}` }),
    },
    ...(body && { body: body instanceof FormData ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  })
  if (response.ok) return response
  // The session has ended: after a new sign-in the same address opens again.
  if (response.status === 401 && session.peek() && secret === null) enter(null)
  throw await errorOf(response)
}

async function errorOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => null)) as {
    error?: { message?: string; code?: string; param?: string | null }
  } | null
  const { message, code, param } = body?.error ?? {}
  return new ApiError(
    message ?? texts.answeredWith(response.status),
    response.status,
    code ?? null,
    param ?? null,
  )
}

/** Who has signed in with this browser, an admin or the holder of a key: scripts cannot read the cookie itself. */
const SIGNED_IN = 'gateway-console-signed-in'

/** The kind of person who has signed in with this browser, and may have been signed out since; null if nobody has. */
export function kindBefore(): Session['kind'] | null {
  const kind = localStorage.getItem(SIGNED_IN)
  return kind === 'admin' || kind === 'key' ? kind : null
}

/** Asks who is signed in, and which gateway it is. It is not an error if nobody is signed in. */
export async function readSession(): Promise<void> {
  const isKnown = kindBefore() !== null
  const response = isKnown
    ? await fetch(urlOf('console/session'), { credentials: 'same-origin' })
    : await fetch(urlOf('console'), { method: 'HEAD' })
  noteSandbox(response)
  enter(isKnown && response.ok ? ((await response.json()) as Session) : null)
}

/** Signs in with the token of an admin, the key of a caller, or the one-time link of `gateway console`. */
export async function signIn(secret: { token: string } | { link: string }): Promise<void> {
  const response = await send('POST', 'console/session', { body: { ...secret, base: basePath() } })
  noteSandbox(response)
  enter((await response.json()) as Session)
}

/** All answers of a gateway with simulated vendors have this header. */
function noteSandbox({ headers }: Response): void {
  isSandbox.value = headers.get('x-gateway-sandbox') === 'true'
}

/** Signs out here, and at the identity provider that signed the person in, whose page follows. */
export async function signOut(): Promise<void> {
  const response = await send('DELETE', `console/session?${new URLSearchParams({ base: basePath() })}`)
  const { location: next } = response.status === 204 ? {} : ((await response.json()) as { location?: string })
  enter(null)
  if (next) location.assign(next)
}

export interface IdentityProvider {
  name: string
  title: string
}

/** The identity providers for signing in. */
export async function identityProviders(): Promise<IdentityProvider[]> {
  const response = await send('GET', 'console/sign-in')
  return ((await response.json()) as { data: IdentityProvider[] }).data
}

/** The address of the page that a browser left for an identity provider: it is opened again on return. */
const LEFT = 'gateway-console-left'

/** Leaves for an identity provider, which sends the browser back. */
export async function leaveFor({ name }: IdentityProvider): Promise<void> {
  const path = `console/sign-in/${encodeURIComponent(name)}?${new URLSearchParams({ base: basePath() })}`
  const { location: next } = (await (await send('POST', path)).json()) as { location: string }
  sessionStorage.setItem(LEFT, location.hash)
  location.assign(next)
}

/** Returns from an identity provider, with the kind of the signed-in user, or the code of an error. */
export async function comeBack(result: string): Promise<void> {
  const left = sessionStorage.getItem(LEFT) ?? ''
  sessionStorage.removeItem(LEFT)
  // Replaces the address to which it returned, and is reported to the page like any other change of it.
  location.replace(left || '#')
  const isIn = result === 'admin' || result === 'key'
  if (isIn) localStorage.setItem(SIGNED_IN, result)
  else signInFault.value = texts.signIn.faults[result] ?? texts.signIn.fault
  await readSession()
}

/** The path of the gateway below a proxy, for the paths of the cookie: the gateway itself cannot see it. */
function basePath(): string {
  return new URL('.', location.href).pathname.replace(/\/$/, '')
}

function enter(who: Session | null): void {
  if (who) localStorage.setItem(SIGNED_IN, who.kind)
  else localStorage.removeItem(SIGNED_IN)
  session.value = who
}
