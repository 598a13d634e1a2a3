// One route per operation of the table. All of them must use the one request line.

import { Elysia } from 'elysia'
import type { Authorization } from '../../accounts/authenticator'
import { type Catalogue, formsBehind, idOfName } from '../../catalogue/models'
import type { Config } from '../../config/schema'
import type { Model } from '../../contract/family'
import type { Form } from '../../contract/form'
import {
  compaction,
  forwardedOf,
  type Operation,
  type OperationName,
  operationOf,
  operations,
} from '../../contract/operations'
import { GatewayError, invalidRequest } from '../../lib/errors'
import { fieldOf, scanBody } from '../../lib/json/body'
import type { System } from '../../lib/system'
import { type CallerTrace, callerTraceOf } from '../../lib/trace-context'
import { prefersLater, waitOfRequest } from '../../lib/waiting'
import type { DeferralMode } from '../../request/deferral'
import type { CheckModel, Gateway, Incoming } from '../../request/line'
import type { Backlog } from '../../request/stream/backlog'
import { authorizationOf } from '../authorization'
import type { BodyReader } from '../body'
import { imageTaskOf } from '../callers/image-task'
import type { TaskDocument } from '../callers/video-object'
import { clientAddressOf } from '../client-address'
import { disableTimeout, type Listener, setKeepAliveTimeout, setStreamTimeout } from '../connection'
import { errorResponse } from '../errors'
import { type FormTools, readForm } from '../form'
import { gatewayUrlOf } from '../gateway-url'
import { servedPaths } from '../paths'

export interface IncomingWorld extends Pick<System, 'newId' | 'log'>, FormTools {
  backlog: Backlog
  config: Pick<Config, 'server'>
}

/**
 * The routes of the operations. `listener` is the server: Elysia's `server` is a getter that is redefined for each request.
 */
export function operationRoutes(
  world: IncomingWorld & { catalogue: Catalogue },
  gateway: Gateway,
  bodies: BodyReader,
  mark: Readonly<Record<string, string>>,
  listener: () => Listener | null,
) {
  /** Whether a model accepts edits as JSON; false for an unknown one. */
  const takesJson = (name: unknown) => {
    const { catalogue } = world
    const id = typeof name === 'string' ? idOfName(catalogue, name) : ''
    return formsBehind(catalogue, id).some(({ family }) => family.edits)
  }
  const app = new Elysia({ name: 'operations' })
  const routes = [...operations, compaction].flatMap((operation) =>
    operation.inAddress
      ? []
      : servedPaths(operation).map((path) => ({ operation, path, answers: asIs, mode: undefined })),
  )
  // The paths of other gateways, with their form of a task.
  const laterRoutes = (['image', 'image-edit'] as const).flatMap((name) =>
    servedPaths(operationOf(name), '/async').map((path) => {
      return { operation: operationOf(name), path, answers: asImageTask, mode: 'demanded' as const }
    }),
  )
  for (const { operation, path, answers, mode } of [...routes, ...laterRoutes]) {
    app.post(
      path,
      async ({ request }) => {
        const requestId = world.newId('req')
        const inJson = operation.asJson && jsonFormOf(operation.asJson, request)
        try {
          const incoming = inJson
            ? new JsonEditIncoming(takesJson, world, bodies, inJson, request, listener(), requestId, mode)
            : new HttpIncoming(world, bodies, operation, request, listener(), requestId, mode)
          const response = await answers(await gateway.handle(incoming))
          for (const name in mark) response.headers.set(name, mark[name] as string)
          return response
        } catch (error) {
          const response = errorResponse(error, operation.dialect, requestId, world.log)
          return bodies.answer(request, response, listener())
        }
      },
      { parse: 'none', detail: { summary: operation.summary } },
    )
  }
  return app
}

const asIs = (response: Response) => response

/** The answer of a task in the form for clients of other gateways. */
async function asImageTask(response: Response): Promise<Response> {
  const {
    id,
    status: state,
    created_at,
    error,
    result,
  } = (await response.json()) as TaskDocument & {
    result?: unknown
  }
  const createdAt = created_at * 1000
  const { code: errorCode = null, message: errorMessage = null } = error ?? {}
  const task = { id, state, createdAt, endedAt: null, errorCode, errorMessage }
  const headers = new Headers(response.headers)
  headers.set('location', `/v1/images/tasks/${id}`)
  return Response.json(imageTaskOf(task, result), { status: response.status, headers })
}

/**
 * A request over HTTP in the form that the request line accepts. A class, because new functions for each request would cost more.
 */
export class HttpIncoming implements Incoming {
  operation: Operation
  readonly requestId: string
  readonly clientAddress: string | null
  readonly authorization: Authorization
  readonly idempotencyKey: string | null
  readonly headers: Readonly<Record<string, string>>
  protected readonly world: IncomingWorld
  protected readonly bodies: BodyReader
  protected readonly request: Request
  private readonly listener: Listener | null

  constructor(
    world: IncomingWorld,
    bodies: BodyReader,
    operation: Operation,
    request: Request,
    listener: Listener | null,
    requestId: string,
    private readonly mode?: DeferralMode,
  ) {
    const { headers } = request
    this.operation = operation
    this.requestId = requestId
    this.clientAddress = clientAddressOf(request, listener, world.config)
    this.authorization = authorizationOf(request, world.config, operation.dialect)
    this.idempotencyKey = headers.get('idempotency-key')
    this.headers = forwardedOf(operation, headers)
    this.world = world
    this.bodies = bodies
    this.request = request
    this.listener = listener
  }

  body(check: CheckModel): Promise<Uint8Array | Form> {
    // The head has arrived; a small body may take its time.
    this.rest()
    const { body, name } = this.operation
    const exempt = () => this.exempt()
    return body === 'form'
      ? readForm(this.request, this.world, this.bodies.pieces(this.request, name, exempt))
      : this.bodies.read(this.request, name, exempt, check)
  }

  signal(): AbortSignal {
    return this.request.signal
  }

  get waitMs(): number {
    return waitOfRequest(this.request.url, this.request.headers.get('prefer'))
  }

  deferral(): DeferralMode | undefined {
    if (this.mode) return this.mode
    const prefer = this.request.headers.get('prefer')
    return prefer !== null && prefersLater(prefer) ? 'preferred' : undefined
  }

  trace(): CallerTrace {
    return callerTraceOf(this.request.headers)
  }

  metadata(): string | null {
    return this.request.headers.get('x-gateway-metadata')
  }

  header(name: string): string | null {
    return this.request.headers.get(name)
  }

  gatewayUrl(): string {
    return gatewayUrlOf(this.world.config.server?.publicUrl, this.request, this.listener)
  }

  rest(): void {
    setKeepAliveTimeout(this.listener, this.request, this.world.config)
  }

  follow(): void {
    setStreamTimeout(this.listener, this.request)
  }

  protected exempt(): void {
    disableTimeout(this.listener, this.request)
  }
}

/** A request that edits pictures in the JSON of its model's vendor, as that vendor's own clients send it. */
class JsonEditIncoming extends HttpIncoming {
  constructor(
    private readonly takesJson: (model: unknown) => boolean,
    ...of: ConstructorParameters<typeof HttpIncoming>
  ) {
    super(...of)
  }

  override async body(check: CheckModel): Promise<Uint8Array> {
    const bytes = (await super.body(check)) as Uint8Array
    if (!this.takesJson(fieldOf(scanBody(bytes), 'model'))) throw onlyAsForm()
    return bytes
  }

  reword(body: Record<string, unknown>, { family }: Model): Record<string, unknown> {
    if (!family.edits) throw onlyAsForm()
    if (family.edits(body)) return body
    throw invalidRequest(
      'image',
      `Missing required parameter: 'image'. Send the image to edit, such as {"url": "https://example.com/cat.jpg"}.`,
      'missing_required_parameter',
    )
  }
}

function onlyAsForm(): GatewayError {
  return new GatewayError(415, {
    code: 'unsupported_media_type',
    message:
      'This model does not accept edits as JSON: send the image as a file, with the type multipart/form-data.',
  })
}

/** The operation of a request that is JSON instead of a form; undefined if it is not JSON. */
function jsonFormOf(asJson: OperationName, { headers }: Request): Operation | undefined {
  return /^\s*application\/json\b/i.test(headers.get('content-type') ?? '') ? operationOf(asJson) : undefined
}
