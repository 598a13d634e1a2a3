// The number of tokens of a request, free of charge: POST /v1/messages/count_tokens, POST /v1/responses/input_tokens. They
// must never hold or charge anything.

import { Type } from '@sinclair/typebox'
import { open } from '../../../api-operation/operation'
import { count } from '../../../api-operation/schemas'
import { forwardedOf, operationOf } from '../../../contract/operations'
import { servedPaths } from '../../paths'
import { type CallerContext, callerOperation } from '../operation'

const example = { model: 'a-chat-model', messages: [{ role: 'user', content: 'Hello!' }] }
const counted = { tag: 'Text', answers: 'The count.', isRaw: true, isMarked: true, forTokens: true } as const

/** Path and additional paths of a token count below an operation. */
function pathsBelow(name: 'messages' | 'responses', below: string) {
  const [path = '', ...aliases] = servedPaths(operationOf(name), below)
  return { endpoint: `POST ${path}` as `POST /${string}`, aliases, entrance: name }
}

function tokensOf(name: 'messages' | 'responses', { key, request, bytes, countTokens }: CallerContext) {
  const operation = operationOf(name)
  const headers = forwardedOf(operation, request.headers)
  return countTokens(operation, { key, headers, body: bytes, signal: request.signal })
}

const messages = callerOperation(
  Type.Object({ input_tokens: count }, { $id: 'TokenCount', examples: [{ input_tokens: 9 }] }),
)({
  ...counted,
  ...pathsBelow('messages', '/count_tokens'),
  id: 'countTokens',
  summary: 'Tokens of a messages request',
  description: 'Counted for nothing.',
  body: Type.Object(
    { model: Type.String(), messages: Type.Array(Type.Unknown()) },
    { ...open, examples: [example] },
  ),
  errors: ['vendor'],
  dialects: ['messages'],
  dialectOf: () => 'messages',
  run: async (context) => ({ input_tokens: await tokensOf('messages', context) }),
})

const responses = callerOperation(
  Type.Object(
    { object: Type.Literal('response.input_tokens'), input_tokens: count },
    { $id: 'ResponseTokenCount', examples: [{ object: 'response.input_tokens', input_tokens: 9 }] },
  ),
)({
  ...counted,
  ...pathsBelow('responses', '/input_tokens'),
  id: 'countInputTokens',
  summary: 'Input tokens of a responses request',
  description: 'Counted for nothing.',
  body: Type.Object(
    { model: Type.String(), input: Type.Unknown() },
    { ...open, examples: [{ model: 'a-chat-model', input: 'Hello!' }] },
  ),
  errors: ['vendor'],
  run: async (context) => ({
    object: 'response.input_tokens',
    input_tokens: await tokensOf('responses', context),
  }),
})

export const tokenCountOperations = [messages, responses]
