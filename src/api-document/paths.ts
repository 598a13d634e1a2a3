// Makes the paths besides operations: submitted videos, tools, health and this document. Each must
// be a route in src/http; a test compares the two.

import { contentsMissing, contentsModel, id, missing, ok } from './described'
import { errorAnswers, notFoundAnswer } from './error-pages'
import { idempotencyKey, waiting } from './headers'
import { jsonMedia } from './replies'
import type { Schema } from './schema'
import { headersOf } from './schema'

/** The mark of a path that needs no key. */
const open = { security: [] }
const taskMissing = notFoundAnswer(missing('task_not_found', 'There is no such task on this account.'))

const jsonBody = (value: object, required = Object.keys(value)) => ({
  required: true,
  content: {
    'application/json': { schema: { type: 'object', required }, examples: { plain: { value } } },
  },
})

/** A path of other gateways that answers with a task. */
function imagesLater(path: string, operationId: string, type: string) {
  return {
    [`${path}/async`]: {
      post: {
        operationId,
        tags: ['Images'],
        summary: `The same as POST ${path} with \`"async": true\`, for clients of other gateways`,
        parameters: [idempotencyKey, ...waiting],
        requestBody: {
          required: true,
          content: { [type]: { schema: { type: 'object', description: `The body of POST ${path}.` } } },
        },
        responses: {
          '202': { description: 'The task.', content: jsonMedia('ImageTask') },
          ...ok('The task as it has ended, where the request waited for it.', 'ImageTask'),
          ...errorAnswers(['always', 'withBody', 'paid', 'vendor'], ['openai']),
        },
      },
    },
  }
}

const laterImages = {
  ...imagesLater('/v1/images/generations', 'createImageTask', 'application/json'),
  ...imagesLater('/v1/images/edits', 'editImageTask', 'multipart/form-data'),
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

/** The form of a video request. JSON names the picture by its address; a form includes it. */
function videoForm(picture: Schema): Schema {
  return { ...videoFields, properties: { ...(videoFields.properties as object), input_reference: picture } }
}

const videos = {
  '/v1/videos': {
    post: {
      operationId: 'createVideo',
      tags: ['Video'],
      summary: 'Submit a video task in the words of a well-known API, for any video model',
      parameters: [idempotencyKey, ...waiting],
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: videoForm({ type: ['object', 'null'], properties: { image_url: { type: 'string' } } }),
          },
          'multipart/form-data': { schema: videoForm({ type: 'string', format: 'binary' }) },
        },
      },
      responses: {
        ...ok('The task.', 'Video'),
        '202': { description: 'The same, for models that answer so.', content: jsonMedia('Video') },
        ...errorAnswers(['always', 'withBody', 'paid', 'vendor'], ['openai']),
      },
    },
  },
  '/v1/videos/{id}/remix': {
    post: {
      operationId: 'remixVideo',
      tags: ['Video'],
      summary: 'Submit another video of a finished one, as long and as large, where its model can make it',
      parameters: [id('The id of the finished task.'), idempotencyKey],
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: {
              type: 'object',
              required: ['prompt'],
              properties: {
                prompt: { type: 'string', minLength: 1 },
                webhook_url: { type: ['string', 'null'] },
              },
            },
            examples: { remix: { value: { prompt: 'Make it night' } } },
          },
        },
      },
      responses: {
        ...ok('The new task.', 'Video'),
        ...errorAnswers(['always', 'withBody', 'paid', 'vendor'], ['openai']),
        '404': taskMissing,
      },
    },
  },
}

const rpcError = { 'application/json': { schema: { type: 'object' } } }

const textContent = { parts: [{ text: 'Hello!' }] }
/** Methods of Google's API, whose address names the model. */
const contentsPaths = {
  '/v1beta/models/{id}:streamGenerateContent': {
    post: {
      operationId: 'streamContents',
      tags: ['Text'],
      summary: 'The same in pieces: as events with `?alt=sse`, else as an array that grows',
      'x-aliases': ['/v1/models/{id}:streamGenerateContent'],
      parameters: [
        contentsModel,
        {
          name: 'alt',
          in: 'query',
          description: '`sse` for events.',
          schema: { type: 'string', enum: ['sse', 'json'] },
        },
        idempotencyKey,
      ],
      requestBody: jsonBody({ contents: [textContent] }),
      responses: {
        '200': {
          description: 'The answers, each with what is new in it.',
          headers: headersOf('x-request-id', 'x-gateway-model', 'x-gateway-ignored'),
          content: {
            'text/event-stream': {
              schema: { type: 'string' },
              examples: {
                stream: {
                  value:
                    'data: {"candidates":[{"content":{"parts":[{"text":"Hello!"}],"role":"model"},"index":0}]}\n\n',
                },
              },
            },
            'application/json': { schema: { type: 'array', items: { type: 'object' } } },
          },
        },
        ...errorAnswers(['always', 'withBody', 'paid', 'vendor'], ['gemini']),
        '404': contentsMissing,
      },
    },
  },
  '/v1beta/models/{id}:embedContent': {
    post: {
      operationId: 'embedContent',
      tags: ['Embeddings'],
      summary:
        'The embedding of a text, in the form of clients of `generateContent`, for any model of embeddings',
      'x-aliases': ['/v1/models/{id}:embedContent'],
      parameters: [contentsModel, idempotencyKey],
      requestBody: jsonBody({ content: textContent }),
      responses: {
        ...ok('The vector.', 'ContentsEmbedding'),
        ...errorAnswers(['always', 'withBody', 'paid', 'vendor'], ['gemini']),
        '404': contentsMissing,
      },
    },
  },
  '/v1beta/models/{id}:batchEmbedContents': {
    post: {
      operationId: 'batchEmbedContents',
      tags: ['Embeddings'],
      summary: 'The embeddings of several texts, in the form of clients of `generateContent`',
      'x-aliases': ['/v1/models/{id}:batchEmbedContents'],
      parameters: [contentsModel, idempotencyKey],
      requestBody: jsonBody({ requests: [{ content: textContent }] }),
      responses: {
        ...ok('The vectors, in the order of the requests.', 'ContentsEmbeddings'),
        ...errorAnswers(['always', 'withBody', 'paid', 'vendor'], ['gemini']),
        '404': contentsMissing,
      },
    },
  },
  '/v1beta/models/{id}:countTokens': {
    post: {
      operationId: 'countContentsTokens',
      tags: ['Text'],
      summary: 'How many tokens contents have, for nothing',
      'x-aliases': ['/v1/models/{id}:countTokens'],
      parameters: [contentsModel],
      requestBody: jsonBody({ contents: [textContent] }),
      responses: {
        ...ok('The count.', 'ContentsTokenCount'),
        ...errorAnswers(['always', 'withBody', 'vendor'], ['gemini']),
        '404': contentsMissing,
      },
    },
  },
}

const others = {
  '/v1/responses/compact': {
    post: {
      operationId: 'compactResponse',
      tags: ['Text'],
      summary: 'A conversation in fewer tokens: its user messages and a sealed summary',
      description: 'Paid like a response. The output is the input of the next request.',
      parameters: [idempotencyKey],
      requestBody: jsonBody({ model: 'a-chat-model', input: 'Hello!' }, ['model']),
      responses: {
        ...ok('The shorter conversation.', 'Compaction'),
        ...errorAnswers(['always', 'withBody', 'paid', 'vendor'], ['openai']),
      },
    },
  },
  '/mcp': {
    post: {
      operationId: 'tools',
      tags: ['Tools'],
      summary: 'Tools for models over the Model Context Protocol (streamable HTTP), with the same key',
      description: 'Not a REST endpoint: point an MCP client at it. `gateway env mcp` prints how.',
      requestBody: { required: true, content: { 'application/json': { schema: { type: 'object' } } } },
      responses: {
        '200': {
          description: 'A JSON-RPC answer.',
          content: {
            'application/json': { schema: { type: 'object' } },
            'text/event-stream': { schema: { type: 'string' } },
          },
        },
        '202': { description: 'A notification was taken.' },
        '403': { description: 'A web page of this origin may not use tools.', content: rpcError },
        default: { description: 'A JSON-RPC error.', content: rpcError },
      },
    },
  },
  '/health': {
    get: {
      operationId: 'health',
      tags: ['Gateway'],
      ...open,
      summary: 'Whether the gateway, its database and its disk are well',
      responses: {
        '200': { description: 'They are.', content: jsonMedia('Health') },
        '503': {
          description: 'The database takes no changes, or the disk is full or missing.',
          content: jsonMedia('Health'),
        },
      },
    },
  },
  '/health/live': {
    get: {
      operationId: 'live',
      tags: ['Gateway'],
      ...open,
      summary: 'Whether the process should keep running',
      responses: {
        '200': { description: 'It should.', content: jsonMedia('Liveness') },
        '503': {
          description: 'It should be restarted: it refuses a database that it has seen replaced.',
          content: jsonMedia('Liveness'),
        },
      },
    },
  },
  '/health/ready': {
    get: {
      operationId: 'ready',
      tags: ['Gateway'],
      ...open,
      summary: 'Whether requests should be sent here',
      description: 'The database takes changes, the disk has room, and a model can be served.',
      responses: {
        '200': { description: 'They should.', content: jsonMedia('Readiness') },
        '503': { description: 'They should not: `checks` says why.', content: jsonMedia('Readiness') },
      },
    },
  },
}

const page = { tags: ['Gateway'], ...open }
const documentAnswer = {
  '200': { description: 'OpenAPI 3.1.', content: { 'application/json': { schema: { type: 'object' } } } },
}
const gateway = {
  '/': {
    get: {
      ...page,
      operationId: 'root',
      summary: 'Whether anybody is at home',
      responses: { '200': { description: 'Yes.' } },
    },
    head: {
      ...page,
      operationId: 'headRoot',
      summary: 'The same',
      responses: { '200': { description: 'Yes.' } },
    },
  },
  '/docs': {
    get: {
      ...page,
      operationId: 'docs',
      summary: 'This document as a page',
      responses: {
        '200': { description: 'The page.', content: { 'text/html': { schema: { type: 'string' } } } },
      },
    },
  },
  '/openapi.json': {
    get: {
      ...page,
      operationId: 'openapi',
      summary: 'This document',
      'x-aliases': ['/docs/json'],
      responses: documentAnswer,
    },
  },
}

export const furtherPaths = {
  ...laterImages,
  ...videos,
  ...contentsPaths,
  ...others,
  ...gateway,
}
