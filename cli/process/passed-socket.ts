// The listening socket that systemd has passed to this process: callers wait in it while nobody serves, so that a restart refuses
// none. Bun cannot listen on a socket that it has not opened, so the passed one replaces one that Bun has opened: under its number,
// and in its epoll list. It must never touch another descriptor. Linux only.

import { dlopen, FFIType, ptr } from 'bun:ffi'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { PassedSocket } from '../../src/listen/listening'
import { CommandFailed } from '../lib/errors'
import { C_LIBRARIES } from './sockets'

/** The first descriptor that is passed: https://www.freedesktop.org/software/systemd/man/latest/sd_listen_fds.html. */
const FIRST_PASSED = 3
/** Constants of Linux, equal on x64 and arm64. */
const [AF_INET, AF_INET6] = [2, 10]
const [F_SETFD, F_GETFL, F_SETFL] = [2, 3, 4]
const [FD_CLOEXEC, O_NONBLOCK, O_CLOEXEC] = [1, 0o4000, 0o2000000]
const [SOL_SOCKET, SO_ACCEPTCONN] = [1, 30]
const EPOLL_CTL_ADD = 1

/** The socket that the environment names; undefined if none was passed to this process. Fails if the text is not a TCP port. */
export function takePassedSocket(environment: Record<string, string | undefined>): PassedSocket | undefined {
  const { LISTEN_FDS: count, LISTEN_PID: pid } = environment
  // Processes that this one starts get none of it.
  delete environment.LISTEN_FDS
  delete environment.LISTEN_PID
  delete environment.LISTEN_FDNAMES
  if (count === undefined || Number(pid) !== process.pid) return undefined
  if (count !== '1')
    throw new CommandFailed(`systemd has passed ${count} sockets: name one ListenStream only.`)
  const c = openLibrary()
  if (!c) throw new CommandFailed('The socket that systemd has passed cannot be used: there is no C library.')
  const address = addressOf(c, FIRST_PASSED)
  if (!address)
    throw new CommandFailed(
      'systemd has passed no socket that listens on a port: ListenStream takes 8080 or HOST:8080.',
    )
  c.fcntl(FIRST_PASSED, F_SETFD, FD_CLOEXEC)
  // Otherwise the process would block at the first caller that disconnects before being accepted.
  c.fcntl(FIRST_PASSED, F_SETFL, c.fcntl(FIRST_PASSED, F_GETFL, 0) | O_NONBLOCK)
  return {
    ...address,
    descriptor: FIRST_PASSED,
    replace(listener) {
      const waiting = waitingFor(listener)
      if (!waiting || c.dup3(FIRST_PASSED, listener, O_CLOEXEC) !== listener) return false
      return c.epoll_ctl(waiting.descriptor, EPOLL_CTL_ADD, listener, ptr(waiting.event)) === 0
    },
  }
}

/** Where a socket listens; undefined if it does not listen on a port. */
function addressOf(c: Library, descriptor: number): { hostname: string; port: number } | undefined {
  const view = new DataView(new ArrayBuffer(256))
  const length = new Uint32Array(new ArrayBuffer(4))
  length[0] = 4
  const listens = c.getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, ptr(view), ptr(length)) === 0
  if (!listens || view.getUint32(0, true) !== 1) return undefined
  length[0] = view.byteLength
  if (c.getsockname(descriptor, ptr(view), ptr(length)) !== 0) return undefined
  const [family, port] = [view.getUint16(0, true), view.getUint16(2)]
  if (family === AF_INET) return { hostname: [4, 5, 6, 7].map((at) => view.getUint8(at)).join('.'), port }
  if (family !== AF_INET6) return undefined
  const groups = Array.from({ length: 8 }, (_, index) => view.getUint16(8 + index * 2).toString(16))
  return { hostname: new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1), port }
}

/** The epoll of this process that waits for a descriptor, and the data that it returns. */
function waitingFor(wanted: number): { descriptor: number; event: DataView } | undefined {
  for (const descriptor of readdirSync('/proc/self/fd')) {
    if (!isEpoll(descriptor)) continue
    const lines = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')
    for (const [, target, events, data] of lines.matchAll(
      /^tfd: *(\d+) events: *([0-9a-f]+) data: *([0-9a-f]+)/gm,
    )) {
      if (Number(target) !== wanted) continue
      // `struct epoll_event` has no padding on x64.
      const event = new DataView(new ArrayBuffer(256))
      event.setUint32(0, Number.parseInt(events ?? '', 16), true)
      event.setBigUint64(process.arch === 'x64' ? 4 : 8, BigInt(`0x${data}`), true)
      return { descriptor: Number(descriptor), event }
    }
  }
  return undefined
}

function isEpoll(descriptor: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`) === 'anon_inode:[eventpoll]'
  } catch {
    // The descriptor of the folder itself is closed by now.
    return false
  }
}

type Library = NonNullable<ReturnType<typeof openLibrary>>

function openLibrary() {
  const { i32, ptr: pointer } = FFIType
  for (const library of C_LIBRARIES) {
    try {
      return dlopen(library, {
        fcntl: { args: [i32, i32, i32], returns: i32 },
        dup3: { args: [i32, i32, i32], returns: i32 },
        epoll_ctl: { args: [i32, i32, i32, pointer], returns: i32 },
        getsockname: { args: [i32, pointer, pointer], returns: i32 },
        getsockopt: { args: [i32, i32, i32, pointer, pointer], returns: i32 },
      }).symbols
    } catch {
      // Another C library is tried next.
    }
  }
  return undefined
}
