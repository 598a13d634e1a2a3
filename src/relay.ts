// Carries a vendor's event stream to the caller and reads its usage on the side.
// Whole events pass as the bytes they came in, at the caller's pace, with constant memory; `finish` is called once,
// whatever ends the stream, and always before the last byte goes out, so that no answer is complete before it is paid.

import type { Model, Quantities, Reading } from './family'
import type { EndedBy } from './ledger'
import { createEventSplitter, dataOfEvent, splitEvents } from './lib/sse'
import type { Outcome } from './metering'
import type { Pulse } from './pulse'

export interface RelayOptions {
  model: Model
  /** The caller did not ask for the event that only carries usage. */
  hideUsage: boolean
  /** Read on when the caller leaves, for the vendor's true usage. */
  drain: boolean
  startedAt: number
  pulse: Pulse
  now: () => number
  /** Settles. Called once; the stream does not end before it resolves. It logs its own failure: the caller may be gone. */
  finish(outcome: Outcome): Promise<void>
  /** Stops the call to the vendor. */
  abort(): void
  /** Why the call to the vendor broke, where it was not this stream that stopped it. */
  whyCut(): EndedBy
  /** The event that tells the caller why the stream ends early. */
  errorEvent(endedBy: EndedBy): string
  /** Sees all that goes to the caller, in latin1. */
  capture?(text: string): void
}

/** Comment sent in silence, so that no proxy or client takes the stream for dead. */
const KEEP_ALIVE = Buffer.from(': keep-alive\n\n')
const KEEP_ALIVE_MS = 15_000
/** A caller that takes no byte for this long is gone. */
const STALL_MS = 300_000
/** How long a vendor may leave a stream open after its closing event. */
const CLOSE_MS = 1_000
/** How long a stream is read on after its caller left. */
const DRAIN_MS = 120_000
/** Events whose text has not been read yet; they are only read when this much has come, or at the end if need be. */
const UNREAD_LENGTH = 64 * 1024
/** Text that is kept for counting. */
const TEXT_LENGTH = 256 * 1024

export function relayEvents(
  source: ReadableStream<Uint8Array>,
  options: RelayOptions,
): ReadableStream<Uint8Array> {
  const reader = source.getReader()
  const meter = createMeter(options)
  let finishing: Promise<void> | undefined
  let stopped: EndedBy | undefined
  let waitsForVendor = false
  let callerLeft = false
  let lastPieceAt = options.now()
  let lastSentAt = lastPieceAt
  let lastPullAt = lastPieceAt
  let output: ReadableStreamDefaultController<Uint8Array>

  function finish(endedBy: EndedBy): Promise<void> {
    stopWatching()
    finishing ??= options.finish(meter.outcome(endedBy))
    return finishing
  }

  /** Ends the call to the vendor from our side; the pending read then fails. */
  function stop(endedBy: EndedBy): void {
    stopped ??= endedBy
    options.abort()
    reader.cancel().catch(() => {})
  }

  const stopWatching = options.pulse.watch((now) => {
    if (now - options.startedAt > options.model.upstream.maxDurationMs) return stop('timeout')
    if (callerLeft) return
    // A vendor is not silent while nobody reads it, and a caller does not stall while there is nothing to read.
    const waitsSince = Math.max(lastPieceAt, lastPullAt)
    if (waitsForVendor && now - waitsSince > options.model.upstream.idleTimeoutMs) return stop('timeout')
    if (!waitsForVendor && now - lastSentAt > STALL_MS) {
      output.error(new Error('the client stopped reading'))
      return leave()
    }
    if (waitsForVendor && now - lastSentAt >= KEEP_ALIVE_MS) {
      lastSentAt = now
      output.enqueue(KEEP_ALIVE)
    }
  })

  function send(text: string, original?: Uint8Array): void {
    lastSentAt = options.now()
    if (!callerLeft) output.enqueue(original ?? Buffer.from(text, 'latin1'))
  }

  /** Reads one piece and passes its whole events on. True when something was sent or the stream ended. */
  async function step(): Promise<boolean> {
    waitsForVendor = true
    const { done, value } = await reader.read()
    waitsForVendor = false
    lastPieceAt = options.now()
    if (stopped) throw new Error('stopped')
    if (done) {
      await complete()
      return true
    }
    const { text, unchanged, end } = meter.push(value)
    options.capture?.(text)
    if (end) {
      await finish('done')
      // Most vendors close at once; one that does not shall not keep the caller waiting.
      setTimeout(() => reader.cancel().catch(() => {}), CLOSE_MS).unref()
    }
    if (text) send(text, unchanged ? value : undefined)
    return text !== ''
  }

  /** The vendor closed the stream. */
  async function complete(): Promise<void> {
    const rest = meter.close()
    options.capture?.(rest)
    const whole = meter.isComplete()
    await finish(whole ? 'done' : 'upstream')
    if (rest) send(rest)
    if (!whole && !meter.failed()) send(options.errorEvent('upstream'))
    if (!callerLeft) output.close()
  }

  async function fail(): Promise<void> {
    const endedBy = stopped ?? options.whyCut()
    stop(endedBy)
    const settled = finishing !== undefined
    await finish(endedBy)
    // After the closing event, or the vendor's own error, there is nothing left to tell the caller.
    if (!settled && !meter.failed()) send(options.errorEvent(endedBy))
    if (!callerLeft) output.close()
  }

  /** The caller is gone. */
  function leave(): void {
    callerLeft = true
    if (finishing) return
    if (!options.drain) {
      stop('client')
      finish('client').catch(() => {})
      return
    }
    const deadline = setTimeout(() => stop('client'), DRAIN_MS)
    void (async () => {
      try {
        while (!finishing) await step()
      } catch {
        stop('client')
        await finish('client')
      } finally {
        clearTimeout(deadline)
      }
    })().catch(() => {})
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        output = controller
      },
      async pull() {
        lastPullAt = options.now()
        try {
          while (!(await step())) {
            // Only a part of an event, or one that is hidden: read on.
          }
        } catch (error) {
          if (callerLeft) return
          await fail().catch(() => output.error(error))
        }
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )
}

/** Reads along: usage and errors at once, text only when it is needed. */
function createMeter({ model, hideUsage }: Pick<RelayOptions, 'model' | 'hideUsage'>) {
  const stream = model.family.stream
  if (!stream) throw new Error(`${model.family.name} has no streams`)
  const splitter = createEventSplitter()
  const rename = createRename(model.id)
  let unread: string[] = []
  let unreadLength = 0
  let text = ''
  let textOmitted = 0
  let usage: Quantities | 'invalid' | undefined
  let usageJson: string | null = null
  let failed = false
  let finished = false
  let ended = false

  function read(event: string): Reading {
    const data = dataOfEvent(event)
    if (data === undefined || data === stream?.end) return {}
    let json: unknown
    try {
      json = JSON.parse(data)
    } catch {
      if (!reportsUsage(data)) return {}
      // Figures such as NaN: nobody can read this event, so whoever did not ask for it shall not have to.
      usage = 'invalid'
      return { usage, usageOnly: true }
    }
    if (typeof json !== 'object' || json === null) return {}
    const reading = stream?.read(json) ?? {}
    if (reading.usage) {
      usage = reading.usage
      usageJson = JSON.stringify((json as { usage?: unknown }).usage ?? null)
    }
    failed ||= reading.failed === true
    // Usage alone cannot tell: some vendors report it on every event.
    finished ||= reading.finished === true || reading.usageOnly === true
    return reading
  }

  function readUnread(): void {
    for (const event of unread.flatMap(splitEvents)) {
      const made = read(event).text ?? ''
      if (text.length < TEXT_LENGTH) text += made
      else textOmitted += made.length
    }
    unread = []
    unreadLength = 0
  }

  /** The events of a text that are to be shown, after a look at those that may carry usage, an error or the end. */
  function inspect(whole: string): string {
    let shown = ''
    for (const event of splitEvents(whole)) {
      if (stream && dataOfEvent(event) === stream.end) ended = true
      const hidden = mayReport(event) && read(event).usageOnly === true && hideUsage
      if (!hidden) shown += event
    }
    return shown
  }

  return {
    /** Whole events to send on; `unchanged` when they are exactly the piece. */
    push(piece: Uint8Array): { text: string; unchanged: boolean; end: boolean } {
      const whole = splitter.push(piece)
      if (whole === '') return { text: '', unchanged: false, end: false }
      unread.push(whole)
      unreadLength += whole.length
      if (unreadLength > UNREAD_LENGTH) readUnread()
      const wasEnded = ended
      const shown = mayReport(whole) || whole.includes(stream.end) ? inspect(whole) : whole
      const renamed = rename(shown)
      return {
        text: renamed,
        unchanged: renamed === whole && whole.length === piece.length,
        end: ended && !wasEnded,
      }
    },
    /** What is left when the vendor closes: a last event without its blank line, or nothing that makes sense. */
    close(): string {
      const rest = splitter.rest()
      if (rest.trim() === '') return ''
      const data = dataOfEvent(rest)
      if (data === stream.end) ended = true
      else if (!isJson(data)) return ''
      unread.push(rest)
      const shown = inspect(`${rest.trimEnd()}\n\n`)
      return rename(shown)
    },
    /** True when the answer is whole though the stream may have lacked its closing event. */
    isComplete(): boolean {
      if (ended) return true
      readUnread()
      return finished
    },
    /** True when the vendor has told the caller an error. */
    failed: () => failed,
    outcome(endedBy: EndedBy): Outcome {
      // Text is only needed where the vendor's own figures are missing.
      if (usage === undefined || usage === 'invalid' || failed || endedBy !== 'done') readUnread()
      return { endedBy, usage, usageJson, text, textOmitted, failed }
    },
  }
}

/** Whether a text may have an event with usage or an error. */
function mayReport(text: string): boolean {
  return text.includes('"error"') || reportsUsage(text)
}

/** Most vendors say `"usage":null` on every event. */
function reportsUsage(text: string): boolean {
  for (let at = text.indexOf('"usage"'); at !== -1; at = text.indexOf('"usage"', at + 7)) {
    if (!text.startsWith(':null', at + 7) && !/^\s*:\s*null/.test(text.slice(at + 7, at + 23))) return true
  }
  return false
}

/** Puts the gateway's model id in the place of the vendor's, which it learns from the first event that names one. */
function createRename(id: string): (text: string) => string {
  const wanted = `"model":${JSON.stringify(id)}`
  let from: string | undefined
  return (text) => {
    // Inside a JSON string its quotes are escaped, so this can only be a key.
    from ??= /"model"\s*:\s*"(?:[^"\\]|\\.)+"/.exec(text)?.[0]
    return from === undefined || from === wanted ? text : text.replaceAll(from, wanted)
  }
}

function isJson(data: string | undefined): boolean {
  try {
    return data !== undefined && typeof JSON.parse(data) === 'object'
  } catch {
    return false
  }
}
