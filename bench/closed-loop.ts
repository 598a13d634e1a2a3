// The load generator's main work: N keep-alive connections on raw sockets, each sending its next request when the last reply is
// complete and checked. It must never skip a check, and never spend more on one than a comparison of bytes: the first correct reply
// is read in full and becomes the pattern for all others.
import type { Socket } from 'bun'
import { HttpReader, type HttpSink } from './http-reader'
import { encodeRequest, type LoopJob, type LoopReport } from './load-job'
import {
  checkMessages,
  checkResponse,
  checkStream,
  checkWhole,
  checkWholeResponse,
  type Verdict,
} from './reply-check'
import { Samples } from './statistics'

const MAX_FAULTS = 5
const CONNECTING_AT_ONCE = 64
/** How long replies may still arrive after the end of the time. */
const GRACE_MS = 20_000

export class Loop {
  readonly request: Buffer
  readonly latencyMs = new Samples()
  readonly job: LoopJob
  replies = 0
  errors = 0
  framesWrong = 0
  faults: string[] = []
  pattern: Buffer | null = null
  startedAt = 0
  endsAt = 0
  lastReplyAt = 0
  private working = 0
  private finished = () => {}

  constructor(job: LoopJob) {
    this.job = job
    this.request = encodeRequest(job)
  }

  /** Takes connected connections, so that connecting is not measured, and leaves them open for another turn. */
  async turn(connections: LoopConnection[]): Promise<void> {
    this.startedAt = performance.now()
    this.endsAt = this.startedAt + this.job.durationMs
    this.working = connections.length
    const done = new Promise<void>((resolve) => {
      this.finished = resolve
    })
    const deadline = setTimeout(() => {
      for (const connection of connections) connection.abandon('no reply in time')
    }, this.job.durationMs + GRACE_MS)
    for (const connection of connections) connection.begin()
    await done
    clearTimeout(deadline)
  }

  /** Replies of all turns, and the duration of the last turn. */
  report(): LoopReport {
    const { replies, errors, framesWrong, faults } = this
    const elapsedMs = this.lastReplyAt - this.startedAt
    return { replies, errors, framesWrong, elapsedMs, latencyMs: this.latencyMs.summary(), faults }
  }

  judge(text: string): Verdict {
    const { path, stream, endsWithDone = false } = this.job
    if (path === '/v1/messages') return checkMessages(text)
    if (path === '/v1/responses') return stream ? checkResponse(text, endsWithDone) : checkWholeResponse(text)
    return stream ? checkStream(text) : checkWhole(text)
  }

  fail(fault: string): void {
    this.errors += 1
    if (this.faults.length < MAX_FAULTS) this.faults.push(fault)
  }

  leave(): void {
    this.working -= 1
    if (this.working === 0) this.finished()
  }
}

export class LoopConnection implements HttpSink {
  private readonly loop: Loop
  private readonly reader = new HttpReader(this)
  private socket: Socket<LoopConnection> | null = null
  private state: 'idle' | 'waiting' | 'left' = 'idle'
  private status = ''
  private sentAt = 0
  private unsent = 0
  private repliesTaken = 0
  /** Bytes of the body that equal the pattern's, and the bytes themselves once one did not. */
  private matched = 0
  private deviating: Buffer[] | null = null

  constructor(loop: Loop) {
    this.loop = loop
  }

  async connect(): Promise<void> {
    await Bun.connect<LoopConnection>({
      hostname: '127.0.0.1',
      port: this.loop.job.port,
      data: this,
      socket: {
        open: (socket) => this.opened(socket),
        data: (_socket, bytes) => this.reader.push(bytes),
        drain: () => this.sendRest(),
        close: () => this.abandon('connection closed by the server'),
        error: () => this.abandon('connection broken'),
      },
    })
  }

  private opened(socket: Socket<LoopConnection>): void {
    socket.setNoDelay(true)
    this.socket = socket
  }

  /** Starts sending, with the next request after each reply. */
  begin(): void {
    this.repliesTaken = 0
    this.start()
  }

  private start(): void {
    if (this.state === 'left') {
      this.loop.fail('connection lost before its first request')
      this.loop.leave()
      return
    }
    this.state = 'waiting'
    this.matched = 0
    this.deviating = null
    this.unsent = this.loop.request.length
    this.sentAt = performance.now()
    this.sendRest()
  }

  private sendRest(): void {
    if (this.unsent === 0) return
    const request = this.loop.request
    const written = this.socket?.write(request, request.length - this.unsent, this.unsent) ?? -1
    if (written < 0) this.abandon('connection closed before the request')
    else this.unsent -= written
  }

  head(text: string): void {
    this.status = text.slice(9, 12)
  }

  body(bytes: Buffer): void {
    const pattern = this.loop.pattern
    if (this.deviating !== null) {
      this.deviating.push(bytes)
      return
    }
    const end = this.matched + bytes.length
    if (
      pattern !== null &&
      end <= pattern.length &&
      pattern.compare(bytes, 0, bytes.length, this.matched, end) === 0
    ) {
      this.matched = end
    } else {
      this.deviating = [pattern?.subarray(0, this.matched) ?? Buffer.alloc(0), bytes]
    }
  }

  end(): void {
    if (this.state !== 'waiting') return
    const now = performance.now()
    this.loop.latencyMs.add(now - this.sentAt)
    this.loop.replies += 1
    this.loop.lastReplyAt = now
    this.repliesTaken += 1
    this.check()
    if (now < this.loop.endsAt && this.repliesTaken < (this.loop.job.repliesPerConnection ?? Infinity))
      this.start()
    else this.rest()
  }

  private rest(): void {
    this.state = 'idle'
    this.loop.leave()
  }

  private check(): void {
    const { loop, deviating } = this
    if (this.status === '200' && deviating === null && this.matched === loop.pattern?.length) return
    const body = deviating === null ? loop.pattern?.subarray(0, this.matched) : Buffer.concat(deviating)
    const text = body?.toString() ?? ''
    const verdict =
      this.status === '200'
        ? loop.judge(text)
        : { framesWrong: 0, fault: `status ${this.status}: ${text.slice(0, 200)}` }
    loop.framesWrong += verdict.framesWrong
    if (verdict.fault !== undefined) loop.fail(verdict.fault)
    // Each response has a different id.
    else if (loop.job.path !== '/v1/responses') loop.pattern ??= body ?? null
  }

  /** Abandons an unfinished request, which counts as an error; the connection takes no further part. */
  abandon(fault: string): void {
    if (this.state === 'waiting') {
      this.loop.fail(fault)
      this.loop.lastReplyAt = performance.now()
    }
    this.leave()
  }

  private leave(): void {
    if (this.state === 'left') return
    const tookPart = this.state === 'waiting'
    this.state = 'left'
    if (tookPart) this.loop.leave()
  }

  close(): void {
    this.state = 'left'
    this.socket?.end()
  }
}

export async function runLoop(job: LoopJob): Promise<LoopReport> {
  const loop = new Loop(job)
  const connections = await openConnections(loop)
  await loop.turn(connections)
  for (const connection of connections) connection.close()
  return loop.report()
}

/** The number of connections that the job requests, open. */
export async function openConnections(loop: Loop): Promise<LoopConnection[]> {
  const connections = Array.from({ length: loop.job.connections }, () => new LoopConnection(loop))
  // A server's queue of unaccepted connections is short; what does not fit is tried again only after a second.
  for (let from = 0; from < connections.length; from += CONNECTING_AT_ONCE) {
    await Promise.all(
      connections.slice(from, from + CONNECTING_AT_ONCE).map((connection) => connection.connect()),
    )
  }
  return connections
}
