// Makes the paths of the table of operations: each with the payload forms of the models that serve it, an example of
// each, and all its answers. Nothing about a family must be written here: the family itself provides it.

import type { Catalogue } from '../catalogue/models'
import { type Family, type Model, streamOf } from '../contract/family'
import { type Operation, operationOf } from '../contract/operations'
import type { Dialect } from '../lib/errors'
import { contentsMissing, contentsModel } from './described'
import { errorAnswers, rateLimitHeaders } from './error-pages'
import { idempotencyKey, respondingLater, usageMetadata, waiting } from './headers'
import { jsonMedia, repliesOf } from './replies'
import { samplesOf } from './samples'
import {
  type DescribedAnswer,
  type Examples,
  fileFields,
  formSchema,
  headersOf,
  type Media,
  type Parameter,
  plainSchema,
  type Schema,
  schemaOf,
} from './schema'

/** Models whose requests have one form. */
interface PayloadForm {
  name: string
  family: Family
  models: readonly Model[]
  /** Names that a request may use: the models, and the routes and aliases for them. */
  ids: readonly string[]
}

const REFERENCE_IMAGE = 'https://example.com/picture.png'
const WEBHOOK = 'https://example.com/finished'

/** The forms of an operation: those of the catalogue's models, or of all families if there are none. */
export function formsOf(
  operation: Operation,
  catalogue: Pick<Catalogue, 'models' | 'routes' | 'aliases'>,
  families: Iterable<Family>,
): PayloadForm[] {
  const models = [...catalogue.models.values()]
    .flat()
    .filter(({ family }) => family.operation === operation.name)
  const served = [...new Set(models.map(({ family }) => family))]
  const known =
    served.length > 0 ? served : [...families].filter(({ operation: name }) => name === operation.name)
  const groups = Map.groupBy(known, ({ body }) => JSON.stringify(body))
  return [...groups.values()].flatMap((group) => {
    const [family] = group
    if (!family) return []
    const own = models.filter((model) => group.includes(model.family))
    return { name: family.name, family, models: own, ids: namesOf(own, catalogue) }
  })
}

function namesOf(
  models: readonly Model[],
  { routes, aliases }: Pick<Catalogue, 'routes' | 'aliases'>,
): string[] {
  const ids = new Set(models.map(({ id }) => id))
  for (const [id, route] of routes) if (route.models.some((target) => ids.has(target))) ids.add(id)
  // A name that ends with a star stands for more names than can be listed.
  for (const { name, target } of aliases) if (!name.endsWith('*') && ids.has(target)) ids.add(name)
  return [...ids]
}

/** The schema of a form's requests, which lists its models. */
export function schemaOfForm({ family, ids }: PayloadForm, operation: Operation): Schema {
  const schema = plainSchema(family.body)
  const properties = schema.properties as Record<string, Schema>
  const model = ids.length > 0 ? { ...properties.model, enum: ids } : properties.model
  const named = operation.inAddress
    ? withoutAddressed(schema)
    : { ...schema, properties: { ...properties, model } }
  return operation.body === 'form' ? formSchema(named) : named
}

/** The schema without the members in the URL. */
function withoutAddressed(schema: Schema): Schema {
  const { model: _, stream: __, ...properties } = schema.properties as Record<string, Schema>
  const required = (schema.required as string[]).filter((name) => name in properties)
  return { ...schema, required, properties }
}

/** Example requests that the models accept. */
function examplesOfForm({ name, family, models }: PayloadForm, operation: Operation): Examples {
  const [model] = models
  if (!model) return {}
  const { fields } = family.plain
  const images = Array.from({ length: model.referenceImages?.min ?? 0 }, () => REFERENCE_IMAGE)
  const plain = family.plain.body(
    {
      ...operation.asks,
      ...(fields.includes('images') && images.length > 0 && { images }),
      ...(model.durations && { duration: model.durations.default }),
    },
    model,
  )
  const request = { model: model.id, ...plain }
  const files = operation.body === 'form' ? fileFields(plainSchema(family.body)) : []
  const [file] = files
  if (file) return { [name]: { value: { ...request, [file]: [operation.exampleFile] } } }
  const properties = family.body.properties as Record<string, unknown>
  return {
    [name]: { value: request },
    ...(streamOf(family) &&
      !operation.inAddress && { [`${name}, streamed`]: { value: { ...request, stream: true } } }),
    ...(properties.webhook_url !== undefined && {
      [`${name}, with a webhook`]: { value: { ...request, webhook_url: WEBHOOK } },
    }),
  }
}

/** The path of an operation. `address` is the URL for sample requests. */
export function pathOfOperation(operation: Operation, forms: readonly PayloadForm[], address?: string) {
  const schemas = forms.map(({ name }) => schemaOf(name))
  const [only, ...others] = schemas
  const requests: Examples = Object.assign({}, ...forms.map((form) => examplesOfForm(form, operation)))
  const [first] = Object.values(requests)
  const examples = operation.inAddress ? withoutModels(requests) : requests
  const type = operation.body === 'form' ? 'multipart/form-data' : 'application/json'
  const schema = only && others.length === 0 ? only : choiceOf(forms)
  return {
    post: {
      operationId: operation.name,
      tags: [operation.tag],
      summary: operation.summary,
      ...descriptionOf(operation, forms),
      ...(operation.aliases && { 'x-aliases': operation.aliases }),
      parameters: [
        ...(operation.inAddress ? [modelParameter(forms)] : []),
        idempotencyKey,
        usageMetadata,
        ...(operation.forwards ?? []).map((name) => ({
          name,
          in: 'header' as const,
          description: 'Goes to the vendor as it is.',
          schema: { type: 'string' },
        })),
        ...(operation.name === 'video' ? waiting : []),
        ...(operation.canBeDeferred ? [respondingLater] : []),
      ],
      requestBody: { required: true, content: { [type]: { schema, examples }, ...jsonOf(operation) } },
      ...(first && { 'x-codeSamples': samplesOf(operation, first.value as Schema, address) }),
      responses: {
        ...successes(operation),
        ...errorAnswers(['always', 'withBody', 'paid', 'vendor'], dialectsOf(operation, forms)),
        ...(operation.inAddress && { '404': contentsMissing }),
      },
    },
  }
}

/** The model in a path. */
function modelParameter(forms: readonly PayloadForm[]): Parameter {
  const ids = forms.flatMap((form) => form.ids)
  return { ...contentsModel, schema: { type: 'string', ...(ids.length > 0 && { enum: ids }) } }
}

function withoutModels(requests: Examples): Examples {
  return Object.fromEntries(
    Object.entries(requests).map(([name, { value }]) => {
      const { model: _, ...request } = value as Record<string, unknown>
      return [name, { value: request }]
    }),
  )
}

/** The JSON that an operation accepts instead of a form. */
function jsonOf({ asJson }: Operation): Record<string, Media> {
  if (!asJson) return {}
  const { path } = operationOf(asJson)
  const description = `The request of \`POST ${path}\` with reference images, of models whose vendor takes edits so.`
  return { 'application/json': { schema: { type: 'object', description } } }
}

/** The choice between forms: exactly one fits, unless a route contains models with several. */
function choiceOf(forms: readonly PayloadForm[]): Schema {
  const refs = forms.map(({ name }) => schemaOf(name))
  const ids = forms.flatMap((form) => form.ids)
  if (ids.length === 0 || new Set(ids).size !== ids.length) return { anyOf: refs }
  const mapping = forms.flatMap(({ name, ids }) => ids.map((id) => [id, schemaOf(name).$ref]))
  return { oneOf: refs, discriminator: { propertyName: 'model', mapping: Object.fromEntries(mapping) } }
}

function descriptionOf({ about }: Operation, forms: readonly PayloadForm[]): { description?: string } {
  const kinds = forms.length > 1 ? [describeForms(forms)] : []
  const texts = [...(about === undefined ? [] : [about]), ...kinds, ...describeSurcharges(forms)]
  return texts.length > 0 ? { description: texts.join('\n\n') } : {}
}

/** Sentences about fields that cost more. Deeper fields are left to the error that names them. */
function describeSurcharges(forms: readonly PayloadForm[]): string[] {
  const rules = forms.flatMap(({ family }) => family.fieldRules ?? [])
  const fields = [...new Set(rules.map(({ field }) => `\`${field.replace(/\[\].*|\..*/, '')}\``))]
  if (fields.length === 0) return []
  return [
    `Values that cost more than the plain price, or name other models, are refused with status 400 where the model has no price for them. They are in these fields: ${fields.join(', ')}.`,
  ]
}

function describeForms(forms: readonly PayloadForm[]): string {
  const lines = forms.map(
    ({ name, ids }) => `- \`${name}\`${ids.length > 0 ? `: ${ids.map((id) => `\`${id}\``).join(', ')}` : ''}`,
  )
  const ids = forms.flatMap((form) => form.ids)
  const both = 'A model in two lists takes both forms, and answers in the one that it is asked in.'
  const note = new Set(ids).size === ids.length ? [] : ['', both]
  return ['The model decides the form of the request:', '', ...lines, ...note].join('\n')
}

function dialectsOf(operation: Operation, forms: readonly PayloadForm[]): Dialect[] {
  return [...new Set([operation.dialect, ...forms.map(({ family }) => family.dialect)])]
}

/** The answer to a deferred request. */
function later({ canBeDeferred }: Operation): Record<string, DescribedAnswer> {
  if (!canBeDeferred) return {}
  const description =
    'The task, where the body has `"async": true` (and, if wanted, a `webhook_url`) or `Prefer: respond-async` was applied. Its end is read at `GET /v1/tasks/{id}`.'
  return { '202': { description, content: jsonMedia('DeferredTask') } }
}

function successes(operation: Operation): Record<string, DescribedAnswer> {
  const { dialect } = operation
  const ids = dialect === 'messages' ? ['x-request-id', 'request-id'] : ['x-request-id']
  const names = [
    ...ids,
    'x-gateway-model',
    'x-gateway-route',
    'x-gateway-ignored',
    'deprecation',
    'sunset',
    'x-gateway-successor',
    'x-gateway-cache',
    'x-gateway-cost-usd',
    'x-gateway-receipt',
    ...rateLimitHeaders(),
  ]
  const headers = headersOf(...names)
  return Object.fromEntries(
    Object.entries({ ...repliesOf(operation), ...later(operation) }).map(([status, answer]) => [
      status,
      { ...answer, headers },
    ]),
  )
}
