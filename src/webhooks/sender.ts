// Delivers webhooks and events: claims due ones, on a schedule of three days, and records the result of each attempt. It must never
// let a receiver that is slow, or has thousands of webhooks, delay those of others.

import { DatabaseUnavailable, type Db } from '../db/db'
import type { Transport } from '../http-client/transport'
import type { System } from '../lib/system'
import { type Ticker, watchWhileNeeded } from '../lib/ticker'
import { type AttemptAnswer, type AttemptWorld, attemptDelivery, signatureHeaders } from './attempt'
import { Receivers } from './receivers'
import { bodyOfWebhook, claimWebhooks, firstDueAt, recordAttempt, unclaimWebhook, type Webhook } from './rows'
import { webhookSecretsOf } from './secrets'

export interface WebhookWorld extends Pick<AttemptWorld, 'addressRules'>, Omit<System, 'newId'> {
  db: Db
  transport: Transport
  ticker: Ticker
  /** Makes one attempt to deliver an event. Never throws for anything that the recipient does. */
  sendEvent(event: DueEvent, world: AttemptWorld, signal: AbortSignal): Promise<AttemptAnswer>
}

/** A due event for a recipient. */
export interface DueEvent {
  /** Stays the same over all attempts. */
  id: string
  recipient: string
  body: string
  /** When the attempt is made, in milliseconds since 1970. */
  at: number
}

export interface WebhookSender {
  /**
   * Starts due webhooks, as far as there is capacity. Returns when they have started, not when they are delivered: true if one is
   * due within a second, so that the next beat should come within a fraction of it.
   */
  beat(): Promise<boolean>
  /** Stops starting deliveries, waits briefly for the running ones, and returns the rest to be sent again. */
  stop(): Promise<void>
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
/** Waits before each attempt, as the Standard Webhooks specification advises. */
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
/** Random share of each wait, so that a receiver that was down does not get all its webhooks at once. */
const JITTER_SHARE = 0.1
const MAX_RETRY_AFTER_MS = 24 * HOUR
const TIMEOUT_MS = 20 * SECOND
/** Longer than an attempt with its look-up may take, so that only a dead node loses a lease. */
const LEASE_MS = 60 * SECOND
/** How long running deliveries may continue when the gateway stops. */
const STOP_GRACE_MS = 2 * SECOND
/**
 * Maximum number of concurrent deliveries: in total, per account (which may have any number of hosts), and per host.
 */
const PARALLEL = 256
const PARALLEL_PER_ACCOUNT = 32
const PARALLEL_PER_HOST = 8
/** The status with which a receiver says that it is permanently gone. */
const GONE = 410

interface Delivery {
  webhook: Webhook
  deadlineAt: number
  controller: AbortController
  /** True if the gateway stopped before there was an answer. */
  cut: boolean
  ended: Promise<void>
}

export function createWebhookSender(world: WebhookWorld): WebhookSender {
  return new Sender(world)
}

class Sender implements WebhookSender {
  private readonly world: WebhookWorld
  private readonly receivers: Receivers
  private readonly deliveries = new Set<Delivery>()
  private isStopped = false
  /** How many more deliveries are requested. */
  private wanted = 0
  /** True if the last query had no capacity for everything that might be due. */
  private moreMayBeDue = false
  private looking: Promise<void> | undefined
  private readonly watch: () => void

  constructor(world: WebhookWorld) {
    this.world = world
    this.receivers = new Receivers(world.transport)
    this.watch = watchWhileNeeded(world.ticker, (at) => this.cutLate(at))
  }

  async beat(): Promise<boolean> {
    const { db, now } = this.world
    const dueAt = await firstDueAt(db)
    if (dueAt <= now()) await this.startMore(PARALLEL)
    return dueAt <= now() + SECOND
  }

  async stop(): Promise<void> {
    this.isStopped = true
    const cancel = this.world.after(STOP_GRACE_MS, () => this.cutAll())
    await Promise.all([this.looking?.catch(() => {}), ...[...this.deliveries].map(({ ended }) => ended)])
    cancel()
    this.receivers.close()
  }

  private cutLate(at: number): boolean {
    for (const { deadlineAt, controller } of this.deliveries) {
      if (at >= deadlineAt)
        controller.abort(new Error(`There was no answer within ${TIMEOUT_MS / SECOND} s.`))
    }
    return this.deliveries.size > 0
  }

  private cutAll(): void {
    for (const delivery of this.deliveries) {
      delivery.cut = true
      delivery.controller.abort(new Error('The gateway stopped.'))
    }
  }

  /**
   * Starts up to `count` more deliveries. One database query at a time; requests made meanwhile are served after it.
   */
  private startMore(count: number): Promise<void> {
    this.wanted += count
    this.looking ??= this.startWanted().finally(() => {
      this.looking = undefined
    })
    return this.looking
  }

  private async startWanted(): Promise<void> {
    while (this.wanted > 0 && !this.isStopped) {
      const count = Math.min(this.wanted, PARALLEL - this.deliveries.size)
      this.wanted = 0
      const rest = await this.startDue(count)
      this.wanted += rest
    }
  }

  /** Starts deliveries. Returns how many are still to be started; 0 if nothing more is due. */
  private async startDue(count: number): Promise<number> {
    this.moreMayBeDue = true
    if (count <= 0) return 0
    const { db, now } = this.world
    const busyHosts = this.busy('host', PARALLEL_PER_HOST)
    const busyAccounts = this.busy('account', PARALLEL_PER_ACCOUNT)
    const limit = Math.min(count, PARALLEL_PER_HOST)
    const claimed = await claimWebhooks(db, now(), { limit, leaseMs: LEASE_MS, busyHosts, busyAccounts })
    this.moreMayBeDue = claimed.length + busyHosts.length + busyAccounts.length > 0
    const excess: Webhook[] = []
    for (const webhook of claimed) {
      if (!this.isStopped && this.hasPlace(webhook)) this.start(webhook)
      else excess.push(webhook)
    }
    if (excess.length > 0) await db.batch(excess.map(unclaimWebhook))
    return claimed.length === 0 ? 0 : count - claimed.length + excess.length
  }

  /** Hosts or accounts with the maximum of deliveries. */
  private busy(by: 'host' | 'account', most: number): string[] {
    const counts = new Map<string, number>()
    for (const { webhook } of this.deliveries) counts.set(webhook[by], (counts.get(webhook[by]) ?? 0) + 1)
    return [...counts].flatMap(([name, count]) => (count >= most ? [name] : []))
  }

  private hasPlace({ host, account }: Webhook): boolean {
    return (
      this.deliveries.size < PARALLEL &&
      !this.busy('host', PARALLEL_PER_HOST).includes(host) &&
      !this.busy('account', PARALLEL_PER_ACCOUNT).includes(account)
    )
  }

  private start(webhook: Webhook): void {
    const delivery: Delivery = {
      webhook,
      deadlineAt: this.world.monotonic() + TIMEOUT_MS,
      controller: new AbortController(),
      cut: false,
      ended: Promise.resolve(),
    }
    this.deliveries.add(delivery)
    this.watch()
    delivery.ended = this.deliver(delivery)
      .catch((error) => this.logFailure(webhook, error))
      .finally(() => this.end(delivery))
  }

  private end(delivery: Delivery): void {
    this.deliveries.delete(delivery)
    // Releases an answer that was not read to its end.
    delivery.controller.abort()
    // Waiting for the next beat would slow down a backlog.
    if (this.moreMayBeDue) void this.startMore(1).catch((error) => this.logFailure(delivery.webhook, error))
  }

  private logFailure({ id }: Webhook, error: unknown): void {
    this.world.log('webhook_failed', { webhook: id, error: String(error) })
  }

  private async deliver(delivery: Delivery): Promise<void> {
    const { webhook, controller } = delivery
    const { db, now, monotonic, random, log } = this.world
    const at = now()
    const startedAt = monotonic()
    const answer = await this.attempt(webhook, at, controller.signal)
    if (delivery.cut && answer.status === null) {
      await db.batch([unclaimWebhook(webhook)])
      return
    }
    const next = nextOf(webhook, answer, now(), random())
    const durationMs = Math.round(monotonic() - startedAt)
    const made = { at, status: answer.status, answer: answer.text, durationMs }
    const recorded = await recordAttempt(db, webhook, made, next)
    const { id, task, recipient, attempts } = webhook
    const about = { webhook: id, ...(recipient === null ? { task } : { recipient }), number: attempts + 1 }
    log('webhook_attempt', {
      ...about,
      status: answer.status,
      state: recorded ? next.state : 'taken over',
    })
    if (recorded && recipient !== null && next.state === 'failed')
      log('event_not_delivered', { event: id, recipient, status: answer.status, answer: answer.text })
  }

  /**
   * Makes an attempt. An internal error counts as no answer: otherwise a permanent error would be repeated every minute, endlessly.
   */
  private async attempt(webhook: Webhook, at: number, signal: AbortSignal): Promise<AttemptAnswer> {
    const { db, wall, addressRules } = this.world
    const world = { receivers: this.receivers, addressRules }
    const { id, account, url, recipient } = webhook
    const sentAt = wall()
    try {
      const body = bodyOfWebhook(db, webhook)
      if (recipient !== null)
        return await this.world.sendEvent({ id, recipient, body, at: sentAt }, world, signal)
      const secrets = await webhookSecretsOf(db, webhook.keyId, at)
      const headers = signatureHeaders(id, body, secrets, sentAt)
      return await attemptDelivery(world, { account, url, body, headers, at: sentAt }, signal)
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error
      this.logFailure(webhook, error)
      return {
        status: null,
        text: 'The gateway failed. Its operator can see why in the log.',
        retryAfterMs: 0,
      }
    }
  }
}

/** The next state after an attempt: done, given up, or when to try again. */
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
