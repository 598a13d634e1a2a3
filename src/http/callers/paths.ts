// Describes the operations of callers for the OpenAPI document, from the schemas that their requests are checked by and
// their answers are typed by. Nothing about a single operation may be written here.

import { describeInput } from '../../api-document/described'
import { errorAnswers, notFoundAnswer } from '../../api-document/error-pages'
import { type Examples, headerOf, plainSchema, type Schema, schemaOf } from '../../api-document/schema'
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
  const { id, tag, summary, aliases = [], headers, answers = 'As it stands now.', missing, body } = operation
  const { dialects = ['openai'], errors = [], query, isBodyOptional = false } = operation
  const { parameters, requestBody } = describeInput(operation, headers)
  const ids = ['x-request-id', ...(dialects.includes('messages') ? ['request-id'] : [])]
  const derived = [...(query ? ['badAddress' as const] : []), ...(body ? ['withBody' as const] : [])]
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(aliases.length > 0 && { 'x-aliases': aliases }),
    ...(parameters && { parameters }),
    ...(requestBody && { requestBody: { ...requestBody, required: !isBodyOptional } }),
    responses: {
      '200': {
        description: answers,
        headers: Object.fromEntries(ids.map((name) => [name, headerOf(name)])),
        content: { 'application/json': replyOf(operation, schemas) },
      },
      ...errorAnswers(['always', ...derived, ...errors], dialects),
      ...(missing && { '404': notFoundAnswer(missing, dialects) }),
    },
  }
}

/** The good answer, with the examples of the schemas that have names. */
function replyOf({ reply }: CallerOperation, schemas: Record<string, Schema>) {
  const examples: Examples = {}
  const schema = withReferences(plainSchema(reply), (name, { examples: [value] = [], ...named }) => {
    schemas[name] = named
    if (value !== undefined) examples[name] = { value }
  })
  return { schema, ...(Object.keys(examples).length > 0 && { examples }) }
}

type Take = (name: string, schema: Schema & { examples?: unknown[] }) => void

/** A schema with references in place of those that have names, which are handed over. */
function withReferences(schema: Schema, take: Take): Schema {
  const inner = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(inner)
    return typeof part === 'object' && part !== null ? withReferences(part as Schema, take) : part
  }
  const { $id, ...parts } = schema
  const whole = Object.fromEntries(
    Object.entries(parts).map(([name, part]) => [name, name === 'examples' ? part : inner(part)]),
  )
  if (typeof $id !== 'string') return whole
  take($id, whole)
  return schemaOf($id)
}
