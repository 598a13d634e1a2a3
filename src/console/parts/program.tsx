// A request of the playground as code: curl, Python and TypeScript with exactly that request. The key is omitted.

import { useState } from 'preact/hooks'
import { SAMPLE_KEY, samplesOf } from '../../api-document/samples'
import { urlOf } from '../api'
import type { PlaygroundRequest } from '../playground/request'
import { keyTexts } from '../texts'
import { Code } from './code'
import { Copy } from './form'

const words = keyTexts.playground
/** A data URL in a program is truncated after this many characters: the whole would hide the rest. */
const SHOWN_DATA = 64

export function ProgramView({ request }: { request: PlaygroundRequest }) {
  const [chosen, setChosen] = useState<string>(words.codeKinds[0])
  const text = programOf(request, chosen, (value) => value)
  const shown = programOf(request, chosen, shortened)
  return (
    <>
      <p class="actions">
        {words.codeKinds.map((each) => (
          <button type="button" aria-pressed={each === chosen} onClick={() => setChosen(each)} key={each}>
            {each}
          </button>
        ))}
        <Copy text={text} />
      </p>
      <Code label={chosen} text={shown} />
    </>
  )
}

function programOf(
  { operation, path, body, isForm }: PlaygroundRequest,
  language: string,
  adapt: (value: unknown) => unknown,
): string {
  const own = adapt(isForm ? withFileNames(body) : body) as Record<string, unknown>
  const address = urlOf('').replace(/\/+$/, '')
  if (language === 'curl') {
    const file = operation === 'speech' ? 'speech.mp3' : undefined
    return isForm ? curlOfForm(`${address}${path}`, own) : curlOf(`${address}${path}`, own, file)
  }
  const samples = samplesOf({ name: operation, path, body: isForm ? 'form' : 'json' }, own, address)
  return samples.find(({ lang }) => lang === language)?.source ?? ''
}

/** The files of a form, each as a list with its file name, which the program reads. */
function withFileNames(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isFile = (value: unknown) => String([value].flat()[0]).startsWith('data:')
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      name,
      isFile(value) ? [value].flat().map((each) => fileNameOf(name, String(each))) : value,
    ]),
  )
}

function fileNameOf(name: string, url: string): string {
  const [, type = 'bin'] = /^data:\w+\/(?:x-)?(\w+)/.exec(url) ?? []
  return `${name}.${type}`
}

function curlOfForm(url: string, body: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(body).flatMap(([name, value]) =>
    Array.isArray(value)
      ? value.map((file) => `${value.length > 1 ? `${name}[]` : name}=@${file}`)
      : [`${name}=${String(value)}`],
  )
  return [
    `curl ${url} \\`,
    `  -H 'Authorization: Bearer ${SAMPLE_KEY}' \\`,
    parts.map((part) => `  -F '${part.replaceAll("'", "'\\''")}'`).join(' \\\n'),
  ].join('\n')
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
