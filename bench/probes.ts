// Sends the smallest request at a steady rate, whether the last answer has arrived or not: the time of each answer shows how long
// the event loop of the server was busy, including the network and this machine. It must never wait for one answer before it sends
// the next request.
import { createConnection, type Socket } from 'node:net'
import type { LagJob, LagReport, Probe } from './load-job'
import { processorWaitMs } from './process-meter'
import { runSteady } from './steady-rate'

const END_OF_HEAD = '\r\n\r\n'
/** Maximum wait for an answer; an unanswered probe counts with this time. */
const DEADLINE_MS = 20_000

/** Probes next to chat requests at a steady rate. */
export async function runLag(job: LagJob): Promise<LagReport> {
  const [probes, chat] = await Promise.all([runProbes(job), runSteady({ ...job, kind: 'steady' })])
  return { probes, chatLatenciesMs: chat.latenciesMs, errors: chat.errors, faults: chat.faults }
}

async function runProbes({ port, pid, probesPerSecond, durationMs }: LagJob): Promise<Probe[]> {
  const probes: Probe[] = []
  const free: Prober[] = []
  const waiting: Promise<void>[] = []
  const startedAt = performance.now()
  const count = Math.round((durationMs * probesPerSecond) / 1000)
  for (let index = 0; index < count; index++) {
    const waitMs = startedAt + (index * 1000) / probesPerSecond - performance.now()
    if (waitMs > 0) await Bun.sleep(waitMs)
    const prober = free.pop() ?? (await Prober.connect(port))
    const [theirs, ours] = [processorWaitMs(pid), processorWaitMs(process.pid)]
    waiting.push(
      prober.ask().then((tookMs) => {
        const waitedMs = Math.max(processorWaitMs(pid) - theirs, processorWaitMs(process.pid) - ours)
        probes.push({ tookMs, waitedMs })
        free.push(prober)
      }),
    )
  }
  await Promise.all(waiting)
  for (const prober of free) prober.close()
  return probes
}

class Prober {
  private answered: () => void = () => {}
  private readonly request: Buffer

  private constructor(
    private readonly socket: Socket,
    port: number,
  ) {
    this.request = Buffer.from(`HEAD / HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`)
    let text = ''
    socket.on('data', (piece) => {
      text += piece.toString('latin1')
      if (!text.endsWith(END_OF_HEAD)) return
      text = ''
      this.answered()
    })
    socket.on('error', () => {})
  }

  /** Connects to a server. The kernel accepts the connection, so this does not wait for the server. */
  static connect(port: number): Promise<Prober> {
    return new Promise((resolve, reject) => {
      const socket = createConnection({ host: '127.0.0.1', port, noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => resolve(new Prober(socket, port)))
    })
  }

  async ask(): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.answered = resolve
    const deadline = setTimeout(resolve, DEADLINE_MS)
    const sentAt = performance.now()
    this.socket.write(this.request)
    await promise
    clearTimeout(deadline)
    return performance.now() - sentAt
  }

  close(): void {
    this.socket.destroy()
  }
}
