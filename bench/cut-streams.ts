// The part of the load generator that cuts streams: opens streams and cuts each after a few frames, like users who close a tab. It
// records when each was cut; the mock vendor records when its connection closed. It must never wait for a stream's regular end.
import type { Socket } from 'bun'
import { HttpReader, type HttpSink } from './http-reader'
import { CUT_MARK, type CutJob, type CutReport, cutMark, encodeRequest } from './load-job'

const MAX_FAULTS = 5
/** Streams are cut after different numbers of bytes, so that cuts happen at all stages of a proxy's work. */
const MIN_BODY_BYTES = 400
const BODY_BYTES_STEP = 350
const STEPS = 5
const STREAM_DEADLINE_MS = 10_000

class CutConnection implements HttpSink {
  /** Resolves when enough has arrived, or rejects. */
  readonly arrival = Promise.withResolvers<void>()
  private readonly reader = new HttpReader(this)
  private readonly wantedBytes: number
  private bodyBytes = 0

  constructor(wantedBytes: number) {
    this.wantedBytes = wantedBytes
    // It may fail before anybody waits for it, which is not an error of this process.
    this.arrival.promise.catch(() => {})
  }

  async open(port: number, request: Buffer): Promise<Socket<undefined>> {
    return await Bun.connect<undefined>({
      hostname: '127.0.0.1',
      port,
      socket: {
        open: (socket) => {
          socket.write(request)
        },
        data: (_socket, bytes) => this.reader.push(bytes),
        close: () => this.fail('closed by the server'),
        error: () => this.fail('connection broken'),
      },
    })
  }

  head(text: string): void {
    const status = text.slice(9, 12)
    if (status !== '200') this.fail(`status ${status}`)
  }

  body(bytes: Buffer): void {
    this.bodyBytes += bytes.length
    if (this.bodyBytes >= this.wantedBytes) this.arrival.resolve()
  }

  end(): void {
    this.fail('the stream ended before it was cut')
  }

  fail(fault: string): void {
    this.arrival.reject(new Error(fault))
  }
}

/** Resolves with the time of the cut; throws if the stream ended before. */
async function cutOne(job: CutJob, template: Buffer, index: number): Promise<number> {
  const request = Buffer.from(template)
  request.write(cutMark(index), template.indexOf(CUT_MARK))
  const connection = new CutConnection(MIN_BODY_BYTES + (index % STEPS) * BODY_BYTES_STEP)
  const deadline = setTimeout(() => connection.fail('no frames in time'), STREAM_DEADLINE_MS)
  let socket: Socket<undefined> | undefined
  try {
    socket = await connection.open(job.port, request)
    await connection.arrival.promise
    return performance.timeOrigin + performance.now()
  } finally {
    clearTimeout(deadline)
    socket?.terminate()
  }
}

export async function runCuts(job: CutJob): Promise<CutReport> {
  const template = encodeRequest(job)
  const report: CutReport = { cuts: [], errors: 0, faults: [] }
  let next = 0
  const lane = async () => {
    while (next < job.streams) {
      const index = next++
      try {
        report.cuts.push([cutMark(index), await cutOne(job, template, index)])
      } catch (error) {
        report.errors += 1
        if (report.faults.length < MAX_FAULTS) report.faults.push(String(error))
      }
    }
  }
  await Promise.all(Array.from({ length: job.atOnce }, lane))
  return report
}
