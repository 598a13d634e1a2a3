// The rules of the source tree as pure functions of file names and texts: who may import whom, what may be said where,
// how long things may be. Each answers the faults that it finds, one sentence each.

export interface SourceFile {
  /** Below the project's folder, with slashes. */
  path: string
  text: string
}

interface Layer {
  name: string
  files: RegExp
  mayImport: readonly string[]
}

/** Lowest first; a file is of the first layer that fits. Types are free: they are gone when the program runs. */
const layers: readonly Layer[] = [
  { name: 'lib', files: /^src\/lib\//, mayImport: ['lib'] },
  // Requests to other servers, for whoever sends them.
  { name: 'http client', files: /^src\/http-client\//, mayImport: ['lib', 'http client'] },
  {
    name: 'contracts',
    files: /^src\/(family|operations|units|prices)\.ts$/,
    mayImport: ['lib', 'contracts'],
  },
  { name: 'db', files: /^src\/db\//, mayImport: ['lib', 'db'] },
  { name: 'families', files: /^src\/families\/index\.ts$/, mayImport: ['family'] },
  // The caller's side of an operation that several families share.
  {
    name: 'shared family',
    files: /^src\/families\/(chat-completions|messages|embeddings|videos|gpt-images|image-uploads)\.ts$/,
    mayImport: ['lib', 'contracts', 'fields'],
  },
  // Data about fields, which families and translations are checked and described by.
  {
    name: 'fields',
    files: /^src\/families\/(surcharges|vendor-state|[a-z-]+-fields)\.ts$/,
    mayImport: ['lib', 'contracts', 'fields'],
  },
  // Translations between two forms of one thing, for families that serve models of another family.
  {
    name: 'translation',
    files: /^src\/families\/\w+-to-\w+\.ts$/,
    mayImport: ['lib', 'contracts', 'fields', 'shared family', 'translation'],
  },
  {
    name: 'family',
    files: /^src\/families\//,
    mayImport: ['lib', 'contracts', 'fields', 'shared family', 'translation'],
  },
  { name: 'upstreams', files: /^src\/upstreams\/index\.ts$/, mayImport: ['upstream'] },
  { name: 'upstream', files: /^src\/upstreams\//, mayImport: ['lib'] },
  { name: 'sandbox', files: /^src\/sandbox\//, mayImport: ['sandbox'] },
  {
    name: 'config',
    files: /^src\/(artifacts\/config|config|price-config)\.ts$/,
    mayImport: ['lib', 'contracts', 'families', 'upstreams', 'config'],
  },
  {
    name: 'line',
    files: /^src\/(gateway|relay|scheduler)\.ts$/,
    mayImport: ['lib', 'contracts', 'db', 'parts', 'line'],
  },
  { name: 'world', files: /^src\/world\.ts$/, mayImport: ['lib', 'db', 'http client', 'parts'] },
  // Tools for models: requests of their own, which go the same line.
  {
    name: 'mcp',
    files: /^src\/mcp\//,
    mayImport: ['lib', 'contracts', 'families', 'config', 'parts', 'mcp'],
  },
  // The API documentation: made from the tables and schemas that requests are served by.
  { name: 'docs', files: /^src\/docs\//, mayImport: ['lib', 'contracts', 'families', 'docs'] },
  {
    name: 'http',
    files: /^src\/(http\/|app\.ts$)/,
    mayImport: ['lib', 'contracts', 'parts', 'mcp', 'docs', 'http'],
  },
  { name: 'server', files: /^src\/server\.ts$/, mayImport: ['parts', 'line', 'world', 'http'] },
  // Keys, money, limits, models, the connection to a vendor: what lies directly in src, or there in a group of its own.
  {
    name: 'parts',
    files: /^src\/((webhooks|artifacts|sound)\/)?[^/]+\.ts$/,
    mayImport: ['lib', 'contracts', 'db', 'families', 'upstreams', 'http client', 'config', 'parts'],
  },
  {
    name: 'cli',
    files: /^cli\//,
    mayImport: [
      'cli',
      'catalogue',
      'lib',
      'contracts',
      'db',
      'config',
      'parts',
      'http client',
      'world',
      'server',
      'sandbox',
    ],
  },
  { name: 'catalogue', files: /^gateway\.config\.ts$/, mayImport: [] },
]

/** Packages that only some files may know. */
const packageOwners: Record<string, RegExp> = {
  elysia: /^src\/(http\/|app\.ts$)/,
  citty: /^cli\//,
  'gpt-tokenizer': /^src\/token-worker\.ts$/,
  'wasm-media-encoders': /^src\/sound\/mp3-worker\.ts$/,
  '@fastify/busboy': /^src\/http\/parts\.ts$/,
  'image-size': /^src\/picture\.ts$/,
  '@modelcontextprotocol/sdk': /^src\/mcp\/server\.ts$/,
  // The lock on a data directory is a database, and commands tell its errors from faults of their own.
  'bun:sqlite': /^(src\/db\/sqlite\.ts$|cli\/)/,
  'bun:ffi': /^cli\//,
}

/** What is read or sent as it is: the facts about the program, and the documentation's page. */
const NOT_CODE = /^\.\.\/(package\.json|docs\/page\/viewer\.(js|css))$/

export function importFaults(files: readonly SourceFile[]): string[] {
  const known = new Set(files.map(({ path }) => path))
  const faults: string[] = []
  for (const file of files) {
    const from = layerOf(file.path)
    if (!from) faults.push(`${file.path} is of no layer: give its folder a place in the table of layers`)
    for (const { specifier, target } of importsOf(file, known)) {
      const owner = packageOwners[packageOf(specifier)]
      if (owner && !owner.test(file.path)) faults.push(`${file.path} must not import ${specifier}`)
      if (specifier.startsWith('.') && target === undefined && !NOT_CODE.test(specifier)) {
        faults.push(`${file.path} must not import ${specifier}, which is no part of the program`)
      }
      const to = target === undefined ? undefined : layerOf(target)
      if (from && to && !from.mayImport.includes(to.name)) {
        faults.push(`${file.path} (${from.name}) must not import ${target} (${to.name})`)
      }
    }
  }
  return faults
}

/** Every circle of imports that the program would meet when it starts. */
export function cycleFaults(files: readonly SourceFile[]): string[] {
  const known = new Set(files.map(({ path }) => path))
  const targets = new Map(
    files.map((file) => [file.path, importsOf(file, known).flatMap(({ target }) => target ?? [])]),
  )
  const finished = new Set<string>()
  const faults: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) {
      faults.push([...trail.slice(trail.indexOf(path)), path].join(' -> '))
      return
    }
    if (finished.has(path)) return
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path])
    finished.add(path)
  }
  for (const path of targets.keys()) visit(path, [])
  return faults
}

interface Wording {
  /** Files that it holds for. */
  files: RegExp
  /** Code, without its types and comments, must not match. */
  never: RegExp
  why: string
}

const wordings: readonly Wording[] = [
  {
    files: /^src\//,
    never: /\bprocess\.\w+|\bBun\.env\b|\bimport\.meta\.env\b/,
    why: 'only the command line touches the process and its environment',
  },
  {
    files: /^src\/(?!world\.ts|sandbox\/)/,
    never: /\bDate\.now\b|\bnew Date\(\)|(?<![.\w])fetch\(/,
    why: 'the clock and the network come in through the world',
  },
  {
    files: /^src\/(families|upstreams|lib)\//,
    never: /\b(Date|performance|crypto|console|setTimeout|setInterval)\b|\bMath\.random\b|(?<![.\w])fetch\b/,
    why: 'this code is pure: no clock, no chance, no network, no output',
  },
]

export function wordingFaults(files: readonly SourceFile[]): string[] {
  const faults: string[] = []
  for (const file of files) {
    const rules = wordings.filter((rule) => rule.files.test(file.path))
    if (rules.length === 0) continue
    for (const line of codeOf(file).split('\n')) {
      for (const { never, why } of rules) {
        const found = never.exec(line)
        if (found) faults.push(`${file.path} says ${JSON.stringify(found[0].trim())}: ${why}`)
      }
    }
  }
  return faults
}

const VENDOR =
  /openai|dashscope|qwen|gemini|google|voyage|xai|grok|anthropic|claude|byteplus|seedream|\bark\b/i
/** Files whose business vendors are. */
const VENDOR_FILES = /^src\/(families|upstreams|sandbox)\//

/** Vendors are named in families, upstreams and sandbox only. Two of them have given their names to what others speak too. */
export function vendorFaults(files: readonly SourceFile[]): string[] {
  const faults: string[] = []
  for (const file of files) {
    if (!file.path.startsWith('src/') || VENDOR_FILES.test(file.path)) continue
    for (const line of codeOf(file).split('\n')) {
      const rest = line
        // The form of an error body, and the protocol that many vendors share, may be asked for by name ...
        .replaceAll(/\b(dialect|protocol) [!=]== "openai"/g, '')
        // ... and handed on, but nothing else may be told apart by a vendor's name.
        .replaceAll(/(?<!(?:[!=]==?|case) )"openai"/g, '')
        // Headers by which clients of messages say what they know, whoever serves them.
        .replaceAll(/"anthropic-(version|beta)"/g, '')
      const found = VENDOR.exec(rest)
      if (found) faults.push(`${file.path} names the vendor ${found[0]}: ${line.trim()}`)
    }
  }
  return faults
}

const VAGUE_NAME = /(^|[-./])(utils?|helpers?|common|misc|managers?|services?)([-./]|$)/
const UNFINISHED = /\b(TODO|FIXME|XXX|HACK)\b/

/** Every file says first what it is for, is named after something, and is finished. */
export function fileFaults(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => [
    ...(/^(#!.*\n)?\/\/ ?\S/.test(text)
      ? []
      : [`${path} does not begin with a comment that says what it is for`]),
    ...(VAGUE_NAME.test(path) ? [`${path} has a name that says nothing`] : []),
    ...(UNFINISHED.test(text)
      ? [`${path} says ${UNFINISHED.exec(text)?.[0]}: finish it or leave it out`]
      : []),
  ])
}

export function longFiles(files: readonly SourceFile[], most: number): Map<string, number> {
  return new Map(
    files
      .map(({ path, text }): [string, number] => [path, text.trimEnd().split('\n').length])
      .filter(([, lines]) => lines > most),
  )
}

/** Functions with a name whose own lines, without those of named functions inside, are more than that. */
export function longFunctions(files: readonly SourceFile[], most: number): Map<string, number> {
  return new Map(
    files.flatMap(({ path, text }) =>
      functionsOf(text)
        .filter(({ lines }) => lines > most)
        .map(({ name, lines }): [string, number] => [`${path} ${name}`, lines]),
    ),
  )
}

interface FunctionSize {
  name: string
  lines: number
}

/** The heads of functions as the formatter writes them, the name in the second group. A test is one too. */
const FUNCTION_HEADS: readonly RegExp[] = [
  /^(\s*)(test)\(.*=> \{$/,
  /^(\s*)(?:export )?(?:default )?(?:async )?function\*? ?(\w+)/,
  /^(\s*)(?:export )?(?:const|let) (\w+) = (?:async )?(?:<.*>)?(?:\(|\w+ =>)/,
  /^(\s*)(?:(?:static|async|get|set) )*\*?(\w+)(?:<.*>)?\((?:(?!=>).)*[({]$/,
  /^(\s*)(\w+): (?:async )?(?:<.*>)?(?:\(|\w+ =>)/,
]

/** Relies on the formatter: a block ends on the first line at the indent of its head that begins with a brace. */
function functionsOf(text: string): FunctionSize[] {
  const lines = text.split('\n')
  const open: { name: string; end: number; lines: number }[] = []
  const sizes: FunctionSize[] = []
  for (const [index, line] of lines.entries()) {
    while (open.length > 0 && (open.at(-1)?.end ?? 0) < index) sizes.push(open.pop() as FunctionSize)
    const head = FUNCTION_HEADS.map((form) => form.exec(line)).find((match) => match !== null)
    const [, indent = '', name] = head ?? []
    const end = name === undefined ? index : endOfBlock(lines, index, indent)
    if (name !== undefined && end > index) open.push({ name, end, lines: 0 })
    const inner = open.at(-1)
    if (inner) inner.lines++
  }
  return [...sizes, ...open]
}

/** The last line of the block whose head begins on this line; the line itself when it has none. */
function endOfBlock(lines: readonly string[], start: number, indent: string): number {
  for (let index = start; index < lines.length; index++) {
    const line = lines[index] ?? ''
    const belongsToHead = line.startsWith(indent) && /^[)}\]]/.test(line.slice(indent.length))
    if (index > start && !belongsToHead) continue
    // Parameters over several lines, or the block itself.
    if (/[{([]$/.test(line)) continue
    return line.startsWith(`${indent}}`) ? index : start
  }
  return start
}

function layerOf(path: string): Layer | undefined {
  return layers.find(({ files }) => files.test(path))
}

const transpiler = new Bun.Transpiler({ loader: 'ts' })

/** The program without types and comments. */
function codeOf({ text }: SourceFile): string {
  return transpiler.transformSync(withoutShebang(text))
}

function importsOf(file: SourceFile, known: ReadonlySet<string>) {
  return transpiler.scanImports(withoutShebang(file.text)).map(({ path: specifier }) => ({
    specifier,
    target: specifier.startsWith('.') ? targetOf(file.path, specifier, known) : undefined,
  }))
}

function targetOf(from: string, specifier: string, known: ReadonlySet<string>): string | undefined {
  const { pathname } = new URL(specifier, `file:///${from}`)
  const path = pathname.slice(1)
  return [path, `${path}.ts`, `${path}/index.ts`].find((candidate) => known.has(candidate))
}

function packageOf(specifier: string): string {
  if (specifier.startsWith('@elysiajs/')) return 'elysia'
  return specifier.startsWith('@') ? specifier.split('/', 2).join('/') : (specifier.split('/')[0] ?? '')
}

function withoutShebang(text: string): string {
  return text.replace(/^#!.*/, '')
}
