// One attempt to deliver a webhook: signed as Standard Webhooks 1.0 says, and sent to an address that was checked.
// It must never follow a redirect, connect to any other address, or read an answer that does not end.

import { createHmac } from 'node:crypto'
import { type AddressRules, resolveTarget, type Target } from './address'

export interface AttemptWorld {
  fetch: (url: string, init: BunFetchRequestInit) => Promise<Response>
  /** Where webhooks may go. */
  addressRules: AddressRules
}

interface SignedMessage {
  id: string
  url: string
  body: string
  /** Those in force, the newest first. */
  secrets: readonly string[]
  /** The time of this attempt. */
  at: number
}

export interface AttemptAnswer {
  /** Null when there was none. */
  status: number | null
  /** The beginning of the answer, or why there was none. */
  text: string
  /** How long the receiver asks to be left alone. */
  retryAfterMs: number
}

const SECOND_MS = 1_000
const MAX_ANSWER_BYTES = 64 * 1024
const KEPT_ANSWER_LENGTH = 1024
/** Nothing has gone out when one of these comes, so another address may be tried. */
const NOT_CONNECTED = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL'])

/** Never throws: that there is no answer is one, too. */
export async function attemptDelivery(
  world: AttemptWorld,
  message: SignedMessage,
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

/** To the first address that takes the connection. */
async function send(
  world: AttemptWorld,
  message: SignedMessage,
  { url, host, addresses }: Exclude<Target, { refused: string }>,
  signal: AbortSignal,
): Promise<Response> {
  const { id, body, secrets, at } = message
  const request = {
    method: 'POST',
    headers: { ...signatureHeaders(id, body, secrets, at), host: url.host },
    body,
    signal,
    redirect: 'manual',
    timeout: false,
    // A small answer must not become a large one here.
    decompress: false,
    // The certificate must be of the name, though the connection goes to the address that was checked.
    ...(url.protocol === 'https:' && { tls: { serverName: host } }),
  } as BunFetchRequestInit
  for (const address of addresses.slice(0, -1)) {
    try {
      return await world.fetch(pinned(url, address), request)
    } catch (error) {
      if (!NOT_CONNECTED.has((error as { code?: string }).code ?? '')) throw error
    }
  }
  return world.fetch(pinned(url, addresses.at(-1) as string), request)
}

/** The headers of one attempt (Standard Webhooks 1.0): one signature for each secret that is in force. */
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
    'accept-encoding': 'identity',
    'user-agent': 'gateway-webhooks/1',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map(sign).join(' '),
  }
}

/** The same request with the host as an address: there is no second look-up that could find another one. */
function pinned(url: URL, address: string): string {
  const pinnedUrl = new URL(url)
  pinnedUrl.hostname = address.includes(':') ? `[${address}]` : address
  pinnedUrl.hash = ''
  return pinnedUrl.href
}

function noAnswer(why: string): AttemptAnswer {
  return { status: null, text: kept(why), retryAfterMs: 0 }
}

/** The beginning of an answer; the rest is not waited for, and where it breaks off the status has been said all the same. */
async function readStart(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  try {
    for await (const piece of response.body ?? []) {
      bytes += piece.byteLength
      if (text.length < KEPT_ANSWER_LENGTH) text += decoder.decode(piece, { stream: true })
      if (bytes >= MAX_ANSWER_BYTES) break
    }
  } catch {
    return kept(text)
  }
  return kept(text)
}

/** As a text that every database stores and every terminal may show. */
function kept(text: string): string {
  return text.slice(0, KEPT_ANSWER_LENGTH).replace(/[^\P{Cc}\n\t]/gu, '\ufffd')
}

function reasonOf(error: unknown): string {
  const { code, message = String(error) } = error as { code?: string; message?: string }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'The certificate of the receiver is of another name.'
  // The runtime's advice is to programmers.
  return message.replace(/ (For more information, pass|Is the computer able) .*$/, '')
}

function retryAfterOf(response: Response, now: number): number {
  const header = response.headers.get('retry-after')
  if (header === null) return 0
  const seconds = Number(header)
  const waitMs = Number.isFinite(seconds) ? seconds * SECOND_MS : Date.parse(header) - now
  return Number.isNaN(waitMs) ? 0 : Math.max(waitMs, 0)
}
