// Delivers webhooks: signed as Standard Webhooks 1.0 says, on a schedule of three days, to addresses that were checked.
// It must never follow a redirect, connect to another address than the one that was checked, or let a slow receiver
// keep the others waiting.

import { createHmac } from 'node:crypto'
import type { Db } from './db/db'
import { type AddressRules, resolveTarget } from './webhook-address'
import { type Attempt, claimWebhooks, recordAttempt, unclaimWebhook, type Webhook } from './webhook-rows'
import { webhookSecretsOf } from './webhook-secrets'

export interface WebhookWorld {
  db: Db
  now: () => number
  fetch: (url: string, init: BunFetchRequestInit) => Promise<Response>
  log: (event: string, fields: Record<string, unknown>) => void
  random: () => number
  addressRules: AddressRules
}

export interface WebhookSender {
  /** Starts what is due and has room; returns when it has been started, not when it has been delivered. */
  beat(): Promise<void>
  /** Stops starting deliveries, and waits for the running ones. */
  stop(): Promise<void>
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
/** Before each attempt, as the Standard Webhooks specification advises. */
const SCHEDULE_MS = [
  0,
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
]
/** So that receivers that were down are not met by all their webhooks at once. */
const JITTER_SHARE = 0.1
const MAX_RETRY_AFTER_MS = 24 * HOUR
const TIMEOUT_MS = 20 * SECOND
const LEASE_MS = 60 * SECOND
const PARALLEL = 64
const PARALLEL_PER_HOST = 8
const MAX_ANSWER_BYTES = 64 * 1024
const KEPT_ANSWER_LENGTH = 1024
/** The receiver says that it is gone for good. */
const GONE = 410

export function createWebhookSender(world: WebhookWorld): WebhookSender {
  const { db, now } = world
  const running = new Set<Promise<void>>()
  const perHost = new Map<string, number>()
  let stopped = false

  async function beat(): Promise<void> {
    while (!stopped && running.size < PARALLEL) {
      const busyHosts = [...perHost].flatMap(([host, count]) => (count >= PARALLEL_PER_HOST ? [host] : []))
      const limit = Math.min(PARALLEL_PER_HOST, PARALLEL - running.size)
      const claimed = await claimWebhooks(db, now(), { limit, leaseMs: LEASE_MS, busyHosts })
      if (claimed.length === 0) return
      const excess = claimed.filter((webhook) => !start(webhook))
      if (excess.length > 0) await db.batch(excess.map(unclaimWebhook))
    }
  }

  /** False when its host has no place left. */
  function start(webhook: Webhook): boolean {
    const count = perHost.get(webhook.host) ?? 0
    if (count >= PARALLEL_PER_HOST) return false
    perHost.set(webhook.host, count + 1)
    const delivery = deliver(webhook)
      .catch((error) => world.log('webhook_failed', { webhook: webhook.id, error: String(error) }))
      .finally(() => {
        running.delete(delivery)
        const rest = (perHost.get(webhook.host) ?? 1) - 1
        if (rest === 0) perHost.delete(webhook.host)
        else perHost.set(webhook.host, rest)
      })
    running.add(delivery)
    return true
  }

  async function deliver(webhook: Webhook): Promise<void> {
    const at = now()
    const { status, answer, retryAfterMs } = await attempt(webhook, at)
    const record: Attempt = { at, status, answer, durationMs: now() - at }
    const next = nextOf(webhook, status, retryAfterMs)
    await recordAttempt(db, webhook, record, next)
    world.log('webhook_attempt', {
      webhook: webhook.id,
      task: webhook.task,
      number: webhook.attempts + 1,
      status,
      state: next.state,
    })
  }

  function nextOf(webhook: Webhook, status: number | null, retryAfterMs: number) {
    const nextAt = now()
    if (status !== null && status >= 200 && status < 300) return { state: 'delivered' as const, nextAt }
    const waitMs = SCHEDULE_MS[webhook.step + 1]
    if (status === GONE || waitMs === undefined) return { state: 'failed' as const, nextAt }
    const jittered = waitMs * (1 + JITTER_SHARE * world.random())
    return {
      state: 'pending' as const,
      nextAt: nextAt + Math.round(Math.max(jittered, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS))),
    }
  }

  async function attempt(
    webhook: Webhook,
    at: number,
  ): Promise<{ status: number | null; answer: string; retryAfterMs: number }> {
    const target = await resolveTarget(webhook.url, world.addressRules)
    if ('refused' in target) return failure(`The address ${target.refused}.`)
    const secrets = await webhookSecretsOf(db, webhook.keyId, at)
    const controller = new AbortController()
    const timer = setTimeout(
      () => controller.abort(new Error(`no answer within ${TIMEOUT_MS / SECOND} s`)),
      TIMEOUT_MS,
    )
    try {
      const { url, address } = target
      const response = await world.fetch(pinned(url, address), {
        method: 'POST',
        headers: { ...signatureHeaders(webhook.id, webhook.body, secrets, at), host: url.host },
        body: webhook.body,
        redirect: 'manual',
        signal: controller.signal,
        timeout: false,
        // The certificate must be of the name, though the connection goes to the address that was checked.
        ...(url.protocol === 'https:' && { tls: { serverName: url.hostname } }),
      } as BunFetchRequestInit)
      const answer = await readStart(response)
      return { status: response.status, answer, retryAfterMs: retryAfterOf(response, at) }
    } catch (error) {
      return failure(controller.signal.aborted ? String(controller.signal.reason) : String(error))
    } finally {
      clearTimeout(timer)
      controller.abort()
    }
  }

  return {
    beat,
    async stop() {
      stopped = true
      await Promise.all(running)
    },
  }
}

/** The headers of one attempt (Standard Webhooks 1.0): one signature for each secret that is in force. */
export function signatureHeaders(
  id: string,
  body: string,
  secrets: readonly string[],
  at: number,
): Record<string, string> {
  const timestamp = String(Math.floor(at / SECOND))
  const sign = (secret: string) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  }
  return {
    'content-type': 'application/json',
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

function failure(answer: string) {
  return { status: null, answer: answer.slice(0, KEPT_ANSWER_LENGTH), retryAfterMs: 0 }
}

/** The beginning of an answer; the rest is not waited for. */
async function readStart(response: Response): Promise<string> {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  while (reader && bytes < MAX_ANSWER_BYTES) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.byteLength
    if (text.length < KEPT_ANSWER_LENGTH) text += decoder.decode(value, { stream: true })
  }
  await reader?.cancel().catch(() => {})
  return text.slice(0, KEPT_ANSWER_LENGTH)
}

function retryAfterOf(response: Response, now: number): number {
  const header = response.headers.get('retry-after')
  if (header === null) return 0
  const seconds = Number(header)
  const waitMs = Number.isFinite(seconds) ? seconds * SECOND : Date.parse(header) - now
  return Number.isNaN(waitMs) ? 0 : Math.max(waitMs, 0)
}
