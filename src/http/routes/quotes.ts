// POST /v1/quotes: the most that a request can cost, before it is sent, with all that would refuse it. It must never reach a
// vendor, nor hold anything.

import { Elysia } from 'elysia'
import type { Key } from '../../accounts/keys'
import { askedTier, quoteOf, tariffOf } from '../../billing/ledger/metering'
import type { Catalogue } from '../../catalogue/models'
import { dollarsOfOne } from '../../config/models/prices'
import { operations } from '../../contract/operations'
import { heldTable } from '../../contract/prices'
import { invalidRequest } from '../../lib/errors'
import { parseBody, scanBody } from '../../lib/json/body'
import { formatUsd } from '../../lib/money'
import type { System } from '../../lib/system'
import { rewordPlain } from '../../mcp/fields'
import { checkRequest, readRequest } from '../../request/check'
import { mostNano } from '../../request/reserve'
import type { BodyReader } from '../body'
import { exempt, type Listener, rest } from '../connection'
import { tolerated } from '../paths'
import { answerKeyed, type KeyedWorld } from '../with-key'

type QuoteWorld = KeyedWorld & Pick<System, 'now' | 'random'> & { catalogue: Catalogue }

export function quoteRoutes(world: QuoteWorld, bodies: BodyReader) {
  async function answer(request: Request, listener: Listener | null): Promise<Response> {
    rest(listener, request, world.config)
    const response = await answerKeyed(world, request, 'openai', async (key, requestId) => {
      // As large as the request in question.
      const body = await bodies.read(request, 'chat', () => exempt(listener, request))
      const headers = { 'x-request-id': requestId, 'cache-control': 'no-store' }
      return Response.json(quoteFor(world, key, parseBody(scanBody(body))), { headers })
    })
    rest(listener, request, world.config)
    return response.ok ? response : bodies.answer(request, response, listener)
  }

  const app = new Elysia({ name: 'quotes' })
  for (const path of tolerated('/v1/quotes'))
    app.post(path, ({ request, server }) => answer(request, server), { parse: 'none' })
  return app
}

function quoteFor(
  world: QuoteWorld,
  key: Key,
  { path, body, plain = false }: Record<string, unknown>,
): object {
  const paths = operations.filter((operation) => operation.body === 'json')
  const operation = paths.find((each) => each.path === path)
  if (!operation)
    throw invalidRequest(
      'path',
      `Invalid 'path': expected one of ${paths.map((each) => each.path).join(', ')}.`,
    )
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalidRequest('body', "Invalid 'body': expected the request as it would be sent, an object.")
  if (typeof plain !== 'boolean') throw invalidRequest('plain', "Invalid 'plain': expected true or false.")
  const read = (value: object) =>
    readRequest(world.catalogue, key, operation, Buffer.from(JSON.stringify(value)), world)
  // In plain words it is read once for its model, whose family has a form of its own.
  const own = plain ? rewordPlain(body as Record<string, unknown>, read(body).candidates[0]) : body
  const checked = checkRequest(read(own), { headers: {} }, world.now())
  const { model, parsed } = checked
  const quantities = quoteOf(parsed, model)
  const { listed } = heldTable(tariffOf(parsed, model), quantities, askedTier(parsed))
  return {
    object: 'quote',
    operation: operation.name,
    model: model.id,
    ...(plain && { body: own }),
    most_usd: formatUsd(mostNano(checked)),
    quantities,
    prices: Object.fromEntries(Object.entries(listed).map(([unit, pico]) => [unit, dollarsOfOne(pico)])),
  }
}
