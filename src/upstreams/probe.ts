// Tries one upstream with a call that costs nothing, and says what is wrong in the words of its operator. It must never ask
// for anything that a vendor bills, nor be asked by a caller.

import type { Call } from '../contract/family'
import type { Upstream, UpstreamKind } from '../contract/upstream'
import { NotConnected } from '../http-client/transport'
import { CancelToken } from '../lib/cancel-token'
import { lineOf } from '../lib/error-line'
import { GatewayError } from '../lib/errors'
import type { System } from '../lib/system'
import { baseUrlOf } from './connection'
import type { UpstreamConfig } from './settings'

/** The finding of one try, as commands and the admin API show it. */
export interface Probed {
  upstream: string
  kind: string
  /** `reached`: it answered, but that does not prove that the key is good. */
  state: 'ready' | 'reached' | 'failed'
  duration_ms: number
  /** Path and host that were asked. */
  address: string
  reason: string | null
  advice: string | null
}

const TIMEOUT_MS = 20_000
const LIST: Call = { method: 'GET', path: '/models', protocol: 'openai', body: null, stream: false }
/** Longest part of a vendor's words that is shown, in characters. */
const MOST_SHOWN = 200

export async function probeUpstream(
  { upstream, kind, entry }: { upstream: Upstream; kind: UpstreamKind; entry: UpstreamConfig },
  { after, monotonic }: Pick<System, 'after' | 'monotonic'>,
): Promise<Probed> {
  const call = upstream.adapt(kind.probe ?? LIST, '')
  const { origin, pathname } = new URL(baseUrlOf(kind, entry))
  const address = `${origin}${pathname.replace(/\/$/, '')}${kind.prefix[call.protocol]}${call.path}`
  const startedAt = monotonic()
  const token = new CancelToken()
  const cancel = after(TIMEOUT_MS, () => token.abort())
  const found = await ask(upstream, call, token).catch((error) =>
    token.aborted
      ? failed(
          `There was no answer within ${TIMEOUT_MS / 1000} seconds.`,
          'Try again; a proxy or a firewall may hold it up.',
        )
      : judge(error, kind),
  )
  cancel()
  const durationMs = Math.round(monotonic() - startedAt)
  return { upstream: upstream.name, kind: kind.kind, duration_ms: durationMs, address, ...found }
}

type Finding = Pick<Probed, 'state' | 'reason' | 'advice'>

async function ask(upstream: Upstream, call: Call, { signal }: CancelToken): Promise<Finding> {
  const { body } = call
  const text = body && 'json' in body ? JSON.stringify(body.json) : null
  const { response, done } = await upstream.send(call, text, signal, 'operator')
  response.body.cancel()
  done()
  return { state: 'ready', reason: null, advice: null }
}

function judge(error: unknown, kind: UpstreamKind): Finding {
  if (!(error instanceof GatewayError)) return failed(`${lineOf(error)}.`, null)
  const { status, message } = error.operatorRefusal ?? {}
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

function failed(reason: string, advice: string | null): Finding {
  return { state: 'failed', reason, advice }
}

function reached(reason: string): Finding {
  return { state: 'reached', reason, advice: null }
}
