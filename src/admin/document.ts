// The OpenAPI document of the admin API, made from the schemas that requests are checked with, and its page. Pure except for
// the page.

import { describeInput } from '../api-document/described'
import { errorSchemas } from '../api-document/error-pages'
import { type Parameter, plainSchema, schemaOf } from '../api-document/schema'
import { createPage, type DocsPage } from '../http/routes/docs-page'
import type { ErrorCode } from '../lib/error-codes'
import { errorBody, GatewayError } from '../lib/errors'
import type { AdminOperation } from './operation'
import { adminOperations } from './operations'

const VERSION = '1.0.0'
const title = 'Unified Model Gateway: admin API'
const summary = 'Accounts, keys, money, requests, tasks and the gateway itself, for its operators.'
const description = `${summary}

Send the token of an admin as \`Authorization: Bearer adm-…\`: \`gateway admins create NAME --role viewer\` makes one. Lists are paged: \`next\` of an answer is \`after\` of the next request. Times are ISO 8601 in UTC, amounts are dollars as text. Each change is in \`GET /admin/v1/audit\`.`

/** Errors of operations: the status, its cause, and an example of a code. */
const errors = {
  '400': ['A parameter or a field is unknown, missing or wrong.', 'invalid_value'],
  '401': ['The token is missing, wrong, expired or revoked.', 'invalid_admin_token'],
  '403': ['The role of the admin is not sufficient.', 'role_not_sufficient'],
  '404': ['The object does not exist.', 'key_not_found'],
  '409': ['The current state does not allow it.', 'key_revoked'],
  '408': ['The body arrived too slowly.', 'body_too_slow'],
  '413': ['The body is too large.', 'body_too_large'],
  '415': ['The body is not JSON.', 'unsupported_media_type'],
  '422': ['This Idempotency-Key was used for another transfer.', 'idempotency_key_reused'],
  '429': ['Too many attempts with a wrong token from this address.', 'too_many_attempts'],
  '503': ['The database is not available, or a backup failed. Try again.', 'database_unavailable'],
} as const

export function createAdminDocument(version: string) {
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of adminOperations) {
    const path = `/admin/v1${operation.path}`
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describe(operation) }
  }
  return {
    openapi: '3.1.0',
    info: { title, summary, description, version: VERSION, 'x-gateway-version': version },
    servers: [{ url: '/' }],
    tags: [...new Set(adminOperations.map(({ tag }) => tag))].map((name) => ({ name })),
    security: [{ admin: [] }],
    paths,
    components: {
      securitySchemes: { admin: { type: 'http', scheme: 'bearer', description: 'The token of an admin.' } },
      schemas: errorSchemas,
    },
  }
}

const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'Makes it happen once, however often it is sent.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
}

function describe(operation: AdminOperation): object {
  const { id, tag, summary, description, role, isIdempotent } = operation
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: [...(description === undefined ? [] : [description]), `Role: ${role}.`].join('\n\n'),
    'x-role': role,
    ...describeInput(operation, isIdempotent ? [idempotencyKey] : []),
    responses: {
      ...answersOf(operation),
      ...Object.fromEntries(
        Object.entries(errors).map(([status, [text, code]]) => [status, errorOf(status, text, code)]),
      ),
    },
  }
}

const text = { schema: { type: 'string' } }
const bytes = { '*/*': { schema: { type: 'string', format: 'binary' } } }

/** Answers other than errors: JSON, also in the forms that `format` names, or the bytes of a file. */
function answersOf({ query, reply, isFile }: AdminOperation): object {
  if (isFile)
    return {
      '200': { description: 'The whole file.', content: bytes },
      '206': { description: 'The part that a Range header asks for.', content: bytes },
      '416': { description: 'The file has no such part.' },
    }
  const formats = JSON.stringify(query?.properties.format ?? {})
  const content = {
    'application/json': { schema: plainSchema(reply) },
    ...(formats.includes('"csv"') && { 'text/csv': text }),
    ...(formats.includes('"html"') && { 'text/html': text }),
  }
  return { '200': { description: 'As it is now.', content } }
}

function errorOf(status: string, description: string, code: ErrorCode): object {
  const error = new GatewayError(Number(status), { code, message: description })
  const value = errorBody(error, 'openai', 'req_0193a1b2c3d47e8f9a0b1c2d3e4f5a6b')
  const schema = schemaOf(status === '429' ? 'FlatError' : 'Error')
  return { description, content: { 'application/json': { schema, examples: { [code]: { value } } } } }
}

/** The page and the document, at addresses relative to the page. */
export function createAdminPage(version: string): Promise<DocsPage> {
  return createPage(createAdminDocument(version), {
    json: 'openapi.json',
    viewer: 'docs/viewer.js',
    gateway: '../..',
  })
}
