// Tries one upstream with a call that costs nothing, and says what is wrong in the words of its operator. It must never ask for
// anything that a vendor bills.

import type { Config } from '../../src/config/schema'
import type { Call } from '../../src/contract/family'
import type { UpstreamKind } from '../../src/contract/upstream'
import { NotConnected } from '../../src/http-client/transport'
import { GatewayError } from '../../src/lib/errors'
import { baseUrlOf } from '../../src/upstreams/connection'
import { CommandFailed, lineOf } from './errors'
import { type OpenUpstream, openUpstream, within } from './upstreams'

/** The finding of one try. */
export interface Probed {
  upstream: string
  kind: string
  /** `reached`: it answered, but that does not prove that the key is good. */
  state: 'ready' | 'reached' | 'failed'
  milliseconds: number
  /** Path and host that were asked. */
  address: string
  why: string | null
  advice: string | null
}

const TIMEOUT_MS = 20_000
const LIST: Call = { method: 'GET', path: '/models', protocol: 'openai', body: null, stream: false }
/** Longest part of a vendor's words that is shown, in characters. */
const MOST_SHOWN = 200

export async function probeUpstream(
  config: Config,
  name: string,
  flags: { sandbox?: boolean | undefined },
): Promise<Probed> {
  const open = openUpstream(config, name, flags)
  const { kind, entry, upstream } = open
  const call = upstream.adapt(kind.probe ?? LIST, '')
  const { origin, pathname } = new URL(baseUrlOf(kind, entry))
  const address = `${origin}${pathname.replace(/\/$/, '')}${kind.prefix[call.protocol]}${call.path}`
  const at = performance.now()
  const found = await within(TIMEOUT_MS, async (signal) => {
    const { response, done } = await upstream.send(call, bodyOf(call), signal, 'operator')
    response.body.cancel()
    done()
    return { state: 'ready' as const, why: null, advice: null }
  }).catch((error) => judge(error, open))
  await open.close()
  return {
    upstream: name,
    kind: kind.kind,
    milliseconds: Math.round(performance.now() - at),
    address,
    ...found,
  }
}

function bodyOf({ body }: Call): string | null {
  return body && 'json' in body ? JSON.stringify(body.json) : null
}

type Finding = Pick<Probed, 'state' | 'why' | 'advice'>

function judge(error: unknown, { kind, said }: OpenUpstream): Finding {
  if (error instanceof CommandFailed)
    return failed(error.message, 'Try again; a proxy or a firewall may hold it up.')
  if (!(error instanceof GatewayError)) return failed(`${lineOf(error)}.`, null)
  const { status, message } = said.findLast((note) => note.status !== undefined) ?? {}
  if (error.code === 'upstream_unreachable') return unreachable(error.cause)
  if (status === 404) return reached('It answers, and has no such list: the key is not proved.')
  if (error.status === 429) return reached('It answers that it is asked too often: the key is known.')
  if (status === 401 || status === 403) return failed(words(status, message), adviceForKey(kind))
  if (status !== undefined) return failed(words(status, message), 'See the account at the vendor.')
  if (error.status < 500) return reached(`It answers: ${error.message.slice(0, MOST_SHOWN)}`)
  return failed(error.message.slice(0, MOST_SHOWN), 'The vendor fails; try again later.')
}

function words(status: number, message = ''): string {
  return `HTTP ${status}: ${message.slice(0, MOST_SHOWN)}`
}

function adviceForKey({ secretVariable }: UpstreamKind): string {
  return `Check the key: ${secretVariable}, or apiKey in the configuration.`
}

function unreachable(cause: unknown): Finding {
  const { code, message } = cause instanceof NotConnected ? cause : { code: '', message: lineOf(cause) }
  if (/\bproxy\b/.test(message)) {
    return failed(`${message}.`, 'Check `proxy` of the upstream, else HTTPS_PROXY, HTTP_PROXY and NO_PROXY.')
  }
  if (code === 'ECONNREFUSED')
    return failed('Nothing listens there.', 'Start the server, or correct baseUrl.')
  if (code === 'ETIMEDOUT')
    return failed('No connection in time.', 'Check the network, a firewall, or proxy.')
  if (/ENOTFOUND|DNS|EAI_AGAIN/i.test(code)) {
    return failed('Its host has no address.', 'Check the name in baseUrl, and DNS on this machine.')
  }
  if (/certificate|TLS/i.test(message)) {
    return failed(
      message,
      'For an authority of your own set tls.caFile; a client certificate is tls.certFile.',
    )
  }
  return failed(message, 'Check baseUrl and the network.')
}

function failed(why: string, advice: string | null): Finding {
  return { state: 'failed', why, advice }
}

function reached(why: string): Finding {
  return { state: 'reached', why, advice: null }
}
