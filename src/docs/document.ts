// The OpenAPI document of a running gateway, made from the tables and schemas that requests are served by.
// Pure: the same catalogue makes the same document.

import type { Catalogue } from '../catalogue/models'
import { operations } from '../contract/operations'
import { families } from '../families'
import { errorSchemas } from './errors'
import { headers } from './headers'
import { formsOf, pathOfOperation, schemaOfForm } from './operations'
import { furtherPaths } from './paths'
import { replySchemas } from './replies'

/** Of the API that callers write against (spec, Versioning). It changes with the contract, not with the gateway. */
const CONTRACT_VERSION = '1.0.0'

export interface DocumentOptions {
  catalogue: Pick<Catalogue, 'models' | 'routes' | 'aliases'>
  /** Of the gateway. */
  version: string
  /** Where callers reach this gateway; absent: where they got the document. */
  publicUrl?: string | undefined
}

const description = `One base URL and one key for many models.

Send the key as \`Authorization: Bearer sk-…\`. Every answer has an \`x-request-id\`. A request that costs money can be repeated safely with an \`Idempotency-Key\`. Errors say what is wrong and what to do about it; 429 and some 402 say in \`retry-after\` when to try again, and every error says in \`x-should-retry\` whether that can help. Web pages may call \`/v1\` from a browser, unless the operator limits them.`

const tags = [
  { name: 'Text', description: 'Chat completions and messages.' },
  { name: 'Embeddings' },
  { name: 'Images', description: 'The model decides the form of the request.' },
  { name: 'Speech' },
  { name: 'Video', description: 'A task is submitted, and then polled or told to a webhook.' },
  { name: 'Models' },
  { name: 'Files', description: 'Results that the gateway keeps.' },
  { name: 'Tools' },
  { name: 'Gateway', description: 'About the gateway itself; no key is asked for.' },
]

export function createDocument({ catalogue, version, publicUrl }: DocumentOptions) {
  const known = [...families.values()]
  const served = operations.map((operation) => ({ operation, forms: formsOf(operation, catalogue, known) }))
  const forms = served.flatMap(({ operation, forms }) =>
    forms.map((form) => [form.name, schemaOfForm(form, operation)]),
  )
  const paths = served.map(({ operation, forms }) => [operation.path, pathOfOperation(operation, forms)])
  return {
    openapi: '3.1.0',
    info: {
      title: 'Unified Model Gateway',
      version: CONTRACT_VERSION,
      description,
      'x-gateway-version': version,
    },
    servers: [{ url: publicUrl?.replace(/\/+$/, '') || '/' }],
    tags,
    security: [{ key: [] }],
    paths: { ...Object.fromEntries(paths), ...furtherPaths },
    components: {
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description: 'A key of this gateway, which begins with `sk-`.',
        },
      },
      headers,
      schemas: { ...Object.fromEntries(forms), ...replySchemas, ...errorSchemas },
    },
  }
}
