// Opens a tunnel through a proxy (RFC 9110, section 9.3.6). It must never mistake bytes that arrive before the tunnel exists for
// the server's, or send the proxy more than the address to connect to.

import type { Socket } from 'bun'
import { authorizationLine, type HttpProxy, PROXY_REFUSED } from './proxy'
import { NotConnected } from './transport'

/** Maximum length of the head of a proxy's answer, in bytes. */
const MAX_HEAD_BYTES = 16_384
const HEAD_END = '\r\n\r\n'

/** Events of a tunnel. One of the last two happens, only once. */
interface TunnelEvents {
  connected(socket: Socket<undefined>): void
  opened(socket: Socket<undefined>): void
  failed(error: NotConnected): void
}

/** Asks a proxy for a tunnel to `authority`, such as `api.example.com:443`. The caller sets the deadline. */
export async function openTunnel(proxy: HttpProxy, authority: string, events: TunnelEvents): Promise<void> {
  const answer = new TunnelAnswer(events)
  const head = `CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${authorizationLine(proxy)}\r\n`
  await Bun.connect<undefined>({
    hostname: proxy.hostname,
    port: proxy.port,
    socket: {
      open(socket) {
        events.connected(socket)
        socket.write(head)
      },
      data: (socket, bytes) => answer.push(socket, bytes),
      close: () => answer.fail('the proxy closed the connection', 'ECONNRESET'),
      error: (_socket, error) => answer.fail(String(error), 'ECONNRESET'),
    },
  })
}

/** The answer of a proxy, which arrives before the tunnel exists. */
class TunnelAnswer {
  private readonly events: TunnelEvents
  private head = ''
  /** True from the first end on. Later bytes are the server's, and read by TLS. */
  private isOver = false

  constructor(events: TunnelEvents) {
    this.events = events
  }

  push(socket: Socket<undefined>, bytes: Buffer): void {
    if (this.isOver) return
    this.head += bytes.toString('latin1')
    const fault = faultIn(this.head)
    if (fault !== undefined) this.fail(fault, PROXY_REFUSED)
    else if (this.head.endsWith(HEAD_END)) {
      this.isOver = true
      this.events.opened(socket)
    }
  }

  fail(message: string, code: string): void {
    if (this.isOver) return
    this.isOver = true
    this.events.failed(new NotConnected(message, code))
  }
}

/** The reason why an answer opens no tunnel; undefined while it can still open one. */
function faultIn(answer: string): string | undefined {
  const isHttp = answer.slice(0, START.length) === START.slice(0, answer.length)
  const end = answer.indexOf(HEAD_END)
  if (end === -1) return isHttp && answer.length <= MAX_HEAD_BYTES ? undefined : NO_HTTP
  const [, status] = /^HTTP\/1\.[01] (\d{3})[ \r]/.exec(answer) ?? []
  if (status === undefined) return NO_HTTP
  if (!status.startsWith('2')) return proxyRefusal(status)
  // A server with TLS says nothing before the client does, so anything after the answer is not the server's.
  return answer.length > end + HEAD_END.length ? 'the proxy sent more than its answer' : undefined
}

const START = 'HTTP/1.'
const NO_HTTP = 'the proxy answered with something other than HTTP'

/** The reason in words for a proxy that answers with this status. */
export function proxyRefusal(status: string): string {
  return status === '407'
    ? 'the proxy needs a user and a password, or refuses those it was given (407)'
    : `the proxy refused to connect (${status})`
}
