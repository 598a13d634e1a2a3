// GET /console/live: what happens, as server-sent events for signed-in pages: figures, ended requests, and tasks. One read serves
// all watchers, and nothing is read while there are none. It must never hold more than a limited number of events for a slow
// reader, or continue a stream after its session has ended.

import { isSessionOpen } from '../accounts/sessions'
import { errorResponse } from '../http/errors'
import { GatewayError } from '../lib/errors'
import type { System } from '../lib/system'
import type { ConsolePlace } from './begin-session'
import { LiveBalances, type LiveEvent, type LiveWorld } from './live-balances'
import type { SignedIn, SignIn } from './sign-in'

const MAX_WATCHERS = 100
const MAX_PER_SESSION = 6
/** Maximum number of bytes that wait for a reader. Events that do not fit are dropped, and the reader is asked to reload. */
const MAX_WAITING_BYTES = 256 * 1024
/** A reader that takes nothing for this long is disconnected, in milliseconds. */
const SLOW_MS = 60_000
const BEAT_MS = 1_000
/** Once per this many beats a comment is sent, so that no proxy cuts a silent stream, and the session is checked. */
const HEARTBEAT = 5

/** A watching page, as the source of its stream. */
class Watcher {
  readonly session: string
  /** The key whose events these are; undefined for an admin, who sees all. */
  readonly keyId: string | undefined
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined
  private takenAt: number
  private hasMissed = false

  constructor(
    { session }: SignedIn,
    private readonly monotonic: () => number,
    private readonly leave: (watcher: Watcher) => void,
  ) {
    this.session = session.id
    this.keyId = session.kind === 'key' ? session.subject : undefined
    this.takenAt = monotonic()
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.controller = controller
  }

  /** Called when the page disconnects. */
  cancel(): void {
    this.leave(this)
  }

  send(text: string): void {
    const room = this.controller?.desiredSize ?? 0
    if (room > 0) this.takenAt = this.monotonic()
    else if (this.monotonic() - this.takenAt > SLOW_MS) {
      this.close()
      return
    }
    const bytes = encoder.encode(this.hasMissed ? `event: missed\ndata: {}\n\n${text}` : text)
    this.hasMissed = bytes.length > room
    if (!this.hasMissed) this.controller?.enqueue(bytes)
  }

  close(): void {
    this.leave(this)
    this.controller?.close()
  }
}

const encoder = new TextEncoder()

export class Live {
  private readonly watchers = new Set<Watcher>()
  private readonly books: LiveBalances
  private cancel: (() => void) | undefined
  private isLooping = false
  private isStopped = false
  private beats = 0

  constructor(
    private readonly world: LiveWorld & Pick<System, 'after' | 'newId'>,
    private readonly signIn: SignIn,
  ) {
    this.books = new LiveBalances(world)
  }

  /** Answers with the stream of events. Never rejects. */
  async answer(request: Request, place: ConsolePlace): Promise<Response> {
    const requestId = this.world.newId('req')
    try {
      const signedIn = await this.signIn.signedIn(request, place)
      this.requireRoom(signedIn.session.id)
      return new Response(this.open(signedIn), {
        headers: {
          'content-type': 'text/event-stream',
          'cache-control': 'no-store',
          'x-accel-buffering': 'no',
          'x-request-id': requestId,
        },
      })
    } catch (error) {
      return errorResponse(error, 'openai', requestId, this.world.log)
    }
  }

  /** Ends all streams, including new ones, such as for a stopping process: the page connects to its successor. */
  stop(): void {
    this.isStopped = true
    for (const watcher of [...this.watchers]) watcher.close()
  }

  private requireRoom(session: string): void {
    const own = [...this.watchers].filter((watcher) => watcher.session === session).length
    if (own < MAX_PER_SESSION && this.watchers.size < MAX_WATCHERS) return
    throw new GatewayError(429, {
      code: 'too_many_watchers',
      message: 'Too many pages are open at once. Close some, and reload this one.',
      headers: { 'retry-after': '30' },
    })
  }

  private open(signedIn: SignedIn): ReadableStream<Uint8Array> {
    const watcher = new Watcher(signedIn, this.world.monotonic, (left) => this.leave(left))
    const strategy = new ByteLengthQueuingStrategy({ highWaterMark: MAX_WAITING_BYTES })
    const stream = new ReadableStream(watcher, strategy)
    this.watchers.add(watcher)
    watcher.send('retry: 3000\n\n')
    if (this.isStopped) {
      watcher.close()
      return stream
    }
    if (!this.isLooping) {
      this.isLooping = true
      this.beats = 0
      this.books.begin()
      this.plan(0)
    }
    return stream
  }

  private leave(watcher: Watcher): void {
    this.watchers.delete(watcher)
    // A running beat ends the loop itself.
    if (this.watchers.size > 0 || !this.cancel) return
    this.cancel()
    this.cancel = undefined
    this.isLooping = false
  }

  private plan(ms: number): void {
    this.cancel = this.world.after(ms, () => void this.beat())
  }

  private async beat(): Promise<void> {
    this.cancel = undefined
    try {
      await this.report()
    } catch (error) {
      this.world.log('job_failed', { job: 'console live', reason: String(error) })
    }
    if (this.watchers.size > 0) this.plan(BEAT_MS)
    else this.isLooping = false
  }

  private async report(): Promise<void> {
    const isHeartbeat = this.beats++ % HEARTBEAT === 0
    if (isHeartbeat) await this.heartbeat()
    const keys = new Set([...this.watchers].flatMap(({ keyId }) => keyId ?? []))
    const hasAdmin = [...this.watchers].some(({ keyId }) => keyId === undefined)
    for (const event of await this.books.read({ keys, hasAdmin })) {
      const texts = new Map<'all' | 'own', string>()
      for (const watcher of this.watchers) {
        const view = watcher.keyId === undefined ? 'all' : 'own'
        if (view === 'own' && watcher.keyId !== event.keyId) continue
        const value = event[view]
        if (value === undefined) continue
        if (!texts.has(view)) texts.set(view, textOf(event, value))
        watcher.send(texts.get(view) ?? '')
      }
    }
  }

  private async heartbeat(): Promise<void> {
    for (const watcher of [...this.watchers]) {
      if (await isSessionOpen(this.world.db, watcher.session, this.world.now())) watcher.send(': beat\n\n')
      else {
        watcher.send('event: end\ndata: {"code":"session_ended"}\n\n')
        watcher.close()
      }
    }
  }
}

function textOf({ name }: LiveEvent, value: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`
}
