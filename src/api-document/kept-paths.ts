// Makes the paths of what is kept of responses: the responses themselves, and conversations.

import { id, missing, ok, query } from './described'
import { errorAnswers, notFoundAnswer } from './error-pages'
import type { Parameter, Schema } from './schema'

const itemPages = [
  query('limit', 'Items on a page.', { type: 'integer', minimum: 1, maximum: 100, default: 20 }),
  query('order', 'The newest first, or the oldest.', { enum: ['desc', 'asc'], default: 'desc' }),
  query('after', 'The page after this item.', { type: 'string' }),
]

const responseId = id('The id of a response of this account.')
const responseMissing = notFoundAnswer(
  missing(
    'response_not_found',
    "Response with id 'resp_1' not found. It was not kept, was deleted, or is too old.",
  ),
)

const conversationId = id('The id of a conversation of this account.')
const itemId: Parameter = { ...id('The id of an item.'), name: 'item' }
const conversationMissing = notFoundAnswer(
  missing(
    'conversation_not_found',
    "Conversation with id 'conv_1' not found. It was deleted, has not been used for too long, or had to make room.",
  ),
)
const itemMissing = notFoundAnswer(missing('item_not_found', "Item with id 'msg_1' not found."))
const hello = { type: 'message', role: 'user', content: 'Hello' }

/** A body with some of the fields of a conversation. */
function bodyOf(fields: readonly string[], value: object, required = true) {
  const known: Record<string, Schema> = {
    items: { type: 'array', maxItems: 20, items: { type: 'object' } },
    metadata: { type: ['object', 'null'], additionalProperties: true },
  }
  const properties = Object.fromEntries(fields.map((field) => [field, known[field]]))
  const schema = { type: 'object', properties, ...(required && { required: fields }) }
  return { required, content: { 'application/json': { schema, examples: { body: { value } } } } }
}

export const keptPaths = {
  '/v1/responses/{id}': {
    get: {
      operationId: 'getResponse',
      tags: ['Text'],
      summary: 'A response that was kept',
      parameters: [
        responseId,
        query('stream', 'Whether to follow the events of a response in the background.', {
          type: 'boolean',
        }),
        query('starting_after', 'The number of the last event that is known.', {
          type: 'integer',
          minimum: 0,
        }),
      ],
      responses: {
        ...ok('The response as it stands.', 'Response'),
        ...errorAnswers(['always', 'badAddress'], ['openai']),
        '404': responseMissing,
      },
    },
    delete: {
      operationId: 'deleteResponse',
      tags: ['Text'],
      summary: 'Delete a response that was kept, with its input',
      parameters: [responseId],
      responses: {
        ...ok('It is gone.', 'DeletedResponse'),
        ...errorAnswers(['always'], ['openai']),
        '404': responseMissing,
      },
    },
  },
  '/v1/responses/{id}/cancel': {
    post: {
      operationId: 'cancelResponse',
      tags: ['Text'],
      summary: 'Stop a response in the background',
      parameters: [responseId],
      responses: {
        ...ok('The response as it stands. What was made until then is paid.', 'Response'),
        ...errorAnswers(['always', 'badAddress'], ['openai']),
        '404': responseMissing,
      },
    },
  },
  '/v1/responses/{id}/input_items': {
    get: {
      operationId: 'listInputItems',
      tags: ['Text'],
      summary: 'The whole input of a response that was kept, with what it continued',
      parameters: [responseId, ...itemPages],
      responses: {
        ...ok('A page of items.', 'InputItemList'),
        ...errorAnswers(['always', 'badAddress'], ['openai']),
        '404': responseMissing,
      },
    },
  },
  '/v1/conversations': {
    post: {
      operationId: 'createConversation',
      tags: ['Text'],
      summary: 'Begin a conversation',
      requestBody: bodyOf(['items', 'metadata'], { metadata: { topic: 'travel' }, items: [hello] }, false),
      responses: {
        ...ok('It is empty, or has these items.', 'Conversation'),
        ...errorAnswers(['always', 'withBody'], ['openai']),
        '404': itemMissing,
      },
    },
  },
  '/v1/conversations/{id}': {
    get: {
      operationId: 'getConversation',
      tags: ['Text'],
      summary: 'A conversation',
      parameters: [conversationId],
      responses: {
        ...ok('The conversation without its items.', 'Conversation'),
        ...errorAnswers(['always'], ['openai']),
        '404': conversationMissing,
      },
    },
    post: {
      operationId: 'updateConversation',
      tags: ['Text'],
      summary: 'Replace the metadata of a conversation',
      parameters: [conversationId],
      requestBody: bodyOf(['metadata'], { metadata: { topic: 'food' } }),
      responses: {
        ...ok('The conversation.', 'Conversation'),
        ...errorAnswers(['always', 'withBody'], ['openai']),
        '404': conversationMissing,
      },
    },
    delete: {
      operationId: 'deleteConversation',
      tags: ['Text'],
      summary: 'Delete a conversation with its items',
      parameters: [conversationId],
      responses: {
        ...ok('It is gone.', 'DeletedConversation'),
        ...errorAnswers(['always'], ['openai']),
        '404': conversationMissing,
      },
    },
  },
  '/v1/conversations/{id}/items': {
    post: {
      operationId: 'addItems',
      tags: ['Text'],
      summary: 'Append items to a conversation, at most 20',
      parameters: [conversationId],
      requestBody: bodyOf(['items'], { items: [hello] }),
      responses: {
        ...ok('These items.', 'InputItemList'),
        ...errorAnswers(['always', 'withBody'], ['openai']),
        '404': conversationMissing,
      },
    },
    get: {
      operationId: 'listItems',
      tags: ['Text'],
      summary: 'The items of a conversation',
      parameters: [conversationId, ...itemPages],
      responses: {
        ...ok('A page of items.', 'InputItemList'),
        ...errorAnswers(['always', 'badAddress'], ['openai']),
        '404': conversationMissing,
      },
    },
  },
  '/v1/conversations/{id}/items/{item}': {
    get: {
      operationId: 'getItem',
      tags: ['Text'],
      summary: 'One item of a conversation',
      parameters: [conversationId, itemId],
      responses: {
        ...ok('The item.', 'ConversationItem'),
        ...errorAnswers(['always'], ['openai']),
        '404': conversationMissing,
      },
    },
    delete: {
      operationId: 'deleteItem',
      tags: ['Text'],
      summary: 'Delete an item of a conversation',
      parameters: [conversationId, itemId],
      responses: {
        ...ok('The conversation without it.', 'Conversation'),
        ...errorAnswers(['always'], ['openai']),
        '404': conversationMissing,
      },
    },
  },
}
