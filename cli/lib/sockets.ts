// The descriptors of this process, for the guard of connections. By the C library: neither Bun nor Node.js tells which
// descriptors are callers. Linux only; elsewhere there is no guard, and the times of connections are the only limit.

import { dlopen, FFIType, ptr } from 'bun:ffi'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { endianness } from 'node:os'
import type { Caller, Sockets } from '../../src/app/connection-guard'

const LIBRARIES = ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1']
const DESCRIPTORS = '/proc/self/fd'
/** Of Linux, the same on x64 and arm64. */
const [AF_INET, AF_INET6] = [2, 10]
const [IPPROTO_TCP, TCP_INFO] = [6, 11]
const F_GETFD = 1
const SHUT_RDWR = 2
/** `tcpi_bytes_received` and `tcpi_data_segs_out` in `struct tcp_info`, which only ever grows at its end. */
const BYTES_RECEIVED = 128
const DATA_SEGMENTS_SENT = 156
const TCP_INFO_BYTES = 160

/** Undefined where this is not Linux, or its C library is not found. */
export function openSockets(): Sockets | undefined {
  if (process.platform !== 'linux' || endianness() !== 'LE') return undefined
  const limit = descriptorLimit()
  const c = limit === undefined ? undefined : openLibrary()
  if (limit === undefined || !c) return undefined

  // With buffers of their own, which stay where they are: Bun keeps small arrays elsewhere, and moves them later.
  const view = new DataView(new ArrayBuffer(256))
  const length = new Uint32Array(new ArrayBuffer(4))
  const [viewAt, lengthAt] = [ptr(view), ptr(length)]
  const ask = (name: 'getpeername' | 'getsockname', descriptor: number): boolean => {
    length[0] = view.byteLength
    return c[name](descriptor, viewAt, lengthAt) === 0
  }
  const inform = ({ descriptor }: Caller): boolean => {
    length[0] = view.byteLength
    const found = c.getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, viewAt, lengthAt) === 0
    return found && (length[0] ?? 0) >= TCP_INFO_BYTES
  }
  // Both families have it at the same place, in the order of the network.
  const port = () => view.getUint16(2)

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
  }
}

function openLibrary() {
  const { i32, ptr: pointer } = FFIType
  for (const library of LIBRARIES) {
    try {
      return dlopen(library, {
        fcntl: { args: [i32, i32], returns: i32 },
        getsockname: { args: [i32, pointer, pointer], returns: i32 },
        getpeername: { args: [i32, pointer, pointer], returns: i32 },
        getsockopt: { args: [i32, i32, i32, pointer, pointer], returns: i32 },
        shutdown: { args: [i32, i32], returns: i32 },
      }).symbols
    } catch {
      // Another C library, perhaps.
    }
  }
  return undefined
}

/** The soft limit, which Bun has raised to the hard one. */
function descriptorLimit(): number | undefined {
  const limits = readFileSync('/proc/self/limits', 'utf8')
  const soft = /^Max open files +(\S+)/m.exec(limits)?.[1]
  if (soft === undefined) return undefined
  return soft === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(soft)
}

/** Linux 6.2 and later tell the number as the size of the folder; before that its entries are counted. */
function countDescriptors(): number {
  const { size } = statSync(DESCRIPTORS)
  // One of the entries is the folder itself, which is open while it is read.
  return size > 0 ? size : readdirSync(DESCRIPTORS).length - 1
}

function addressOf(view: DataView): string | undefined {
  const family = view.getUint16(0, true)
  if (family === AF_INET) return [4, 5, 6, 7].map((at) => view.getUint8(at)).join('.')
  if (family !== AF_INET6) return undefined
  return [8, 10, 12, 14, 16, 18, 20, 22].map((at) => view.getUint16(at).toString(16)).join(':')
}
