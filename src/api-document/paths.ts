// Builds the paths other than operations: forms of paid operations, tools, health and this document. Each must be a route in
// src/http; a test compares the two.

import { contentsMissing, contentsModel, id, missing, ok } from './described'
import { type ErrorGroup, errorAnswers, notFoundAnswer } from './error-pages'
import { idempotencyKey, waiting } from './headers'
import { jsonMedia } from './replies'
import { headersOf, type Parameter, type Schema } from './schema'

/** A path for a paid operation in another form. */
interface PaidPath {
  operationId: string
  tag: string
  summary: string
  description?: string
  aliases?: readonly string[]
  parameters: readonly Parameter[]
  /** The body by its media type. */
  content: Readonly<Record<string, object>>
  responses: object
  /** Errors other than the common ones. Default: those of paid operations. */
  errors?: readonly ErrorGroup[]
  dialect?: 'openai' | 'gemini'
  /** The answer for a missing object. */
  missing?: object
}

function paid(path: PaidPath) {
  const { operationId, tag, summary, description, aliases, parameters, content, responses } = path
  const { errors = ['paid', 'vendor'], dialect = 'openai', missing } = path
  return {
    post: {
      operationId,
      tags: [tag],
      summary,
      ...(description !== undefined && { description }),
      ...(aliases && { 'x-aliases': aliases }),
      parameters,
      requestBody: { required: true, content },
      responses: {
        ...responses,
        ...errorAnswers(['always', 'withBody', ...errors], [dialect]),
        ...(missing && { '404': missing }),
      },
    },
  }
}

const objectMedia = { 'application/json': { schema: { type: 'object' } } }

/** A body in JSON, described by an example. */
const jsonBody = (value: object, required = Object.keys(value)) => ({
  'application/json': { schema: { type: 'object', required }, examples: { plain: { value } } },
})

/** A path of other gateways that answers with a task. */
function imagesLater(title: string, path: string, operationId: string, type: string) {
  return {
    [`${path}/async`]: paid({
      operationId,
      tag: 'Images',
      summary: `${title}, answered later`,
      description: `As POST ${path} with \`"async": true\`, for clients of other gateways.`,
      parameters: [idempotencyKey, ...waiting],
      content: { [type]: { schema: { type: 'object', description: `The body of POST ${path}.` } } },
      responses: {
        '202': { description: 'The task.', content: jsonMedia('ImageTask') },
        ...ok('The task as it has ended, where the request waited for it.', 'ImageTask'),
      },
    }),
  }
}

const videoFields: Schema = {
  type: 'object',
  required: ['model', 'prompt'],
  properties: {
    model: { type: 'string', description: 'Id of a video model.' },
    prompt: { type: 'string', minLength: 1 },
    seconds: { type: ['string', 'integer', 'null'] },
    size: { type: ['string', 'null'], description: 'Width and height: `1280x720`.' },
    webhook_url: { type: ['string', 'null'] },
  },
}

/** The form of a video request. JSON refers to the picture by URL; a form includes it. */
function videoForm(picture: Schema): Schema {
  return { ...videoFields, properties: { ...(videoFields.properties as object), input_reference: picture } }
}

const remixBody: Schema = {
  type: 'object',
  required: ['prompt'],
  properties: { prompt: { type: 'string', minLength: 1 }, webhook_url: { type: ['string', 'null'] } },
}

const videos = {
  '/v1/videos': paid({
    operationId: 'createVideo',
    tag: 'Video',
    summary: 'Submit a video task',
    description: 'In the words of a well-known API, for any video model.',
    parameters: [idempotencyKey, ...waiting],
    content: {
      'application/json': {
        schema: videoForm({ type: ['object', 'null'], properties: { image_url: { type: 'string' } } }),
      },
      'multipart/form-data': { schema: videoForm({ type: 'string', format: 'binary' }) },
    },
    responses: {
      ...ok('The task.', 'Video'),
      '202': { description: 'The same, for models that answer so.', content: jsonMedia('Video') },
    },
  }),
  '/v1/videos/{id}/remix': paid({
    operationId: 'remixVideo',
    tag: 'Video',
    summary: 'Remix a video',
    description:
      'Submits another video of a finished one, as long and as large, where its model can make it.',
    parameters: [id('The id of the finished task.'), idempotencyKey],
    content: {
      'application/json': {
        schema: remixBody,
        examples: { remix: { value: { prompt: 'Make it night' } } },
      },
    },
    responses: ok('The new task.', 'Video'),
    missing: notFoundAnswer(missing('task_not_found', 'There is no such task on this account.')),
  }),
}

const textContent = { parts: [{ text: 'Hello!' }] }

/** A method of Google's API, whose path names the model. */
function contentsPath(
  method: string,
  { body, ...path }: Omit<PaidPath, 'parameters' | 'content'> & { body: object; parameters?: Parameter[] },
) {
  return {
    [`/v1beta/models/{id}:${method}`]: paid({
      aliases: [`/v1/models/{id}:${method}`],
      content: jsonBody(body),
      dialect: 'gemini',
      missing: contentsMissing,
      ...path,
      parameters: [contentsModel, ...(path.parameters ?? [idempotencyKey])],
    }),
  }
}

const alt: Parameter = {
  name: 'alt',
  in: 'query',
  description: '`sse` for events.',
  schema: { type: 'string', enum: ['sse', 'json'] },
}
const streamed =
  'data: {"candidates":[{"content":{"parts":[{"text":"Hello!"}],"role":"model"},"index":0}]}\n\n'

const contentsPaths = {
  ...contentsPath('streamGenerateContent', {
    operationId: 'streamContents',
    tag: 'Text',
    summary: 'Contents in pieces',
    description: 'As events with `?alt=sse`, else as an array that grows.',
    parameters: [alt, idempotencyKey],
    body: { contents: [textContent] },
    responses: {
      '200': {
        description: 'The answers, each with what is new in it.',
        headers: headersOf('x-request-id', 'x-gateway-model', 'x-gateway-ignored'),
        content: {
          'text/event-stream': { schema: { type: 'string' }, examples: { stream: { value: streamed } } },
          'application/json': { schema: { type: 'array', items: { type: 'object' } } },
        },
      },
    },
  }),
  ...contentsPath('embedContent', {
    operationId: 'embedContent',
    tag: 'Embeddings',
    summary: 'Embed a text',
    description: 'In the form of clients of `generateContent`, for any model of embeddings.',
    body: { content: textContent },
    responses: ok('The vector.', 'ContentsEmbedding'),
  }),
  ...contentsPath('batchEmbedContents', {
    operationId: 'batchEmbedContents',
    tag: 'Embeddings',
    summary: 'Embed several texts',
    description: 'In the form of clients of `generateContent`.',
    body: { requests: [{ content: textContent }] },
    responses: ok('The vectors, in the order of the requests.', 'ContentsEmbeddings'),
  }),
  ...contentsPath('countTokens', {
    operationId: 'countContentsTokens',
    tag: 'Text',
    summary: 'Tokens of contents',
    description: 'Counted for nothing.',
    parameters: [],
    body: { contents: [textContent] },
    responses: ok('The count.', 'ContentsTokenCount'),
    errors: ['vendor'],
  }),
}

const compact = {
  '/v1/responses/compact': paid({
    operationId: 'compactResponse',
    tag: 'Text',
    summary: 'Compact a conversation',
    description:
      'Its user messages and a sealed summary, in fewer tokens. Paid like a response. The output is the input of the next request.',
    parameters: [idempotencyKey],
    content: jsonBody({ model: 'a-chat-model', input: 'Hello!' }, ['model']),
    responses: ok('The shorter conversation.', 'Compaction'),
  }),
}

const rpcError = { content: objectMedia }
const tools = {
  '/mcp': {
    post: {
      operationId: 'tools',
      tags: ['Tools'],
      summary: 'Tools for models (MCP)',
      description:
        'The Model Context Protocol over streamable HTTP, with the same key. Not a REST endpoint: point an MCP client at it. `gateway env mcp` prints how.',
      requestBody: { required: true, content: objectMedia },
      responses: {
        '200': {
          description: 'A JSON-RPC answer.',
          content: { ...objectMedia, 'text/event-stream': { schema: { type: 'string' } } },
        },
        '202': { description: 'A notification was taken.' },
        '403': { description: 'A web page of this origin may not use tools.', ...rpcError },
        default: { description: 'A JSON-RPC error.', ...rpcError },
      },
    },
  },
}

/** A page about the gateway itself, which needs no key. */
const page = (
  operationId: string,
  summary: string,
  responses: Readonly<Record<string, object>>,
  more: object = {},
) => ({ operationId, tags: ['Gateway'], security: [], summary, ...more, responses })

const health = {
  '/health': {
    get: page('health', 'Health of gateway, database and disk', {
      '200': { description: 'They are.', content: jsonMedia('Health') },
      '503': {
        description: 'The database takes no changes, or the disk is full or missing.',
        content: jsonMedia('Health'),
      },
    }),
  },
  '/health/live': {
    get: page('live', 'Whether the process should keep running', {
      '200': { description: 'It should.', content: jsonMedia('Liveness') },
      '503': {
        description: 'It should be restarted: it refuses a database that it has seen replaced.',
        content: jsonMedia('Liveness'),
      },
    }),
  },
  '/health/ready': {
    get: page(
      'ready',
      'Whether requests should be sent here',
      {
        '200': { description: 'They should.', content: jsonMedia('Readiness') },
        '503': { description: 'They should not: `checks` says why.', content: jsonMedia('Readiness') },
      },
      { description: 'The database takes changes, the disk has room, and a model can be served.' },
    ),
  },
}

const yes = { '200': { description: 'Yes.' } }
const gateway = {
  '/': { get: page('root', 'Whether anybody is at home', yes), head: page('headRoot', 'The same', yes) },
  '/docs': {
    get: page('docs', 'This document as a page', {
      '200': { description: 'The page.', content: { 'text/html': { schema: { type: 'string' } } } },
    }),
  },
  '/docs/reference': {
    get: page(
      'reference',
      'Reference pages, with a search',
      { '200': { description: 'The page.', content: { 'text/html': { schema: { type: 'string' } } } } },
      {
        parameters: [
          {
            name: 'q',
            in: 'query',
            description: 'Words to search for.',
            schema: { type: 'string' },
            example: 'insufficient_balance',
          },
        ],
      },
    ),
  },
  '/openapi.json': {
    get: page(
      'openapi',
      'This document',
      { '200': { description: 'OpenAPI 3.1.', content: objectMedia } },
      { 'x-aliases': ['/docs/json'] },
    ),
  },
}

export const furtherPaths = {
  ...imagesLater('Image generation', '/v1/images/generations', 'createImageTask', 'application/json'),
  ...imagesLater('Image editing', '/v1/images/edits', 'editImageTask', 'multipart/form-data'),
  ...videos,
  ...contentsPaths,
  ...compact,
  ...tools,
  ...health,
  ...gateway,
}
