// Counts tokens of text where a vendor reported none, in a worker that is started at need and stopped when idle:
// the tokenizer's tables take a hundred megabytes and half a second to load, which must never happen on the event loop.

const IDLE_MS = 10_000
/** Beyond this a count is an estimate: somebody waits for it. */
const DEADLINE_MS = 15_000
const MAX_WAITING = 10_000
/** Longest text that is counted exactly; the rest of a longer one is taken to be as dense. */
const MAX_LENGTH = 2_000_000
/** A common average of English prose and code, where nothing better is to be had. */
const CHARACTERS_PER_TOKEN = 4

/** Beside this file in a checkout; in an executable all code is one file, and the worker keeps its folder. */
const WORKER = import.meta.url.endsWith('/src/token-counter.ts')
  ? './token-worker.ts'
  : './src/token-worker.ts'

interface TokenCount {
  tokens: number
  /** False when the tokens were estimated from the length. */
  exact: boolean
}

export interface TokenCounter {
  count(text: string): Promise<TokenCount>
  close(): void
}

export function createTokenCounter(): TokenCounter {
  let worker: Worker | undefined
  let idle: Timer | undefined
  let nextId = 0
  const waiting = new Map<number, (tokens: number | undefined) => void>()

  function stop(): void {
    worker?.terminate()
    worker = undefined
    for (const resolve of waiting.values()) resolve(undefined)
    waiting.clear()
  }

  function start(): Worker {
    const started = new Worker(new URL(WORKER, import.meta.url).href)
    started.onmessage = ({ data }: MessageEvent<{ id: number; tokens: number }>) => {
      waiting.get(data.id)?.(data.tokens)
      waiting.delete(data.id)
    }
    started.onerror = stop
    started.unref()
    return started
  }

  function ask(text: string): Promise<number | undefined> {
    worker ??= start()
    clearTimeout(idle)
    idle = setTimeout(stop, IDLE_MS)
    idle.unref()
    const id = nextId++
    return new Promise((resolve) => {
      const deadline = setTimeout(() => {
        waiting.delete(id)
        resolve(undefined)
      }, DEADLINE_MS)
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
      if (tokens === undefined) return { tokens: Math.ceil(text.length / CHARACTERS_PER_TOKEN), exact: false }
      return { tokens: Math.round((tokens * text.length) / counted.length), exact: counted === text }
    },
    close() {
      clearTimeout(idle)
      stop()
    },
  }
}
