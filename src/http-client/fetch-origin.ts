// The transport over Bun's fetch, which supports proxies, for machines that reach the internet only through one. Fetch
// is lenient in how it reads responses. It must never use a connection for two requests, or take a response for whole
// whose end looks like a cut.

import { abortSignalOf } from '../lib/cancel-token'
import { ConnectionBroken } from './connection'
import { type Flow, HttpBody, HttpResponse } from './response'
import { type HttpRequest, NotConnected, type OpenOptions, type Origin, type Transport } from './transport'

interface Network {
  fetch(url: string, init: BunFetchRequestInit): Promise<Response>
}

const NO_END = 'the answer does not say where it ends, which cannot be told through a proxy'
/** Error codes of fetch if not a byte was sent. */
const NOT_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'FailedToOpenSocket'])

export function createFetchTransport(network: Network): Transport {
  return { open: (url, options) => openFetchOrigin(url, network, options) }
}

export function openFetchOrigin(address: string, network: Network, options: OpenOptions = {}): Origin {
  const url = new URL(address)
  const pin = options.address === undefined ? undefined : pinTo(url, options.address)
  const origin = pin?.origin ?? url.origin
  const tls = url.protocol === 'https:' ? { ...pin?.tls, ...options.tls } : {}
  const way = {
    ...(Object.keys(tls).length > 0 && { tls }),
    ...(options.proxy && { proxy: options.proxy }),
  }

  async function send({
    method,
    path,
    headers,
    body,
    signal,
    decompress = true,
  }: HttpRequest): Promise<HttpResponse> {
    try {
      const response = await network.fetch(origin + path, {
        method,
        headers: pin ? { ...headers, host: url.host } : headers,
        body: body as NonNullable<BunFetchRequestInit['body']>,
        ...way,
        decompress,
        signal: abortSignalOf(signal),
        redirect: 'manual',
        keepalive: false,
        // The callers have limits of their own; Bun's would cut a model that thinks for longer than five minutes.
        timeout: false,
      })
      return new HttpResponse(
        { status: response.status, get: (name) => response.headers.get(name) },
        bodyOf(response.body, isFramed(response)),
      )
    } catch (error) {
      if (signal.aborted) throw signal.reason
      const { code } = error as { code?: string }
      throw code !== undefined && NOT_CONNECTED.has(code) ? new NotConnected(String(error), code) : error
    }
  }

  return { send, close() {} }
}

interface Pin {
  origin: string
  tls: { serverName?: string }
}

/** Makes fetch connect to an IP address without a look-up; the certificate must still be the host's. */
function pinTo({ protocol, hostname, port }: URL, address: string): Pin {
  const host = address.includes(':') ? `[${address}]` : address
  const serverName = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  return {
    origin: `${protocol}//${host}${port && `:${port}`}`,
    tls: protocol === 'https:' ? { serverName } : {},
  }
}

/** Whether the response states its end: fetch also ends a body when the connection was cut. */
function isFramed({ status, headers }: Response): boolean {
  return status === 204 || status === 304 || headers.has('content-length') || headers.has('transfer-encoding')
}

/** A stream as a body, read while not paused. A body without a stated end is never whole. */
export function bodyOf(stream: ReadableStream<Uint8Array> | null, isFramed = true): HttpBody {
  const reader = stream?.getReader()
  let isPaused = true
  let isReading = false
  const read = async () => {
    isReading = true
    try {
      while (!isPaused) {
        const next = await reader?.read()
        if (!next || next.done) return isFramed ? body.end() : body.fail(new ConnectionBroken(NO_END))
        body.push(next.value)
      }
    } catch (error) {
      body.fail(error)
    } finally {
      isReading = false
    }
  }
  const flow: Flow = {
    pause() {
      isPaused = true
    },
    resume() {
      isPaused = false
      if (!isReading) void read()
    },
    cancel() {
      isPaused = true
      reader?.cancel().catch(() => {})
    },
  }
  const body = new HttpBody(flow)
  flow.resume()
  return body
}
