// Takes the place of a gateway that serves from the same data directory: this process listens next to it, then the other one
// leaves and ends what it began. Two versions must never work on one database unless both know its schema.

import type { Subprocess } from 'bun'
import type { Server } from '../../src/app/server'
import { verdictOn } from '../../src/db/schema/rules'
import { lineOf } from '../../src/lib/error-line'
import { isCompiled } from '../program'
import { askServer } from './control'
import type { Restarted, Status } from './control-channel'
import { lockDataDir, type ServeLock } from './serve-lock'

/** Maximum time until a process serves, in milliseconds. */
const START_PATIENCE_MS = 60_000
/** Maximum time until a serving process answers commands, in milliseconds. */
const CONTROL_PATIENCE_MS = 10_000
const CHECK_MS = 50
/** The file of the program, recorded at the start: the system reports another name once it is replaced. */
const program = process.execPath
const startedIn = process.cwd()

/** The gateway to replace; undefined if none serves. Fails if the two cannot run side by side. */
export async function findPredecessor(dataDir: string): Promise<Status | undefined> {
  const status = await askServer(dataDir, 'GET /status')
  if (!status) return undefined
  const { version, schemaVersion: schema } = status
  verdictOn({ schema, version }, 'succeed')
  return status
}

/** Makes the other gateway leave, while this one already serves. Returns how to unlock the data directory, as `lockDataDir`. */
export async function succeed(dataDir: string): Promise<() => void> {
  // No answer means that the other one has ended, and the lock with it.
  await askServer(dataDir, 'POST /hand-over')
  return lockDataDir(dataDir)
}

/** Parts of a process that its handover uses. */
interface Leaving {
  server: Pick<Server, 'giveWay' | 'takeBack' | 'handOver'>
  dataDir: string
  lock: ServeLock
  /** The command line of a successor. */
  command: readonly string[]
  /** Opens the control channel again where it was lost to a successor. */
  reopenControl(): void
  /** Runs once this process has left. */
  onLeft(): Promise<void>
}

/**
 * The handover of this process. It leaves when its successor answers commands in its place; if the successor ends before that,
 * nothing changes.
 */
export class Handover {
  private readonly successors: Successors
  /** Resolves to whether this process has left. */
  private departing: Promise<boolean> | undefined
  private readonly left = Promise.withResolvers<void>()

  constructor(private readonly parts: Leaving) {
    this.successors = new Successors(parts.command)
  }

  /** Starts a successor. Resolves when this process has left, or with the reason why it keeps serving. */
  async restart(): Promise<Restarted> {
    const restarted = await this.successors.start(this.left.promise)
    if (!('fault' in restarted) || this.successors.isStarting) return restarted
    const { fault, pid } = restarted
    if (!(await this.departing)) this.goOn()
    // A successor that ended right after its first answer had taken over: this process cannot serve again.
    else if (pid !== undefined) return { pid }
    return { fault }
  }

  /** Makes way for a successor that already serves. Resolves when it may lock the data directory. */
  async handOver(isWaiting: () => boolean): Promise<void> {
    const { server, lock } = this.parts
    this.successors.hasCome = true
    await server.giveWay()
    if (!isWaiting()) return this.goOn()
    lock.release()
    this.departing = this.depart()
  }

  private async depart(): Promise<boolean> {
    const { server, lock, onLeft } = this.parts
    const isReplaced = (await this.isReplaced()) && !this.successors.hasEnded
    // A successor that holds the lock is alive, even if it does not answer.
    if (!isReplaced && lock.take()) {
      this.goOn()
      return false
    }
    await server.handOver()
    await onLeft()
    this.left.resolve()
    return true
  }

  /** Whether commands reach another process, within some time. */
  private async isReplaced(): Promise<boolean> {
    const deadline = performance.now() + CONTROL_PATIENCE_MS
    while (performance.now() < deadline && !this.successors.hasEnded) {
      if (await isAnotherThan(process.pid, this.parts.dataDir)) return true
      await Bun.sleep(CHECK_MS)
    }
    return false
  }

  private goOn(): void {
    this.successors.hasCome = false
    this.parts.server.takeBack()
    this.parts.reopenControl()
  }
}

async function isAnotherThan(pid: number, dataDir: string): Promise<boolean> {
  const status = await askServer(dataDir, 'GET /status').catch(() => undefined)
  return status !== undefined && status.pid !== pid
}

/** The successor, or why it does not serve; `pid` is that of one which was started. */
type Started = { pid: number } | { fault: string; pid?: number }

/** Starts processes that will replace this one, one at a time, each in the way this one was started. */
class Successors {
  isStarting = false
  /** A successor serves, and this process begins to leave. */
  hasCome = false
  /** The one that was started last has ended. */
  hasEnded = false

  constructor(private readonly command: readonly string[]) {}

  /** Starts one. Resolves when this process has left (`left`), or with the reason why it keeps serving. */
  async start(left: Promise<void>): Promise<Started> {
    if (this.isStarting || this.hasCome) return { fault: 'A restart is in progress: wait until it has ended' }
    if (process.pid === 1) {
      return {
        fault:
          'This gateway is the first process of its container, which ends with it: start another container, then stop this one',
      }
    }
    this.isStarting = true
    this.hasEnded = false
    try {
      return await this.startOne(left)
    } finally {
      this.isStarting = false
    }
  }

  private async startOne(left: Promise<void>): Promise<Started> {
    let child: Subprocess
    try {
      child = Bun.spawn([...this.command], {
        cwd: startedIn,
        stdio: ['ignore', 'inherit', 'inherit'],
      })
    } catch (error) {
      return { fault: `${program} cannot be started: ${lineOf(error)}` }
    }
    // It outlives this one.
    child.unref()
    const late = setTimeout(() => {
      if (!this.hasCome) child.kill('SIGKILL')
    }, START_PATIENCE_MS)
    const { pid } = child
    const ended = child.exited.then((code) => {
      this.hasEnded = true
      return {
        pid,
        fault: `The new process ended (${child.signalCode ?? `exit ${code}`}) before it had taken over; the log of the gateway says why`,
      }
    })
    return Promise.race([left.then(() => ({ pid })), ended]).finally(() => clearTimeout(late))
  }
}

/** The command line of this process, with the program that has its file now. */
export function commandOfSuccessor(): string[] {
  const words = process.argv.slice(2)
  const flag = words.includes('--take-over') ? [] : ['--take-over']
  return [program, ...(isCompiled() ? [] : [Bun.main]), ...words, ...flag]
}
