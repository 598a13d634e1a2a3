// Counts the tokens of text whose vendor reported none, in a worker that starts on demand and stops when idle. The
// tokenizer's tables take a hundred megabytes and half a second to load, which must never happen on the event loop.

/** How long an idle worker stays, in milliseconds. */
const IDLE_MS = 10_000
/**
 * Maximum wait for a count, in milliseconds; after that the tokens are estimated. Long, because many large texts may be counted
 * first.
 */
const DEADLINE_MS = 60_000
const MAX_WAITING = 10_000
/** Maximum length of text that is counted exactly, in characters; the rest of a longer one is assumed to be equally dense. */
const MAX_LENGTH = 2_000_000
/** A common average of English prose and code, used only for estimates; other scripts have more bytes and tokens. */
const BYTES_PER_TOKEN = 4

/**
 * The worker's path: next to this file in a checkout; in an executable all code is one file, and the worker keeps its
 * folder.
 */
const WORKER = import.meta.url.endsWith('/src/media/token-counter.ts')
  ? './token-worker.ts'
  : './src/media/token-worker.ts'

interface TokenCount {
  tokens: number
  /** False if the tokens were estimated from the length. */
  exact: boolean
}

export interface TokenCounter {
  count(text: string): Promise<TokenCount>
  close(): void
}

export function createTokenCounter({ idleMs = IDLE_MS, deadlineMs = DEADLINE_MS } = {}): TokenCounter {
  let worker: Worker | undefined
  let idle: Timer | undefined
  let nextId = 0
  /** Texts that the worker has not answered yet, even if nobody waits for them any more. */
  let queued = 0
  const waiting = new Map<number, (tokens: number | undefined) => void>()

  function stop(): void {
    worker?.terminate()
    worker = undefined
    queued = 0
    for (const resolve of waiting.values()) resolve(undefined)
    waiting.clear()
  }

  function start(): Worker {
    const started = new Worker(new URL(WORKER, import.meta.url).href)
    started.onmessage = ({ data }: MessageEvent<{ id: number; tokens: number }>) => {
      waiting.get(data.id)?.(data.tokens)
      waiting.delete(data.id)
      queued--
      // A worker is idle only when it has nothing left to count, however long the last count took.
      if (queued > 0 || worker !== started) return
      idle = setTimeout(stop, idleMs)
      idle.unref()
    }
    started.onerror = stop
    started.unref()
    return started
  }

  function ask(text: string): Promise<number | undefined> {
    worker ??= start()
    clearTimeout(idle)
    queued++
    const id = nextId++
    return new Promise((resolve) => {
      const deadline = setTimeout(() => {
        waiting.delete(id)
        resolve(undefined)
      }, deadlineMs)
      waiting.set(id, (tokens) => {
        clearTimeout(deadline)
        resolve(tokens)
      })
      worker?.postMessage({ id, text })
    })
  }

  return {
    async count(text) {
      if (text === '') return { tokens: 0, exact: true }
      const counted = text.slice(0, MAX_LENGTH)
      const tokens = waiting.size < MAX_WAITING ? await ask(counted) : undefined
      if (tokens === undefined)
        return { tokens: Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN), exact: false }
      return { tokens: Math.round((tokens * text.length) / counted.length), exact: counted === text }
    },
    close() {
      clearTimeout(idle)
      stop()
    },
  }
}
