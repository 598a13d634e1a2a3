// `bun run words --sample 60 --seed 1`: prints random sentences to read aloud: from comments, docs, error codes and texts of the
// console. The same seed prints the same sentences of the same tree.

import { parseArgs } from 'node:util'
import { Glob } from 'bun'
import { createRandom } from '../../test/support/random'

const { values } = parseArgs({
  options: { sample: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } },
})

interface Sentence {
  place: string
  text: string
}

/** Returns the texts in a file: its comments, strings or paragraphs. */
type Reader = (text: string) => string[]

const COMMENT = /\/\*\*([\s\S]*?)\*\/|((?:^[ \t]*\/\/.*\n)+)/gm
const STRING = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\$]|\\.)*)`/g

const comments: Reader = (text) =>
  [...text.matchAll(COMMENT)].map(([, block, lines]) =>
    (block ?? lines ?? '').replace(/^[ \t]*(?:\*|\/\/)?[ \t]?/gm, '').replace(/\s+/g, ' '),
  )
const strings: Reader = (text) =>
  [...text.matchAll(STRING)].map(([, single, double, back]) => single ?? double ?? back ?? '')
const paragraphs: Reader = (text) =>
  text
    .replace(/```[\s\S]*?```/g, '')
    .split(/\n\s*\n|\n(?=[-|#])/)
    .filter((part) => !/^\s*[|#]/.test(part))
    .map((part) => part.replace(/\s+/g, ' '))

const sources: readonly (readonly [glob: string, read: Reader])[] = [
  ['{src,cli,sandbox}/**/*.{ts,tsx}', comments],
  ['{docs,decisions}/**/*.md', paragraphs],
  ['*.md', paragraphs],
  ['src/lib/error-codes.ts', strings],
  ['src/console/texts/**/*.ts', strings],
  ['src/console/texts.ts', strings],
]

const sentences: Sentence[] = []
for (const [glob, read] of sources) {
  for (const place of [...new Glob(glob).scanSync('.')].sort()) {
    for (const part of read(await Bun.file(place).text())) {
      for (const text of part.split(/(?<=[.!?])\s+(?=[A-Z`])/))
        if (/^[A-Z`].* .* .*[.!?:]?$/.test(text.trim())) sentences.push({ place, text: text.trim() })
    }
  }
}

const random = createRandom(Number(values.seed))
for (let drawn = 0; drawn < Number(values.sample); drawn++) {
  const { place, text } = sentences[random.below(sentences.length)] as Sentence
  console.log(`${String(drawn + 1).padStart(3)}  ${text}\n     ${place}`)
}
