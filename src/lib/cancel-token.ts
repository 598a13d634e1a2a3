// A cancel token: notifies many listeners that something is no longer needed, like an AbortController, at a lower cost. There is
// one per request and most are never used, so it must never cost more than its list of listeners.

/** The part of a cancel token that its listeners see. An AbortSignal fits too. */
export interface CancelSignal {
  readonly aborted: boolean
  /** The reason that was given to `abort`; undefined before. */
  readonly reason: unknown
  /**
   * Returns why nothing new may begin; undefined if it may. Called at the last moment: a process that was suspended continues
   * before its timers do.
   */
  tooLate?: (() => unknown) | undefined
  /** Adds a listener that is called once, on `abort`. A listener that is added after `abort` is never called. */
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

export class CancelToken implements CancelSignal {
  aborted = false
  reason: unknown = undefined
  tooLate?: (() => unknown) | undefined
  private listeners: (() => void)[] = []

  /** This object, under the name that an AbortController uses. */
  get signal(): CancelSignal {
    return this
  }

  /** Aborts once; later calls do nothing. */
  abort(reason: unknown = new Error('no longer wanted')): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    const listeners = this.listeners
    this.listeners = []
    for (const listener of listeners) listener()
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (!this.aborted) this.listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const at = this.listeners.lastIndexOf(listener)
    if (at !== -1) this.listeners.splice(at, 1)
  }
}
