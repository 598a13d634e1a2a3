// A request of the playground as programs: curl, Python and TypeScript with exactly that request. The key is left out.

import { useState } from 'preact/hooks'
import { SAMPLE_KEY, samplesOf } from '../../api-document/samples'
import { urlOf } from '../api'
import type { Kind, PlaygroundRequest } from '../playground-request'
import { keyTexts } from '../texts'
import { Code } from './code'
import { Copy } from './form'

const words = keyTexts.playground
/** A data URL in a program is cut after this many characters: the whole would hide the rest. */
const SHOWN_DATA = 64

export function ProgramView({ kind, request }: { kind: Kind; request: PlaygroundRequest }) {
  const [chosen, setChosen] = useState<string>(words.codeKinds[0])
  const text = programOf(kind, request, chosen, (value) => value)
  const shown = programOf(kind, request, chosen, shortened)
  return (
    <section class="part">
      <h2>{words.code}</h2>
      <p class="actions">
        {words.codeKinds.map((each) => (
          <button type="button" aria-pressed={each === chosen} onClick={() => setChosen(each)} key={each}>
            {each}
          </button>
        ))}
        <Copy text={text} />
      </p>
      <Code label={chosen} text={shown} />
    </section>
  )
}

function programOf(
  kind: Kind,
  { path, body }: PlaygroundRequest,
  language: string,
  adapt: (value: unknown) => unknown,
): string {
  const own = adapt(body) as Record<string, unknown>
  const address = urlOf('').replace(/\/+$/, '')
  if (language === 'curl')
    return curlOf(`${address}${path}`, own, kind === 'speech' ? 'speech.mp3' : undefined)
  // A client gives the whole answer to print; a stream would have to be read in a loop of its own.
  const { stream: _, ...whole } = own
  const samples = samplesOf({ name: kind, path, body: 'json' }, whole, address)
  return samples.find(({ lang }) => lang === language)?.source ?? ''
}

function curlOf(url: string, body: object, file: string | undefined): string {
  const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''")
  return [
    `curl ${url} \\`,
    ...(file ? [`  --output ${file} \\`] : []),
    `  -H 'Authorization: Bearer ${SAMPLE_KEY}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${json}'`,
  ].join('\n')
}

function shortened(value: unknown): unknown {
  if (typeof value === 'string')
    return value.startsWith('data:') && value.length > SHOWN_DATA ? `${value.slice(0, SHOWN_DATA)}…` : value
  if (Array.isArray(value)) return value.map(shortened)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shortened(each)]))
}
