// The page of the API documentation: shows the document that it is told of, in the browser. It must never put text of the
// document into the page as HTML, and never ask any other machine for anything.

const METHODS = ['get', 'post', 'put', 'patch', 'delete']
const source = document.getElementById('api-reference')

/** An element with attributes and children; texts stay texts. */
function make(name, attributes, ...children) {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value)
    else element.setAttribute(key, value)
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined))
  return element
}

/** Words, with `code` where backticks are. */
function inline(text) {
  return text.split('`').map((part, index) => (index % 2 === 1 ? make('code', {}, part) : part))
}

/** Paragraphs and lists. */
function prose(text = '') {
  return text
    .split(/\n{2,}/)
    .filter((block) => block.trim() !== '')
    .map((block) => {
      const lines = block.split('\n')
      if (!lines.every((line) => line.startsWith('- '))) return make('p', {}, inline(block))
      const items = lines.map((line) => make('li', {}, inline(line.slice(2))))
      return make('ul', {}, items)
    })
}

function createReader(api) {
  const follow = (part) =>
    part?.$ref
      ? follow(
          part.$ref
            .slice(2)
            .split('/')
            .reduce((value, key) => value[key], api),
        )
      : part
  return { follow, nameOf: (schema) => schema.$ref?.split('/').at(-1) }
}

function typeOf(schema, reader) {
  const name = reader.nameOf(schema)
  if (name) return name
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.length > 12 ? 'one of a list' : schema.enum.map(show).join(' | ')
  const forms = schema.anyOf ?? schema.oneOf
  if (forms) return [...new Set(forms.map((form) => typeOf(form, reader)))].join(' | ')
  if (schema.type === 'array') return `array of ${typeOf(schema.items ?? {}, reader)}`
  return [schema.type ?? 'any'].flat().join(' | ')
}

const show = (value) => (typeof value === 'string' ? value : JSON.stringify(value))

function boundsOf(schema) {
  const words = {
    minimum: '≥',
    maximum: '≤',
    minLength: 'length ≥',
    maxLength: 'length ≤',
    minItems: 'items ≥',
    maxItems: 'items ≤',
  }
  return Object.entries(words)
    .filter(([key]) => schema[key] !== undefined)
    .map(([key, sign]) => `${sign} ${schema[key]}`)
    .join(', ')
}

/** The fields of an object, each with those inside. */
function fields(schema, reader) {
  const whole = reader.follow(schema)
  if (whole.type === 'array') return fields(whole.items ?? {}, reader)
  const forms = whole.anyOf ?? whole.oneOf
  if (forms) return forms.flatMap((form) => fields(form, reader))
  return Object.entries(whole.properties ?? {}).map(([name, property]) =>
    field(name, property, whole.required?.includes(name) ?? false, reader),
  )
}

function field(name, property, isRequired, reader) {
  const schema = reader.follow(property)
  const inner = fields(property, reader)
  const note = [boundsOf(schema), schema.format].filter(Boolean).join(', ')
  const head = [
    make('code', { class: 'name' }, name),
    make('span', { class: 'type' }, ` ${typeOf(property, reader)}`),
    isRequired ? make('span', { class: 'required' }, ' required') : undefined,
    note ? make('span', { class: 'type' }, ` (${note})`) : undefined,
    ...prose(schema.description),
  ]
  if (inner.length === 0) return make('div', { class: 'field' }, head)
  return make('details', { class: 'field' }, make('summary', {}, head), inner)
}

function code(text) {
  const button = make('button', { type: 'button', class: 'copy' }, 'Copy')
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(text)
    button.textContent = 'Copied'
  })
  return make('div', { class: 'code' }, button, make('pre', {}, make('code', {}, text)))
}

/** Examples of which one is seen. `write` makes the text of one. */
function examples(all, write) {
  const names = Object.keys(all ?? {})
  if (names.length === 0) return []
  const place = make('div', {}, code(write(all[names[0]].value)))
  if (names.length === 1) return [place]
  const choice = make(
    'select',
    { 'aria-label': 'Example', onchange: () => place.replaceChildren(code(write(all[choice.value].value))) },
    names.map((name) => make('option', { value: name }, name)),
  )
  return [choice, place]
}

const asText = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`

/** A command line that sends a request. */
function curl({ base, path, method, type, isOpen }, value) {
  const lines = [`curl ${base}${path}`]
  if (method === 'head') lines.push('--head')
  if (!isOpen) lines.push('-H "Authorization: Bearer $GATEWAY_KEY"')
  if (type === 'application/json' && value !== undefined) {
    lines.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(value, null, 2))}`)
  } else if (value !== undefined) {
    for (const [name, part] of Object.entries(value)) {
      const parts = Array.isArray(part) ? part.map((file) => `@${file}`) : [String(part)]
      for (const text of parts) lines.push(`-F ${quoted(`${name}=${text}`)}`)
    }
  }
  return lines.join(' \\\n  ')
}

function request(operation, call, reader) {
  const types = Object.entries(operation.requestBody?.content ?? {})
  if (types.length === 0) return call.method === 'head' ? [] : [code(curl(call))]
  return types.flatMap(([type, media]) => {
    const write = (value) => curl({ ...call, type }, value)
    return [
      make('h4', {}, 'Request ', make('span', { class: 'type' }, type)),
      ...examples(media.examples, write),
      ...forms(media.schema, reader),
    ]
  })
}

/** The fields of a body, of each form of its own where it has several. */
function forms(schema, reader) {
  const whole = reader.follow(schema)
  return (whole.oneOf ?? whole.anyOf ?? [schema]).map((form) => {
    const inside = fields(form, reader)
    if (inside.length === 0) return undefined
    const title = make('summary', {}, 'Fields of ', make('code', {}, reader.nameOf(form) ?? 'the body'))
    return make('details', { class: 'form' }, title, inside)
  })
}

function response([status, answer], reader) {
  const names = Object.keys(answer.headers ?? {})
  const media = Object.entries(answer.content ?? {})
  return make(
    'details',
    { class: 'response' },
    make(
      'summary',
      {},
      make('code', { class: `status s${status[0]}` }, status),
      ' ',
      inline(answer.description),
    ),
    names.length > 0
      ? make(
          'p',
          {},
          'Headers: ',
          names.flatMap((name) => [
            make('code', { title: reader.follow(answer.headers[name]).description ?? '' }, name),
            ' ',
          ]),
        )
      : undefined,
    media.flatMap(([type, { schema, examples: all }]) => [
      make('h5', {}, type, ' ', make('span', { class: 'type' }, typeOf(schema, reader))),
      ...examples(all, asText),
      ...forms(schema, reader),
    ]),
  )
}

function section({ path, method, operation }, api, reader) {
  const { parameters = [], responses = {} } = operation
  const base = api.servers[0].url === '/' ? location.origin : api.servers[0].url
  const call = { base, path, method, isOpen: operation.security?.length === 0 }
  const aliases = operation['x-aliases'] ?? []
  return make(
    'section',
    { id: operation.operationId },
    make('h3', {}, badge(method), ' ', make('code', {}, path)),
    make('p', { class: 'summary' }, inline(operation.summary)),
    prose(operation.description),
    aliases.length > 0
      ? make(
          'p',
          {},
          'Also at ',
          aliases.flatMap((alias) => [make('code', {}, alias), ' ']),
        )
      : undefined,
    parameters.length > 0 ? make('h4', {}, 'Parameters') : undefined,
    parameters.map((each) =>
      field(
        each.name,
        { ...each.schema, description: `In the ${each.in}. ${each.description}` },
        each.required,
        reader,
      ),
    ),
    request(operation, call, reader),
    make('h4', {}, 'Answers'),
    Object.entries(responses).map((entry) => response(entry, reader)),
  )
}

const badge = (method) => make('span', { class: `method ${method}` }, method.toUpperCase())

function navigation(groups) {
  const links = groups.flatMap(({ operations }) =>
    operations.map(({ path, method, operation }) => ({
      words: `${method} ${path} ${operation.summary}`.toLowerCase(),
      tag: operation.tags[0],
      link: make('a', { href: `#${operation.operationId}`, title: operation.summary }, badge(method), path),
    })),
  )
  const find = make('input', {
    type: 'search',
    placeholder: 'Find an endpoint',
    'aria-label': 'Find an endpoint',
    oninput: () => {
      const wanted = find.value.toLowerCase()
      for (const { words, link } of links) link.hidden = !words.includes(wanted)
    },
  })
  return make(
    'nav',
    {},
    find,
    groups.flatMap(({ name }) => [
      make('h2', {}, name),
      links.filter(({ tag }) => tag === name).map(({ link }) => link),
    ]),
  )
}

function page(api) {
  const reader = createReader(api)
  const all = Object.entries(api.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({ path, method, operation: item[method] })),
  )
  const groups = api.tags
    .map((tag) => ({ ...tag, operations: all.filter(({ operation }) => operation.tags?.[0] === tag.name) }))
    .filter(({ operations }) => operations.length > 0)
  return [
    navigation(groups),
    make(
      'main',
      {},
      make('h1', {}, api.info.title, ' ', make('small', {}, api.info.version)),
      prose(api.info.description),
      make('p', {}, make('a', { href: '/openapi.json' }, 'OpenAPI document')),
      groups.flatMap(({ name, description, operations }) => [
        make('h2', {}, name),
        ...prose(description),
        ...operations.map((each) => section(each, api, reader)),
      ]),
    ),
  ]
}

try {
  const response = await fetch(source.dataset.url)
  if (!response.ok) throw new Error(`the document came with status ${response.status}`)
  document.body.append(...page(await response.json()))
  // The target of the address was not there when the page was opened.
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView()
} catch (error) {
  document.body.append(
    make(
      'p',
      { class: 'failure' },
      `The documentation cannot be shown: ${error.message}. Load this page again.`,
    ),
  )
}
