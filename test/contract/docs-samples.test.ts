// The samples next to the operations of the API documentation: those in TypeScript are run as a reader would run them,
// with a key and with the placeholder, and those in Python are only parsed.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import catalogue from '../../gateway.config'
import { picture } from '../../sandbox/pictures'
import type { Sample } from '../../src/api-document/samples'
import type { ModelConfig } from '../../src/config/schema'
import { audioFile } from '../support/audio-files'
import { startTestGateway, type TestGateway } from '../support/gateway'

let gateway: TestGateway
let folder: string
let operations: { endpoint: string; samples: Sample[] }[]
beforeAll(async () => {
  gateway = await startTestGateway({
    models: catalogue.models as Record<string, ModelConfig>,
    balance: '10000',
    config: { receipts: true },
  })
  // Inside the repository, so that a program finds the clients that it imports.
  folder = mkdtempSync(join(import.meta.dir, '..', '..', 'node_modules', '.samples-'))
  await Bun.write(join(folder, 'picture.png'), picture('png', 256, 256).bytes)
  await Bun.write(join(folder, 'speech.mp3'), await audioFile('mp3', 2))
  const { paths } = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { 'x-codeSamples'?: Sample[] }>>
  }
  operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { 'x-codeSamples': samples = [] }]) => ({
      endpoint: `${method.toUpperCase()} ${path}`,
      samples,
    })),
  )
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await gateway.close()
})

/**
 * Operations without samples: those used by other programs, forms with a separate JSON path, and completions, which no
 * model of the catalogue serves.
 */
const WITHOUT = /^(HEAD|POST \/(v1\/payments|mcp|oauth|v1\/videos$|v1\/images\/\w+\/async$|v1\/completions$))/
/** Operations whose samples cannot know a purchased code or a month. */
const REFUSED: Readonly<Record<string, string>> = {
  'POST /v1/codes/redeem': 'code_not_found',
  'GET /v1/me/proof': 'invalid_value',
}
/** The number of programs that run concurrently. */
const AT_ONCE = 4

test('each operation has a sample in Python and one in TypeScript', () => {
  expect(operations.length).toBeGreaterThan(50)
  const without = operations.filter(({ samples }) => samples.length === 0).map(({ endpoint }) => endpoint)
  expect(without.filter((endpoint) => !WITHOUT.test(endpoint))).toEqual([])
  for (const { endpoint, samples } of operations) {
    if (samples.length === 0) continue
    expect({ endpoint, languages: samples.map(({ lang }) => lang) }).toEqual({
      endpoint,
      languages: ['Python', 'TypeScript'],
    })
    // Other characters of a placeholder would fail in the client instead of with a 401.
    for (const { source } of samples) expect(source).toMatch(/^[\n -~]*$/)
  }
})

test('TypeScript samples run unchanged; those with an object’s id report that it does not exist', async () => {
  const failed: object[] = []
  const left = operations.filter(({ samples }) => samples.length > 0)
  const work = async () => {
    for (let next = left.pop(); next; next = left.pop()) {
      const { endpoint, samples } = next
      const source = samples.find(({ lang }) => lang === 'TypeScript')?.source ?? ''
      const { out, error, code } = await run(source)
      // A response reports that it does not exist, and a list of tasks is empty.
      const isRefused = /"?(error|code)"?: (?!null)[{"]/.test(out)
      const known =
        REFUSED[endpoint] ?? (/\/\{\w+\}/.test(source) ? /not_found|NOT_FOUND|404|401/ : undefined)
      const isExpected = known === undefined ? !isRefused : new RegExp(known).test(out)
      if (code !== 0 || !isExpected) failed.push({ endpoint, out: out.slice(0, 600), error })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  expect(failed).toEqual([])
})

/** Reads modules one after another, and prints what each has printed or thrown, as JSON. */
const IMPORT_ALL = `
const printed = []
const write = console.log
console.log = (...all) => printed.push(...all.map((each) => JSON.stringify(each) ?? String(each)))
const outputs = []
for (const file of process.argv.slice(2)) {
  await import(file).catch((error) => printed.push(String(error)))
  outputs.push(printed.splice(0).join(' '))
}
write(JSON.stringify(outputs))
`

test('TypeScript samples report the placeholder key as invalid', async () => {
  const sampled = operations.flatMap(({ endpoint, samples }) => {
    const source = samples.find(({ lang }) => lang === 'TypeScript')?.source ?? ''
    return source.includes('sk-YOUR-KEY') ? [{ endpoint, source }] : []
  })
  expect(sampled.length).toBeGreaterThan(40)
  const files = sampled.map((_, index) => join(folder, `placeholder-${index}.ts`))
  await Promise.all(
    // An empty export makes each a module, so that they may declare the same names.
    sampled.map(({ source }, index) => Bun.write(files[index] ?? '', `${addressed(source)}export {}\n`)),
  )
  const driver = join(folder, 'import-all.ts')
  await Bun.write(driver, IMPORT_ALL)
  const { out, error, code } = await execute([process.execPath, driver, ...files])
  expect({ error, code }).toEqual({ error: '', code: 0 })
  const outputs = JSON.parse(out) as string[]
  const unclear = sampled.flatMap(({ endpoint }, index) =>
    /Incorrect API key|^401$/.test(outputs[index] ?? '') ? [] : [{ endpoint, out: outputs[index] }],
  )
  expect(unclear).toEqual([])
})

const python = Bun.which('python3')
/** Parses each text of a JSON list, and prints the errors. */
const PARSE_ALL = `
import ast, json, sys
for text in json.load(sys.stdin):
    try: ast.parse(text)
    except SyntaxError as error: print(error, text)
`

test.skipIf(python === null)('Python samples are valid Python', async () => {
  const sources = operations.flatMap(({ samples }) =>
    samples.flatMap(({ lang, source }) => (lang === 'Python' ? [source] : [])),
  )
  expect(sources.length).toBeGreaterThan(40)
  expect(await execute([python ?? '', '-c', PARSE_ALL], JSON.stringify(sources))).toEqual({
    out: '',
    error: '',
    code: 0,
  })
})

/** A program with the address of the gateway of these tests. */
const addressed = (source: string) => source.replaceAll('http://127.0.0.1:8080', gateway.url)

/** Runs a program with the gateway's address and a separate key, because one of the programs replaces its key. */
async function run(source: string): Promise<Outcome> {
  const { secret } = await gateway.makeKey('alice', '0')
  const program = addressed(source).replaceAll('sk-YOUR-KEY', secret)
  const file = join(folder, `${Bun.randomUUIDv7()}.ts`)
  await Bun.write(file, program)
  return execute([process.execPath, file])
}

interface Outcome {
  out: string
  error: string
  code: number
}

async function execute(command: string[], input = ''): Promise<Outcome> {
  const child = Bun.spawn(command, {
    cwd: folder,
    stdin: new Response(input),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, error] = await Promise.all([child.stdout.text(), child.stderr.text()])
  return { out, error, code: await child.exited }
}
