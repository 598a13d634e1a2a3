// Group commit: batches that arrive in one turn of the event loop (two under load) share one commit and therefore one wait for the
// disk. There is no timer. It must never answer a batch before its commit, or before its sync if it must be synced.

import type { BatchResult, Statement } from '../db'

export interface WaitingBatch {
  statements: readonly Statement[]
  /** Whether it must be on disk when it is answered. Otherwise it survives a crash of the process, and is synced with the next batch. */
  synced: boolean
  resolve(result: BatchResult): void
  reject(error: unknown): void
}

/** The result of one batch of a committed group; with an error it alone was undone. */
export type BatchOutcome = BatchResult | { error: unknown }

/** Number of batches in one turn of the event loop that counts as load, under which more will arrive in the next turn. */
const BATCHES_UNDER_LOAD = 4

export class GroupCommit {
  private readonly commit: (group: readonly WaitingBatch[]) => BatchOutcome[]
  /** Translates an error to those of the database interface. */
  private readonly translate: (error: unknown) => unknown
  private waiting: WaitingBatch[] = []

  constructor(
    commit: (group: readonly WaitingBatch[]) => BatchOutcome[],
    translate: (error: unknown) => unknown,
  ) {
    this.commit = commit
    this.translate = translate
  }

  add(statements: readonly Statement[], synced = true): Promise<BatchResult> {
    return new Promise<BatchResult>((resolve, reject) => {
      this.waiting.push({ statements, synced, resolve, reject })
      if (this.waiting.length === 1) setImmediate(this.gather)
    })
  }

  /** Commits all waiting batches. */
  readonly flush = (): void => {
    if (this.waiting.length === 0) return
    const group = this.waiting
    this.waiting = []
    try {
      const results = this.commit(group)
      for (let index = 0; index < group.length; index++) {
        const result = results[index] as BatchOutcome
        const { resolve, reject } = group[index] as WaitingBatch
        if ('error' in result) reject(this.translate(result.error))
        else resolve(result)
      }
    } catch (error) {
      for (const { reject } of group) reject(this.translate(error))
    }
  }

  /** Waits one more turn under load: larger groups mean fewer waits for the disk. */
  private readonly gather = (): void => {
    if (this.waiting.length < BATCHES_UNDER_LOAD) this.flush()
    else setImmediate(this.flush)
  }
}

/** Whether a group must be on disk when its commit returns. */
export function mustSync(group: readonly WaitingBatch[]): boolean {
  return group.some(({ synced }) => synced)
}
