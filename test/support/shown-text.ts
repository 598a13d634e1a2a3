// Finds words that a page of the console shows although they are missing in its texts, and so in other languages, and numbers and
// times written in one language only. Pure: takes sources, returns one sentence for each fault.

import type { SourceFile } from './source-rules'

const elements = new Bun.Transpiler({
  loader: 'tsx',
  tsconfig: JSON.stringify({ compilerOptions: { jsx: 'react-jsx', jsxImportSource: 'preact' } }),
})

/** Properties of elements whose values are shown or read aloud. */
const SHOWN =
  /^ *"?(?:children|title|aria-label|aria-valuetext|placeholder|alt|label|hint|empty|action|closing)"?: (.*)$/
/** A text that is a whole value, or one that a condition chooses. */
const TEXT = /(?:^|[?:|&] )"((?:[^"\\]|\\.)*)"(?! in )|^`([^`]*)`/g
/** Names of formats and time zones, which are the same in each language. */
const NAMES = /\b(CSV|JSON|UTC)\b/g

/** Words written directly in the elements of a page. */
function ownWords(text: string): string[] {
  const found: string[] = []
  /** The indent of the children that are listed line by line; undefined outside of them. */
  let listed: string | undefined
  for (const line of elements.transformSync(text).split('\n')) {
    const indent = /^ */.exec(line)?.[0] ?? ''
    const value = SHOWN.exec(line)?.[1]
    const isChild = listed !== undefined && indent === listed
    if (isChild || value !== undefined)
      for (const [, words, pattern] of (value ?? line.trim()).matchAll(TEXT))
        found.push(words ?? (pattern ?? '').replace(/\$\{.*?\}/g, ''))
    if (/^ *children: \[$/.test(line)) listed = `${indent}  `
    else if (listed !== undefined && line === `${listed.slice(2)}]`) listed = undefined
  }
  return found.filter((words) => /\p{L}{2}/u.test(words.replace(NAMES, '')))
}

export function shownTextFaults(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    if (!path.startsWith('src/console/')) return []
    const isText = /^src\/console\/texts[./]/.test(path)
    const words = path.endsWith('.tsx') ? ownWords(text) : []
    const formats =
      path === 'src/console/language.ts' ? [] : text.matchAll(/Format\('|toLocale\w*\((?:'|\))/g)
    const english = isText ? [] : text.matchAll(/^import (?!type ).*'((?:\.+\/)+texts\/.+)'$/gm)
    return [
      ...words.map((each) => `${path} shows "${each.trim()}": put it into the texts of its page`),
      ...[...formats].map(([call]) => `${path} has ${call}: write it with the help of language.ts`),
      ...[...english].map(([, from]) => `${path} imports ${from}, which is English: take it from texts.ts`),
    ]
  })
}
