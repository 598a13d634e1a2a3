// Builds parts of the descriptions of paths and operations: parameters, bodies and successful answers, from the schemas with
// which requests are checked.

import type { TSchema } from '@sinclair/typebox'
import type { ApiOperation } from '../api-operation/operation'
import type { ErrorCode } from '../lib/error-codes'
import { notFoundAnswer } from './error-pages'
import { jsonMedia, type ReplyName } from './replies'
import { type DescribedAnswer, headersOf, type Media, type Parameter, plainSchema } from './schema'

const NAME_IN_PATH = /\{\+?(\w+)\}/g

/** Describes what an operation takes. `further` are parameters in headers. */
export function describeInput(
  { path, params = {}, query, body }: ApiOperation,
  further: readonly Parameter[] = [],
): { parameters?: object[]; requestBody?: { required: boolean; content: Record<string, Media> } } {
  const inPath = [...path.matchAll(NAME_IN_PATH)].map(([, name = '']) => {
    const described = params[name] === undefined ? {} : { description: params[name] }
    return { name, in: 'path', required: true, ...described, schema: { type: 'string' } }
  })
  const inQuery = Object.entries(query?.properties ?? {}).map(([name, schema]) => {
    const { description = '', ...plain } = plainSchema(schema)
    const isRequired = query?.required?.includes(name) === true && plain.default === undefined
    return { name, in: 'query', ...(isRequired && { required: true }), description, schema: plain }
  })
  const parameters = [...inPath, ...inQuery, ...further]
  return {
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: (body.required ?? []).length > 0,
        content: { 'application/json': mediaOf(body) },
      },
    }),
  }
}

/** A schema with its examples next to it, by the name of the schema. */
export function mediaOf(schema: TSchema): Media {
  const { examples, ...plain } = plainSchema(schema)
  if (!Array.isArray(examples)) return { schema: plain }
  const [value] = examples
  return { schema: plain, examples: { [schema.$id ?? 'body']: { value } } }
}

export const id = (description: string): Parameter => ({
  name: 'id',
  in: 'path',
  required: true,
  description,
  schema: { type: 'string' },
})
export const ok = (description: string, ...names: ReplyName[]): Record<string, DescribedAnswer> => ({
  '200': { description, headers: headersOf('x-request-id'), content: jsonMedia(...names) },
})

/** The answers of a file of a type, whole or in part. */
export function fileAnswers(type: string): Record<string, DescribedAnswer> {
  const content = { [type]: { schema: { type: 'string', format: 'binary' } } }
  return {
    '200': { description: 'The file.', headers: headersOf('x-request-id', 'accept-ranges', 'etag'), content },
    '206': {
      description: 'A part of it.',
      headers: headersOf('x-request-id', 'accept-ranges', 'etag', 'content-range'),
      content,
    },
    '416': { description: 'There is no such part.', headers: headersOf('x-request-id', 'content-range') },
  }
}

/** The error for missing objects. */
export const missing = (code: ErrorCode, message: string) => ({
  code,
  message,
  param: null,
  type: 'invalid_request_error',
})

/** The parameter for the model in a path of Google's API, and the reply for an unknown model. */
export const contentsModel = id(
  'Id of a model, which may contain slashes. The method follows the last colon.',
)
export const contentsMissing = notFoundAnswer(
  missing(
    'model_not_found',
    'The model `no-such-model` does not exist or this key may not use it. This key may use: …',
  ),
  ['gemini'],
)
