// POST /v1/quotes: the most that a request can cost, before it is sent, with all that would refuse it. It must never reach a
// vendor, nor hold anything.

import { Type } from '@sinclair/typebox'
import { OneOf } from '../../../api-operation/operation'
import { mapOf, text } from '../../../api-operation/schemas'
import { refusing } from '../../../api-operation/values'
import { askedTier, quoteOf, tariffOf } from '../../../billing/ledger/metering'
import { dollarsOfOne } from '../../../config/models/prices'
import { operations } from '../../../contract/operations'
import { heldTable } from '../../../contract/prices'
import { invalidRequest } from '../../../lib/errors'
import { formatUsd } from '../../../lib/money'
import { rewordPlain } from '../../../mcp/fields'
import { checkRequest, readRequest } from '../../../request/check'
import { maxPriceNano } from '../../../request/reserve'
import { callerOperation } from '../operation'

const quoted = operations.filter(({ body }) => body === 'json')
const paths = quoted.map(({ path }) => path)

const QuoteBody = Type.Object(
  {
    path: refusing(
      OneOf(paths, 'Where the request would be sent, such as `/v1/chat/completions`.'),
      otherPath,
    ),
    body: refusing(Type.Object({}, { description: 'The request as it would be sent.' }), () =>
      invalidRequest('body', "Invalid 'body': expected the request as it would be sent, an object."),
    ),
    plain: refusing(
      Type.Optional(
        Type.Boolean({
          default: false,
          description:
            'Whether the body is in plain words: `prompt`, and of `n`, `size`, `quality`, `resolution`, `duration` and `images` what `options` of `/v1/prices` names. The answer has the `body` to send.',
        }),
      ),
      () => invalidRequest('plain', "Invalid 'plain': expected true or false."),
    ),
  },
  {
    examples: [
      {
        path: '/v1/chat/completions',
        body: { model: 'fast', messages: [{ role: 'user', content: 'Hello!' }] },
      },
    ],
  },
)

const quote = callerOperation(
  Type.Object({
    object: Type.Literal('quote'),
    operation: OneOf(operations.map(({ name }) => name)),
    model: text,
    most_usd: Type.String({
      description: 'The most that it can cost, in dollars. What is paid is what was used.',
    }),
    quantities: mapOf(Type.Number(), 'The most that it can use, by unit.'),
    prices: mapOf(text, 'Dollars for one of each unit.'),
    body: Type.Optional(mapOf(Type.Unknown(), 'The request to send, for one in plain words.')),
  }),
)({
  id: 'createQuote',
  endpoint: 'POST /v1/quotes',
  tag: 'Keys',
  summary: 'The most that a request can cost, before it is sent',
  isPrivate: true,
  // As large as the request in question.
  entrance: 'chat',
  body: QuoteBody,
  answers: 'What would be held for it, at most. Nothing is.',
  async run({ world, key }, _query, { path, body, plain = false }) {
    const operation = quoted.find((each) => each.path === path)
    if (!operation) throw otherPath()
    const read = (value: object) =>
      readRequest(world.catalogue, key, operation, Buffer.from(JSON.stringify(value)), world)
    // In plain words it is read once for its model, whose family has a form of its own.
    const own = plain ? rewordPlain(body, read(body).candidates[0]) : body
    const checked = checkRequest(read(own), { headers: {} }, world.now())
    const { model, parsed } = checked
    const quantities = quoteOf(parsed, model)
    const { listed } = heldTable(tariffOf(parsed, model), quantities, askedTier(parsed))
    return {
      object: 'quote',
      operation: operation.name,
      model: model.id,
      ...(plain && { body: own }),
      most_usd: formatUsd(maxPriceNano(checked)),
      quantities,
      prices: Object.fromEntries(Object.entries(listed).map(([unit, pico]) => [unit, dollarsOfOne(pico)])),
    }
  },
})

function otherPath() {
  return invalidRequest('path', `Invalid 'path': expected one of ${paths.join(', ')}.`)
}

export const quoteOperations = [quote]
