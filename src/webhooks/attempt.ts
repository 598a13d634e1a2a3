// One attempt to deliver a webhook to a checked address, with the signature of Standard Webhooks 1.0. It must never follow a
// redirect, connect to any other address, or read an answer that does not end.

import { createHmac } from 'node:crypto'
import type { HttpResponse } from '../http-client/response'
import { type HttpRequest, NotConnected } from '../http-client/transport'
import { type AddressRules, resolveTarget, type Target } from './address'
import type { Receivers } from './receivers'

export interface AttemptWorld {
  receivers: Receivers
  /** The addresses that webhooks may use. */
  addressRules: AddressRules
}

interface WebhookMessage {
  /** The account that it belongs to: connections are not shared with others. */
  account: string
  url: string
  body: string
  headers: Record<string, string>
  /** When the attempt is made, in milliseconds since 1970. */
  at: number
}

export interface AttemptAnswer {
  /** The HTTP status; null without an answer. */
  status: number | null
  /** The beginning of the answer, or why there was none. */
  text: string
  /** The pause that the receiver requests, in milliseconds. */
  retryAfterMs: number
}

const SECOND_MS = 1_000
const MAX_ANSWER_BYTES = 64 * 1024
const KEPT_ANSWER_LENGTH = 1024
/** Errors that mean nobody answers at the address, so another address may be tried. */
const ADDRESS_IS_DEAD = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL'])

/** Makes one attempt. It never throws: no answer is a result too. */
export async function attemptDelivery(
  world: AttemptWorld,
  message: WebhookMessage,
  signal: AbortSignal,
): Promise<AttemptAnswer> {
  const target = await resolveTarget(message.url, world.addressRules)
  if ('refused' in target) return noAnswer(`The address ${target.refused}.`)
  try {
    const response = await send(world, message, target, signal)
    const { status } = response
    return { status, text: await readStart(response), retryAfterMs: retryAfterOf(response, message.at) }
  } catch (error) {
    return noAnswer(reasonOf(signal.aborted ? signal.reason : error))
  }
}

/** Sends to the first address that accepts the connection. */
async function send(
  { receivers }: AttemptWorld,
  message: WebhookMessage,
  { url, addresses }: Exclude<Target, { refused: string }>,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const { account, body, headers } = message
  const request: HttpRequest = {
    method: 'POST',
    path: url.pathname + url.search,
    headers: { ...headers, 'accept-encoding': 'identity', 'user-agent': 'gateway-webhooks/1' },
    body,
    signal,
    partition: account,
    // Not unpacked: a small answer must not become a large one here.
    decompress: false,
  }
  for (const address of addresses.slice(0, -1)) {
    try {
      return await receivers.at(url, address).send(request)
    } catch (error) {
      if (!(error instanceof NotConnected && ADDRESS_IS_DEAD.has(error.code))) throw error
    }
  }
  return receivers.at(url, addresses.at(-1) as string).send(request)
}

/** The headers of one attempt (Standard Webhooks 1.0), with one signature per valid secret. */
export function signatureHeaders(
  id: string,
  body: string,
  secrets: readonly string[],
  at: number,
): Record<string, string> {
  const timestamp = String(Math.floor(at / SECOND_MS))
  const sign = (secret: string) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  }
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map(sign).join(' '),
  }
}

/** The result of an attempt that got no answer. */
export function noAnswer(why: string): AttemptAnswer {
  return { status: null, text: kept(why), retryAfterMs: 0 }
}

/** The beginning of an answer. The rest is not awaited, and a broken body is not a failure: the status has arrived. */
async function readStart({ body }: HttpResponse): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  try {
    for await (const piece of body) {
      bytes += piece.byteLength
      if (text.length < KEPT_ANSWER_LENGTH) text += decoder.decode(piece, { stream: true })
      if (bytes >= MAX_ANSWER_BYTES) break
    }
  } catch {
    return kept(text)
  }
  return kept(text)
}

/** The text in a form that every database stores and every terminal may show. */
function kept(text: string): string {
  return text.slice(0, KEPT_ANSWER_LENGTH).replace(/[^\P{Cc}\n\t]/gu, '\ufffd')
}

function reasonOf(error: unknown): string {
  const { code, message = String(error) } = error as { code?: string; message?: string }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'The certificate of the receiver is of another name.'
  return error instanceof NotConnected ? `No connection to the receiver (${code}): ${message}.` : message
}

function retryAfterOf(response: HttpResponse, now: number): number {
  const header = response.header('retry-after')
  if (header === null) return 0
  const seconds = Number(header)
  const waitMs = Number.isFinite(seconds) ? seconds * SECOND_MS : Date.parse(header) - now
  return Number.isNaN(waitMs) ? 0 : Math.max(waitMs, 0)
}
