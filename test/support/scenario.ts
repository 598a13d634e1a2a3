// Requests as table rows: the request, the expected answer, and the permitted cost. Every row counts its side effects (calls to
// vendors, charges, log rows): a correct status alone proves little.

import { expect } from 'bun:test'
import type { SandboxCall } from '../../sandbox'
import type { Row } from '../../src/db/db'
import type { TestGateway } from './gateway'

// biome-ignore lint/suspicious/noExplicitAny: replies have any shape, and tests read them by path
export type Json = any

export interface Scenario {
  name: string
  /** Default POST. */
  method?: string
  /** Default chat completions. */
  path?: string
  /** Default: the gateway's first key; null sends no key. */
  key?: string | null
  headers?: Record<string, string>
  /** Text, bytes and streams are sent unchanged, everything else as JSON. A function is called when the row is played. */
  body?: unknown
  status: number
  /** Members of the `error` object. */
  error?: { code?: string; type?: string; param?: string | null }
  /** Pieces of text that must, and must not, be in the answer's body. */
  words?: string[]
  absent?: string[]
  /** Headers of the answer; null: must be absent. */
  answers?: Record<string, string | RegExp | null>
  /** Side effects; by default the request fails its check: no call, no charge, one row in the log. */
  vendorCalls?: number
  charges?: number
  logRows?: number
  /** The error that the vendor itself reports in a stream, as its code in the request log. */
  reported?: string
}

export interface Played {
  response: Response
  text: string
  /** Undefined when the answer is not JSON. */
  json: Json
  calls: SandboxCall[]
  charges: Row[]
  logRows: Row[]
}

/**
 * Plays one row against a gateway that nobody else uses meanwhile, and checks everything in the row. Tasks of earlier requests may
 * continue, and even begin: calls about them are not counted.
 */
export async function play(gateway: TestGateway, scenario: Scenario): Promise<Played> {
  const { vendorCalls = 0, charges = 0, logRows = 1 } = scenario
  const played = await request(gateway, scenario)
  const { response, text, json } = played
  // The body explains a wrong status.
  const body = text.slice(0, 600)
  expect({ status: response.status, body }).toEqual({ status: scenario.status, body })
  if (scenario.error) expect(json?.error).toMatchObject(scenario.error)
  for (const word of scenario.words ?? []) expect(text).toContain(word)
  for (const word of scenario.absent ?? []) expect(text).not.toContain(word)
  for (const [name, value] of Object.entries(scenario.answers ?? {})) {
    const header = response.headers.get(name)
    if (value instanceof RegExp) expect(header ?? '').toMatch(value)
    else expect(header).toBe(value)
  }
  // Every answer must be in the log and in the request log.
  const requestId = response.headers.get('x-request-id')
  expect(requestId).toMatch(/^req_[0-9a-f]{32}$/)
  if (json?.error) expect(requestIdOf(json)).toBe(requestId)
  expect({
    vendorCalls: played.calls.length,
    charges: played.charges.length,
    logRows: played.logRows.length,
  }).toEqual({ vendorCalls, charges, logRows })
  for (const row of played.logRows) {
    const { id, status, error_code, ended_by: endedBy } = row
    // A stream that breaks off has already sent its status.
    const cut = scenario.reported ?? (response.ok && endedBy === 'upstream' ? 'upstream_cut' : null)
    expect({ id, status, error_code }).toEqual({
      id: requestId,
      status: response.status,
      error_code: hasNoCode(json) ? expect.any(String) : (json?.error?.code ?? cut),
    })
  }
  return played
}

/** Sends the row's request and collects its effects. */
async function request(gateway: TestGateway, scenario: Scenario): Promise<Played> {
  const { method = 'POST', path = '/v1/chat/completions', key = gateway.secret } = scenario
  const before = await stateOf(gateway)
  const body = bodyOf(scenario.body)
  const response = await fetch(`${gateway.url}${path}`, {
    method,
    redirect: 'manual',
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...scenario.headers,
    },
    ...(body === undefined ? {} : { body }),
  })
  const text = await response.text()
  const charges = await gateway.charges(before.charge)
  const own = new Set(charges.map(({ id }) => id))
  // Known only now if the vendor has answered in the meantime.
  const others = (await followedTasks(gateway)).filter(({ charge }) => !own.has(charge))
  const ids = [...before.tasks, ...others].map(({ id }) => id as string)
  return {
    response,
    text,
    json: parsed(text),
    calls: gateway.sandbox.calls
      .slice(before.calls)
      .filter(({ path }) => !ids.some((id) => path.includes(id))),
    charges,
    logRows: await gateway.requestLog(before.logRow),
  }
}

/** Tasks by the vendors' ids, which appear in the path of each call about them. */
function followedTasks({ server }: TestGateway): Promise<Row[]> {
  const sql = 'select upstream_id as id, charge from tasks where upstream_id is not null'
  return server.world.db.query({ sql })
}

/** The state before a request: the number of calls, the newest charge and row of the log, and the tasks. */
async function stateOf(gateway: TestGateway) {
  const tasks = await followedTasks(gateway)
  return { calls: gateway.sandbox.calls.length, tasks, ...(await gateway.newest()) }
}

function bodyOf(body: unknown): string | Uint8Array<ArrayBuffer> | ReadableStream | undefined {
  const value = typeof body === 'function' ? body() : body
  const asItIs = value === undefined || typeof value === 'string' || value instanceof Uint8Array
  return asItIs || value instanceof ReadableStream ? value : JSON.stringify(value)
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The id in an error: the messages dialect has it next to the error, and Google's has it in the details. */
function requestIdOf({ type, error, request_id: id }: Json): unknown {
  if (type === 'error') return id
  return error.details?.[0].metadata?.requestId ?? error.request_id
}

/** Whether an error of this dialect cannot carry the code: messages has no such field, and Google's has the status there. */
function hasNoCode(json: Json): boolean {
  return json?.type === 'error' || typeof json?.error?.code === 'number'
}
