// Asks a server on this machine for its health. It does not use `fetch`, which would send the request to a proxy of the
// environment.

import { type ClientRequest, get, type IncomingMessage, type RequestOptions } from 'node:http'
import { get as getSecurely } from 'node:https'
import { lineOf } from '../../src/lib/error-line'
import { isObject } from '../../src/lib/objects'

export interface Health {
  ok: boolean
  url: string
  /** The status of the answer; null without an answer. */
  status: number | null
  milliseconds: number
  /** The status in words, as the server gives it, or why there is no answer. */
  answer: string
  /** Parts that the server has checked, if it lists them. */
  checks: Record<string, string> | null
}

const TIMEOUT_MS = 5_000

type HealthPath = '/health' | '/health/live' | '/health/ready'

export async function askHealth(address: string, path: HealthPath): Promise<Health> {
  const at = performance.now()
  const url = `${address}${path}`
  const took = () => Math.round(performance.now() - at)
  try {
    const { status, text } = await ask(address, path)
    const body: unknown = parsed(text)
    const known = isObject(body) ? body : {}
    const answer = typeof known.status === 'string' ? known.status : `HTTP ${status}`
    const checks = isObject(known.checks) ? (known.checks as Record<string, string>) : null
    return { ok: status === 200, url, status, milliseconds: took(), answer, checks }
  } catch (error) {
    return { ok: false, url, status: null, milliseconds: took(), answer: reasonOf(error), checks: null }
  }
}

function ask(address: string, path: string): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>()
  const answered = (response: IncomingMessage) => {
    let text = ''
    response.setEncoding('utf8')
    response.on('data', (part: string) => {
      text += part
    })
    response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    response.on('error', reject)
  }
  const request = send(address, path, answered)
  request.setTimeout(TIMEOUT_MS, () =>
    request.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} seconds`)),
  )
  request.on('error', reject)
  return promise
}

function send(address: string, path: string, answered: (response: IncomingMessage) => void): ClientRequest {
  const socketPath = /^unix:(.*)$/s.exec(address)?.[1]
  if (socketPath !== undefined) return get({ socketPath, path }, answered)
  // The certificate names the public host, not this machine, and nothing secret is sent.
  const options: RequestOptions & { rejectUnauthorized: boolean } = {
    agent: false,
    rejectUnauthorized: false,
  }
  const url = new URL(path, address)
  return url.protocol === 'https:' ? getSecurely(url, options, answered) : get(url, options, answered)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function reasonOf(error: unknown): string {
  const { code } = error as { code?: string }
  if (code === 'ECONNREFUSED' || code === 'ConnectionRefused' || code === 'ENOENT')
    return 'nothing listens there'
  if (code === 'EACCES') return 'this user may not open the socket'
  return lineOf(error)
}
