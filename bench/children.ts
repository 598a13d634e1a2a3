// Starts the processes of a run and makes sure that none outlives it. Each child writes its output to its own file, which is shown
// if the child fails. It must never leave a process behind, also after a failure or ctrl-C.
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cpuMs } from './process-meter'

const STOP_DEADLINE_MS = 10_000
const READY_DEADLINE_MS = 20_000

interface ChildOptions {
  name: string
  command: string[]
  directory: string
  environment?: Record<string, string>
  /** Called for messages: with a handler the child gets a channel, by which it also notices the end of this process. */
  onMessage?: (message: unknown) => void
}

export class Child {
  readonly process: Bun.Subprocess
  private readonly logFile: string
  private readonly name: string

  constructor(options: ChildOptions) {
    this.name = options.name
    this.logFile = join(options.directory, `${options.name}.log`)
    const log = openSync(this.logFile, 'a')
    const { onMessage } = options
    this.process = Bun.spawn(options.command, {
      env: { ...process.env, ...options.environment },
      stdin: 'ignore',
      stdout: log,
      stderr: log,
      ...(onMessage === undefined ? {} : { ipc: (message: unknown) => onMessage(message) }),
    })
    closeSync(log)
    running.add(this)
    void this.process.exited.then(() => running.delete(this))
  }

  get pid(): number {
    return this.process.pid
  }

  get ended(): boolean {
    return this.process.exitCode !== null || this.process.signalCode !== null
  }

  failure(what: string): Error {
    const lines = readFileSync(this.logFile, 'utf8').trimEnd().split('\n').slice(-20)
    return new Error(`${this.name} ${what}\n${lines.join('\n')}`)
  }

  async stop(): Promise<void> {
    if (!this.ended) stoppedCpuMs += cpuMs(this.pid)
    this.process.kill('SIGTERM')
    const force = setTimeout(() => this.process.kill('SIGKILL'), STOP_DEADLINE_MS)
    await this.process.exited
    clearTimeout(force)
  }

  /** Waits until the probe returns true. */
  async ready(
    probe: () => Promise<boolean>,
    { pauseMs = 5, deadlineMs = READY_DEADLINE_MS } = {},
  ): Promise<void> {
    const deadline = performance.now() + deadlineMs
    while (!(await probe().catch(() => false))) {
      if (this.ended) throw this.failure('ended instead of starting')
      if (performance.now() > deadline) throw this.failure('did not start in time')
      await Bun.sleep(pauseMs)
    }
  }
}

const running = new Set<Child>()
let stoppedCpuMs = 0

/** Processor time of all children so far, including stopped ones. */
export function childrenCpuMs(): number {
  const alive = [...running].filter((child) => !child.ended)
  return alive.reduce((sum, child) => sum + cpuMs(child.pid), stoppedCpuMs)
}

export async function stopAll(): Promise<void> {
  await Promise.all([...running].map((child) => child.stop()))
}

/** Kills all children; the last resort when this process itself ends. */
export function killAll(): void {
  for (const child of running) child.process.kill('SIGKILL')
}

/** A port that was free a moment ago. */
export function freePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const port = listener.port
  listener.stop(true)
  return port
}

export async function accepts(port: number): Promise<boolean> {
  const socket = await Bun.connect({ hostname: '127.0.0.1', port, socket: { data() {} } })
  socket.end()
  return true
}
