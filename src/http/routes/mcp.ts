// POST /mcp: tools for models, over streamable HTTP. Every message is complete and carries its key. A web page of a
// foreign origin must get nothing, and nothing is read before the key is known.

import { Elysia } from 'elysia'
import { TOOL_TOKENS } from '../../accounts/authenticator'
import { answerOfError } from '../../contract/error-answer'
import { GatewayError, invalidRequest } from '../../lib/errors'
import { parseBody, scanBody } from '../../lib/json/body'
import { callerTraceOf } from '../../lib/trace-context'
import type { ToolWorld } from '../../mcp/tool'
import { challengeOf, issuerOf } from '../../oauth/metadata'
import type { Gateway } from '../../request/line'
import type { Backlog } from '../../request/stream/backlog'
import { pacedStream } from '../../request/stream/paced-body'
import { type KeyedWorld, keyHeaderOf } from '../authorization'
import type { BodyReader } from '../body'
import { clientAddressOf } from '../client-address'
import { disableTimeout, type Listener, setKeepAliveTimeout } from '../connection'
import { gatewayUrlOf } from '../gateway-url'
import { toleratedPaths } from '../paths'
import { pathOf } from '../target'

const VERSION_HEADER = 'mcp-protocol-version'
const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]']

type AnswerMessage = ReturnType<typeof import('../../mcp/server')['createMcp']>

export function mcpRoutes(
  world: KeyedWorld & ToolWorld & { backlog: Backlog },
  gateway: Gateway,
  bodies: BodyReader,
  { mark, version }: { mark: Readonly<Record<string, string>>; version: string },
) {
  const { log } = world
  // Loaded with the first message, because most gateways never get one and would start more slowly.
  let loaded: Promise<AnswerMessage> | undefined
  const load = () => {
    loaded ??= import('../../mcp/server').then(({ createMcp }) => createMcp(world, gateway, version))
    return loaded
  }

  function isAllowedPage(origin: string): boolean {
    const { publicUrl, allowedOrigins = [] } = world.config.server ?? {}
    const isOwn = publicUrl !== undefined && new URL(publicUrl).origin === origin
    return isOwn || allowedOrigins.includes(origin) || isLocal(origin)
  }

  async function answer(request: Request, listener: Listener | null): Promise<Response> {
    const requestId = world.newId('req')
    setKeepAliveTimeout(listener, request, world.config)
    const origin = request.headers.get('origin')
    const isAllowed = origin === null || isAllowedPage(origin)
    const response = await (isAllowed
      ? serve(request, listener, requestId)
      : Promise.reject(foreign(origin))
    ).catch((error) => errorResponse(error, requestId))
    // A stream of a tool is never silent for long.
    setKeepAliveTimeout(listener, request, world.config)
    const shared = isAllowed && origin !== null ? sharedWith(origin) : {}
    const headers = { 'x-request-id': requestId, ...mark, ...shared }
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
    if (response.status === 401) addChallenge(world.config, request, response.headers)
    return response.ok ? response : bodies.answer(request, response, listener)
  }

  async function serve(request: Request, listener: Listener | null, requestId: string): Promise<Response> {
    // Browsers send a preflight without a key.
    if (request.method === 'OPTIONS') return new Response(null, { status: 204, headers: { allow: 'POST' } })
    if (request.method !== 'POST') throw notPost(request.method)
    const authorization = keyHeaderOf(request.headers, world.config, 'openai')
    const caller = callerOf(request, listener, world.config)
    const key = await world.authenticator.authenticate(authorization, caller.clientAddress, TOOL_TOKENS)
    const bytes = await bodies.read(request, 'mcp', () => disableTimeout(listener, request))
    const value = parse(bytes)
    const answerMessage = await load()
    const asked = { request, value, caller: { ...caller, key, authorization, requestId } }
    return paced(world.backlog, await answerMessage(asked))
  }

  function errorResponse(thrown: unknown, requestId: string): Response {
    const { status, body, headers } = answerOfError(thrown, 'json-rpc', requestId, log)
    return Response.json(body, { status, headers })
  }

  const app = new Elysia({ name: 'mcp' })
  for (const path of toleratedPaths('/mcp')) {
    app.all(path, ({ request, server }) => answer(request, server), { parse: 'none' })
  }
  return app
}

/** Lets a program without a key find out how to connect, if the configuration allows it. */
function addChallenge(config: KeyedWorld['config'], request: Request, headers: Headers): void {
  const issuer = issuerOf(config)
  if (issuer === undefined) return
  const hadToken = request.headers.has('authorization')
  headers.set('www-authenticate', challengeOf(issuer, pathOf(request), hadToken))
}

/** An answer whose stream, if it is one, is counted while it waits for its caller. */
function paced(backlog: Backlog, answer: Response): Response {
  const { status, headers, body } = answer
  if (!body || !headers.get('content-type')?.startsWith('text/event-stream')) return answer
  return new Response(pacedStream(backlog, body), { status, headers })
}

/** The caller of a request, apart from its key. */
function callerOf(request: Request, listener: Listener | null, config: KeyedWorld['config']) {
  return {
    clientAddress: clientAddressOf(request, listener, config),
    trace: () => callerTraceOf(request.headers),
    signal: () => request.signal,
    gatewayUrl: () => gatewayUrlOf(config.server?.publicUrl, request, listener),
  }
}

function parse(bytes: Uint8Array): object {
  // Earlier revisions of the protocol allowed lists of messages.
  if (/^\s*\[/.test(Buffer.from(bytes.subarray(0, 64)).toString('latin1'))) throw notAMessage()
  return parseBody(scanBody(bytes))
}

/**
 * Whether a page is on this computer. The Host header proves nothing: a page that has resolved its own name to this address sends
 * that name.
 */
function isLocal(origin: string): boolean {
  return LOCAL_HOSTS.includes(URL.parse(origin)?.hostname ?? '')
}

function sharedWith(origin: string): Record<string, string> {
  return {
    vary: 'origin',
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': `authorization, content-type, accept, x-api-key, mcp-session-id, last-event-id, mcp-method, mcp-name, ${VERSION_HEADER}`,
    'access-control-expose-headers': 'x-request-id, www-authenticate',
  }
}

function foreign(origin: string | null): GatewayError {
  return new GatewayError(403, {
    code: 'origin_not_allowed',
    message: `Web pages of ${String(origin).slice(0, 200)} may not use this server. Its operator can allow them in server.allowedOrigins.`,
  })
}

function notPost(method: string): GatewayError {
  return new GatewayError(405, {
    code: 'method_not_allowed',
    message: `This server accepts POST, not ${method}: it has no sessions, and answers each message separately.`,
    headers: { allow: 'POST' },
  })
}

function notAMessage(): GatewayError {
  return invalidRequest(
    null,
    'The body is not one JSON-RPC message: send one object, without deep nesting; lists of messages are not accepted.',
    'invalid_message',
  )
}
