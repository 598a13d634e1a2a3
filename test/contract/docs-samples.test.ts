// The samples next to the operations of the API documentation, run as a reader would: those in TypeScript by themselves,
// those in Python as far as they can be read here.

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
let operations: { path: string; samples: Sample[] }[]
beforeAll(async () => {
  gateway = await startTestGateway({
    models: catalogue.models as Record<string, ModelConfig>,
    balance: '10000',
  })
  // Below the tree, so that a program finds the clients that it imports.
  folder = mkdtempSync(join(import.meta.dir, '..', '..', 'node_modules', '.samples-'))
  await Bun.write(join(folder, 'picture.png'), picture('png', 256, 256).bytes)
  await Bun.write(join(folder, 'speech.mp3'), await audioFile('mp3', 2))
  const { paths } = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as {
    paths: Record<string, { post?: { 'x-codeSamples'?: Sample[] } }>
  }
  operations = Object.entries(paths).flatMap(([path, { post }]) => {
    const samples = post?.['x-codeSamples']
    return samples ? [{ path, samples }] : []
  })
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await gateway.close()
})

test('each paid operation has one in Python and one in TypeScript', () => {
  expect(operations.length).toBeGreaterThan(6)
  for (const { path, samples } of operations) {
    expect({ path, languages: samples.map(({ lang }) => lang) }).toEqual({
      path,
      languages: ['Python', 'TypeScript'],
    })
    for (const { source } of samples) expect(source).toContain('sk-YOUR-KEY')
  }
})

test('those in TypeScript run', async () => {
  const runs = operations.map(async ({ path, samples }, index) => {
    const source = samples.find(({ lang }) => lang === 'TypeScript')?.source ?? ''
    const program = source
      .replaceAll('http://127.0.0.1:8080', gateway.url)
      .replaceAll('sk-YOUR-KEY', gateway.secret)
    const file = join(folder, `${index}.ts`)
    await Bun.write(file, program)
    const child = Bun.spawn([process.execPath, file], { cwd: folder, stdout: 'pipe', stderr: 'pipe' })
    const [out, error] = await Promise.all([child.stdout.text(), child.stderr.text()])
    // A response says that it has none.
    const isAnswered = (await child.exited) === 0 && !/error(?!: null)/.test(out)
    return { path, isAnswered, stderr: isAnswered ? '' : `${out}${error}\n${program}` }
  })
  const outcomes = await Promise.all(runs)
  expect(outcomes).toEqual(operations.map(({ path }) => ({ path, isAnswered: true, stderr: '' })))
})
