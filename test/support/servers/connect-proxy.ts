// A proxy on plain sockets: opens tunnels (CONNECT), forwards requests with whole addresses, and records the heads of requests. A
// test may answer in its place.

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

interface ConnectProxy {
  address: string
  /** Heads of requests to the proxy, without those inside tunnels. */
  heads: string[]
  /** The open connections. */
  open(): number
  /** Answers instead of the proxy; undefined lets the proxy answer. */
  instead: ((socket: Socket) => void) | undefined
  stop(): void
}

export async function startConnectProxy(credentials = ''): Promise<ConnectProxy> {
  const sockets = new Set<Socket>()
  const server = createServer((caller) => {
    sockets.add(caller)
    caller.on('close', () => sockets.delete(caller))
    caller.on('error', () => {})
    let text = ''
    const read = (bytes: Buffer) => {
      text += bytes.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      if (end === -1) return
      caller.off('data', read)
      proxy.heads.push(text.slice(0, end))
      if (proxy.instead) return proxy.instead(caller)
      passOn(caller, text)
    }
    caller.on('data', read)
  })

  function passOn(caller: Socket, text: string): void {
    const [method = '', target = ''] = text.split(' ', 2)
    const isTunnel = method === 'CONNECT'
    const { hostname, port, origin } = new URL(isTunnel ? `http://${target}` : target)
    const far = connect(Number(port || (isTunnel ? 443 : 80)), hostname.replace(/^\[|\]$/g, ''), () => {
      if (isTunnel) caller.write('HTTP/1.1 200 Connection established\r\nvia: a test\r\n\r\n')
      else far.write(text.replace(origin, ''))
      caller.pipe(far).pipe(caller)
    })
    far.on('error', () => caller.destroy())
    caller.on('close', () => far.destroy())
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const proxy: ConnectProxy = {
    address: `http://${credentials && `${credentials}@`}127.0.0.1:${port}`,
    heads: [],
    open: () => sockets.size,
    instead: undefined,
    stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
  return proxy
}
