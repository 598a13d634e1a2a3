// The sockets of this process, for the guard of connections. It calls the C library, because neither Bun nor Node.js
// reports which descriptors belong to callers. It must never touch a descriptor that is not a caller. Linux only;
// elsewhere there is no guard, and connection timeouts are the only limit.

import { dlopen, FFIType, ptr } from 'bun:ffi'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { endianness } from 'node:os'
import type { Caller, Sockets } from '../../src/listen/connection-guard'

/** Names of the C library on Linux. */
export const C_LIBRARIES = ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1']
const DESCRIPTORS = '/proc/self/fd'
const LIMITS = '/proc/self/limits'
/** Constants of Linux, equal on x64 and arm64. */
const [AF_UNIX, AF_INET, AF_INET6] = [1, 2, 10]
const [SOCK_STREAM, SOCK_CLOEXEC] = [1, 0o2000000]
const [IPPROTO_TCP, TCP_INFO] = [6, 11]
const F_GETFD = 1
const [SOL_SOCKET, SO_ACCEPTCONN, SO_ATTACH_REUSEPORT_CBPF] = [1, 30, 51]
/** A program of one instruction (`BPF_RET | BPF_K`) that chooses the second socket of a port: the later one. */
const [BPF_RETURN, NEWEST] = [6, 1]
const SHUT_RDWR = 2
/** Offsets of `tcpi_bytes_received` and `tcpi_data_segs_out` in `struct tcp_info`, which only grows at its end. */
const BYTES_RECEIVED = 128
const DATA_SEGMENTS_SENT = 156
const TCP_INFO_BYTES = 160

/**
 * The sockets except for a passed one, which stays open; undefined outside Linux, if /proc is not mounted, or if the C library is
 * not found.
 */
export function openSockets(passed?: number): Sockets | undefined {
  if (process.platform !== 'linux' || endianness() !== 'LE') return undefined
  const limit = descriptorLimit()
  const c = limit === undefined ? undefined : openLibrary()
  if (limit === undefined || !c) return undefined

  const { view, length, viewAt, lengthAt, ask, port, isAt, listenersAt } = openNames(c)
  const inform = ({ descriptor }: Caller): boolean => {
    length[0] = view.byteLength
    const found = c.getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, viewAt, lengthAt) === 0
    return found && (length[0] ?? 0) >= TCP_INFO_BYTES
  }

  return {
    limit,
    open: countDescriptors,
    callers(listening, from, to) {
      const callers: Caller[] = []
      let open = 0
      for (let descriptor = from; descriptor < to; descriptor++) {
        if (c.fcntl(descriptor, F_GETFD) === -1) continue
        open++
        if (!ask('getsockname', descriptor) || port() !== listening || !ask('getpeername', descriptor))
          continue
        const address = addressOf(view)
        if (address !== undefined) callers.push({ descriptor, address, port: port() })
      }
      return { callers, open }
    },
    isSilent(caller) {
      const isSame = ask('getpeername', caller.descriptor) && port() === caller.port
      return isSame && inform(caller) && view.getBigUint64(BYTES_RECEIVED, true) === 0n
    },
    isAnswered(caller) {
      return !inform(caller) || view.getUint32(DATA_SEGMENTS_SENT, true) > 0
    },
    end({ descriptor }) {
      c.shutdown(descriptor, SHUT_RDWR)
    },
    steer(listening) {
      const instruction = new DataView(new ArrayBuffer(256))
      instruction.setUint16(0, BPF_RETURN, true)
      instruction.setUint32(4, NEWEST, true)
      // `struct sock_fprog`: the number of instructions, and where they are.
      const program = new DataView(new ArrayBuffer(256))
      program.setUint16(0, 1, true)
      program.setBigUint64(8, BigInt(ptr(instruction)), true)
      const [descriptor] = listenersAt(listening)
      if (descriptor === undefined) return false
      return c.setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, ptr(program), 16) === 0
    },
    listeners: (place) => listenersAt(place).filter((listener) => listener !== passed),
    stopListening(listeners) {
      const idle = c.socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)
      // Bun closes each number again, later: until then it belongs to an unreachable socket.
      const closed = listeners.filter((listener) => c.dup3(idle, listener, SOCK_CLOEXEC) === listener)
      if (idle >= 0) c.close(idle)
      return closed.length > 0
    },
    hasCallers: (place) => descriptors().some((each) => isAt(each, place) && ask('getpeername', each)),
  }
}

/** Asks the system for the names of sockets. */
function openNames(c: Library) {
  // Large buffers that stay in place: Bun keeps small arrays elsewhere, and moves them later.
  const view = new DataView(new ArrayBuffer(256))
  const length = new Uint32Array(new ArrayBuffer(4))
  const [viewAt, lengthAt] = [ptr(view), ptr(length)]
  const ask = (name: 'getpeername' | 'getsockname', descriptor: number): boolean => {
    length[0] = view.byteLength
    return c[name](descriptor, viewAt, lengthAt) === 0
  }
  // Both address families have the port at the same offset, in network byte order.
  const port = () => view.getUint16(2)
  const isAt = (descriptor: number, place: number | string): boolean => {
    if (!ask('getsockname', descriptor)) return false
    if (typeof place === 'string') return pathOf(view, length[0] ?? 0) === place
    return isOfNetwork(view) && port() === place
  }
  const listenersAt = (place: number | string): number[] =>
    descriptors().filter((each) => {
      length[0] = 4
      if (c.getsockopt(each, SOL_SOCKET, SO_ACCEPTCONN, viewAt, lengthAt) !== 0) return false
      return view.getUint32(0, true) === 1 && isAt(each, place)
    })
  return { view, length, viewAt, lengthAt, ask, port, isAt, listenersAt }
}

type Library = NonNullable<ReturnType<typeof openLibrary>>

function openLibrary() {
  const { i32, ptr: pointer } = FFIType
  for (const library of C_LIBRARIES) {
    try {
      return dlopen(library, {
        fcntl: { args: [i32, i32], returns: i32 },
        socket: { args: [i32, i32, i32], returns: i32 },
        dup3: { args: [i32, i32, i32], returns: i32 },
        close: { args: [i32], returns: i32 },
        getsockname: { args: [i32, pointer, pointer], returns: i32 },
        getpeername: { args: [i32, pointer, pointer], returns: i32 },
        getsockopt: { args: [i32, i32, i32, pointer, pointer], returns: i32 },
        setsockopt: { args: [i32, i32, i32, pointer, i32], returns: i32 },
        shutdown: { args: [i32, i32], returns: i32 },
      }).symbols
    } catch {
      // Another C library is tried next.
    }
  }
  return undefined
}

/** The numbers of all open descriptors. */
function descriptors(): number[] {
  return readdirSync(DESCRIPTORS).map(Number)
}

/**
 * The soft limit of descriptors, which Bun has raised to the hard one; undefined outside Linux, and if /proc is not mounted.
 */
export function descriptorLimit(): number | undefined {
  if (!existsSync(LIMITS)) return undefined
  const limits = readFileSync(LIMITS, 'utf8')
  const soft = /^Max open files +(\S+)/m.exec(limits)?.[1]
  if (soft === undefined) return undefined
  return soft === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(soft)
}

/**
 * The number of open descriptors. Linux 6.2 and later give it as the size of the folder; before that its entries are
 * counted.
 */
function countDescriptors(): number {
  const { size } = statSync(DESCRIPTORS)
  // One entry is the folder itself, which is open while it is read.
  return size > 0 ? size : readdirSync(DESCRIPTORS).length - 1
}

function isOfNetwork(view: DataView): boolean {
  return [AF_INET, AF_INET6].includes(view.getUint16(0, true))
}

/** The path of a unix socket, from an address of this length in bytes; undefined for a socket without a path. */
function pathOf(view: DataView, bytes: number): string | undefined {
  if (view.getUint16(0, true) !== AF_UNIX || bytes <= 2) return undefined
  return Buffer.from(view.buffer, 2, bytes - 2)
    .toString()
    .replace(/\0.*$/s, '')
}

function addressOf(view: DataView): string | undefined {
  const family = view.getUint16(0, true)
  if (family === AF_INET) return [4, 5, 6, 7].map((at) => view.getUint8(at)).join('.')
  if (family !== AF_INET6) return undefined
  return [8, 10, 12, 14, 16, 18, 20, 22].map((at) => view.getUint16(at).toString(16)).join(':')
}
