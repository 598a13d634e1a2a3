// The methods of Google's API, whose path names model and method: POST /v1beta/models/{id}:{method}, and the same below /v1. All
// must use the same request line, prices and counter as the operations to which they are translated.

import { Elysia } from 'elysia'
import { API_TOKENS } from '../../accounts/authenticator'
import { type Catalogue, formsBehind, idOfName } from '../../catalogue/models'
import type { Model } from '../../contract/family'
import type { Form } from '../../contract/form'
import { type Operation, operationOf } from '../../contract/operations'
import { GatewayError } from '../../lib/errors'
import { fieldOf, parseBody, scanBody } from '../../lib/json/body'
import { editObject } from '../../lib/json/json'
import { asObject, isObject } from '../../lib/objects'
import { formInMemory, pictureUpload } from '../../mcp/forms'
import { inDialect } from '../../request/check'
import type { CheckModel, Gateway } from '../../request/line'
import { jsonAnswer } from '../../request/stream/paced-body'
import type { CountTokens } from '../../request/token-count'
import { authorizationOf, type KeyedWorld } from '../authorization'
import type { BodyReader } from '../body'
import { clientAddressOf } from '../client-address'
import { disableTimeout, type Listener, setKeepAliveTimeout } from '../connection'
import { contentsMethods, type ContentsMethod as Method } from '../contents-methods'
import { errorResponse, withFieldNames } from '../errors'
import { decodedId, queryOf } from '../target'
import { EMBEDDING_FIELDS, embeddingAnswerOf, rewordEmbedding } from './contents-embeddings'
import {
  editsNothing,
  PICTURE_FIELDS,
  type PictureRequest,
  picturesInContents,
  rewordPictures,
} from './contents-images'
import { inStreamForm } from './contents-stream'
import { HttpIncoming, type IncomingWorld } from './operations'

/** The operation behind a method, under the name in errors for Google's clients. */
const operationBehind = (method: Method): Operation => ({
  ...operationOf(contentsMethods[method]),
  path: `/v1beta/models/{id}:${method}`,
  dialect: 'gemini',
})

type ContentsWorld = KeyedWorld & IncomingWorld & { catalogue: Catalogue }

export function contentsRoutes(
  world: ContentsWorld,
  gateway: Gateway,
  bodies: BodyReader,
  countTokens: CountTokens,
  mark: Readonly<Record<string, string>>,
) {
  const methods = new Methods(world, gateway, bodies, countTokens)
  const answer = async (request: Request, path: string, listener: Listener | null): Promise<Response> => {
    const requestId = world.newId('req')
    try {
      const response = await methods.answer(request, listener, { ...targetOf(path), requestId })
      for (const name in mark) response.headers.set(name, mark[name] as string)
      return response
    } catch (error) {
      const known = inDialect(error, 'gemini')
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
  constructor(
    private readonly world: ContentsWorld,
    private readonly gateway: Gateway,
    private readonly bodies: BodyReader,
    private readonly count: CountTokens,
  ) {}

  answer(request: Request, listener: Listener | null, target: Target): Promise<Response> {
    if (target.method === 'countTokens') return this.countTokens(request, listener, target)
    if (contentsMethods[target.method] === 'embeddings') return this.embed(request, listener, target)
    return this.generate(request, listener, target)
  }

  /** The forms of a model that makes or edits pictures and writes no text; empty for any other model. */
  private drawn(model: string): readonly Model[] {
    const { catalogue } = this.world
    const forms = formsBehind(catalogue, idOfName(catalogue, model))
    if (forms.some(({ family }) => family.operation === 'contents')) return []
    return forms.filter(({ family: { operation } }) => operation === 'image' || operation === 'image-edit')
  }

  private async countTokens(request: Request, listener: Listener | null, target: Target): Promise<Response> {
    const { model, requestId } = target
    const { config, authenticator } = this.world
    setKeepAliveTimeout(listener, request, config)
    const key = await authenticator.authenticate(
      authorizationOf(request, config, 'gemini'),
      clientAddressOf(request, listener, config),
      API_TOKENS,
    )
    const tokens = await this.count(operationBehind('countTokens'), {
      key,
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
    const incoming = new ContentsIncoming(
      () => this.drawn(model),
      { model, stream: method === 'streamGenerateContent' },
      this.world,
      this.bodies,
      // Both methods have one path, by which repeats with an idempotency key are found.
      operationBehind('generateContent'),
      request,
      listener,
      requestId,
    )
    const response = await this.reworded(incoming, (pictures, headers) =>
      picturesInContents(pictures, headers.get('x-gateway-model') ?? model, requestId),
    )
    return this.inForm(request, method, response)
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
    return this.reworded(incoming, (embeddings) => embeddingAnswerOf(embeddings, isBatch))
  }

  /** The answer to a request. One in the gateway's own form is converted to Google's, with the fields that the model did not get. */
  private async reworded(
    incoming: RewordedIncoming,
    reword: (answer: unknown, headers: Headers) => object,
  ): Promise<Response> {
    const response = await this.gateway.handle(incoming).catch((error) => {
      throw withFieldNames(error, incoming.names ?? {})
    })
    if (!incoming.names) return response
    const headers = new Headers(response.headers)
    if (incoming.ignored.length > 0) headers.set('x-gateway-ignored', incoming.ignored.join(', '))
    return jsonAnswer(this.world.backlog, reword(await response.json(), headers), { headers })
  }

  /** An answer in the form of its method: the streaming one sends events, or a list without `alt=sse`. */
  private inForm(request: Request, method: Method, answer: Response): Response | Promise<Response> {
    return method === 'streamGenerateContent'
      ? inStreamForm(this.world.backlog, answer, queryOf(request).get('alt') === 'sse')
      : answer
  }
}

/** Members of a body that are in the URL. */
interface Named {
  model: string
  stream?: boolean
}

/** A request whose path names the model. */
class AddressedIncoming extends HttpIncoming {
  constructor(
    protected named: Named,
    ...of: ConstructorParameters<typeof HttpIncoming>
  ) {
    super(...of)
  }

  override async body(check: CheckModel): Promise<Uint8Array | Form> {
    checkNamed(check, this.named.model)
    return withNamed((await super.body(() => {})) as Uint8Array, this.named)
  }
}

/** A request that may be converted to the gateway's own form. */
class RewordedIncoming extends AddressedIncoming {
  /** Names of fields in that form, as Google's clients know them; undefined for an unconverted request. */
  names: Readonly<Record<string, string>> | undefined
  /** Fields that the model does not get. */
  ignored: readonly string[] = []
}

class EmbeddingIncoming extends RewordedIncoming {
  constructor(
    private readonly isBatch: boolean,
    ...of: ConstructorParameters<typeof AddressedIncoming>
  ) {
    super(...of)
  }

  override names = EMBEDDING_FIELDS

  reword(body: Record<string, unknown>, model: Model): Record<string, unknown> {
    const reworded = rewordEmbedding(body, model, this.isBatch)
    this.ignored = reworded.ignored
    return reworded.body
  }
}

/** A request for text, or for pictures if the model makes these. Pictures in it make it an edit, which has its own form. */
class ContentsIncoming extends RewordedIncoming {
  constructor(
    private readonly drawn: () => readonly Model[],
    ...of: ConstructorParameters<typeof AddressedIncoming>
  ) {
    super(...of)
  }

  override async body(check: CheckModel): Promise<Uint8Array | Form> {
    // The key is known here: without one, nobody learns from an answer which models make pictures.
    const forms = this.drawn()
    const [first] = forms
    if (!first) return super.body(check)
    this.names = PICTURE_FIELDS
    this.named = { model: this.named.model }
    this.operation = { ...this.operation, name: 'image' }
    const given = parseBody(scanBody((await super.body(check)) as Uint8Array))
    const edits = picturesIn(given)
    const name = edits ? 'image-edit' : 'image'
    const model = forms.find(({ family }) => family.operation === name)
    if (!model) throw editsNothing(first)
    const request = rewordPictures(given, model)
    this.ignored = request.ignored
    if (!edits) return Buffer.from(JSON.stringify(request.body))
    this.operation = { ...this.operation, name, body: 'form' }
    return formOf(request)
  }
}

/** Whether a request has pictures to edit. */
function picturesIn({ contents }: Record<string, unknown>): boolean {
  return [contents]
    .flat()
    .some((turn) =>
      [asObject(turn).parts]
        .flat()
        .some((part) => isObject(part) && ('inlineData' in part || 'inline_data' in part)),
    )
}

async function formOf({ body, pictures }: PictureRequest): Promise<Form> {
  const uploads = await Promise.all(pictures.map((picture) => pictureUpload('contents', picture)))
  return formInMemory(body, { image: uploads }, pictures)
}

/** The body with the members from its URL. It may name the model too, as `models/…`; the path takes precedence. */
function withNamed(bytes: Uint8Array, { model, stream }: Named): Uint8Array {
  const { text, scanned } = scanBody(bytes)
  const set = { model: JSON.stringify(model), ...(stream !== undefined && { stream: String(stream) }) }
  return Buffer.from(editObject(text, scanned, { set }))
}

/** The request whose tokens are counted: the body, or a member of it. */
function countedIn(bytes: Uint8Array): Uint8Array {
  const json = scanBody(bytes)
  const request = fieldOf(json, 'generateContentRequest') ?? fieldOf(json, 'generate_content_request')
  if (!isObject(request)) return bytes
  parseBody(json)
  return Buffer.from(JSON.stringify(request))
}

/** The model and the method in a path such as `owner/name:tag:embedContent`. */
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

/** Throws 404 for a model that the request may not use: it is part of the path here. */
function checkNamed(check: CheckModel, model: string): void {
  try {
    check(model)
  } catch (error) {
    if (!(error instanceof GatewayError) || error.status !== 400) throw error
    const { code, type, param, message } = error
    throw new GatewayError(404, { code, type, param, message })
  }
}
