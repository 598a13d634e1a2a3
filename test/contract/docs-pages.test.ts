// The pages of docs/ that are made from tables of the program, and what the reference of the configuration must name.

import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Glob } from 'bun'
import { pages } from '../../src/api-document/pages'
import { settingTables } from '../../src/config/schema'
import { largestBodies } from '../../src/contract/operations'
import { units } from '../../src/contract/units'
import { upstreamKinds } from '../../src/upstreams/kinds'

const root = `${import.meta.dir}/../..`

for (const [path, make] of Object.entries(pages)) {
  test(`${path} is as \`bun run docs\` writes it`, async () => {
    const page = await Bun.file(`${root}/${path}`).text()
    expect(plain(page)).toBe(plain(make()))
  })
}

test('each setting has a description', () => {
  for (const { place, schema } of settingTables) {
    for (const [name, { description }] of Object.entries(schema.properties as Record<string, Described>)) {
      expect({ place, name, isDescribed: (description ?? '').endsWith('.') }).toEqual({
        place,
        name,
        isDescribed: true,
      })
    }
  }
  expect(units.length).toBeGreaterThan(10)
})

test('each variable of the environment that the program reads is in the reference', async () => {
  const page = pages['docs/configuration.md']?.() ?? ''
  const read =
    /\b(?:process\.env|environment|env)\.([A-Z][A-Z_]+)\b|'((?:GATEWAY|HTTPS?|NO|XDG|NODE_EXTRA)_[A-Z_]+)'/g
  const names = new Set<string>()
  for await (const path of new Glob('{cli,src}/**/*.ts').scan(root)) {
    if (path.startsWith('src/api-document/')) continue
    const text = await Bun.file(`${root}/${path}`).text()
    for (const [, one, other] of text.matchAll(read)) names.add(one ?? other ?? '')
  }
  // Those of the terminal and of Windows are the system's own; NAME is an example, and clients read the last.
  const others = ['TERM', 'PATH', 'LOCALAPPDATA', 'APPDATA', 'PROGRAMDATA', 'NAME', 'GATEWAY_API_KEY']
  for (const name of others) names.delete(name)
  expect([...names].filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})

interface Described {
  description?: string
}

test('each kind of upstream is on the page of vendors', async () => {
  const page = await Bun.file(`${root}/docs/vendors.md`).text()
  expect(
    [...upstreamKinds.keys()].filter(
      (kind) => !page.includes(`\`${kind}\``) && !page.includes(`kind: '${kind}'`),
    ),
  ).toEqual([])
})

test('the guide of limits has the largest bodies', async () => {
  expect(await Bun.file(`${root}/docs/guides/limits.md`).text()).toContain(`${largestBodies}.`)
})

/** Without the widths of columns, which are for readers. */
function plain(page: string): string {
  return page.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---')
}

test('links between pages lead somewhere', async () => {
  const broken: string[] = []
  const folders = ['*.md', 'docs/**/*.md', 'decisions/*.md', 'test/support/*.md']
  const pages = await Promise.all(folders.map((folder) => Array.fromAsync(new Glob(folder).scan(root))))
  // One pattern with all of them finds nothing.
  expect(pages.every((found) => found.length > 0)).toBe(true)
  for (const page of pages.flat()) {
    const text = await Bun.file(`${root}/${page}`).text()
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)].map(([, path = '']) => path)
    // Files that a page names stand from the root, as a reader would open them.
    const named = [...text.matchAll(/`((?:src|cli|test)\/[\w./-]+)`/g)].map(([, path = '']) => path)
    const paths = [...links.map((path) => join(dirname(page), path)), ...named]
    broken.push(...paths.filter((path) => !existsSync(join(root, path))).map((path) => `${page}: ${path}`))
  }
  expect(broken).toEqual([])
})

test('a page of a decision has question, decision, why, cost and when to look again', async () => {
  const parts = ['Question.', 'Decision.', 'Why.', 'Cost.', 'Look again']
  for await (const page of new Glob('*.md').scan(`${root}/decisions`)) {
    const text = await Bun.file(`${root}/decisions/${page}`).text()
    const found = [...text.matchAll(/^\*\*(.+?)\*\*/gm)].map(([, part = '']) => part)
    expect({ page, found: found.filter((part) => parts.includes(part)) }).toEqual({ page, found: parts })
  }
})

test('each command is on the page of the command line', async () => {
  const page = await Bun.file(`${root}/docs/command-line.md`).text()
  const shown = [...page.matchAll(/^gateway ([a-z-]+)/gm)].map(([, name]) => name)
  const files = await Array.fromAsync(new Glob('*.ts').scan(`${root}/cli/commands`))
  expect(shown.sort()).toEqual(files.map((file) => file.replace('.ts', '')).sort())
})

test('README is short', async () => {
  const text = await Bun.file(`${root}/README.md`).text()
  expect(text.split('\n').length).toBeLessThanOrEqual(150)
})
