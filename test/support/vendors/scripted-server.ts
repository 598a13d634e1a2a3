// A server on plain sockets that answers each request with bytes chosen by a test, and records what it received.

import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'

export interface Certificate {
  cert: string
  key: string
}

export interface ScriptedServer {
  url: string
  connections: number
  /** The open connections. */
  open(): number
  /** Complete requests as received, with their bodies. */
  requests: string[]
  /** Every received byte, also of incomplete requests. */
  receivedBytes: number
  /** Sends bytes on every open connection, whatever it has received. */
  say(text: string): void
  /** Answers each request from now on. */
  answer: (socket: Socket, request: string) => void
  stop(): void
}

export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

/** Reads requests that have a `content-length` or no body. */
export async function startScriptedServer(options: { secure?: Certificate } = {}): Promise<ScriptedServer> {
  const sockets = new Set<Socket>()
  const onSocket = (socket: Socket) => {
    let text = ''
    scripted.connections++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    socket.on('data', (bytes: Buffer) => {
      scripted.receivedBytes += bytes.length
      text += bytes.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      if (end === -1) return
      const length = Number(/^content-length: (\d+)/im.exec(text.slice(0, end))?.[1] ?? 0)
      if (text.length < end + 4 + length) return
      const request = text
      text = ''
      scripted.requests.push(request)
      scripted.answer(socket, request)
    })
  }
  const server = options.secure ? createTlsServer(options.secure, onSocket) : createServer(onSocket)
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const scripted: ScriptedServer = {
    url: `${options.secure ? 'https' : 'http'}://127.0.0.1:${port}`,
    connections: 0,
    open: () => sockets.size,
    requests: [],
    receivedBytes: 0,
    say(text) {
      for (const socket of sockets) socket.write(text)
    },
    answer: (socket) => void socket.write(OK),
    stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
  return scripted
}
