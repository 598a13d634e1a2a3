// Notifies systemd which process serves and that it is ready, if a systemd unit waits for that (`Type=notify`). It calls the C
// library, because neither Bun nor Node.js sends datagrams to unix sockets. A failure must never stop the gateway.

import { dlopen, FFIType, ptr } from 'bun:ffi'
import { lineOf } from '../../src/lib/error-line'
import { say } from '../view/output'
import { C_LIBRARIES } from './sockets'

/** Constants of Linux, equal on x64 and arm64. */
const AF_UNIX = 1
const [SOCK_DGRAM, SOCK_CLOEXEC] = [2, 0o2000000]
const MSG_NOSIGNAL = 0x4000
/** The length of `sun_path`. */
const MAX_PATH_BYTES = 108
/** Buffers of this size stay in place: Bun keeps small arrays elsewhere, and moves them later. */
const BUFFER_BYTES = 256

/** Sends a state such as `READY=1`, if systemd started this process and expects it (`NOTIFY_SOCKET`). */
export function notifySystemd(state: string): void {
  const { NOTIFY_SOCKET: path } = process.env
  if (!path || process.platform !== 'linux') return
  try {
    send(path, state)
  } catch (error) {
    say(`systemd was not sent "${state.replaceAll('\n', ' ')}": ${lineOf(error)}.`)
  }
}

function send(path: string, state: string): void {
  const c = openLibrary()
  // `struct sockaddr_un`. A path that begins with @ is an abstract one, which begins with a zero byte.
  const name = Buffer.from(path.replace(/^@/, '\0'))
  if (name.length > MAX_PATH_BYTES) throw new Error('the path of NOTIFY_SOCKET is too long')
  const address = Buffer.alloc(BUFFER_BYTES)
  address.writeUInt16LE(AF_UNIX)
  name.copy(address, 2)
  const message = Buffer.alloc(BUFFER_BYTES)
  const length = message.write(state)
  const descriptor = c.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)
  if (descriptor === -1) throw new Error('no socket can be opened')
  const sent = c.sendto(descriptor, ptr(message), length, MSG_NOSIGNAL, ptr(address), 2 + name.length)
  c.close(descriptor)
  if (Number(sent) !== length) throw new Error(`nothing takes messages at ${path}`)
}

function openLibrary() {
  const { i32, i64, u64, ptr: pointer } = FFIType
  for (const library of C_LIBRARIES) {
    try {
      return dlopen(library, {
        socket: { args: [i32, i32, i32], returns: i32 },
        sendto: { args: [i32, pointer, u64, i32, pointer, i32], returns: i64 },
        close: { args: [i32], returns: i32 },
      }).symbols
    } catch {
      // Another C library is tried next.
    }
  }
  throw new Error('no C library was found')
}
