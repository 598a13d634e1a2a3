// Reads the resources that a running process has used so far, over all its threads. It must never ask the process itself: the
// baseline and the gateway are both measured by the operating system.
import { dlopen, type Pointer, ptr } from 'bun:ffi'
import { readFileSync } from 'node:fs'

/** Linux shows times to user space in hundredths of a second on every platform that Bun runs on. */
const TICK_MS = 10

export function cpuMs(pid: number): number {
  if (process.platform === 'linux') {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The second field is the command in brackets, which may itself contain spaces; user and system time follow.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS
  }
  return clockMs(ps(pid, 'time'))
}

/**
 * Processor time to the nanosecond, including ended threads; to hundredths of a second if the system lacks the usual library of
 * Linux.
 */
export function fineCpuMs(pid: number): number {
  readClock ??= openClock()
  if (readClock === null) return cpuMs(pid)
  const time = new BigInt64Array(2)
  // The clock of another process, as clock_getcpuclockid(3) numbers it.
  if (readClock(~pid * 8 + 2, ptr(time)) !== 0) throw new Error(`process ${pid} has ended`)
  return Number(time[0]) * 1000 + Number(time[1]) / 1e6
}

type ReadClock = (clock: number, time: Pointer) => number
let readClock: ReadClock | null | undefined

function openClock(): ReadClock | null {
  if (process.platform !== 'linux') return null
  try {
    const { symbols } = dlopen('libc.so.6', { clock_gettime: { args: ['i32', 'ptr'], returns: 'i32' } })
    return symbols.clock_gettime
  } catch {
    return null
  }
}

/**
 * Milliseconds that the main thread was ready to run but waited for a processor; 0 if the system does not report it.
 */
export function processorWaitMs(pid: number): number {
  if (process.platform !== 'linux') return 0
  const [, waitedNanos] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ')
  return Number(waitedNanos) / 1e6
}

export function rssMb(pid: number): number {
  if (process.platform === 'linux') {
    const line = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))
    return Number(line?.[1]) / 1024
  }
  return Number(ps(pid, 'rss')) / 1024
}

function ps(pid: number, column: string): string {
  return Bun.spawnSync(['ps', '-o', `${column}=`, '-p', String(pid)])
    .stdout.toString()
    .trim()
}

/** Milliseconds of `[[days-]hours:]minutes:seconds.hundredths`. */
function clockMs(text: string): number {
  const parts = text.replace('-', ':').split(':').map(Number).reverse()
  const [seconds = Number.NaN, minutes = 0, hours = 0, days = 0] = parts
  return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000
}
