// Parts of the descriptions of paths: their parameters and their good answers.

import { jsonMedia, type ReplyName } from './replies'
import { type DescribedAnswer, headerOf, type Parameter, type Schema } from './schema'

export const id = (description: string): Parameter => ({
  name: 'id',
  in: 'path',
  required: true,
  description,
  schema: { type: 'string' },
})
export const query = (name: string, description: string, schema: Schema): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
})
export const ok = (description: string, ...names: ReplyName[]): Record<string, DescribedAnswer> => ({
  '200': { description, headers: { 'x-request-id': headerOf('x-request-id') }, content: jsonMedia(...names) },
})
