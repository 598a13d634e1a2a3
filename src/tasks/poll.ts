// One poll of one task: its vendor is asked, and the task ends or is postponed. Fences keep late answers from changing
// anything. An internal error for one task must never stop the others, or keep that task open beyond its deadline.

import { PriceDrifts } from '../billing/proofs/price-drift'
import type { Catalogue } from '../catalogue/models'
import type { Config } from '../config/schema'
import { DatabaseUnavailable } from '../db/db'
import { formatUsd } from '../lib/money'
import type { System } from '../lib/system'
import { askUpstream, modelOf, stopAtUpstream } from './ask-upstream'
import {
  type EndOptions,
  type INTERRUPTED,
  NOTHING_READ,
  type SettledTask,
  STOPPED,
  settleTask,
  type TaskEnding,
  TIMED_OUT,
} from './finish'
import { type KeepVideoWorld, keepVideo } from './keep-video'
import { succeedLate } from './late-success'
import { postpone } from './leases'
import { endingOf, type PollAnswer, postponementAfterFault, postponementOf } from './poll-answer'
import { isDeferred, lastDocumentOf, type Task } from './task'

export interface PollWorld extends KeepVideoWorld, Pick<System, 'after' | 'newId' | 'log'> {
  readonly config: Pick<Config, 'receipts'>
  catalogue: Pick<Catalogue, 'models' | 'upstreams'>
  /** Counts what videos cost; absent or null if nobody reads metrics. */
  metrics?: { addVideo(task: Task, paidNano: number): void } | null
}

/** Tasks with an internal error whose reason is remembered, so that it is logged once. */
const MAX_FAULTY = 1_000
const MAX_REASON_LENGTH = 500

export class TaskPolls {
  private readonly world: PollWorld
  private readonly faulty = new Set<string>()
  private readonly priceDrifts: PriceDrifts

  constructor(world: PollWorld) {
    this.world = world
    this.priceDrifts = new PriceDrifts(world)
  }

  /** Polls a task whose lease this node holds. Never throws. */
  async poll(task: Task): Promise<void> {
    const begunAt = this.world.now()
    try {
      await this.follow(task, begunAt)
    } catch (error) {
      await this.giveUp(task, begunAt, error)
    }
  }

  /** Ends a task that nobody polls: past its deadline, or left by its process. Never throws. */
  async giveUpOn(task: Task, error: typeof TIMED_OUT | typeof INTERRUPTED): Promise<void> {
    try {
      await this.end(task, { state: 'failed', document: lastDocumentOf(task), error })
    } catch (fault) {
      await this.giveUp(task, this.world.now(), fault)
    }
  }

  private async follow(task: Task, begunAt: number): Promise<void> {
    const { db, after, catalogue, now, log } = this.world
    const model = modelOf(catalogue, task)
    // Without a model in the catalogue the task waits, and only its deadline ends it.
    const answer: PollAnswer = model
      ? await askUpstream(after, task, model)
      : { error: `${task.upstream} has no model ${task.model}` }
    const ending = endingOf(task, answer, begunAt)
    if (ending?.state === 'succeeded' && model) {
      this.noteInvalidUsage(task, answer, ending.usageSource)
      return this.end(task, await keepVideo(this.world, task, model, ending))
    }
    if (ending) return this.end(task, ending)
    // Only for a task that has not ended: some vendors delete the result on a cancel after that.
    const stop = task.cancelAt === null ? undefined : await stopAtUpstream(after, task, model)
    if (stop?.stopped)
      return this.end(task, { state: 'failed', document: lastDocumentOf(task), error: STOPPED })
    const next = postponementOf(task, answer, now())
    if ('error' in answer)
      log('task_poll_without_answer', { task: task.id, misses: next.misses, reason: answer.error })
    await postpone(db, task, next, stop?.reason ?? null)
    this.faulty.delete(task.id)
  }

  /**
   * Handles an internal error: polls again later, and ends the task at its deadline without reading what was stored. An unavailable
   * database is temporary: the task is due again after its lease.
   */
  private async giveUp(task: Task, begunAt: number, error: unknown): Promise<void> {
    const { db, now } = this.world
    const isAway = error instanceof DatabaseUnavailable
    if (isAway || !this.faulty.has(task.id)) this.logFault(task, error)
    if (isAway) return
    if (this.faulty.size >= MAX_FAULTY) this.faulty.clear()
    this.faulty.add(task.id)
    try {
      if (begunAt >= task.deadlineAt)
        await this.end(task, { state: 'failed', document: NOTHING_READ, error: TIMED_OUT })
      else await postpone(db, task, postponementAfterFault(task, now()), null)
    } catch (fault) {
      this.logFault(task, fault)
    }
  }

  private async end(task: Task, ending: TaskEnding): Promise<void> {
    const { db, now, newId, log, config } = this.world
    const options = { now: now(), webhookId: newId('msg'), receipts: config.receipts }
    const ended = await settleTask(db, task, ending, options)
    this.faulty.delete(task.id)
    if (!ended) return this.endLate(task, ending, options)
    this.noteEnd(task, ending, ended)
    log('task_ended', { task: task.id, state: ending.state, ...(ending.state === 'failed' && ending.error) })
  }

  /** Handles an end for a task that another node has ended, or holds now. */
  private async endLate(task: Task, ending: TaskEnding, options: EndOptions): Promise<void> {
    const { db, log } = this.world
    const settled = ending.state === 'succeeded' ? await succeedLate(db, task, ending, options) : undefined
    if (!settled) return log('task_end_lost', { task: task.id, state: ending.state })
    this.noteEnd(task, ending, settled)
    log('task_succeeded_late', {
      task: task.id,
      paid_usd: formatUsd(settled.paidNano),
      shortfall_usd: formatUsd(settled.shortfallNano),
    })
  }

  /** Counts the payment in the metrics, and compares the price with the vendor's. */
  private noteEnd(task: Task, ending: TaskEnding, { paidNano, amounts }: SettledTask): void {
    const { catalogue, metrics } = this.world
    if (!isDeferred(task)) metrics?.addVideo(task, paidNano)
    const model = amounts && modelOf(catalogue, task)
    if (!model || ending.state !== 'succeeded') return
    this.priceDrifts.note({ request: task.charge, model, usageJson: ending.usageJson }, () => amounts)
  }

  private noteInvalidUsage(task: Task, answer: PollAnswer, source: string | undefined): void {
    if (source !== 'estimated' || !('outcome' in answer) || answer.outcome.status !== 'succeeded') return
    const { second: seconds = null, input_second: inputSeconds } = answer.outcome.quantities ?? {}
    const input = inputSeconds === undefined ? {} : { input_seconds: inputSeconds }
    this.world.log('upstream_usage_invalid', { task: task.id, seconds, ...input })
  }

  private logFault(task: Task, error: unknown): void {
    this.world.log('task_poll_failed', { task: task.id, error: String(error).slice(0, MAX_REASON_LENGTH) })
  }
}
