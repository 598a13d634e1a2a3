// Tests one upstream with a free call, and describes the fault for its operator. It must never request anything that a vendor
// bills, or be triggered by a caller.

import { compatibleCall } from '../contract/call'
import type { Call } from '../contract/family'
import type { ListedModels, Upstream, UpstreamKind } from '../contract/upstream'
import { NotConnected } from '../http-client/transport'
import { CancelToken } from '../lib/cancel-token'
import { lineOf } from '../lib/error-line'
import { GatewayError } from '../lib/errors'
import { parseForeign } from '../lib/json/json'
import type { System } from '../lib/system'
import { baseUrlOf } from './connection'
import type { UpstreamConfig } from './settings'

/** The result of one test, as commands and the admin API show it. */
export interface ProbeResult {
  upstream: string
  kind: string
  /** `reached`: it answered, but that does not prove that the key is valid. */
  state: 'ready' | 'reached' | 'failed'
  duration_ms: number
  /** Path and host of the call. */
  address: string
  reason: string | null
  advice: string | null
  /** Models that the vendor retires on another day than the configuration says; null if one side names no day. */
  shutdown_dates: { model: string; configured: string | null; vendor: string | null }[]
}

/** The retirement days of an upstream's models in the configuration, by the vendor's names; undefined for a model without one. */
export type ConfiguredEnds = ReadonlyMap<string, string | undefined>

const TIMEOUT_MS = 20_000
const LIST: Call = compatibleCall('/models', null, { method: 'GET' })
/** Maximum length of a vendor's message that is shown, in characters. */
const MAX_SHOWN = 200
/** Maximum number of models that a reason names. */
const MAX_NAMED = 5
/** Maximum size of a list of models that is compared, in bytes. */
const MAX_LIST_BYTES = 4 * 1024 * 1024

export async function probeUpstream(
  {
    upstream,
    kind,
    entry,
    ends,
  }: { upstream: Upstream; kind: UpstreamKind; entry: UpstreamConfig; ends: ConfiguredEnds },
  { after, monotonic }: Pick<System, 'after' | 'monotonic'>,
): Promise<ProbeResult> {
  const call = upstream.adapt(kind.probe ?? LIST, '')
  const { origin, pathname } = new URL(baseUrlOf(kind, entry))
  const address = `${origin}${pathname.replace(/\/$/, '')}${kind.prefix[call.protocol]}${call.path}`
  const startedAt = monotonic()
  const token = new CancelToken()
  const cancel = after(TIMEOUT_MS, () => token.abort())
  const list = kind.probe ? undefined : kind.listing
  const read = list && ((answer: unknown) => findingOf(list.read(answer, new Map()), ends))
  const found = await ask(upstream, call, token, read).catch((error) =>
    token.aborted
      ? failed(
          `There was no answer within ${TIMEOUT_MS / 1000} seconds.`,
          'Try again; a proxy or a firewall may block it.',
        )
      : judge(error, kind),
  )
  cancel()
  const durationMs = Math.round(monotonic() - startedAt)
  return {
    upstream: upstream.name,
    kind: kind.kind,
    duration_ms: durationMs,
    address,
    shutdown_dates: [],
    ...found,
  }
}

type Finding = Pick<ProbeResult, 'state' | 'reason' | 'advice'> & Partial<Pick<ProbeResult, 'shutdown_dates'>>

const READY: Finding = { state: 'ready', reason: null, advice: null }

async function ask(
  upstream: Upstream,
  call: Call,
  { signal }: CancelToken,
  read: ((answer: unknown) => Finding) | undefined,
): Promise<Finding> {
  const { body } = call
  const text = body && 'json' in body ? JSON.stringify(body.json) : null
  const { response, done } = await upstream.send(call, text, signal, { account: 'operator' })
  try {
    if (!read) return READY
    // The test only asks whether it answers: an unreadable list does not change that.
    return read(parseForeign(new TextDecoder().decode(await response.body.bytes(MAX_LIST_BYTES))))
  } catch {
    return READY
  } finally {
    response.body.cancel()
    done()
  }
}

/** Compares the days on which the vendor retires its models, if its list has such days, with those of the configuration. */
function findingOf({ models }: ListedModels, ends: ConfiguredEnds): Finding {
  if (Object.values(models).every(({ retires }) => retires === undefined)) return READY
  const differing = [...ends].flatMap(([model, configured = null]) => {
    const vendor = models[model]?.retires ?? null
    return model in models && vendor !== configured ? [{ model, configured, vendor }] : []
  })
  if (differing.length === 0) return READY
  const named = differing.slice(0, MAX_NAMED).map(differenceText)
  const more = differing.length > named.length ? ` And ${differing.length - named.length} more.` : ''
  return {
    ...READY,
    reason: `It retires models on other days than configured: ${named.join('; ')}.${more}`,
    advice: 'Set `retires` of these models, or take a newer list with `gateway prices update`.',
    shutdown_dates: differing,
  }
}

function differenceText({ model, configured, vendor }: ProbeResult['shutdown_dates'][number]): string {
  const [there, here] = [vendor ?? 'not announced', configured ?? 'no day']
  return `${model} ${there}, here ${here}`
}

function judge(error: unknown, kind: UpstreamKind): Finding {
  if (!(error instanceof GatewayError)) return failed(`${lineOf(error)}.`, null)
  const { status, message } = error.operatorRefusal ?? {}
  if (error.code === 'upstream_unreachable') return unreachable(error.cause)
  if (status === 404) return reached('It answers, and has no such list: the key is not proved.')
  if (error.status === 429) return reached('It answers that it is asked too often: the key is known.')
  if (status === 401 || status === 403) return failed(words(status, message), adviceForKey(kind))
  if (status !== undefined) return failed(words(status, message), 'See the account at the vendor.')
  if (error.status < 500) return reached(`It answers: ${error.message.slice(0, MAX_SHOWN)}`)
  return failed(error.message.slice(0, MAX_SHOWN), 'The vendor fails; try again later.')
}

function words(status: number, message = ''): string {
  return `HTTP ${status}: ${message.slice(0, MAX_SHOWN)}`
}

function adviceForKey({ secretVariable }: UpstreamKind): string {
  return `Check the key: ${secretVariable}, or apiKey in the configuration.`
}

function unreachable(cause: unknown): Finding {
  const { code, message } = cause instanceof NotConnected ? cause : { code: '', message: lineOf(cause) }
  if (/\bproxy\b/.test(message)) {
    return failed(`${message}.`, 'Check `proxy` of the upstream, or HTTPS_PROXY, HTTP_PROXY and NO_PROXY.')
  }
  if (code === 'ECONNREFUSED')
    return failed('Nothing listens there.', 'Start the server, or correct baseUrl.')
  if (code === 'ETIMEDOUT')
    return failed('No connection in time.', 'Check the network, a firewall, or proxy.')
  if (/ENOTFOUND|DNS|EAI_AGAIN/i.test(code)) {
    return failed('Its host has no address.', 'Check the name in baseUrl, and DNS on this machine.')
  }
  if (/certificate|TLS/i.test(message)) {
    return failed(message, 'For your own authority, set tls.caFile; a client certificate is tls.certFile.')
  }
  return failed(message, 'Check baseUrl and the network.')
}

function failed(reason: string, advice: string | null): Finding {
  return { state: 'failed', reason, advice }
}

function reached(reason: string): Finding {
  return { state: 'reached', reason, advice: null }
}
