// Delivers webhooks: takes those that are due, on a schedule of three days, and writes down what came of each attempt.
// It must never let a slow receiver, or one with thousands of webhooks, keep those of others waiting.

import type { Db } from './db/db'
import type { Pulse } from './pulse'
import { type AttemptAnswer, type AttemptWorld, attemptDelivery } from './webhook-attempt'
import { claimWebhooks, recordAttempt, unclaimWebhook, type Webhook } from './webhook-rows'
import { webhookSecretsOf } from './webhook-secrets'

export interface WebhookWorld extends AttemptWorld {
  db: Db
  pulse: Pulse
  now: () => number
  log: (event: string, fields: Record<string, unknown>) => void
  random: () => number
}

export interface WebhookSender {
  /** Starts what is due and has room; returns when it has been started, not when it has been delivered. */
  beat(): Promise<void>
  /** Stops starting deliveries, waits a moment for the running ones, and gives the rest back to be sent again. */
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
/** Longer than an attempt with its look-up may take, so that a lease is only lost by a node that died. */
const LEASE_MS = 60 * SECOND
/** How long running deliveries may go on when the gateway stops. */
const STOP_GRACE_MS = 2 * SECOND
/** Deliveries that run at a time: all, those of one account, which may have any number of hosts, and those to one host. */
const PARALLEL = 256
const PARALLEL_PER_ACCOUNT = 32
const PARALLEL_PER_HOST = 8
/** The receiver says that it is gone for good. */
const GONE = 410

interface Delivery {
  webhook: Webhook
  deadlineAt: number
  controller: AbortController
  /** The gateway stopped before there was an answer. */
  cut: boolean
  ended: Promise<void>
}

export function createWebhookSender(world: WebhookWorld): WebhookSender {
  const { db, now, log } = world
  const deliveries = new Set<Delivery>()
  let stopped = false

  world.pulse.watch((at) => {
    for (const { deadlineAt, controller } of deliveries) {
      if (at >= deadlineAt) controller.abort(new Error(`There was no answer within ${TIMEOUT_MS / SECOND} s.`))
    }
  })

  async function beat(): Promise<void> {
    while (!stopped && deliveries.size < PARALLEL) {
      const claimed = await claimWebhooks(db, now(), {
        limit: Math.min(PARALLEL_PER_HOST, PARALLEL - deliveries.size),
        leaseMs: LEASE_MS,
        busyHosts: keysOf(running('host'), PARALLEL_PER_HOST),
        busyAccounts: keysOf(running('account'), PARALLEL_PER_ACCOUNT),
      })
      if (claimed.length === 0) return
      const excess = claimed.filter((webhook) => !start(webhook))
      if (excess.length > 0) await db.batch(excess.map(unclaimWebhook))
    }
  }

  /** How many deliveries run, by host or by account. */
  function running(by: 'host' | 'account'): Map<string, number> {
    const counts = new Map<string, number>()
    for (const { webhook } of deliveries) counts.set(webhook[by], (counts.get(webhook[by]) ?? 0) + 1)
    return counts
  }

  /** False when there is no place left for it. */
  function start(webhook: Webhook): boolean {
    const hostIsBusy = (running('host').get(webhook.host) ?? 0) >= PARALLEL_PER_HOST
    const accountIsBusy = (running('account').get(webhook.account) ?? 0) >= PARALLEL_PER_ACCOUNT
    if (stopped || hostIsBusy || accountIsBusy) return false
    const delivery: Delivery = {
      webhook,
      deadlineAt: now() + TIMEOUT_MS,
      controller: new AbortController(),
      cut: false,
      ended: Promise.resolve(),
    }
    deliveries.add(delivery)
    delivery.ended = deliver(delivery)
      .catch((error) => log('webhook_failed', { webhook: webhook.id, error: String(error) }))
      .finally(() => {
        deliveries.delete(delivery)
        // Lets go of an answer that was not read to its end.
        delivery.controller.abort()
      })
    return true
  }

  async function deliver(delivery: Delivery): Promise<void> {
    const { webhook, controller } = delivery
    const { id, url, body, task } = webhook
    const at = now()
    const secrets = await webhookSecretsOf(db, webhook.keyId, at)
    const answer = await attemptDelivery(world, { id, url, body, secrets, at }, controller.signal)
    if (delivery.cut && answer.status === null) {
      await db.batch([unclaimWebhook(webhook)])
      return
    }
    const endedAt = now()
    const next = nextOf(webhook, answer, endedAt, world.random())
    const attempt = { at, status: answer.status, answer: answer.text, durationMs: endedAt - at }
    const recorded = await recordAttempt(db, webhook, attempt, next)
    const about = { webhook: id, task, number: webhook.attempts + 1, status: answer.status }
    log('webhook_attempt', { ...about, state: recorded ? next.state : 'taken over' })
  }

  return {
    beat,
    async stop() {
      stopped = true
      const timer = setTimeout(() => {
        for (const delivery of deliveries) {
          delivery.cut = true
          delivery.controller.abort(new Error('The gateway stopped.'))
        }
      }, STOP_GRACE_MS)
      await Promise.all([...deliveries].map(({ ended }) => ended))
      clearTimeout(timer)
    },
  }
}

/** What follows from an attempt: done, given up, or when to try again. */
function nextOf(
  webhook: Webhook,
  { status, retryAfterMs }: AttemptAnswer,
  now: number,
  random: number,
): { state: Webhook['state']; nextAt: number } {
  if (status !== null && status >= 200 && status < 300) return { state: 'delivered', nextAt: now }
  const waitMs = SCHEDULE_MS[webhook.step + 1]
  if (status === GONE || waitMs === undefined) return { state: 'failed', nextAt: now }
  const jittered = waitMs * (1 + JITTER_SHARE * random)
  const longest = Math.max(jittered, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS))
  return { state: 'pending', nextAt: now + Math.round(longest) }
}

function keysOf(counts: ReadonlyMap<string, number>, atLeast: number): string[] {
  return [...counts].flatMap(([key, count]) => (count >= atLeast ? [key] : []))
}
