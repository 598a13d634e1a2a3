// Callers who open many connections, and an honest caller next to them who counts the results of its requests.

import { readFileSync } from 'node:fs'
import { createConnection, type Socket } from 'node:net'

export class Flood {
  readonly sockets: Socket[] = []
  #closed = 0
  #answered = 0

  /** `first` is sent on each connection; `from` is one of the addresses of this machine. */
  constructor(
    readonly url: string,
    readonly first = '',
    readonly from = '127.0.0.1',
  ) {}

  open(count: number): void {
    const { hostname: host, port } = new URL(this.url)
    for (let opened = 0; opened < count; opened++) {
      const socket = createConnection({ host, port: Number(port), localAddress: this.from })
      // Refused and reset connections are the subject of these tests.
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

  /** The connections that neither side has closed, without the refused ones. */
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

/** Runs `ask` at a steady rate until stopped, whether or not the last call has ended. */
export function askSteadily(everyMs: number, ask: () => Promise<Response>) {
  /** Counted by status, or by the code of the error. */
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

/** Begins to measure a process; the returned function reports whether it has since used less than half of a processor. */
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
