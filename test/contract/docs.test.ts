// The API documentation compared with the gateway that serves it: a valid document, exactly the existing routes,
// examples that the gateway accepts, errors and answers in the described form, and a page that loads nothing from other
// hosts.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { TSchema } from '@sinclair/typebox'
import { Glob } from 'bun'
import catalogue from '../../gateway.config'
import { picture } from '../../sandbox/pictures'
import { createAdminDocument } from '../../src/admin/document'
import { createApp } from '../../src/app/routes'
import { outside } from '../../src/app/world'
import type { ModelConfig } from '../../src/config/schema'
import { operations, pathForModel } from '../../src/contract/operations'
import { families } from '../../src/families'
import { createDocument } from '../../src/http/callers/document'
import { toleratedPaths } from '../../src/http/paths'
import { createValidator } from '../../src/lib/validate'
import { createGateway } from '../../src/request/line'
import { lookUp, misfits } from '../support/answers/json-schema'
import { audioFile } from '../support/audio-files'
import { startTestGateway, type TestGateway, withinOneMinute } from '../support/gateway'

interface Media {
  schema: Record<string, unknown>
  examples?: Record<string, { value: unknown }>
}
interface Answer {
  headers?: Record<string, object>
  content?: Record<string, Media>
}
interface Operation {
  operationId: string
  tags: string[]
  summary: string
  security?: unknown[]
  parameters?: { name: string; in: string; schema: { enum?: string[] } }[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, Answer>
  'x-aliases'?: string[]
}
interface Document {
  openapi: string
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Record<string, unknown>>; headers: Record<string, object> }
}

let gateway: TestGateway
let api: Document

const sinceMinute = Date.now() % 60_000

beforeAll(async () => {
  gateway = await startTestGateway({
    models: catalogue.models as Record<string, ModelConfig>,
    balance: '10000',
    // The examples contain hosts on the internet, which a test must not contact.
    outside: {
      // A clock that starts at a full minute, so that limits per minute apply to the whole test.
      now: () => Date.now() - sinceMinute,
      lookup: async () => ['93.184.215.14'],
      transport: {
        open(url, options) {
          const address = options?.address ?? URL.parse(url)?.hostname
          if (address !== '127.0.0.1') throw new Error(`${url} must not be requested in this test`)
          return outside.transport.open(url, options)
        },
      },
    },
  })
  api = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as Document
})
afterAll(() => gateway.close())

test('the document is valid OpenAPI, at both paths', async () => {
  const { valid, errors } = await new Validator().validate(
    structuredClone(api) as object as Record<string, unknown>,
  )
  expect({ valid, errors }).toEqual({ valid: true, errors: undefined as never })
  expect(api.openapi).toBe('3.1.0')
  const other = await fetch(`${gateway.url}/docs/json`)
  expect(other.headers.get('content-type')).toBe('application/json')
  expect((await other.json()) as Document).toEqual(api)
  const ids = operationsOf(api).map(({ operation }) => operation.operationId)
  expect(new Set(ids).size).toBe(ids.length)
})

test('each tag has operations, and each operation a listed tag', () => {
  const used = new Set(operationsOf(api).flatMap(({ operation }) => operation.tags))
  expect([...used].sort()).toEqual(api.tags.map(({ name }) => name).sort())
})

test('each title is short, without details that belong to the description', () => {
  for (const document of [api, createAdminDocument('0.0.0') as object as Document]) {
    const titles = operationsOf(document).map(({ operation }) => operation.summary)
    expect(titles.length).toBeGreaterThan(60)
    expect(titles.filter((title) => title.length > 48 || /[.;:]/.test(title))).toEqual([])
  }
})

test('an invalid document is detected', async () => {
  const broken = { ...structuredClone(api), paths: { '/x': { get: { responses: { 200: {} } } } } }
  expect(await new Validator().validate(broken as object as Record<string, unknown>)).toMatchObject({
    valid: false,
  })
})

test('the document has exactly the existing routes', () => {
  const { world } = gateway.server
  const app = createApp(world, createGateway(world))
  const served = app.routes
    // Paths that the page loads, and paths for clients whose base URL has one /v1 too many.
    .filter(
      ({ method, path }) =>
        // Preflight requests of browsers are not API requests.
        method !== 'OPTIONS' &&
        !path.startsWith('/docs/viewer.') &&
        // The admin API has a separate document, and the console is for browsers.
        !path.startsWith('/admin/v1') &&
        !path.startsWith('/console') &&
        // Programs find these in the metadata of RFC 8414 and 9728.
        !/^\/(oauth|\.well-known)\//.test(path) &&
        !/^\/v1\/v\d\//.test(path) &&
        path !== '/v1/mcp',
    )
    .map(
      ({ method, path }) =>
        `${method === 'ALL' ? 'POST' : method} ${path.replace('/*', '/{id}').replace(/:(\w+)/g, '{$1}')}`,
    )
  const reported = operationsOf(api).flatMap(({ path, method, operation }) =>
    // One route has all methods of Google's API, which are written after a colon.
    [path, ...(operation['x-aliases'] ?? [])].map(
      (each) => `${method.toUpperCase()} ${each.replace(/:\w+$/, '')}`,
    ),
  )
  expect([...new Set(reported)].sort()).toEqual([...new Set(served)].sort())
  expect(toleratedPaths('/mcp')).toContain('/v1/mcp')
})

test('every reference is valid', () => {
  const references = [...JSON.stringify(api).matchAll(/"\$ref":"([^"]+)"/g)].map(
    ([, reference = '']) => reference,
  )
  expect(references.length).toBeGreaterThan(50)
  for (const reference of new Set(references)) expect(lookUp(api, reference)).toBeObject()
})

test('each example fits its schema', () => {
  let count = 0
  for (const { path, operation } of operationsOf(api)) {
    const media = [operation.requestBody, ...Object.values(operation.responses)].flatMap((part) =>
      Object.entries(part?.content ?? {}),
    )
    for (const [type, { schema, examples }] of media) {
      for (const [name, { value }] of Object.entries(examples ?? {})) {
        count++
        expect({ path, type, name, misfits: misfits(api, schema, value) }).toMatchObject({ misfits: [] })
      }
    }
  }
  expect(count).toBeGreaterThan(150)
})

test('an example that does not fit is detected', () => {
  const schema =
    api.paths['/v1/images/generations']?.post?.requestBody?.content['application/json']?.schema ?? {}
  expect(schema).toHaveProperty('anyOf')
  expect(misfits(api, schema, { model: 'qnx-image-2.0', prompt: 7 })).not.toEqual([])
  expect(misfits(api, { $ref: '#/components/schemas/Error' }, { code: 'x', message: 'y' })).not.toEqual([])
})

test('each payload form of the catalogue is described with its models, and its example is valid for its family', () => {
  const models = [...gateway.server.world.catalogue.models.values()].flat()
  for (const { name, path, body, inAddress } of operations) {
    const { post } = api.paths[path] ?? {}
    const media = Object.values(post?.requestBody?.content ?? {})[0]
    // If the model is in the path, a request fits every model.
    const [named = ''] = post?.parameters?.find(({ name }) => name === 'id')?.schema.enum ?? []
    const values = Object.values(media?.examples ?? {}).map(({ value }) => ({
      ...(inAddress && { model: named }),
      ...(value as { model: string }),
    }))
    const served = models.filter(({ family }) => family.operation === name)
    const forms = new Set(served.map(({ family }) => JSON.stringify(family.body)))
    expect({ name, forms: new Set(values.map((value) => formOf(value, name))).size }).toEqual({
      name,
      forms: forms.size,
    })
    const listed = JSON.stringify(api.components.schemas)
    for (const { id } of served) expect(listed).toContain(`"${id}"`)
    if (body === 'form') continue
    for (const value of values) {
      const model = modelOf(value, name)
      if (!model) throw new Error(`no model ${value.model} for ${name}`)
      createValidator(model.family.body)(value)
      model.family.check?.(value, model)
    }
  }
  /** The model for the form of the value. A form with files has no value that fits. */
  function modelOf(value: { model: string }, name: string) {
    const named = models.filter(({ id, family }) => id === value.model && family.operation === name)
    return named.length > 1 ? named.find(({ family }) => fits(family.body, value)) : named[0]
  }
  function fits(schema: TSchema, value: unknown): boolean {
    try {
      createValidator(schema)(value)
      return true
    } catch {
      return false
    }
  }
  function formOf(value: { model: string }, name: string): string {
    return JSON.stringify(modelOf(value, name)?.family.body)
  }
})

test('the gateway accepts each example, and the answer has the described form', async () => {
  for (const { path } of operations) {
    const operation = api.paths[path]?.post as Operation
    for (const [type, { examples }] of Object.entries(operation.requestBody?.content ?? {})) {
      for (const [name, { value }] of Object.entries(examples ?? {})) {
        const response = await send(
          pathForModel({ path }, 'test-chat'),
          type,
          value as Record<string, unknown>,
        )
        const reported = operation.responses[String(response.status)]
        const [answerType = ''] = (response.headers.get('content-type') ?? '').split(';')
        const media = reported?.content?.[answerType]
        const text = await response.text()
        expect({ path, name, status: response.status, answerType, text }).toEqual({
          path,
          name,
          status: response.status < 300 ? response.status : 200,
          answerType: media ? answerType : 'one that is described',
          text,
        })
        for (const header of response.headers.keys()) {
          if (header.startsWith('x-request') || header.startsWith('x-gateway'))
            expect(reported?.headers).toHaveProperty(header)
        }
        if (answerType !== 'application/json') continue
        expect({ path, name, misfits: misfits(api, media?.schema ?? {}, JSON.parse(text)) }).toMatchObject({
          misfits: [],
        })
      }
    }
  }
})

const chat = '/v1/chat/completions'
const hello = { messages: [{ role: 'user', content: 'Hello!' }] }
const faults: {
  path: string
  as?: string
  method?: string
  body?: unknown
  key?: string
  headers?: Record<string, string>
  status: number
}[] = [
  ...operations.map(({ path }) => ({ path, body: {}, key: '', status: 401 })),
  ...operations
    .filter(({ body }) => body === 'json')
    .map(({ path, inAddress }) => ({ path, body: { model: 'none' }, status: inAddress ? 404 : 400 })),
  ...operations.filter(({ body }) => body === 'form').map(({ path }) => ({ path, body: {}, status: 415 })),
  { path: chat, body: { model: 'test-chat' }, status: 400 },
  { path: chat, body: 'no json', status: 400 },
  { path: chat, body: { model: 'test-chat', ...hello }, key: 'poor', status: 402 },
  {
    path: '/v1/messages',
    body: { model: 'test-messages', max_tokens: 9, ...hello },
    key: 'poor',
    status: 402,
  },
  { path: chat, body: { model: 'test-chat', ...hello }, key: 'slow', status: 429 },
  {
    path: '/v1/messages',
    body: { model: 'test-messages', max_tokens: 9, ...hello },
    key: 'slow',
    status: 429,
  },
  {
    path: chat,
    body: { model: 'test-chat', ...hello, n: 2 },
    headers: { 'idempotency-key': 'used' },
    status: 422,
  },
  { path: chat, body: hello, headers: { 'content-encoding': 'br' }, status: 415 },
  { path: '/v1/messages/count_tokens', body: { model: 'none', ...hello }, status: 400 },
  { path: '/v1/models', method: 'GET', key: '', status: 401 },
  {
    path: '/v1/models?limit=0',
    as: '/v1/models',
    method: 'GET',
    headers: { 'anthropic-version': '2023-06-01' },
    status: 400,
  },
  { path: '/v1/models/none', as: '/v1/models/{id}', method: 'GET', status: 404 },
  { path: '/v1/videos', method: 'GET', key: '', status: 401 },
  { path: '/v1/videos?limit=0', as: '/v1/videos', method: 'GET', status: 400 },
  { path: '/v1/videos', body: { model: 'none', prompt: 'x' }, status: 400 },
  { path: '/v1/videos/none', as: '/v1/videos/{id}', method: 'GET', status: 404 },
  { path: '/v1/videos/none/content', as: '/v1/videos/{id}/content', method: 'GET', status: 404 },
  { path: '/v1/videos/generations/none', as: '/v1/videos/generations/{id}', method: 'GET', status: 404 },
  { path: '/v1/artifacts/none', as: '/v1/artifacts/{id}', method: 'GET', status: 404 },
]

test('errors have the described form, with the described headers', () =>
  withinOneMinute(async () => {
    const poor = await gateway.makeKey('poor', '0')
    const slow = await gateway.makeKey('slow', '5', { requestsPerMinute: 1 })
    const keys: Record<string, string> = { poor: poor.secret, slow: slow.secret }
    await (await gateway.chat({}, { 'idempotency-key': 'used' })).text()
    await (await gateway.chat({}, { authorization: `Bearer ${slow.secret}` })).text()
    for (const { path, as = path, method = 'POST', body, key, headers = {}, status } of faults) {
      const secret = key === undefined ? gateway.secret : keys[key]
      const response = await fetch(`${gateway.url}${path}`, {
        method,
        headers: {
          'content-type': 'application/json',
          ...(secret && { authorization: `Bearer ${secret}` }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      const reported = api.paths[as]?.[method.toLowerCase()]?.responses[status]
      expect({ path, status: response.status, text }).toEqual({ path, status, text })
      const schema = reported?.content?.['application/json']?.schema
      expect({ path, status, isDescribed: schema !== undefined }).toEqual({ path, status, isDescribed: true })
      expect({ path, misfits: misfits(api, schema ?? {}, JSON.parse(text)) }).toMatchObject({ misfits: [] })
      expect({ path, repeat: response.headers.get('x-should-retry') }).toEqual({
        path,
        repeat: String(status === 429),
      })
      const described = Object.keys(reported?.headers ?? {})
      for (const name of response.headers.keys()) {
        if (!(name in api.components.headers)) continue
        expect({ path, status, described }).toEqual({
          path,
          status,
          described: expect.arrayContaining([name]),
        })
      }
    }
  }))

test('a missing object is rejected with the error in the document', async () => {
  const missing: [method: string, path: string, as: string, code: string, body?: object][] = [
    ['GET', '/v1/responses/resp_1', '/v1/responses/{id}', 'response_not_found'],
    ['GET', '/v1/conversations/conv_1', '/v1/conversations/{id}', 'conversation_not_found'],
    ['GET', '/v1/requests/req_1', '/v1/requests/{id}', 'request_not_found'],
    ['GET', '/v1/tasks/video_1', '/v1/tasks/{id}', 'task_not_found'],
    ['GET', '/v1/videos/generations/task_1', '/v1/videos/generations/{id}', 'task_not_found'],
    ['POST', '/v1/codes/redeem', '/v1/codes/redeem', 'code_not_found', { code: 'none' }],
  ]
  for (const [method, path, as, code, body] of missing) {
    const response = await fetch(`${gateway.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${gateway.secret}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    const shown = api.paths[as]?.[method.toLowerCase()]?.responses['404']?.content?.['application/json']
    const { error = {} } = (shown?.examples?.[code]?.value ?? {}) as { error?: object }
    const answer = (await response.json()) as { error: { request_id: string } }
    expect({ path, status: response.status, answer }).toEqual({
      path,
      status: 404,
      answer: { error: { ...error, request_id: answer.error.request_id } },
    })
  }
})

test('the requests in the documentation succeed', async () => {
  const text = await Bun.file(`${import.meta.dir}/../../docs/requests.md`).text()
  const shown = [...text.matchAll(/curl "?\$U([^ "]+)"?(?:(?!curl)[^'])*?--json '([^']+)'/g)]
  expect(shown.length).toBeGreaterThan(5)
  for (const [, path = '', body = ''] of shown) {
    const response = await gateway.post(`/v1${path.replace('wait=60', 'wait=0')}`, body)
    const { status } = response
    expect({ path, body, status, said: status < 300 || (await response.text()) }).toMatchObject({
      said: true,
    })
    await response.arrayBuffer().catch(() => {})
  }
  // curl sends a body without a declared type as a form.
  expect(text).not.toMatch(/curl \S*\$U[^\n]* -d /)
})

test('every status in the source is described', async () => {
  // No caller gets 499; 405 and 426 are for methods and connections that no operation has.
  const reported = new Set([
    '405',
    '426',
    ...operationsOf(api).flatMap(({ operation }) => Object.keys(operation.responses)),
  ])
  const named = new Set<string>()
  for await (const path of new Glob('src/**/*.ts').scan(`${import.meta.dir}/../..`)) {
    const text = await Bun.file(`${import.meta.dir}/../../${path}`).text()
    for (const [, status = ''] of text.matchAll(/(?:GatewayError\(|status: |status === )([45]\d\d)\b/g))
      named.add(status)
  }
  expect(named.size).toBeGreaterThan(15)
  expect([...named].filter((status) => !reported.has(status))).toEqual([])
})

test('a part of a file has the described headers', () => {
  for (const path of ['/v1/artifacts/{id}', '/v1/videos/{id}/content']) {
    const responses = api.paths[path]?.get?.responses
    expect(Object.keys(responses?.['206']?.headers ?? {})).toContain('content-range')
    expect(Object.keys(responses?.['416']?.headers ?? {})).toContain('content-range')
  }
})

test('only operations without a key are described as public', async () => {
  for (const { path, method, operation } of operationsOf(api)) {
    if (method === 'head' || path.includes('{')) continue
    const response = await fetch(`${gateway.url}${path}`, { method: method.toUpperCase() })
    expect({ path, isOpen: response.status !== 401 }).toEqual({
      path,
      isOpen: operation.security !== undefined,
    })
    await response.text()
  }
})

test('the page loads only from the gateway', async () => {
  const response = await fetch(`${gateway.url}/docs`)
  const html = await response.text()
  const policy = response.headers.get('content-security-policy') ?? ''
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(policy).toMatch(/^default-src 'none'; script-src 'self'; connect-src 'self'; /)
  expect(policy.match(/unsafe/g)).toHaveLength(1)
  const loaded = [...html.matchAll(/(?:src|href|data-url)="([^"]*)"|url\(([^)]*)\)/g)].map(
    ([, one, other]) => one ?? other ?? '',
  )
  const [script, ...others] = loaded
  expect(others).toEqual([])
  expect(html).toContain('"url":"docs/json"')
  expect(script).toMatch(/^docs\/viewer\.js\?[0-9a-f]{16}$/)
  expect(html).not.toMatch(/https?:\/\/|(?:src|href)="\/\//)
  const whole = await fetch(`${gateway.url}/${script}`, { headers: { 'accept-encoding': 'identity' } })
  expect(whole.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  expect(whole.headers.get('x-content-type-options')).toBe('nosniff')
  expect(whole.headers.get('cache-control')).toContain('immutable')
  const text = await whole.text()
  const packed = await fetch(`${gateway.url}/${script}`, { headers: { 'accept-encoding': 'gzip' } })
  expect(packed.headers.get('content-encoding')).toBe('gzip')
  expect((await packed.text()) === text).toBe(true)
})

test('routes and aliases are listed as model names, and the public URL is the server', () => {
  const { models } = gateway.server.world.catalogue
  const document = createDocument({
    catalogue: {
      models,
      routes: new Map([
        ['best', { id: 'best', models: ['test-chat'], ownedBy: 'route', fallback: new Set<never>() }],
      ]),
      aliases: [
        { name: 'gpt', target: 'test-chat' },
        { name: 'any-*', target: 'test-chat' },
      ],
    },
    version: '9.9.9',
    publicUrl: 'https://ai.example.com/',
  }) as unknown as Document & { servers: unknown; info: { version: string } }
  expect(document).toMatchObject({
    servers: [{ url: 'https://ai.example.com' }],
    // The version is that of the contract (spec, Versioning), not of the gateway.
    info: { version: '1.0.0', 'x-gateway-version': '9.9.9' },
  })
  const listed = JSON.stringify(document.components.schemas)
  expect(listed).toContain('"best","gpt"')
  expect(listed).not.toContain('any-*')
})

test('without any model, every operation still has a form', async () => {
  const document = createDocument({
    catalogue: { models: new Map(), routes: new Map(), aliases: [] },
    version: '1.0.0',
  })
  const { valid } = await new Validator().validate(
    structuredClone(document) as object as Record<string, unknown>,
  )
  expect(valid).toBe(true)
  const bodies = new Set(
    [...families.values()].map(({ operation, body }) => `${operation} ${JSON.stringify(body)}`),
  )
  const names = [...families.keys()].filter((name) => name in document.components.schemas)
  expect(names.length).toBe(bodies.size)
})

function operationsOf({ paths }: Document) {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  )
}

async function exampleFile(name: string): Promise<Blob> {
  if (name.endsWith('.mp3')) return audioFile('mp3', 2)
  return new Blob([picture('png', 1024, 1024).bytes], { type: 'image/png' })
}

async function send(path: string, type: string, value: Record<string, unknown>): Promise<Response> {
  if (type === 'application/json') return gateway.post(path, value)
  const form = new FormData()
  for (const [name, part] of Object.entries(value)) {
    if (!Array.isArray(part)) form.append(name, String(part))
    else form.append(name, await exampleFile(String(part[0])), String(part[0]))
  }
  return fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.secret}` },
    body: form,
  })
}
