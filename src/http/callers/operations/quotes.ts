// POST /v1/quotes: the maximum price of a request, before it is sent, with everything that would refuse it. It must never reach a
// vendor, or hold anything.

import { Type } from '@sinclair/typebox'
import { OneOf } from '../../../api-operation/operation'
import { mapOf, text } from '../../../api-operation/schemas'
import { refusing } from '../../../api-operation/values'
import { quoteOf, requestedTier, tariffOf } from '../../../billing/ledger/metering'
import { dollarsOfOne } from '../../../config/models/prices'
import type { Model } from '../../../contract/family'
import type { Form } from '../../../contract/form'
import { operations } from '../../../contract/operations'
import { heldTable } from '../../../contract/prices'
import { invalidRequest } from '../../../lib/errors'
import { pictureOf } from '../../../lib/file-formats/picture'
import { formatUsd } from '../../../lib/money'
import { rewordPlain } from '../../../mcp/fields'
import { formInMemory, uploadOf } from '../../../mcp/forms'
import { readRequest } from '../../../request/check'
import { maxPriceNano } from '../../../request/reserve'
import { type CallerWorld, callerOperation } from '../operation'

const paths = operations.map(({ path }) => path)

const QuoteBody = Type.Object(
  {
    path: refusing(
      OneOf(paths, 'Where the request would be sent, such as `/v1/chat/completions`.'),
      otherPath,
    ),
    body: refusing(
      Type.Object({}, { description: 'The request as it would be sent; files of a form as data URLs.' }),
      () => invalidRequest('body', "Invalid 'body': expected the request to be sent, as an object."),
    ),
    plain: refusing(
      Type.Optional(
        Type.Boolean({
          default: false,
          description:
            'Whether the body is in plain words: `prompt`, and of `n`, `size`, `quality`, `resolution`, `duration` and `images` what `options` of `/v1/prices` names; further members in `options`. The answer has the `body` to send.',
        }),
      ),
      () => invalidRequest('plain', "Invalid 'plain': expected true or false."),
    ),
  },
  {
    examples: [
      {
        path: '/v1/chat/completions',
        body: { model: 'a-chat-model', messages: [{ role: 'user', content: 'Hello!' }] },
      },
    ],
  },
)

/** Members that every form of a plain request has. */
const NAMED = ['model', 'prompt']
const FILE = /^data:[a-z]+\/[a-z0-9.+-]+;base64,/i
type Plain = Readonly<Record<string, unknown>>

const quote = callerOperation(
  Type.Object({
    object: Type.Literal('quote'),
    operation: OneOf(operations.map(({ name }) => name)),
    model: text,
    most_usd: Type.String({
      description: 'The most that it can cost, in dollars. What is paid is what was used.',
    }),
    quantities: mapOf(Type.Number(), 'Its maximum use, by unit.'),
    prices: mapOf(text, 'Dollars for one of each unit.'),
    body: Type.Optional(mapOf(Type.Unknown(), 'The request to send, for plain options.')),
  }),
)({
  id: 'createQuote',
  forTokens: true,
  endpoint: 'POST /v1/quotes',
  tag: 'Keys',
  summary: 'Quote',
  description: 'The most that a request can cost, before it is sent.',
  isPrivate: true,
  // The body may be as large as the request itself.
  entrance: 'chat',
  body: QuoteBody,
  answers:
    'The maximum that would be held for it. Nothing is held. For a route: by its eligible models; `model` is the first. Conditions by header read the headers of this request.',
  async run({ world, key, request, gateway }, _query, { path, body, plain = false }) {
    const operation = operations.find((each) => each.path === path)
    if (!operation) throw otherPath()
    const contentOf = async (value: object): Promise<Uint8Array | Form> =>
      operation.body === 'form' ? formOf(value, world, request.signal) : Buffer.from(JSON.stringify(value))
    const read = async (value: object) =>
      readRequest(world.catalogue, key, operation, await contentOf(value), world)
    // A plain request is read once for its models, whose families each have their own form.
    const own = plain ? rewordPlain(body, formFor((await read(body)).candidates, body)) : body
    const checked = await gateway.checkForQuote(await read(own), {
      headers: {},
      header: (name) => request.headers.get(name),
      metadata: () => request.headers.get('x-gateway-metadata'),
      signal: () => request.signal,
    })
    const { model, parsed } = checked
    const quantities = quoteOf(parsed, model)
    const { listed } = heldTable(tariffOf(parsed, model), quantities, requestedTier(parsed))
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

/**
 * The form of the first model in which a plain request is written: always the same one for the same members, and one that supports
 * its options. So a request with `response_format` gets a form whose answer has it.
 */
function formFor(candidates: readonly [Model, ...Model[]], { options, ...plain }: Plain): Model {
  const [first] = candidates
  const members = Object.keys(options ?? {})
  const isFit = ({ id, family }: Model) =>
    id === first.id &&
    members.every((name) => name in family.body.properties) &&
    Object.keys(plain).every(
      (name) => NAMED.includes(name) || family.plain.fields.some((each) => each === name),
    )
  return candidates.find(isFit) ?? first
}

/** A form whose files are data URLs, as the request itself would be read. */
async function formOf(body: object, { audioReader }: CallerWorld, signal: AbortSignal): Promise<Form> {
  const uploadsOf = async (name: string, value: unknown) => {
    const upload = uploadOf(name, value, 'data:image/png;base64,…')
    const picture = await pictureOf(upload.bytes)
    const audio = picture ? undefined : await audioReader.read(upload.bytes, signal)
    return { ...upload, filename: 'file', picture, audio }
  }
  const isFile = (value: unknown) => [value].flat().some((each) => FILE.test(String(each)))
  const members = Object.entries(body)
  const files = members.filter(([, value]) => isFile(value))
  const read = await Promise.all(
    files.map(async ([name, value]) => [
      name,
      await Promise.all([value].flat().map((each) => uploadsOf(name, each))),
    ]),
  )
  const texts = Object.fromEntries(members.filter(([, value]) => !isFile(value)))
  return formInMemory(texts, Object.fromEntries(read), '')
}

function otherPath() {
  return invalidRequest('path', `Invalid 'path': expected one of ${paths.join(', ')}.`)
}

export const quoteOperations = [quote]
