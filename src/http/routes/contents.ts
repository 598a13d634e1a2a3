// The methods of Google's API, whose address names model and method: POST /v1beta/models/{id}:{method}, and the same below
// /v1. All must lead into the same line, prices and counter as the operations that they are translated to.

import { Elysia } from 'elysia'
import type { Model } from '../../contract/family'
import { type Operation, operationOf } from '../../contract/operations'
import { GatewayError } from '../../lib/errors'
import { fieldOf, parseBody, scanBody } from '../../lib/json/body'
import { editObject } from '../../lib/json/json'
import { isObject } from '../../lib/objects'
import { inDialect } from '../../request/check'
import type { CheckModel, Gateway } from '../../request/line'
import { createTokenCount, type TokenCountWorld } from '../../request/token-count'
import { authorizationOf, type KeyedWorld } from '../authorization'
import type { BodyReader } from '../body'
import { clientAddressOf } from '../client-address'
import { disableTimeout, type Listener, setKeepAliveTimeout } from '../connection'
import { contentsMethods, type ContentsMethod as Method } from '../contents-methods'
import { errorResponse, withFieldNames } from '../errors'
import { decodedId, queryOf } from '../target'
import { EMBEDDING_FIELDS, embeddingAnswerOf, rewordEmbedding } from './contents-embeddings'
import { inStreamForm } from './contents-stream'
import { HttpIncoming, type IncomingWorld } from './operations'

/** The operation behind a method, as errors of Google's clients name it. */
const operationBehind = (method: Method): Operation => ({
  ...operationOf(contentsMethods[method]),
  path: `/v1beta/models/{id}:${method}`,
  dialect: 'gemini',
})

type ContentsWorld = KeyedWorld & TokenCountWorld & IncomingWorld

export function contentsRoutes(
  world: ContentsWorld,
  gateway: Gateway,
  bodies: BodyReader,
  mark: Readonly<Record<string, string>>,
) {
  const methods = new Methods(world, gateway, bodies)
  const answer = async (request: Request, path: string, listener: Listener | null): Promise<Response> => {
    const requestId = world.newId('req')
    let names = {}
    try {
      const { model, method } = targetOf(path)
      if (contentsMethods[method] === 'embeddings') names = EMBEDDING_FIELDS
      const response = await methods.answer(request, listener, { model, method, requestId })
      for (const name in mark) response.headers.set(name, mark[name] as string)
      return response
    } catch (error) {
      const known = inDialect(withFieldNames(error, names), 'gemini')
      return bodies.answer(request, errorResponse(known, 'gemini', requestId, world.log), listener)
    }
  }

  const app = new Elysia({ name: 'contents' })
  for (const version of ['/v1beta', '/v1']) {
    app.post(`${version}/models/*`, ({ request, params, server }) => answer(request, params['*'], server), {
      parse: 'none',
    })
  }
  return app
}

interface Target {
  model: string
  method: Method
  requestId: string
}

class Methods {
  private readonly count: ReturnType<typeof createTokenCount>

  constructor(
    private readonly world: ContentsWorld,
    private readonly gateway: Gateway,
    private readonly bodies: BodyReader,
  ) {
    this.count = createTokenCount(world, operationBehind('countTokens'))
  }

  answer(request: Request, listener: Listener | null, target: Target): Promise<Response> {
    if (target.method === 'countTokens') return this.countTokens(request, listener, target)
    return contentsMethods[target.method] === 'contents'
      ? this.generate(request, listener, target)
      : this.embed(request, listener, target)
  }

  private async countTokens(request: Request, listener: Listener | null, target: Target): Promise<Response> {
    const { model, requestId } = target
    const { config } = this.world
    setKeepAliveTimeout(listener, request, config)
    const tokens = await this.count({
      authorization: authorizationOf(request, config, 'gemini'),
      clientAddress: clientAddressOf(request, listener, config),
      headers: {},
      body: async (check) => {
        checkNamed(check, model)
        const bytes = await this.bodies.read(request, 'contents', () => disableTimeout(listener, request))
        return withNamed(countedIn(bytes), { model })
      },
      signal: request.signal,
    }).finally(() => setKeepAliveTimeout(listener, request, config))
    return Response.json({ totalTokens: tokens }, { headers: { 'x-request-id': requestId } })
  }

  private async generate(request: Request, listener: Listener | null, target: Target): Promise<Response> {
    const { model, method, requestId } = target
    const stream = method === 'streamGenerateContent'
    // Both methods have one path, by which repeats with an idempotency key are found.
    const operation = operationBehind('generateContent')
    const response = await this.gateway.handle(
      new AddressedIncoming(
        { model, stream },
        this.world,
        this.bodies,
        operation,
        request,
        listener,
        requestId,
      ),
    )
    return stream ? inStreamForm(response, queryOf(request).get('alt') === 'sse') : response
  }

  private async embed(request: Request, listener: Listener | null, target: Target): Promise<Response> {
    const { model, method, requestId } = target
    const isBatch = method === 'batchEmbedContents'
    const incoming = new EmbeddingIncoming(
      isBatch,
      { model },
      this.world,
      this.bodies,
      operationBehind(method),
      request,
      listener,
      requestId,
    )
    const response = await this.gateway.handle(incoming)
    const headers = new Headers(response.headers)
    if (incoming.ignored.length > 0) headers.set('x-gateway-ignored', incoming.ignored.join(', '))
    return Response.json(embeddingAnswerOf(await response.json(), isBatch), { headers })
  }
}

/** Members of a body that its address says. */
interface Named {
  model: string
  stream?: boolean
}

/** A request whose address names the model. */
class AddressedIncoming extends HttpIncoming {
  constructor(
    private readonly named: Named,
    ...of: ConstructorParameters<typeof HttpIncoming>
  ) {
    super(...of)
  }

  override async body(check: CheckModel): Promise<Uint8Array> {
    checkNamed(check, this.named.model)
    return withNamed((await super.body(() => {})) as Uint8Array, this.named)
  }
}

class EmbeddingIncoming extends AddressedIncoming {
  ignored: readonly string[] = []

  constructor(
    private readonly isBatch: boolean,
    ...of: ConstructorParameters<typeof AddressedIncoming>
  ) {
    super(...of)
  }

  reword(body: Record<string, unknown>, model: Model): Record<string, unknown> {
    const reworded = rewordEmbedding(body, model, this.isBatch)
    this.ignored = reworded.ignored
    return reworded.body
  }
}

/** The body with what its address says. It may name the model too, as `models/…`; the address counts. */
function withNamed(bytes: Uint8Array, { model, stream }: Named): Uint8Array {
  const { text, scanned } = scanBody(bytes)
  const set = { model: JSON.stringify(model), ...(stream !== undefined && { stream: String(stream) }) }
  return Buffer.from(editObject(text, scanned, { set }))
}

/** The request whose tokens are to be counted: the body, or a member of it. */
function countedIn(bytes: Uint8Array): Uint8Array {
  const json = scanBody(bytes)
  const request = fieldOf(json, 'generateContentRequest') ?? fieldOf(json, 'generate_content_request')
  if (!isObject(request)) return bytes
  parseBody(json)
  return Buffer.from(JSON.stringify(request))
}

/** The model and the method of an address such as `owner/name:tag:embedContent`. */
function targetOf(path: string): { model: string; method: Method } {
  const text = decodedId(path)
  const colon = text.lastIndexOf(':')
  const method = text.slice(colon + 1)
  if (colon > 0 && Object.hasOwn(contentsMethods, method))
    return { model: text.slice(0, colon), method: method as Method }
  throw new GatewayError(404, {
    code: 'unknown_route',
    type: 'invalid_request_error',
    message: `There is no POST models/${text.slice(0, 200)} here. Served are POST /v1beta/models/{id} with ${Object.keys(
      contentsMethods,
    )
      .map((name) => `:${name}`)
      .join(', ')}.`,
  })
}

/** Throws 404 for a model that the request may not use: it is a part of the address here. */
function checkNamed(check: CheckModel, model: string): void {
  try {
    check(model)
  } catch (error) {
    if (!(error instanceof GatewayError) || error.status !== 400) throw error
    const { code, type, param, message } = error
    throw new GatewayError(404, { code, type, param, message })
  }
}
