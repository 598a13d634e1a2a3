// Background responses: their events are read and stored while no caller waits, so that any caller of the account can read, follow
// the stream from any event, or cancel. Reading must continue whatever callers do, because the vendor's output is charged. The end
// of a response must be written in the batch that ends its charge: a paid response is never shown as failed, and a failed one is
// never paid.

import { apply, type Db, type Statement, tryApply } from '../db/db'
import { UnreadableText } from '../db/encryption/codec'
import type { ErrorCode } from '../lib/error-codes'
import { asObject } from '../lib/objects'
import {
  createEventSplitter,
  dataOfEvent,
  fromLatin1,
  KEEP_ALIVE,
  KEEP_ALIVE_MS,
  objectIn,
  splitEvents,
  toLatin1,
} from '../lib/sse'
import type { After, Log } from '../lib/system'
import {
  abandonedResponses,
  askToCancel,
  type BackgroundResponse,
  deleteBackground,
  endBackground,
  endOverdue,
  eventsAfter,
  findBackground,
  forgetBackground,
  insertEvents,
  removeUnfinished,
  renewLease,
} from './background-rows'

type Fields = Record<string, unknown>

interface BackgroundWorld {
  db: Db
  now(): number
  after: After
  log: Log
}

/** The reader of a stream of events. */
interface EventReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>
  cancel(): Promise<void>
}

/** A response that this process makes. */
interface Running {
  id: string
  /** The response in its state of the newest event that contains it. */
  response: Fields
  /** Finished items, by index. */
  items: Fields[]
  /** Events that are not written yet. */
  unwritten: { first: number; last: number; text: string } | undefined
  /** Length of all stored events, in characters. */
  length: number
  /** True once the last event has arrived: the batch that ends the charge writes the rest. */
  isEnding: boolean
  /** True if its charge could not be ended: the response ends as failed. */
  isLost: boolean
  isCancelled: boolean
  leaseUntil: number
  splitter: ReturnType<typeof createEventSplitter>
  reader: EventReader
  /** Resolves when pending writes are done. */
  writing: Promise<void>
}

/** How long a response counts as running after the last sign of its process, in milliseconds. */
const LEASE_MS = 30_000
const RENEW_MS = 1_000
/** How often new events are written, in milliseconds. */
const WRITE_MS = 250
/** How often a follower of the stream polls for new events, in milliseconds. */
const CHECK_MS = 100
/** Maximum length of stored events of one response, in characters: beyond it only the end is stored. */
const MAX_LENGTH = 32 * 1024 * 1024
/** How long a cancel waits for the end, in milliseconds. */
const CANCEL_MS = 10_000
const TERMINAL = new Set(['response.completed', 'response.incomplete', 'response.failed'])
const DONE = 'data: [DONE]\n\n'

export class BackgroundResponses {
  private readonly running = new Map<string, Running>()
  private cancelWriting: (() => void) | undefined

  constructor(private readonly world: BackgroundWorld) {}

  /** Reads a stream to its end, whoever waits. `response` is as stored in its row, which was written with the hold. */
  begin(id: string, response: Fields, events: ReadableStream<Uint8Array>): void {
    const run: Running = {
      id,
      response,
      items: [],
      unwritten: undefined,
      length: 0,
      isEnding: false,
      isLost: false,
      isCancelled: false,
      // The lease of the row is as long as the vendor may take to begin.
      leaseUntil: 0,
      splitter: createEventSplitter(),
      reader: events.getReader(),
      writing: Promise.resolve(),
    }
    this.running.set(id, run)
    this.writeSoon()
    void this.readAll(run)
  }

  /** Receives bytes of the stream before they are sent. */
  take(id: string, bytes: Uint8Array): void {
    const run = this.running.get(id)
    if (!run) return
    for (const event of splitEvents(run.splitter.push(bytes).toString('latin1'))) take(run, event)
  }

  /**
   * The statements that end a response, for the batch that ends its charge: the events that are not written yet, and last the
   * guarded end. `answer` is the whole response, if there is one. A response that never began is removed.
   */
  async endStatements(id: string, answer: object | undefined): Promise<Statement[]> {
    const { db } = this.world
    const run = this.running.get(id)
    if (!run) return [answer ? endBackground(db, id, JSON.stringify(answer)) : removeUnfinished(id)]
    run.isEnding = true
    await run.writing.catch(() => {})
    const end = endBackground(db, id, JSON.stringify(answer ?? ended(run)))
    return run.unwritten ? [insertEvents(db, id, run.unwritten), end] : [end]
  }

  /** Discards a response whose end is written. */
  forget(id: string): void {
    this.running.delete(id)
  }

  /** Ends a response as failed whose charge could not be ended. */
  lose(id: string | undefined): void {
    const run = this.running.get(id ?? '')
    if (run) run.isLost = true
  }

  /** Writes some time later, and again while any response runs. */
  private writeSoon(): void {
    this.cancelWriting ??= this.world.after(WRITE_MS, async () => {
      await this.writeAll()
      this.cancelWriting = undefined
      if (this.running.size > 0) this.writeSoon()
    })
  }

  /**
   * Writes the events that have arrived, renews leases, and stops responses that were cancelled at another node. Failed writes are
   * retried.
   */
  private async writeAll(): Promise<void> {
    for (const run of this.running.values()) {
      await this.write(run).catch((error) =>
        this.world.log('background_not_written', { response: run.id, reason: String(error) }),
      )
    }
  }

  /** Ends responses whose process is gone, and deletes old ones. Called by the scheduler. */
  async sweep(): Promise<void> {
    const { db } = this.world
    const now = this.world.now()
    for (const response of await abandonedResponses(db, now)) await this.endAbandoned(response, now)
    await apply(db, forgetBackground(now))
  }

  private async endAbandoned(response: BackgroundResponse, now: number): Promise<void> {
    const { db, log } = this.world
    const { id } = response
    // Its lease expired while the database was unavailable or this process was suspended: the lease is renewed, or the end is
    // written.
    if (this.running.has(id)) return
    try {
      const answer = JSON.stringify(failed(JSON.parse(response.answer)))
      await tryApply(db, [endOverdue(db, { id, answer, now })])
    } catch (error) {
      if (!(error instanceof UnreadableText)) throw error
      log('row_unreadable', { reason: error.message })
    }
  }

  /** Writes the remaining events when the process stops. */
  async stop(): Promise<void> {
    this.cancelWriting?.()
    await this.writeAll()
  }

  find(account: string, id: string): Promise<BackgroundResponse | undefined> {
    return findBackground(this.world.db, account, id, this.world.now())
  }

  /** Stops a response that runs, here or at another node. Returns its new state; undefined if it does not exist. */
  async cancel(account: string, id: string): Promise<BackgroundResponse | undefined> {
    const endsAt = this.world.now() + CANCEL_MS
    let found = await this.find(account, id)
    if (!found || found.hasEnded) return found
    await askToCancel(this.world.db, account, id)
    const own = this.running.get(id)
    if (own) await this.stopReading(own)
    while (found && !found.hasEnded && this.world.now() < endsAt) {
      await this.pause()
      found = await this.find(account, id)
    }
    return found
  }

  async delete(account: string, id: string): Promise<boolean> {
    await this.cancel(account, id)
    return deleteBackground(this.world.db, account, id)
  }

  /** The events after a number, and new ones until the end, with comments while there are none. */
  async *events(account: string, id: string, after: number): AsyncGenerator<string> {
    const { now } = this.world
    let last = after
    let isWhole = false
    let sentAt = now()
    for (;;) {
      // Checked first: events that are written before the end are then found below.
      const found = await this.find(account, id)
      const pieces = await eventsAfter(this.world.db, id, last)
      for (const piece of pieces) {
        const text = piece.first > last ? piece.text : eventsFrom(piece.text, last)
        if (text !== '') yield text
        last = piece.last
        isWhole ||= hasEnd(text)
      }
      if (pieces.length > 0) {
        sentAt = now()
        continue
      }
      if (!found || found.hasEnded) {
        // A response that was cancelled, or whose process is gone, has no last event of its own.
        if (found && !isWhole) yield lastEvent(JSON.parse(found.answer), last + 1)
        yield DONE
        return
      }
      if (now() - sentAt >= KEEP_ALIVE_MS) {
        yield KEEP_ALIVE
        sentAt = now()
      }
      await this.pause()
    }
  }

  private async readAll(run: Running): Promise<void> {
    try {
      while (!(await run.reader.read()).done);
    } catch (error) {
      this.world.log('background_cut', { response: run.id, reason: String(error) })
    }
  }

  /** Writes the events that have arrived, one write after the other. */
  private write(run: Running): Promise<void> {
    run.writing = run.writing.catch(() => {}).then(() => this.writeNext(run))
    return run.writing
  }

  private async writeNext(run: Running): Promise<void> {
    const { db, now } = this.world
    if (run.isLost) {
      await tryApply(db, [endBackground(db, run.id, JSON.stringify(failed(run.response)))])
      this.running.delete(run.id)
      return
    }
    const { unwritten } = run
    if (unwritten && !run.isEnding) {
      run.unwritten = undefined
      try {
        await apply(db, [insertEvents(db, run.id, unwritten)])
      } catch (error) {
        run.unwritten = joined(unwritten, run.unwritten)
        throw error
      }
    }
    if (run.leaseUntil - LEASE_MS + RENEW_MS <= now()) await this.renew(run)
  }

  private async renew(run: Running): Promise<void> {
    const leaseUntil = this.world.now() + LEASE_MS
    const isCancelled = await renewLease(this.world.db, run.id, leaseUntil)
    run.leaseUntil = leaseUntil
    if (isCancelled !== false && !run.isEnding) await this.stopReading(run)
  }

  /** Ends the stream as a disconnecting caller would: the line stops the vendor and settles the output so far. */
  private async stopReading(run: Running): Promise<void> {
    run.isCancelled = true
    await run.reader.cancel()
  }

  private pause(): Promise<void> {
    return new Promise((resolve) => this.world.after(CHECK_MS, resolve))
  }
}

/** Records one event. */
function take(run: Running, event: string): void {
  const fields = asObject(objectIn(dataOfEvent(event) ?? ''))
  const { type, sequence_number: number, response, item, output_index: place } = fields
  if (typeof type !== 'string' || typeof number !== 'number' || type === 'keepalive') return
  if (typeof response === 'object' && response !== null) run.response = response as Fields
  if (type === 'response.output_item.done' && typeof place === 'number') run.items[place] = asObject(item)
  const isLast = TERMINAL.has(type)
  if (run.length > MAX_LENGTH && !isLast) return
  run.length += event.length
  run.unwritten = joined(run.unwritten, { first: number, last: number, text: fromLatin1(event) })
}

function joined(one: Running['unwritten'], other: Running['unwritten']): Running['unwritten'] {
  if (!one || !other) return one ?? other
  return { first: one.first, last: other.last, text: one.text + other.text }
}

/** The events of a piece after a number. */
function eventsFrom(text: string, after: number): string {
  const later = splitEvents(toLatin1(text)).filter(
    (event) => Number(asObject(objectIn(dataOfEvent(event) ?? '')).sequence_number) > after,
  )
  return fromLatin1(later.join(''))
}

function hasEnd(events: string): boolean {
  for (const type of TERMINAL) if (events.includes(`event: ${type}\n`)) return true
  return false
}

/** The event that ends a stream, in the kinds that clients know. */
function lastEvent(response: Fields, number: number): string {
  const type = TERMINAL.has(`response.${response.status}`)
    ? `response.${response.status}`
    : 'response.incomplete'
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, response })}\n\n`
}

/** The response as its events leave it. */
function ended({ response, items, isCancelled }: Running): Fields {
  if (TERMINAL.has(`response.${response.status}`)) return response
  const output = items.filter((item) => item !== undefined)
  return isCancelled ? { ...response, status: 'cancelled', output } : failed({ ...response, output })
}

function failed(response: Fields): Fields {
  const error = {
    code: 'server_error' satisfies ErrorCode,
    message: 'The process that made this response has stopped. Send the request again.',
  }
  return { ...response, status: 'failed', error }
}
