// Makes the OpenAPI document of a running gateway from the tables and schemas by which requests are served. It must stay pure: the
// same catalogue makes the same document.

import { errorSchemas } from '../../api-document/error-pages'
import { guides } from '../../api-document/guides'
import { headers } from '../../api-document/headers'
import { formsOf, pathOfOperation, schemaOfForm } from '../../api-document/operations'
import { furtherPaths } from '../../api-document/paths'
import { replySchemas } from '../../api-document/replies'
import { withSamples } from '../../api-document/samples'
import { withTypes } from '../../api-document/schema'
import type { Catalogue } from '../../catalogue/models'
import { operations } from '../../contract/operations'
import { families } from '../../families'
import { callerOperations } from './operations'
import { describeCallers } from './paths'

/** Version of the API for callers. It changes with the contract, not with the gateway. */
const CONTRACT_VERSION = '1.0.0'

interface DocumentOptions {
  catalogue: Pick<Catalogue, 'models' | 'routes' | 'aliases'>
  /** Version of the gateway. */
  version: string
  /** The URL at which callers reach this gateway; absent: the one from which they got the document. */
  publicUrl?: string | undefined
}

const summary = 'One base URL and one key for many models.'

const introduction = `${summary}

Send the key as \`Authorization: Bearer sk-YOUR-KEY\`. Every answer has an \`x-request-id\`. A request that costs money can be repeated safely with an \`Idempotency-Key\`. To try a request here, fill in the key below and press Test Request: it is sent for real, and charged. The [console](console) shows what a key has spent, and has a playground. The [reference](docs/reference) has a search over all error codes, settings, log lines, events, dialects and fields.`

const tags = [
  { name: 'Text', description: 'Chat completions and messages.' },
  { name: 'Embeddings' },
  { name: 'Images', description: 'The model decides the form of the request.' },
  { name: 'Rerank' },
  { name: 'Moderation' },
  { name: 'Speech', description: 'Text to audio, and audio to text.' },
  { name: 'Video', description: 'A task is submitted, and then polled or reported to a webhook.' },
  { name: 'Models' },
  { name: 'Keys', description: 'What a key may do, has spent and can spend.' },
  { name: 'Files', description: 'Results that the gateway keeps.' },
  { name: 'Tools' },
  { name: 'Gateway', description: 'About the gateway itself; no key is asked for.' },
]

/** The name of a chat model in examples, if no configuration is known. */
const ANY_MODEL = JSON.stringify('a-chat-model')

/** The paths with a model of the gateway in their examples, so that a reader can send them unchanged. */
function withModel(paths: Record<string, object>, id: string | undefined): Record<string, object> {
  if (id === undefined) return paths
  return JSON.parse(JSON.stringify(paths).replaceAll(ANY_MODEL, () => JSON.stringify(id)))
}

export function createDocument({ catalogue, version, publicUrl }: DocumentOptions) {
  const known = [...families.values()]
  const served = operations.map((operation) => ({ operation, forms: formsOf(operation, catalogue, known) }))
  const forms = served.flatMap(({ operation, forms }) =>
    forms.map((form) => [form.name, schemaOfForm(form, operation)]),
  )
  const callers = describeCallers(callerOperations)
  const address = publicUrl?.replace(/\/+$/, '')
  const paths: Record<string, object> = Object.fromEntries(
    served.map(({ operation, forms }) => [operation.path, pathOfOperation(operation, forms, address)]),
  )
  for (const [path, methods] of [...Object.entries(callers.paths), ...Object.entries(furtherPaths)])
    paths[path] = { ...paths[path], ...methods }
  const [model] = served.find(({ operation }) => operation.name === 'chat')?.forms[0]?.models ?? []
  return {
    openapi: '3.1.0',
    info: {
      title: 'Unified Model Gateway',
      summary,
      version: CONTRACT_VERSION,
      description: [introduction, ...guides].join('\n\n'),
      'x-gateway-version': version,
    },
    servers: [{ url: address || '/' }],
    tags,
    security: [{ key: [] }],
    paths: withSamples(withModel(paths, model?.id), address),
    components: {
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description: 'A key of this gateway, which begins with `sk-`.',
        },
      },
      headers,
      schemas: withTypes({
        ...Object.fromEntries(forms),
        ...callers.schemas,
        ...replySchemas,
        ...errorSchemas,
      }),
    },
  }
}
