// Sends the files of the console: the page, its scripts and its styles. In the executable they are prebuilt; from source they are
// bundled on the first request. URLs must be relative to the page, so that it works below a path of a proxy, and the page must load
// nothing from elsewhere.

import { basename } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import page from '../console/index.html'
import { pathOf } from '../http/target'

const CONSOLE_PATH = '/console'

interface SentFile {
  body: Uint8Array<ArrayBuffer>
  packed: Uint8Array<ArrayBuffer>
  contentType: string
  etag: string
}

/** Files by name; the page under the empty name. */
type ConsoleFiles = ReadonlyMap<string, SentFile>

/** Only scripts, styles and requests of this gateway; nothing inline is run. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'accept-encoding',
}
/** Names of files contain a hash of their contents. */
const CACHED = 'public, max-age=31536000, immutable'

export async function readConsoleFiles(): Promise<ConsoleFiles> {
  const files = page.files ? await compiledFiles(page.files) : await bundledFiles(page.index)
  const names = files.map(({ name }) => name)
  const texts = new Map(
    files.flatMap(({ name, contentType, bytes }): [string, string][] =>
      /^(text|image\/svg)/.test(contentType)
        ? [[name, withRelativeNames(bytes.toString(), names, isPage(contentType))]]
        : [],
    ),
  )
  const html = texts.get(files.find(({ contentType }) => isPage(contentType))?.name ?? '') ?? ''
  const loaded = importsOf(/<script[^>]* src="console\/([^"]+)"/.exec(html)?.[1] ?? '', texts)
  const packing = files.map(async ({ name, contentType, bytes }): Promise<[string, SentFile]> => {
    const text = texts.get(name)
    const sent = isPage(contentType) ? withPreloads(html, loaded) : text && withImports(text, loaded, texts)
    const body = sent === undefined ? bytes : Buffer.from(sent)
    const etag = `"${new Bun.CryptoHasher('sha256').update(body).digest('hex').slice(0, 32)}"`
    const packed = await promisify(gzip)(body, { level: 9 })
    return [isPage(contentType) ? '' : name, { body, packed, contentType, etag }]
  })
  return new Map(await Promise.all(packing))
}

function isPage(contentType: string): boolean {
  return contentType.startsWith('text/html')
}

/** The texts of files by their names. */
type Texts = ReadonlyMap<string, string>

/** A script with its imports and theirs. A browser would find each only after reading the previous one. */
function importsOf(script: string, texts: Texts): Set<string> {
  const found = new Set([script])
  for (const name of found)
    for (const [, imported = ''] of (texts.get(name) ?? '').matchAll(
      /(?:from|import)\s*"\.\/([\w.-]+\.js)"/g,
    ))
      found.add(imported)
  return found
}

/** The page with hints to load its own scripts in parallel. */
function withPreloads(html: string, own: ReadonlySet<string>): string {
  // The bundler adds them, but not in an executable.
  const others = [...own].filter((name) => !html.includes(`"console/${name}"`))
  const links = others.map((name) => `<link rel="modulepreload" href="console/${name}">`)
  return html.replace('</head>', `${links.join('')}</head>`)
}

/** A script in which each `import()` loads the imports of its target in parallel, except those that the page has loaded. */
function withImports(script: string, loaded: ReadonlySet<string>, texts: Texts): string {
  return script.replaceAll(/\bimport\("\.\/([\w.-]+\.js)"\)/g, (own, name: string) => {
    const names = [...importsOf(name, texts)].filter((each) => each !== name && !loaded.has(each))
    const all = [own, ...names.map((each) => `import("./${each}")`)].join()
    return names.length === 0 ? own : `Promise.all([${all}]).then((all)=>all[0])`
  })
}

/** The answer to GET `/console` and below; undefined for a path that is not a file of the console. */
export function consoleFileAnswer(files: ConsoleFiles, request: Request): Response | undefined {
  const path = pathOf(request).slice(CONSOLE_PATH.length)
  // The page's relative URLs begin at its folder.
  if (path === '/') return new Response(null, { status: 308, headers: { location: '../console' } })
  const file = files.get(path.slice(1))
  if (!file) return undefined
  const isIndex = path === ''
  const isPacked = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
  const headers = {
    ...HEADERS,
    'content-type': file.contentType,
    'cache-control': isIndex ? 'no-cache' : CACHED,
    etag: file.etag,
    ...(isIndex && { 'content-security-policy': POLICY }),
  }
  if (request.headers.get('if-none-match') === file.etag) return new Response(null, { status: 304, headers })
  return new Response(isPacked ? file.packed : file.body, {
    headers: { ...headers, ...(isPacked && { 'content-encoding': 'gzip' }) },
  })
}

interface ReadFile {
  name: string
  contentType: string
  bytes: Buffer<ArrayBuffer>
}

async function compiledFiles(files: NonNullable<Bun.HTMLBundle['files']>): Promise<ReadFile[]> {
  return Promise.all(
    files.map(async ({ path, headers }) => ({
      name: basename(path),
      contentType: headers['content-type'],
      bytes: Buffer.from(await Bun.file(path).arrayBuffer()),
    })),
  )
}

async function bundledFiles(index: string): Promise<ReadFile[]> {
  const { outputs } = await Bun.build({
    entrypoints: [index],
    minify: true,
    splitting: true,
  })
  return Promise.all(
    outputs.map(async (output) => ({
      name: basename(output.path),
      contentType: output.type,
      bytes: Buffer.from(await output.arrayBuffer()),
    })),
  )
}

/** The bundler writes URLs from the root, or relative to each other. Scripts are in one folder; the page is not. */
function withRelativeNames(text: string, names: readonly string[], isIndex: boolean): string {
  const place = isIndex ? 'console/' : './'
  return names.reduce(
    (changed, name) =>
      changed.replaceAll(`"/${name}"`, `"${place}${name}"`).replaceAll(`"./${name}"`, `"${place}${name}"`),
    text,
  )
}
