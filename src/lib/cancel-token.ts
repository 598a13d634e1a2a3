// Word that something is no longer wanted: what an AbortController says, for the many requests that nobody ever cuts.
// It must never cost more than the list of those who listen, because there is one for each request.

/** What listens to it needs to know; an AbortSignal is one too. */
export interface Cancellation {
  readonly aborted: boolean
  /** Why, once it is aborted. */
  readonly reason: unknown
  /** Listeners are called once, when it is aborted; never when it was aborted before. */
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

export class Canceller implements Cancellation {
  aborted = false
  reason: unknown = undefined
  private listeners: (() => void)[] = []

  /** The same object, under the name that an AbortController has for it. */
  get signal(): Cancellation {
    return this
  }

  /** Only the first time counts. */
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

/** The same word for what listens to nothing but an AbortSignal. */
export function abortSignalOf(cancellation: Cancellation): AbortSignal {
  if (cancellation instanceof AbortSignal) return cancellation
  const controller = new AbortController()
  const abort = () => controller.abort(cancellation.reason)
  if (cancellation.aborted) abort()
  else cancellation.addEventListener('abort', abort)
  return controller.signal
}
