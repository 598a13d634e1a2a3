// Writes requests as programs in Python and TypeScript for the API documentation, ready to run except for the key. It must contain
// no request of its own: each is an example of the operation.

import { type Operation, type OperationName, pathForModel } from '../contract/operations'

export interface Sample {
  lang: string
  label: string
  source: string
}

/** An official client that has a function for the operation; other operations use plain HTTP. */
interface Client {
  sdk: 'openai' | 'anthropic'
  call: string
  /** The file for an answer that is not JSON. */
  file?: string
  /** Statements that print a piece of a stream, named `event`. */
  streamed?: { python: string; typescript: string }
}

const clients: Partial<Record<OperationName, Client>> = {
  chat: {
    sdk: 'openai',
    call: 'chat.completions.create',
    streamed: {
      python: 'if event.choices: print(event.choices[0].delta.content or "", end="")',
      typescript: `console.log(event.choices[0]?.delta.content)`,
    },
  },
  messages: {
    sdk: 'anthropic',
    call: 'messages.create',
    streamed: {
      python: 'if event.type == "content_block_delta": print(getattr(event.delta, "text", ""), end="")',
      typescript: `if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') console.log(event.delta.text)`,
    },
  },
  responses: {
    sdk: 'openai',
    call: 'responses.create',
    streamed: {
      python: 'if event.type == "response.output_text.delta": print(event.delta, end="")',
      typescript: `if (event.type === 'response.output_text.delta') console.log(event.delta)`,
    },
  },
  embeddings: { sdk: 'openai', call: 'embeddings.create' },
  speech: { sdk: 'openai', call: 'audio.speech.create', file: 'speech.mp3' },
  image: { sdk: 'openai', call: 'images.generate' },
}
const classNames = { openai: 'OpenAI', anthropic: 'Anthropic' }

/** The URL of a gateway if none is stated. */
const USUAL_ADDRESS = 'http://127.0.0.1:8080'
/** Plain ASCII: clients throw for a header with other letters, instead of showing the gateway's 401. */
export const SAMPLE_KEY = 'sk-YOUR-KEY'

/** Samples of a request. `request` is a body of the operation; in a form, files are lists of their names. */
export function samplesOf(
  operation: Pick<Operation, 'name' | 'path' | 'body' | 'inAddress'>,
  { model, ...others }: Readonly<Record<string, unknown>>,
  address = USUAL_ADDRESS,
): Sample[] {
  const client = operation.body === 'json' ? clients[operation.name] : undefined
  const url = address + pathForModel(operation, String(model))
  const request = operation.inAddress ? others : { model, ...others }
  const python = client
    ? pythonClient(client, request, address)
    : operation.body === 'form'
      ? pythonForm(request, url)
      : pythonCall({ method: 'POST', url, body: request, hasKey: true })
  const typescript = client
    ? typescriptClient(client, request, address)
    : operation.body === 'form'
      ? typescriptForm(request, url)
      : typescriptCall({ method: 'POST', url, body: request, hasKey: true })
  return samplesIn(python, typescript)
}

/** A call for which no client has a function. */
interface PlainCall {
  method: string
  url: string
  /** Absent for a call without a body. */
  body?: object | undefined
  hasKey: boolean
  /** The part of the answer that a program prints. Default: its JSON. */
  prints?: 'json' | 'text' | 'status' | undefined
}

/** An operation as the document describes it. */
interface Described {
  security?: readonly object[]
  parameters?: readonly { name: string; in: string; required?: boolean }[]
  requestBody?: {
    content: Readonly<Record<string, { examples?: Readonly<Record<string, { value: unknown }>> }>>
  }
  responses?: Readonly<Record<string, { content?: object }>>
  'x-codeSamples'?: readonly Sample[]
}

/** The paths with samples of operations that have none. Names in braces stay in their addresses, for the reader to fill in. */
export function withSamples(
  paths: Readonly<Record<string, object>>,
  address = USUAL_ADDRESS,
): Record<string, object> {
  const sampled = (method: string, path: string, operation: Described) => {
    const { security, parameters = [], requestBody, responses = {}, 'x-codeSamples': own } = operation
    const { examples } = requestBody?.content['application/json'] ?? {}
    const [example] = Object.values(examples ?? {})
    if (own || method === 'head' || (requestBody && !example)) return operation
    const types = Object.keys(responses['200']?.content ?? responses['202']?.content ?? {})
    const mandatory = parameters.filter(({ in: place, required }) => place === 'query' && required)
    const query = mandatory.map(({ name }) => `${name}={${name}}`).join('&')
    const call: PlainCall = {
      method: method.toUpperCase(),
      url: address + path + (query && `?${query}`),
      body: example?.value as object | undefined,
      hasKey: security?.length !== 0,
      prints: types.some((type) => type.includes('json'))
        ? 'json'
        : types.some((type) => type.startsWith('text/'))
          ? 'text'
          : 'status',
    }
    return { ...operation, 'x-codeSamples': samplesIn(pythonCall(call), typescriptCall(call)) }
  }
  return Object.fromEntries(
    Object.entries(paths).map(([path, methods]) => [
      path,
      Object.fromEntries(
        Object.entries(methods).map(([method, operation]) => [method, sampled(method, path, operation)]),
      ),
    ]),
  )
}

function samplesIn(python: string, typescript: string): Sample[] {
  return [
    { lang: 'Python', label: 'Python', source: python },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript },
  ]
}

/** The base URL of a client: some expect it with `/v1`, others without. */
const baseOf = ({ sdk }: Client, address: string) => (sdk === 'openai' ? `${address}/v1` : address)

/** Whether the answer comes as events that a program reads one by one. */
const isStream = (request: object): boolean => 'stream' in request && request.stream === true

function typescriptClient(client: Client, request: object, address: string): string {
  const { sdk, call, file, streamed } = client
  const name = classNames[sdk]
  // The key is sent as a bearer token, as everywhere else.
  const key = sdk === 'openai' ? 'apiKey' : 'authToken'
  return lines(
    `import ${name} from '${sdk === 'openai' ? 'openai' : '@anthropic-ai/sdk'}'`,
    file && `import { writeFile } from 'node:fs/promises'`,
    '',
    `const client = new ${name}({ baseURL: '${baseOf(client, address)}', ${key}: '${SAMPLE_KEY}' })`,
    `const reply = await client.${call}(${json(request)})`,
    streamed && isStream(request)
      ? `for await (const event of reply) ${streamed.typescript}`
      : file
        ? `await writeFile('${file}', Buffer.from(await reply.arrayBuffer()))`
        : 'console.log(reply)',
  )
}

function typescriptCall({ method, url, body, hasKey, prints = 'json' }: PlainCall): string {
  const headers = [
    ...(hasKey ? [`authorization: 'Bearer ${SAMPLE_KEY}'`] : []),
    ...(body ? [`'content-type': 'application/json'`] : []),
  ]
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length > 0 ? [`  headers: { ${headers.join(', ')} },`] : []),
    ...(body ? [`  body: JSON.stringify(${indented(json(body))}),`] : []),
  ]
  const print = { json: 'await response.json()', text: 'await response.text()', status: 'response.status' }
  return lines(
    ...(options.length > 0
      ? [`const response = await fetch('${url}', {`, ...options, '})']
      : [`const response = await fetch('${url}')`]),
    `console.log(${print[prints]})`,
  )
}

function typescriptForm(request: Readonly<Record<string, unknown>>, url: string): string {
  const parts = Object.entries(request).flatMap(([name, value]) =>
    Array.isArray(value)
      ? value.map((file) => `form.append('${name}', new Blob([await readFile('${file}')]), '${file}')`)
      : [`form.append('${name}', ${JSON.stringify(String(value))})`],
  )
  return lines(
    `import { readFile } from 'node:fs/promises'`,
    '',
    'const form = new FormData()',
    ...parts,
    `const response = await fetch('${url}', {`,
    `  method: 'POST',`,
    `  headers: { authorization: 'Bearer ${SAMPLE_KEY}' },`,
    '  body: form,',
    '})',
    'console.log(await response.json())',
  )
}

function pythonClient(client: Client, request: object, address: string): string {
  const { sdk, call, file, streamed } = client
  const name = classNames[sdk]
  const key = sdk === 'openai' ? 'api_key' : 'auth_token'
  return lines(
    `from ${sdk} import ${name}`,
    '',
    `client = ${name}(base_url="${baseOf(client, address)}", ${key}="${SAMPLE_KEY}")`,
    `reply = client.${call}(**${literal(request)})`,
    streamed && isStream(request)
      ? `for event in reply:\n    ${streamed.python}`
      : file
        ? `reply.write_to_file("${file}")`
        : 'print(reply)',
  )
}

function pythonCall({ method, url, body, hasKey, prints = 'json' }: PlainCall): string {
  const print = { json: 'response.json()', text: 'response.text', status: 'response.status_code' }
  return lines(
    'import requests',
    '',
    `response = requests.${method.toLowerCase()}(`,
    `    "${url}",`,
    hasKey ? `    headers={"Authorization": "Bearer ${SAMPLE_KEY}"},` : undefined,
    body && `    json=${indented(literal(body), '    ')},`,
    ')',
    `print(${print[prints]})`,
  )
}

function pythonForm(request: Readonly<Record<string, unknown>>, url: string): string {
  const fields = Object.entries(request).filter(([, value]) => !Array.isArray(value))
  const files = Object.entries(request).flatMap(([name, value]) =>
    Array.isArray(value) ? value.map((file) => `("${name}", open("${file}", "rb"))`) : [],
  )
  const texts = Object.fromEntries(fields.map(([name, value]) => [name, String(value)]))
  return lines(
    'import requests',
    '',
    'response = requests.post(',
    `    "${url}",`,
    `    headers={"Authorization": "Bearer ${SAMPLE_KEY}"},`,
    `    data=${indented(literal(texts), '    ')},`,
    `    files=[${files.join(', ')}],`,
    ')',
    'print(response.json())',
  )
}

const json = (value: unknown): string => JSON.stringify(value, null, 2)

/** A value as Python writes it. */
function literal(value: unknown, margin = ''): string {
  const inner = `${margin}    `
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const items = Array.isArray(value)
    ? value.map((item) => literal(item, inner))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${literal(item, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  if (items.length === 0) return `${open}${close}`
  return `${open}\n${items.map((item) => `${inner}${item},`).join('\n')}\n${margin}${close}`
}

const indented = (text: string, margin = '  '): string => text.replaceAll('\n', `\n${margin}`)

const lines = (...all: (string | undefined)[]): string =>
  `${all.filter((line) => line !== undefined).join('\n')}\n`
