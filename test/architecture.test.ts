// The design as a test: levels, purity, vendor names, sizes. Each rule is also shown sources that break it, so that a
// rule which stopped noticing anything fails here.

import { describe, expect, test } from 'bun:test'
import { Glob } from 'bun'
import { shownTextFaults } from './support/shown-text'
import {
  cycleFaults,
  doubledNames,
  fileFaults,
  fullFolders,
  importFaults,
  longFiles,
  longFunctions,
  phraseFaults,
  proseFaults,
  type SourceFile,
  vendorFaults,
  wordingFaults,
} from './support/source-rules'

const ROOT = `${import.meta.dir}/..`
const MAX_FILE_LINES = 500
const MAX_FUNCTION_LINES = 70
const MAX_FOLDER_FILES = 25

/** Files and functions longer than permitted, in lines rounded up to tens. An entry may only become smaller. */
const longFilesAllowed: Record<string, number> = {}
/** Folders that list one file per item, which are looked up by their names. */
const fullFoldersAllowed: Record<string, number> = {
  'cli/commands': 40,
}
const longFunctionsAllowed: Record<string, number> = {
  'test/cli/commands.test.ts test': 80,
  'test/scenario/database.test.ts migrationContract': 80,
  'test/scenario/ledger.test.ts endTests': 80,
  'test/scenario/ledger.test.ts counterTests': 80,
  'test/scenario/money.test.ts idempotencyTests': 150,
  'test/support/bookkeepers/bookkeeper.ts createBookkeeper': 100,
  'test/support/gateway.ts startTestGateway': 90,
  'test/support/bookkeepers/ledger-fuzz.ts createLedgerFuzz': 100,
  'test/support/simulation/time.ts createVirtualTime': 90,
  'test/unit/field-names.test.ts readSlowly': 80,
}

const program = await read('{src,cli,sandbox}/**/*.{ts,tsx}', 'gateway.config.ts')
/** The catalogue is data: as long as there are models. */
const programs = program.filter(({ path }) => path !== 'gateway.config.ts')
const around = await read('{bench,test}/**/*.ts', 'build.ts')
// This file and the rules name the forbidden words.
const all = [...program, ...around].filter(
  ({ path }) => !/^test\/(architecture\.test|support\/source-rules)\.ts$/.test(path),
)

describe('the source keeps', () => {
  test('its levels', () => expect(importFaults(program)).toEqual([]))
  test('imports without a circle', () => expect(cycleFaults(program)).toEqual([]))
  test('process, clock and network at the edge', () => expect(wordingFaults(program)).toEqual([]))
  test('words of the console in its texts', () => expect(shownTextFaults(program)).toEqual([]))
  test('vendors in their folders', () => expect(vendorFaults(program)).toEqual([]))
  test(`folders of at most ${MAX_FOLDER_FILES} files`, () => {
    const shared = around.filter(({ path }) => path.startsWith('test/support/'))
    expect(over(fullFolders([...program, ...shared], MAX_FOLDER_FILES), fullFoldersAllowed)).toEqual([])
  })
  test('one file for each name that is exported', () => expect(doubledNames(program)).toEqual([]))
  test('files that say what they are for', () => expect(fileFaults(all)).toEqual([]))
  test('comments that stand alone, in usual words', () => expect(proseFaults(all)).toEqual([]))
  test('plain phrases, in the program, its tests and its pages', async () => {
    const prose = await read('*.md', '{docs,decisions}/**/*.md', 'test/support/README.md', 'tools/**/*.ts')
    expect(phraseFaults([...all, ...prose])).toEqual([])
  })
  test(`files of at most ${MAX_FILE_LINES} lines`, () => {
    expect(over(longFiles(programs, MAX_FILE_LINES), longFilesAllowed)).toEqual([])
  })
  test(`functions of at most ${MAX_FUNCTION_LINES} lines`, () => {
    expect(over(longFunctions([...program, ...around], MAX_FUNCTION_LINES), longFunctionsAllowed)).toEqual([])
  })
  test('tests in their folders, and a line for each file that they share', async () => {
    const tests = around.filter(({ path }) => path.endsWith('.test.ts')).map(({ path }) => path)
    const folders =
      /^test\/((unit|contract|vendors|browser|scenario|cli|load)\/[^/]+|architecture)\.test\.ts$/
    expect(tests.filter((path) => !folders.test(path))).toEqual([])
    // The quick run has no browser.
    const opening = around
      .filter(({ text }) => /^import .*\bopenBrowser\b/m.test(text))
      .map(({ path }) => path)
    expect(opening.filter((path) => !path.startsWith('test/browser/'))).toEqual([])
    expect(opening.length).toBeGreaterThan(0)
    const readme = await Bun.file(`${import.meta.dir}/support/README.md`).text()
    const listed = [...readme.matchAll(/^- `([\w/-]+\.ts)`: /gm)].map(([, file]) => `test/support/${file}`)
    const shared = around.map(({ path }) => path).filter((path) => path.startsWith('test/support/'))
    expect(listed.sort()).toEqual(shared)
  })
  test('its map, with each folder on a level', async () => {
    const page = await Bun.file(`${ROOT}/ARCHITECTURE.md`).text()
    const levels = [...page.matchAll(/^ ?\d+ +((?:[a-z-]+\/ *)+)/gm)].map(([, folders = '']) => folders)
    const folders = programs.flatMap(({ path }) => /^src\/([^/]+)\//.exec(path)?.[1] ?? [])
    const inside = new Set(folders)
    const named = levels.flatMap((line) => line.match(/[a-z-]+/g) ?? [])
    expect(named.sort()).toEqual([...inside].sort())
  })
  test('lists of exceptions without one that is no longer needed', () => {
    const files = longFiles(programs, MAX_FILE_LINES)
    const functions = longFunctions([...program, ...around], MAX_FUNCTION_LINES)
    expect(Object.keys(longFilesAllowed).filter((name) => !files.has(name))).toEqual([])
    expect(Object.keys(longFunctionsAllowed).filter((name) => !functions.has(name))).toEqual([])
  })
})

interface Breach {
  title: string
  find: (files: readonly SourceFile[]) => string[]
  /** Files that keep the rule, which must pass. */
  good: Record<string, string>
  /** Files that break it, which must be named. */
  bad: Record<string, string>
}

/** Vendors, as the rules about their names find them. */
const KINDS = {
  'src/upstreams/kinds/index.ts': `export * from './openai'`,
  'src/upstreams/kinds/openai.ts': '',
}

const breaches: readonly Breach[] = [
  {
    title: 'a word in a page of the console',
    find: shownTextFaults,
    good: {
      'src/console/a.tsx': `export const A = () => <p title={texts.a}>CSV <i class="b c">{texts.b}</i></p>`,
    },
    bad: { 'src/console/a.tsx': `export const A = () => <p>Hello <i>{texts.b}</i></p>` },
  },
  {
    title: 'a word in a tooltip',
    find: shownTextFaults,
    good: { 'src/console/a.tsx': `export const A = () => <input placeholder={texts.a} name="b" />` },
    bad: { 'src/console/a.tsx': `export const A = () => <input placeholder={isB ? 'Some text' : ''} />` },
  },
  {
    title: 'a number that is written in one language',
    find: shownTextFaults,
    good: { 'src/console/language.ts': `export const a = (b: number) => b.toLocaleString('en')` },
    bad: { 'src/console/pages/a.tsx': `export const a = (b: number) => b.toLocaleString('en')` },
  },
  {
    title: 'English texts in a page',
    find: shownTextFaults,
    good: { 'src/console/texts/german/a.ts': `import type { a } from '../a'` },
    bad: { 'src/console/pages/a.tsx': `import { a } from '../texts/a'` },
  },
  {
    title: 'a family that reads the database',
    find: importFaults,
    good: {
      'src/families/a.ts': `import type { Family } from '../contract/family'\nexport let family: Family`,
      'src/contract/family.ts': '',
    },
    bad: {
      'src/families/a.ts': `import type { Db } from '../db/db'\nexport let db: Db`,
      'src/db/db.ts': '',
    },
  },
  {
    title: 'a family that imports another',
    find: importFaults,
    good: {
      'src/families/index.ts': `export * from './chat/a'`,
      'src/families/chat/a.ts': `export * from '../videos/caller-side'`,
      'src/families/videos/caller-side.ts': '',
    },
    bad: {
      'src/families/chat/a.ts': `export * from '../videos/b'`,
      'src/families/videos/b.ts': '',
      'src/families/index.ts': `export * from './videos/b'`,
    },
  },
  {
    title: 'a kind of upstream that knows the connection',
    find: importFaults,
    good: {
      'src/upstreams/kinds/a.ts': `import type { U } from '../../contract/upstream'\nexport let u: U`,
      'src/contract/upstream.ts': '',
    },
    bad: {
      'src/upstreams/kinds/a.ts': `import type { U } from '../upstream'\nexport let u: U`,
      'src/upstreams/upstream.ts': '',
    },
  },
  {
    title: 'a folder that imports one above it',
    find: importFaults,
    good: { 'src/tasks/a.ts': `export * from '../billing/b'`, 'src/billing/b.ts': '' },
    bad: { 'src/billing/b.ts': `export * from '../tasks/a'`, 'src/tasks/a.ts': '' },
  },
  {
    title: 'a type of a folder above',
    find: importFaults,
    good: {
      'src/tasks/a.ts': `import {\n  b,\n  type B,\n} from '../billing/b'\nexport let a: B = b`,
      'src/billing/b.ts': '',
    },
    bad: {
      'src/billing/b.ts': `let b = 1\nexport type A = typeof import('../tasks/a')`,
      'src/tasks/a.ts': '',
    },
  },
  {
    title: 'lib that imports ours',
    find: importFaults,
    good: { 'src/lib/a.ts': `export * from './b'`, 'src/lib/b.ts': '' },
    bad: { 'src/lib/a.ts': `export * from '../contract/family'`, 'src/contract/family.ts': '' },
  },
  {
    title: 'code of the gateway in the browser',
    find: importFaults,
    good: {
      'src/console/a.tsx': `import type { B } from '../tasks/b'\nexport let a: B = <p />`,
      'src/tasks/b.ts': '',
    },
    bad: { 'src/console/a.tsx': `export * from '../tasks/b'`, 'src/tasks/b.ts': '' },
  },
  {
    title: 'Elysia outside HTTP',
    find: importFaults,
    good: { 'src/http/a.ts': `export * from 'elysia'` },
    bad: { 'src/accounts/keys.ts': `export * from 'elysia'` },
  },
  {
    title: 'schemas that are compiled when their file is loaded',
    find: importFaults,
    good: { 'src/config/a.ts': `export * from '@sinclair/typebox/value'` },
    bad: { 'src/config/a.ts': `export * from '@sinclair/typebox/compiler'` },
  },
  {
    title: 'citty outside the command line',
    find: importFaults,
    good: { 'cli/a.ts': `export * from 'citty'` },
    bad: { 'src/app/server.ts': `export * from 'citty'` },
  },
  {
    title: 'the program on its tests',
    find: importFaults,
    good: { 'cli/a.ts': `export * from '../package.json'` },
    bad: { 'src/app/a.ts': `export * from '../../test/support/gateway'` },
  },
  {
    title: 'a folder without a level',
    find: importFaults,
    good: { 'src/lib/a.ts': '' },
    bad: { 'src/plugins/a.ts': '' },
  },
  {
    title: 'a circle',
    find: cycleFaults,
    good: { 'src/a.ts': `export * from './b'`, 'src/b.ts': `import type { A } from './a'\nexport let a: A` },
    bad: {
      'src/a.ts': `export * from './b'`,
      'src/b.ts': `import('./c')`,
      'src/c.ts': `export * from './a'`,
    },
  },
  {
    title: 'the environment in src',
    find: wordingFaults,
    good: { 'cli/a.ts': 'export const a = process.env.A', 'src/a.ts': '// process.env is not for us\n' },
    bad: { 'src/a.ts': 'export const a = process.env.A' },
  },
  {
    title: 'process in the sandbox',
    find: wordingFaults,
    good: { 'sandbox/a.ts': 'export const a = Date.now()' },
    bad: { 'sandbox/a.ts': 'export const a = () => process.exit(1)' },
  },
  {
    title: 'the clock in a family',
    find: wordingFaults,
    good: { 'src/families/a.ts': 'export const read = (prefetch: number) => prefetch' },
    bad: { 'src/families/a.ts': 'export const read = () => performance.now()' },
  },
  {
    title: 'chance in a cipher',
    find: wordingFaults,
    good: { 'src/lib/a.ts': `import { createHmac } from 'node:crypto'\nexport const a = createHmac` },
    bad: { 'src/lib/a.ts': `import { randomBytes } from 'node:crypto'\nexport const a = randomBytes` },
  },
  {
    title: 'the network in the line',
    find: wordingFaults,
    good: { 'src/request/line.ts': 'export const send = (world: any) => world.fetch(1)' },
    bad: { 'src/request/line.ts': `export const send = () => fetch('http://localhost')` },
  },
  {
    title: 'a case for one vendor',
    find: vendorFaults,
    good: {
      ...KINDS,
      'src/a.ts': `// OpenAI does so\nexport const f = (e: any) => [e.dialect === 'openai', e.g('openai')]`,
      'src/families/a.ts': `export const f = (kind: string) => kind === 'openai'`,
    },
    bad: { 'src/a.ts': `export const f = (e: any) => e.kind === 'openai'`, ...KINDS },
  },
  {
    title: 'a vendor in a name',
    find: vendorFaults,
    good: { 'cli/a.ts': 'export const qwenThinks = true' },
    bad: { 'src/a.ts': 'export const qwenThinks = true' },
  },
  {
    title: 'a name that stands for two things',
    find: doubledNames,
    good: {
      'src/a.ts': 'export const SIZE = 1\nexport type SIZE = 1',
      'src/b.ts': 'const SIZE = 2',
      'sandbox/c.ts': 'export const SIZE = 3',
    },
    bad: { 'src/b.ts': 'export type A = 2', 'src/a.ts': 'export const A = 1' },
  },
  {
    title: 'a file without a comment at its start',
    find: fileFaults,
    good: { 'cli/a.ts': '#!/usr/bin/env bun\n// What it does.\n' },
    bad: { 'cli/a.ts': 'export const a = 1\n// What it does.\n' },
  },
  {
    title: 'a name that says nothing',
    find: fileFaults,
    good: { 'src/commonwealth.ts': '// What it does.\n' },
    bad: { 'src/http-utils.ts': '// What it does.\n' },
  },
  {
    title: 'something unfinished',
    find: fileFaults,
    good: { 'src/a.ts': '// To do it well.\n' },
    bad: { 'src/a.ts': '// What it does.\n// TODO: the rest\n' },
  },
  {
    title: 'a comment that does not stand alone',
    find: proseFaults,
    good: {
      'src/a.ts': `/** Items of the list. */\n// It may begin like this in a file.\n/**\n * An item.\n * What it is.\n */`,
    },
    bad: { 'src/a.ts': '/**\n * What it is.\n */\n/** Items. */' },
  },
  {
    title: 'a test that has a promise waited for',
    find: fileFaults,
    good: { 'test/unit/a.test.ts': `// Without .rejects\nexpect(await rejection(work)).toBe(reason)` },
    bad: { 'test/unit/a.test.ts': `// Work.\nexpect(work).rejects.toThrow()` },
  },
  {
    title: 'an archaic word',
    find: proseFaults,
    good: { 'src/a.ts': `// The impulse is marshalled.\nconst FILE = 'journal.sqlite'` },
    bad: { 'src/a.ts': '// Nobody shall wait.' },
  },
  {
    title: 'a phrase with a plainer form',
    find: phraseFaults,
    good: {
      'src/a.ts':
        '// A hold stands for money. It continues, except after its end.\nfor (const one of before) use(one)',
    },
    bad: { 'src/a.ts': '// It goes on.' },
  },
  {
    title: 'a metaphor with a standard name',
    find: proseFaults,
    good: { 'src/a.ts': 'const ticker = createTicker(system)' },
    bad: { 'src/a.ts': 'const pulse = createTicker(system)' },
  },
  {
    title: 'a long file',
    find: (files) => [...longFiles(files, 3).keys()],
    good: { 'src/a.ts': '// 1\n// 2\n// 3\n' },
    bad: { 'src/a.ts': '// 1\n// 2\n// 3\n// 4\n' },
  },
  {
    title: 'a folder with too many files',
    find: (files) => [...fullFolders(files, 1).keys()],
    good: { 'src/a/a.ts': '', 'src/a/b/c.ts': '' },
    bad: { 'src/a': '', 'src/a/a.ts': '', 'src/a/b.ts': '' },
  },
  ...longFunctionBreaches(),
]

describe('a rule notices', () => {
  for (const { title, find, good, bad } of breaches) {
    test(title, () => {
      expect(find(sources(good))).toEqual([])
      const [fault, ...more] = find(sources(bad))
      expect(fault).toContain(Object.keys(bad)[0])
      expect(more).toEqual([])
    })
  }
})

/** A body that is just short enough and one that is a line too long, in every form of a function. */
function longFunctionBreaches(): Breach[] {
  const heads: Record<string, [head: string, end: string]> = {
    'a long function': ['export async function f(a: number): Promise<void> {', '}'],
    'a long function with its parameters below': ['function f(\n  a: number,\n): void {', '}'],
    'a long function that unpacks': ['function f({\n  a,\n}: { a: number }): void {', '}'],
    'a long arrow function': ['export const f = async (a: number) => {', '}'],
    'a long method': ['  async f(a) {', '  },'],
    'a long property': ['  f: async (a) => {', '  },'],
  }
  const body = (lines: number) => Array.from({ length: lines }, () => '    a()').join('\n')
  /** Seven lines that count too. */
  const inner = `    function g() {\n${body(5)}\n    }`
  return Object.entries(heads).map(([title, [head, end]]) => {
    const headLines = head.split('\n').length
    const write = (lines: number) => ({
      'src/a.ts': `${head}\n${inner}\n${body(lines)}\n    const other = call(\n    )\n${end}\n`,
    })
    return {
      title,
      find: (files) => [...longFunctions(files, 20).keys()],
      good: write(20 - headLines - 10),
      bad: write(21 - headLines - 10),
    }
  })
}

function sources(texts: Record<string, string>): SourceFile[] {
  return Object.entries(texts).map(([path, text]) => ({ path, text }))
}

function over(sizes: Map<string, number>, allowed: Record<string, number>): string[] {
  return [...sizes]
    .filter(([name, lines]) => lines > (allowed[name] ?? 0))
    .map(([name, lines]) => `${name}: ${lines}`)
}

async function read(...patterns: string[]): Promise<SourceFile[]> {
  const paths = patterns.flatMap((pattern) => [...new Glob(pattern).scanSync(ROOT)]).sort()
  const files = paths.map(async (path) => ({
    path: path.replaceAll('\\', '/'),
    text: await Bun.file(`${ROOT}/${path}`).text(),
  }))
  return Promise.all(files)
}
