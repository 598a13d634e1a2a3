// The rules of the source tree as pure functions of file names and texts: permitted imports, words and lengths. Each returns the
// faults that it finds, one sentence each.

export interface SourceFile {
  /** Below the project's folder, with slashes. */
  path: string
  text: string
}

/**
 * The folders of the program, lowest first: a file imports, types included, only from its own folder and from lower ones. Whatever
 * it needs from a higher folder is passed to it, as an interface that it declares itself.
 */
const levels: readonly (readonly string[])[] = [
  ['src/lib', 'src/db'],
  ['src/http-client', 'src/api-operation', 'src/contract', 'src/media', 'src/families', 'src/webhooks'],
  ['src/upstreams/kinds', 'src/upstreams', 'src/config', 'src/billing'],
  [
    'src/artifacts',
    'src/kept-responses',
    'src/accounts',
    'src/catalogue',
    'src/api-document',
    'src/payments',
  ],
  ['src/sign-in'],
  ['src/tasks', 'src/backup', 'src/oauth'],
  ['src/events', 'src/retention'],
  ['src/request-log', 'src/telemetry'],
  ['src/request'],
  ['src/mcp', 'src/http', 'src/http/routes'],
  ['src/admin'],
  // The page in the browser: of the gateway it knows only the forms of answers, as types, and how money is written.
  ['src/console'],
  ['src/console-server'],
  ['src/listen'],
  ['src/app'],
  // Outside of the gateway: simulated vendors, the delivered catalogue, and, above all others, the command line.
  ['sandbox', 'gateway.config.ts'],
  ['cli'],
]
const folders = levels.flat()

/** Folders that may import less than their place in the list allows. */
const narrower: Record<string, readonly string[]> = {
  'src/db': ['src/lib'],
  'src/http-client': ['src/lib'],
  'src/api-operation': ['src/lib'],
  'src/media': ['src/lib', 'src/contract'],
  'src/families': ['src/lib', 'src/contract'],
  'src/webhooks': ['src/lib', 'src/db', 'src/http-client'],
  'src/upstreams': ['src/lib', 'src/contract', 'src/http-client'],
  'src/upstreams/kinds': ['src/lib', 'src/contract'],
  'src/config': ['src/lib', 'src/contract', 'src/families', 'src/upstreams/kinds', 'src/upstreams'],
  'src/payments': ['src/lib'],
  'src/sign-in': ['src/lib', 'src/contract', 'src/http-client', 'src/config'],
  'src/api-document': [
    'src/lib',
    'src/api-operation',
    'src/contract',
    'src/families',
    'src/catalogue',
    'src/config',
    'src/upstreams/kinds',
  ],
  sandbox: [],
  'gateway.config.ts': ['src/config'],
}

/** Folders whose index lists all files of a kind. Only the index imports the listed files. */
const LISTS = /^src\/(families|upstreams\/kinds)\/index\.ts$/

/** Packages that only some files may import. */
const packageOwners: Record<string, RegExp> = {
  aws4: /^src\/upstreams\/kinds\/bedrock\.ts$/,
  preact: /^src\/console\//,
  '@preact/signals': /^src\/console\//,
  uplot: /^src\/console\/parts\/chart\.tsx$/,
  marked: /^src\/(console\/playground\/markdown\.tsx|http\/routes\/docs-reference\.ts)$/,
  lowlight: /^src\/console\/playground\/colours\.tsx$/,
  'highlight.js': /^src\/console\/playground\/colours\.tsx$/,
  'eventsource-parser': /^src\/console\/playground\/run\.ts$/,
  elysia: /^src\/(http\/|app\/routes\.ts$)/,
  citty: /^cli\//,
  'gpt-tokenizer': /^src\/media\/token-worker\.ts$/,
  'wasm-media-encoders': /^src\/media\/mp3-worker\.ts$/,
  '@fastify/busboy': /^src\/http\/multipart-parts\.ts$/,
  'prom-client': /^src\/telemetry\/exposition\.ts$/,
  'image-size': /^src\/lib\/file-formats\/picture\.ts$/,
  mediabunny: /^src\/media\/audio-worker\.ts$/,
  '@modelcontextprotocol/sdk': /^src\/mcp\/revision-2025\.ts$/,
  '@modelcontextprotocol/server': /^src\/mcp\/(server|revision-2026)\.ts$/,
  // The lock on a data directory is a database, and commands distinguish its errors from their own.
  'bun:sqlite': /^(src\/db\/(drivers\/sqlite(-file)?|file-lock)\.ts$|cli\/)/,
  'bun:ffi': /^cli\//,
  // A schema becomes code when it is first used: a start must not wait for all of them.
  '@sinclair/typebox/compiler': /^src\/lib\/validate\.ts$/,
  'openid-client': /^(src\/sign-in\/issuer|cli\/lib\/device-login)\.ts$/,
  jose: /^(src\/sign-in\/|sandbox\/identity-provider\.ts$)/,
  nodemailer: /^src\/events\/mail\.ts$/,
}

/** Imports that are read or sent as they are: the facts about the program, and the pages of the documentation and the console. */
const NOT_CODE =
  /^(\.\.\/)+(package\.json|console\/index\.html|api-document\/page\/\w+\.js|docs\/(guides\/\w+|dialects|operate\/events)\.md)$/

export function importFaults(files: readonly SourceFile[]): string[] {
  const known = new Set(files.map(({ path }) => path))
  const listed = new Set(
    files.filter(({ path }) => LISTS.test(path)).flatMap((list) => targetsOf(list, known)),
  )
  const faults: string[] = []
  for (const file of files) {
    const from = folderOf(file.path)
    if (!from) faults.push(`${file.path} is on no level: give its folder a place in the list of levels`)
    for (const { specifier, target } of importsOf(file, known)) {
      const owner = packageOwners[packageOf(specifier)]
      if (owner && !owner.test(file.path)) faults.push(`${file.path} must not import ${specifier}`)
      if (specifier.startsWith('.') && target === undefined && !NOT_CODE.test(specifier)) {
        faults.push(`${file.path} must not import ${specifier}, which is not part of the program`)
      }
      if (target !== undefined && listed.has(target) && !LISTS.test(file.path)) {
        faults.push(`${file.path} must not import ${target}, which stands alone`)
      }
    }
    if (from === 'src/console') {
      for (const target of targetsOf(file, known)) {
        // Its sample programs and settings are texts made by pure functions.
        if (/^src\/((console|lib)\/|api-document\/(clients|samples)\.ts$)/.test(target)) continue
        faults.push(`${file.path} must not import ${target} but for its types: that runs in the gateway`)
      }
    }
    for (const target of targetsWithTypesOf(file, known)) {
      if (from && !mayImport(from, folderOf(target))) {
        faults.push(`${file.path} must not import ${target}, which is on no level below it`)
      }
    }
  }
  return faults
}

function mayImport(from: string, to: string | undefined): boolean {
  if (to === undefined || to === from) return true
  return narrower[from]?.includes(to) ?? folders.indexOf(to) < folders.indexOf(from)
}

/** Every import cycle that the program would meet when it starts. */
export function cycleFaults(files: readonly SourceFile[]): string[] {
  const known = new Set(files.map(({ path }) => path))
  const targets = new Map(files.map((file) => [file.path, targetsOf(file, known)]))
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
  /** Files to which it applies. */
  files: RegExp
  /** Code without types and comments must not match. */
  never: RegExp
  why: string
}

const wordings: readonly Wording[] = [
  {
    files: /^(src|sandbox)\//,
    never: /\bprocess\.\w+|\bBun\.env\b|\bimport\.meta\.env\b/,
    why: 'only the command line touches the process and its environment',
  },
  {
    // Samples are programs for readers, and are only written here. The console runs in the browser.
    files: /^src\/(?!app\/world\.ts|console\/|api-document\/samples\.ts)/,
    never: /\bDate\.now\b|\bnew Date\(\)|(?<![.\w])fetch\(/,
    why: 'the clock and the network come in through the world',
  },
  {
    files: /^src\/(families|upstreams\/kinds|contract|lib)\//,
    // Ciphers and hashes of `node:crypto` are pure; its random bytes are passed in.
    never:
      /\b(Date|performance|(?<!node:)crypto|console(?=\.(log|error|warn|info|debug)\b)|setTimeout|setInterval)\b|\bMath\.random\b|(?<![.\w])fetch\b|(\brandom|\* as ).* from "node:crypto"/,
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

/** Names of vendors and of their models that are not part of a file name. */
const BRANDS = ['qwen', 'grok', 'claude', 'byteplus', 'seedream']

/** The vendors: the file names in the lists of kinds and families, `openai` and `gemini`, and the brands. */
function vendorsOf(files: readonly SourceFile[]): RegExp {
  const known = new Set(files.map(({ path }) => path))
  const listed = files.filter(({ path }) => LISTS.test(path)).flatMap((list) => targetsOf(list, known))
  const names = listed.flatMap(
    (path) => /\/(?!(?:family|bridge|dialect|protocol)\b)([a-z]+)[^/]*$/.exec(path)?.[1] ?? [],
  )
  // A short name may be the end of a common word, as in `mark`, or the beginning, as in `false`.
  const words = [...new Set([...names, ...BRANDS])].map((name) =>
    name.length < 4 ? `(?<![a-z])${name}(?!se|l)` : name,
  )
  return new RegExp(words.join('|'), 'i')
}

/** Samples and settings of clients name the packages and variables of official ones, and the reference of the configuration has examples. */
const VENDOR_FILES =
  /^src\/(families\/|upstreams\/kinds\/|api-document\/(clients|configuration|models|samples)\.ts$)/

/**
 * Vendors are named only in families, upstreams, sandbox and samples. Two of them have given their names to protocols that others
 * use too.
 */
export function vendorFaults(files: readonly SourceFile[]): string[] {
  const vendors = vendorsOf(files)
  const faults: string[] = []
  for (const file of files) {
    if (!file.path.startsWith('src/') || VENDOR_FILES.test(file.path)) continue
    for (const line of codeOf(file).split('\n')) {
      const rest = line
        // The form of an error body, and the protocol that many vendors share, may be recognized by name ...
        .replaceAll(/\b(dialect|protocol) [!=]== "(openai|gemini)"/g, '')
        // ... and passed on, but nothing else may be distinguished by a vendor's name.
        .replaceAll(/(?<!(?:[!=]==?|case) )"(openai|gemini)"/g, '')
        // Headers in which clients of messages say which features they know, whoever serves them.
        .replaceAll(/"anthropic-(version|beta)"/g, '')
        // The header by which a client names its session, whoever serves it.
        .replaceAll(/"x-claude-code-session-id"/g, '')
        // The domain in the details of errors of one dialect, whoever serves it.
        .replaceAll(/googleapis\.com(\/google\.rpc)?/g, '')
      const found = vendors.exec(rest)
      if (found) faults.push(`${file.path} names the vendor ${found[0]}: ${line.trim()}`)
    }
  }
  return faults
}

const VAGUE_NAME = /(^|[-./])(utils?|helpers?|common|misc|managers?|services?)([-./]|$)/
const UNFINISHED = /\b(TODO|FIXME|XXX|HACK)\b/

/** Bun waits for such a promise inside one event, and may not continue with anything else meanwhile. */
const WAITED_FOR_BY_BUN = /\.(rejects|resolves)\./

/** Every file begins with its purpose, has a telling name, and is finished. Tests wait for promises by themselves. */
export function fileFaults(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => [
    ...(/^(#!.*\n)?\/\/ ?\S/.test(text)
      ? []
      : [`${path} does not begin with a comment that says what it is for`]),
    ...(VAGUE_NAME.test(path) ? [`${path} has a name that says nothing`] : []),
    ...(UNFINISHED.test(text)
      ? [`${path} says ${UNFINISHED.exec(text)?.[0]}: finish it or leave it out`]
      : []),
    ...(WAITED_FOR_BY_BUN.test(text)
      ? [`${path} says ${WAITED_FOR_BY_BUN.exec(text)?.[0]}: await the promise, or its rejection()`]
      : []),
  ])
}

/** A doc comment is read in a tooltip, where it must name what it is about. */
const DANGLING = /^(It|Its|They|Them|The same|Of|Beside|With|What|Whose|One that)\b/
/** Archaic words, and metaphors that had standard names all along. */
const UNCLEAR_WORD = /\bshall\b|\b(?:create)?(?:roster|pulse|canceller|flight)s?\b|\bjournal\b(?!\.sqlite|')/i
/** Phrases at which a native reader stumbles: "except", "permanently", "reported", "is" and "continues" say the same. */
const FOREIGN_PHRASE = new RegExp(
  `\\b(?:${[
    'but for|since ever|for ever|of before(?![.)])|in vain|goes on|went on',
    '(?:is|are|was|were|been) told|told (?:of|apart)',
    'stands? (?:in|at|beside|there)|stood (?:in|there)',
    '(?:goes|go) (?:with|without) (?:--|the flag)|for what is none|for who has none|gives? no answer',
    'beside|(?:stands?|stood) (?:behind|above|below)|(?<!there )(?:is|are|was|were) no (?!longer|slower)\\w',
    'in silence|goes? along|in small letters|held against|who looks|\\w+ anew(?! =)|of no need',
  ].join('|')})\\b`,
  'i',
)

/** Phrases in comments, messages and pages that have a plainer form. */
export function phraseFaults(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    const phrase = FOREIGN_PHRASE.exec(text)
    if (!phrase) return []
    const line = text.slice(0, phrase.index).split('\n').length
    return [`${path}:${line} says "${phrase[0]}": use a plainer phrase`]
  })
}

/** Doc comments that cannot stand alone, and words that a newcomer would have to learn. */
export function proseFaults(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    const docs = [...text.matchAll(/^ *\/\*\*(?:\n *\*)? (.*)/gm)].map(([, start = '']) => start)
    const word = UNCLEAR_WORD.exec(text)?.[0]
    return [
      ...docs
        .filter((start) => DANGLING.test(start))
        .map((start) => `${path} has a comment that does not stand alone: ${start}`),
      ...(word === undefined ? [] : [`${path} says ${word}: use the usual word`]),
    ]
  })
}

/**
 * Names that two files of the gateway export, which a reader could confuse. The sandbox is exempt: each simulated vendor has its
 * own words. The console is a separate program, in the browser.
 */
export function doubledNames(files: readonly SourceFile[]): string[] {
  const declared = /^export (?:async )?(?:function\*?|const|let|class|interface|type) (\w+)/gm
  const homes = new Map<string, string>()
  const faults: string[] = []
  for (const { path, text } of files) {
    if (!path.startsWith('src/')) continue
    const program = path.startsWith('src/console/') ? 'console' : 'gateway'
    for (const [, name = ''] of text.matchAll(declared)) {
      const home = homes.get(`${program} ${name}`) ?? path
      if (home !== path)
        faults.push(`${path} exports ${name}, as ${home} does: give one of them another name`)
      homes.set(`${program} ${name}`, home)
    }
  }
  return faults
}

/** Folders with more files than that directly inside them. */
export function fullFolders(files: readonly SourceFile[], most: number): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { path } of files) {
    const folder = path.slice(0, path.lastIndexOf('/'))
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return new Map([...counts].filter(([folder, count]) => folder !== '' && count > most))
}

export function longFiles(files: readonly SourceFile[], most: number): Map<string, number> {
  return new Map(
    files
      .map(({ path, text }): [string, number] => [path, text.trimEnd().split('\n').length])
      .filter(([, lines]) => lines > most),
  )
}

/** Named functions with more lines than that, including those of the functions inside them. */
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
  return lines.flatMap((line, index) => {
    const head = FUNCTION_HEADS.map((form) => form.exec(line)).find((match) => match !== null)
    const [, indent = '', name] = head ?? []
    const end = name === undefined ? index : endOfBlock(lines, index, indent)
    return name !== undefined && end > index ? [{ name, lines: end - index + 1 }] : []
  })
}

/** The last line of the block whose head begins on this line; the line itself when there is no block. */
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

/** The innermost folder of the list that holds the file. */
function folderOf(path: string): string | undefined {
  const around = folders.filter((folder) => path === folder || path.startsWith(`${folder}/`))
  return around.sort((one, other) => other.length - one.length)[0]
}

const transpilers = { ts: new Bun.Transpiler({ loader: 'ts' }), tsx: new Bun.Transpiler({ loader: 'tsx' }) }

function transpilerOf(path: string): Bun.Transpiler {
  return path.endsWith('.tsx') ? transpilers.tsx : transpilers.ts
}

/** The program without types and comments. */
function codeOf({ path, text }: SourceFile): string {
  return transpilerOf(path).transformSync(withoutShebang(text))
}

function importsOf(file: SourceFile, known: ReadonlySet<string>) {
  const imports = transpilerOf(file.path).scanImports(withoutShebang(file.text))
  return imports.map(({ path: specifier }) => ({
    specifier,
    target: specifier.startsWith('.') ? targetOf(file.path, specifier, known) : undefined,
  }))
}

function targetsOf(file: SourceFile, known: ReadonlySet<string>): string[] {
  return importsOf(file, known).flatMap(({ target }) => target ?? [])
}

/** Includes imports of types only. Relies on the formatter: an import begins its line and has single quotes. */
function targetsWithTypesOf({ path, text }: SourceFile, known: ReadonlySet<string>): string[] {
  const imports = text.matchAll(/^(?:import|export) [^']*?from '(\.[^']*)'|\bimport\('(\.[^']*)'\)/gm)
  return [...imports].flatMap(([, listed, inside]) => targetOf(path, listed ?? inside ?? '', known) ?? [])
}

function targetOf(from: string, specifier: string, known: ReadonlySet<string>): string | undefined {
  const { pathname } = new URL(specifier, `file:///${from}`)
  const path = pathname.slice(1)
  return [path, `${path}.ts`, `${path}.tsx`, `${path}/index.ts`].find((candidate) => known.has(candidate))
}

function packageOf(specifier: string): string {
  if (specifier.startsWith('@elysiajs/')) return 'elysia'
  if (specifier === '@sinclair/typebox/compiler') return specifier
  return specifier.startsWith('@') ? specifier.split('/', 2).join('/') : (specifier.split('/')[0] ?? '')
}

function withoutShebang(text: string): string {
  return text.replace(/^#!.*/, '')
}
