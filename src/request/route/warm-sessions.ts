// The conversations that a model of a preferred route has answered recently: its vendor still has their beginning in a prompt
// cache. In the memory of this process only: a conversation that is not found here is decided by figures alone. It must stay small,
// however many callers there are.

/** The model that has answered a conversation. */
interface Warm {
  model: string
  upstream: string
  /** Size of the last request, in bytes: the beginning of the next one. */
  byteLength: number
  /** Whether its vendor has cached it, as far as its figures show. */
  isCached: boolean
  /** Until when it is remembered, on the monotonic clock, in milliseconds. */
  until: number
}

/**
 * How long a cache is expected to last after its last use, in milliseconds. Anthropic keeps one for 5 minutes
 * (https://docs.claude.com/en/docs/build-with-claude/prompt-caching), OpenAI for 5 to 10
 * (https://platform.openai.com/docs/guides/prompt-caching).
 */
const WARM_MS = 5 * 60_000
/** Minimum of tokens that both vendors cache. */
const MIN_CACHED_TOKENS = 1_024
/** Number of remembered conversations; the least recently used one is removed first. */
const MAX_SESSIONS = 10_000

/** An answered turn of a conversation. */
interface Turn {
  model: { id: string; upstream: { name: string } }
  byteLength: number
  inputTokens: number
  /** Input tokens that the vendor has read from a cache or written to it. */
  cacheTokens: number
}

export class WarmSessions {
  private readonly sessions = new Map<string, Warm>()

  find(route: string, session: number, now: number): Warm | undefined {
    const warm = this.sessions.get(nameOf(route, session))
    return warm && warm.until > now ? warm : undefined
  }

  /** Records who has answered a turn. The first turn at a vendor fills its cache, and only the next one shows whether it did. */
  note(route: string, session: number, { model, byteLength, inputTokens, cacheTokens }: Turn, now: number) {
    const before = this.find(route, session, now)
    const { name: upstream } = model.upstream
    const isFirst = before?.model !== model.id || before.upstream !== upstream
    const isCached = cacheTokens > 0 || (isFirst && inputTokens >= MIN_CACHED_TOKENS)
    const name = nameOf(route, session)
    this.sessions.delete(name)
    this.sessions.set(name, { model: model.id, upstream, byteLength, isCached, until: now + WARM_MS })
    if (this.sessions.size <= MAX_SESSIONS) return
    for (const oldest of this.sessions.keys()) {
      this.sessions.delete(oldest)
      break
    }
  }
}

function nameOf(route: string, session: number): string {
  return `${session} ${route}`
}
