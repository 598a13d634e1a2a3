// A vendor on plain sockets that accepts multipart forms at its own pace, over HTTP or HTTPS: it can delay them, read them slowly,
// or answer before it has read them.

import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'

export interface FormVendor {
  url: string
  /** The number of connections with a request. */
  requests: number
  /** The sizes of the bodies read to their end, in bytes. */
  bodies: number[]
  /** Until then only the headers are read. */
  letGo(): void
  stop(): void
}

interface FormVendorOptions {
  secure?: boolean
  /** Waits for `letGo`. */
  held?: boolean
  /** After each piece. */
  pauseMs?: number
  /** `early`: answers as soon as the headers have arrived, and reads nothing more. */
  answers?: 'early' | 'when it has read all'
  status: number
  json: unknown
}

const FOLDER = join(import.meta.dir, '../../fixtures/tls')
/** A certificate for localhost and 127.0.0.1, made for tests; trusted by nobody. */
export const CERTIFICATE_FILE = join(FOLDER, 'certificate.pem')
const KEY_FILE = join(FOLDER, 'key.pem')

export async function startFormVendor(options: FormVendorOptions): Promise<FormVendor> {
  const gate = Promise.withResolvers<void>()
  if (!options.held) gate.resolve()
  const sockets = new Set<Socket>()
  const onSocket = (socket: Socket) => {
    sockets.add(socket)
    // Disconnecting is the subject of some tests.
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    serve(socket, vendor, options, gate.promise)
  }
  const server = options.secure
    ? createTlsServer({ cert: readFileSync(CERTIFICATE_FILE), key: readFileSync(KEY_FILE) }, onSocket)
    : createServer(onSocket)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const vendor: FormVendor = {
    url: `${options.secure ? 'https' : 'http'}://127.0.0.1:${port}`,
    requests: 0,
    bodies: [],
    letGo: gate.resolve,
    stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
  return vendor
}

/** One request on one connection. */
function serve(socket: Socket, vendor: FormVendor, options: FormVendorOptions, gate: Promise<void>): void {
  const { pauseMs = 0, answers = 'when it has read all', status, json } = options
  const text = JSON.stringify(json)
  const answer = `HTTP/1.1 ${status} Some Reason\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`
  let head = ''
  let wanted: number | undefined
  let got = 0
  const takeHead = (piece: Buffer): boolean => {
    head += piece.toString('latin1')
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) return false
    wanted = Number(/^content-length: (\d+)/im.exec(head.slice(0, end))?.[1])
    got = head.length - end - 4
    vendor.requests++
    return true
  }
  socket.on('data', (piece: Buffer) => {
    if (wanted !== undefined) got += piece.length
    else if (!takeHead(piece)) return
    socket.pause()
    if (answers === 'early') {
      socket.write(answer)
    } else if (got >= (wanted ?? 0)) {
      vendor.bodies.push(got)
      socket.end(answer)
    } else {
      void gate.then(() => (pauseMs > 0 ? setTimeout(() => socket.resume(), pauseMs) : socket.resume()))
    }
  })
}
