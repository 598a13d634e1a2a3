// Counts tokens of text where a vendor reported none, in a worker that is started at need and stopped when idle:
// the tokenizer's tables take a hundred megabytes and half a second to load, which must never happen on the event loop.

/** How long a worker without work stays. */
const IDLE_MS = 10_000
/** Beyond this a count is an estimate: somebody waits for it. Long, because many large texts may stand before it. */
const DEADLINE_MS = 60_000
const MAX_WAITING = 10_000
/** Longest text that is counted exactly; the rest of a longer one is taken to be as dense. */
const MAX_LENGTH = 2_000_000
/** A common average of English prose and code, where nothing better is to be had; other scripts take more bytes and tokens. */
const BYTES_PER_TOKEN = 4

/** Beside this file in a checkout; in an executable all code is one file, and the worker keeps its folder. */
const WORKER = import.meta.url.endsWith('/src/media/token-counter.ts')
  ? './token-worker.ts'
  : './src/media/token-worker.ts'

interface TokenCount {
  tokens: number
  /** False when the tokens were estimated from the length. */
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
  /** What the worker has been given and has not answered, also where nobody waits for it any more. */
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
      // Only a worker that has nothing left to count is idle, however long the last count took.
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
