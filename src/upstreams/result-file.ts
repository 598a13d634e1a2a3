// Fetches a result at a URL in a vendor's reply, such as audio or a picture, over a separate connection. It must only ever reach
// hosts of that vendor, never follow a redirect, and send the vendor's key only to the address of its API, and only if the kind
// says that files there need it.

import type { FetchFile, UpstreamKind } from '../contract/upstream'
import { HttpBody, HttpResponse } from '../http-client/response'
import type { CancelSignal } from '../lib/cancel-token'
import { GatewayError } from '../lib/errors'
import { baseUrlOf, type UpstreamWorld } from './connection'
import { keysOfUpstream } from './secrets'
import type { UpstreamConfig } from './settings'

export function createFetchFile(
  name: string,
  kind: UpstreamKind,
  config: UpstreamConfig,
  world: UpstreamWorld,
): FetchFile {
  const { host: ownHost, origin: ownOrigin } = new URL(baseUrlOf(kind, config))
  const [secret] = kind.keyOpensFiles ? (keysOfUpstream(kind, config) ?? []) : []
  const proof = secret ? kind.headers(secret, 'native') : {}
  const hosts = [...kind.fileHosts, ...(config.fileHosts ?? [])]

  const proxied = config.proxy === undefined ? {} : { proxy: config.proxy }

  return async (text, signal, part) => {
    const url = parse(text)
    if (!url || !isAllowed(url, ownHost, hosts)) {
      world.log('upstream_file_refused', { upstream: name, host: url?.host.slice(0, 255) ?? null })
      throw new GatewayError(502, {
        code: 'upstream_file_refused',
        message: `The upstream ${name} names a file on a host that is not its own. The operator can allow the host in \`fileHosts\`.`,
      })
    }
    const response = await fetchOnce(url, signal, part)
    if (response.ok || (part && response.status === 416)) return response
    response.body.cancel()
    throw unavailable(`HTTP ${response.status}`)
  }

  async function fetchOnce(url: URL, signal: CancelSignal, part = {}): Promise<HttpResponse> {
    const origin = world.transport.open(url.href, proxied)
    try {
      return await origin.send({
        method: 'GET',
        path: url.pathname + url.search,
        headers: {
          ...(url.origin === ownOrigin && proof),
          ...part,
          'accept-encoding': 'identity',
          'user-agent': 'unified-model-gateway',
        },
        body: null,
        signal,
      })
    } catch (error) {
      if (signal.aborted) throw signal.reason
      throw unavailable('no connection', error)
    } finally {
      // The connection ends with the file.
      origin.close()
    }
  }

  function unavailable(why: string, cause?: unknown): GatewayError {
    return new GatewayError(502, {
      code: 'upstream_file_unavailable',
      message: `The upstream ${name} made a result but did not deliver it (${why}). Try again.`,
      cause,
    })
  }
}

/** A file in memory, in the form of a fetched one. */
export function fileOf(bytes: Uint8Array, contentType: string): HttpResponse {
  const body = new HttpBody({ pause() {}, resume() {}, cancel() {} })
  body.push(bytes)
  body.end()
  return new HttpResponse(
    { status: 200, get: (name) => (name === 'content-type' ? contentType : null) },
    body,
  )
}

function parse(text: string): URL | undefined {
  const url = URL.parse(text)
  return url && (url.protocol === 'https:' || url.protocol === 'http:') && !url.username && !url.password
    ? url
    : undefined
}

/**
 * Whether a file's host is allowed: the host of the connection, or a listed one, by name or as `.example.com` with all hosts below
 * it. A listed host is reached only at the default ports, unless it is listed with another one.
 */
function isAllowed(url: URL, ownHost: string, hosts: readonly string[]): boolean {
  if (url.host === ownHost) return true
  return hosts.some((host) =>
    host.startsWith('.') ? url.port === '' && url.hostname.endsWith(host) : url.host === host,
  )
}
