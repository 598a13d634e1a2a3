// Describes the operations of callers for the OpenAPI document, from the schemas by which their requests are checked and their
// answers are typed. Nothing about a single operation may be written here.

import type { TSchema } from '@sinclair/typebox'
import { describeInput } from '../../api-document/described'
import { type ErrorGroup, errorAnswers, notFoundAnswer } from '../../api-document/error-pages'
import { endedTasks, replyExamples } from '../../api-document/replies'
import {
  type Examples,
  headerOf,
  type Media,
  plainSchema,
  type Schema,
  schemaOf,
} from '../../api-document/schema'
import type { CallerOperation } from './operation'

/** The paths of operations, and the schemas that they name. */
export function describeCallers(operations: readonly CallerOperation[]) {
  const paths: Record<string, Record<string, object>> = {}
  const schemas: Record<string, Schema> = {}
  for (const operation of operations) {
    const path = operation.path.replace('{+', '{')
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describe(operation, schemas) }
  }
  return { paths, schemas }
}

function describe(operation: CallerOperation, schemas: Record<string, Schema>): object {
  const { id, tag, summary, aliases = [], answers = 'As it is now.', missing, body } = operation
  const { dialects = ['openai'], errors = [], query, access, description, furtherAnswers } = operation
  const { parameters, requestBody } = describeInput(operation, operation.parameters)
  // Paths for clients that repeat /v1 are only tolerated.
  const known = aliases.filter((each) => !each.startsWith('/v1/v1/'))
  const ids = ['x-request-id', ...(dialects.includes('messages') ? ['request-id'] : [])]
  const groups: readonly ErrorGroup[] = [
    ...(access === 'no key' ? [] : (['always'] as const)),
    ...(query && access !== 'no key' ? (['badAddress'] as const) : []),
    ...(body ? (['withBody'] as const) : []),
    ...errors,
  ]
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(access && { security: access === 'no key' ? [] : [{ key: [] }, {}] }),
    ...(known.length > 0 && { 'x-aliases': known }),
    ...(parameters && { parameters }),
    ...(requestBody && { requestBody }),
    responses: {
      '200': {
        description: answers,
        headers: Object.fromEntries(ids.map((name) => [name, headerOf(name)])),
        content: { 'application/json': replyOf(operation, schemas) },
      },
      ...furtherAnswers,
      ...errorAnswers(groups, dialects),
      ...(missing && { '404': notFoundAnswer(missing, dialects) }),
    },
  }
}

/** The successful answer, with the named examples of its forms. */
function replyOf({ reply }: CallerOperation, schemas: Record<string, Schema>): Media {
  const forms: readonly TSchema[] = reply.anyOf ?? [reply]
  const examples = Object.assign({}, ...forms.map(examplesOf)) as Examples
  const schema = withReferences(plainSchema(reply), (name, named) => {
    schemas[name] = named
  })
  return { schema, ...(Object.keys(examples).length > 0 && { examples }) }
}

/** The example of a named schema, or of an answer that paid operations have too. */
function examplesOf({ $id, $ref, examples: [value] = [] }: TSchema): Examples {
  if ($ref === schemaOf('VideoTask').$ref) return endedTasks
  for (const name of ['Response', 'Video'] as const)
    if ($ref === schemaOf(name).$ref) return { [name]: { value: replyExamples[name] } }
  return $id === undefined ? {} : { [$id]: { value } }
}

/** A schema with references instead of named schemas, which `take` receives. */
function withReferences(schema: Schema, take: (name: string, schema: Schema) => void): Schema {
  const inner = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(inner)
    return typeof part === 'object' && part !== null ? withReferences(part as Schema, take) : part
  }
  const { $id, examples: _, ...parts } = schema
  const whole = Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, inner(part)]))
  if (typeof $id !== 'string') return whole
  take($id, whole)
  return schemaOf($id)
}
