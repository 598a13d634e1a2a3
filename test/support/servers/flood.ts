// Callers who open many connections, and an honest one next to them who counts what happens to its requests.

import { readFileSync } from 'node:fs'
import { createConnection, type Socket } from 'node:net'

export class Flood {
  readonly sockets: Socket[] = []
  #closed = 0
  #answered = 0

  /** `first` is what each of them sends; `from` is one of the addresses of this machine. */
  constructor(
    readonly url: string,
    readonly first = '',
    readonly from = '127.0.0.1',
  ) {}

  open(count: number): void {
    const { hostname: host, port } = new URL(this.url)
    for (let opened = 0; opened < count; opened++) {
      const socket = createConnection({ host, port: Number(port), localAddress: this.from })
      // Refused and reset, which is what the tests are about.
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#closed++
      })
      socket.once('data', () => {
        this.#answered++
      })
      if (this.first) socket.on('connect', () => socket.write(this.first))
      this.sockets.push(socket)
    }
  }

  /** As many as neither side has closed, those that were refused apart. */
  get alive(): number {
    return this.sockets.length - this.#closed
  }

  get answered(): number {
    return this.#answered
  }

  end(): void {
    for (const socket of this.sockets) socket.destroy()
  }
}

/** Runs `ask` at a steady rate, whether the last one has ended or not, until it is stopped. */
export function askSteadily(everyMs: number, ask: () => Promise<Response>) {
  /** By status, or by the code of the error. */
  const outcomes: Record<string, number> = {}
  let isStopped = false

  async function once(): Promise<void> {
    const outcome = await ask().then(
      async (response) => {
        await response.text()
        return String(response.status)
      },
      (error) => String(error.code ?? error.name),
    )
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  }

  const asking = (async () => {
    const running: Promise<void>[] = []
    while (!isStopped) {
      running.push(once())
      await Bun.sleep(everyMs)
    }
    await Promise.all(running)
  })()
  return {
    outcomes,
    async stop() {
      isStopped = true
      await asking
      return outcomes
    },
  }
}

/** Begins to watch a process; the returned function says whether it has used less than half of a processor since then. */
export function watchCpu(pid: number): () => boolean {
  const startedAt = performance.now()
  const before = cpuMsOf(pid)
  return () => cpuMsOf(pid) - before < (performance.now() - startedAt) / 2
}

/** Processor time that a process has used so far, as Linux counts it. */
function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}
