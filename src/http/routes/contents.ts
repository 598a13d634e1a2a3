// The methods of Google's API, whose address names model and method: POST /v1beta/models/{model}:{method}, and the same below
// /v1. All must lead into the same line, prices and counter as the operations that they are translated to.

import { Elysia } from 'elysia'
import type { Model } from '../../contract/family'
import { type Operation, operationOf } from '../../contract/operations'
import { GatewayError } from '../../lib/errors'
import { parseBody, scanBody } from '../../lib/json/body'
import { editObject } from '../../lib/json/json'
import { inDialect } from '../../request/check'
import type { CheckModel, Gateway } from '../../request/line'
import { createTokenCount, type TokenCountWorld } from '../../request/token-count'
import { authorizationOf, type KeyedWorld } from '../authorization'
import type { BodyReader } from '../body'
import { disableTimeout, type Listener, setKeepAliveTimeout } from '../connection'
import { contentsMethods, type ContentsMethod as Method } from '../contents-methods'
import { errorResponse, withFieldNames } from '../errors'
import { decodedId } from '../target'
import { chatOfContents } from './contents-count'
import { EMBEDDING_FIELDS, embeddingAnswerOf, rewordEmbedding } from './contents-embeddings'
import { HttpIncoming, type IncomingWorld } from './operations'

/** The operation behind a method, as errors of Google's clients name it. */
const operationBehind = (method: Method): Operation => ({
  ...operationOf(contentsMethods[method]),
  path: `/v1beta/models/{model}:${method}`,
  dialect: 'gemini',
})

type ContentsWorld = KeyedWorld & TokenCountWorld & IncomingWorld

export function contentsRoutes(
  world: ContentsWorld,
  gateway: Gateway,
  bodies: BodyReader,
  mark: Readonly<Record<string, string>>,
) {
  const count = createTokenCount(world, operationBehind('countTokens'))

  const countTokens: Answer = async (request, listener, { model, requestId }) => {
    setKeepAliveTimeout(listener, request, world.config)
    const tokens = await count({
      authorization: authorizationOf(request, world.config, 'gemini'),
      headers: {},
      body: async (check) => {
        checkNamed(check, model)
        const bytes = await bodies.read(request, 'chat', () => disableTimeout(listener, request))
        return Buffer.from(JSON.stringify(chatOfContents(parseBody(scanBody(bytes)), model)))
      },
      signal: request.signal,
    }).finally(() => setKeepAliveTimeout(listener, request, world.config))
    return Response.json({ totalTokens: tokens }, { headers: { 'x-request-id': requestId } })
  }

  const embed =
    (method: 'embedContent' | 'batchEmbedContents'): Answer =>
    async (request, listener, { model, requestId }) => {
      const isBatch = method === 'batchEmbedContents'
      const operation = operationBehind(method)
      const incoming = new EmbeddingIncoming(
        { model, isBatch },
        world,
        bodies,
        operation,
        request,
        listener,
        requestId,
      )
      const response = await gateway.handle(incoming)
      const headers = new Headers(response.headers)
      if (incoming.ignored.length > 0) headers.set('x-gateway-ignored', incoming.ignored.join(', '))
      return Response.json(embeddingAnswerOf(await response.json(), isBatch), { headers })
    }

  const answers: Record<Method, Answer> = {
    countTokens,
    embedContent: embed('embedContent'),
    batchEmbedContents: embed('batchEmbedContents'),
  }

  const answer = async (request: Request, path: string, listener: Listener | null): Promise<Response> => {
    const requestId = world.newId('req')
    try {
      const { model, method } = targetOf(path)
      const response = await answers[method](request, listener, { model, requestId })
      for (const name in mark) response.headers.set(name, mark[name] as string)
      return response
    } catch (error) {
      const known = inDialect(withFieldNames(error, EMBEDDING_FIELDS), 'gemini')
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

type Answer = (
  request: Request,
  listener: Listener | null,
  target: { model: string; requestId: string },
) => Promise<Response>

/** A request whose address names the model. */
class EmbeddingIncoming extends HttpIncoming {
  ignored: readonly string[] = []

  constructor(
    private readonly target: { model: string; isBatch: boolean },
    ...of: ConstructorParameters<typeof HttpIncoming>
  ) {
    super(...of)
  }

  override async body(check: CheckModel): Promise<Uint8Array> {
    const { model } = this.target
    checkNamed(check, model)
    // The body may name the model too, as `models/…`; the address counts.
    const { text, scanned } = scanBody((await super.body(() => {})) as Uint8Array)
    return Buffer.from(editObject(text, scanned, { set: { model: JSON.stringify(model) } }))
  }

  reword(body: Record<string, unknown>, model: Model): Record<string, unknown> {
    const reworded = rewordEmbedding(body, model, this.target.isBatch)
    this.ignored = reworded.ignored
    return reworded.body
  }
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
    message: `There is no POST models/${text.slice(0, 200)} here. Served are POST /v1beta/models/{model} with ${Object.keys(
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
