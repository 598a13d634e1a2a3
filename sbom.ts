// The bill of materials of an executable, in CycloneDX 1.6: the packages that are bundled in it, as bun.lock has them, and
// the runtime that it carries. It must not list a package of which the executable has no file.

import { readFileSync } from 'node:fs'
import { name, version } from './package.json'

interface Dependencies {
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  optionalPeers?: string[]
}

interface Lock {
  workspaces: { '': Dependencies & { devDependencies: Record<string, string> } }
  /** By place in node_modules: name and version, registry, dependencies, checksum. */
  packages: Record<string, [identity: string, registry: string, needs: Dependencies, integrity: string]>
}

interface Component {
  type: 'library' | 'framework'
  'bom-ref': string
  name: string
  version: string
  purl: string
  licenses?: { expression: string }[]
  hashes?: { alg: 'SHA-512'; content: string }[]
}

/**
 * The document. `commit` is that of the source; `folder` holds bun.lock and node_modules; `files` are the paths that the
 * bundler read, relative to it.
 */
export function billOfMaterials(folder: string, commit: string, files: readonly string[]): object {
  const lock = Bun.JSONC.parse(readFileSync(`${folder}/bun.lock`, 'utf8')) as Lock
  const components = new Map([...placesOf(files)].map((place) => [place, componentOf(lock, place, folder)]))
  const runtime: Component = {
    type: 'framework',
    'bom-ref': `bun@${Bun.version}`,
    name: 'bun',
    version: Bun.version,
    purl: `pkg:github/oven-sh/bun@bun-v${Bun.version}`,
  }
  const own = { type: 'application', 'bom-ref': `${name}@${version}`, name, version }
  const refs = (list: readonly string[]) =>
    [...new Set(list.flatMap((place) => components.get(place)?.['bom-ref'] ?? []))].sort()
  const all = new Map([...components.values()].map((component) => [component['bom-ref'], component]))
  const needs = new Map<string, string[]>()
  for (const [place, component] of components) needs.set(component['bom-ref'], refs(neededBy(lock, place)))
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { ...own, properties: [{ name: 'commit', value: commit }] } },
    components: [...all.values(), runtime].sort((one, other) => (one['bom-ref'] < other['bom-ref'] ? -1 : 1)),
    dependencies: [
      { ref: own['bom-ref'], dependsOn: [...refs(neededBy(lock, '')), runtime['bom-ref']] },
      ...[...needs].map(([ref, dependsOn]) => ({ ref, dependsOn })),
    ],
  }
}

/** The places of the packages that files belong to. */
function placesOf(files: readonly string[]): Set<string> {
  return new Set(
    files.flatMap((file) => {
      const [, ...parts] = file.split(/(?:^|\/)node_modules\//)
      const names = parts.map((part) => /^(?:@[^/]+\/)?[^/]+/.exec(part)?.[0])
      return names.length === 0 ? [] : [names.join('/')]
    }),
  )
}

function neededBy(lock: Lock, place: string): string[] {
  const needs = place === '' ? lock.workspaces[''] : lock.packages[place]?.[2]
  const names = Object.keys({
    ...needs?.dependencies,
    ...needs?.optionalDependencies,
    ...needs?.peerDependencies,
  })
  // Optional packages for other platforms are not in the lock file.
  return names.flatMap((each) => placeOf(lock, place, each) ?? [])
}

/** The nearest place of a package, as Node.js looks for it: below the package that needs it, then further out. */
function placeOf(lock: Lock, from: string, wanted: string): string | undefined {
  const parts = from === '' ? [] : from.split('/')
  for (let count = parts.length; count >= 0; count--) {
    const place = [...parts.slice(0, count), wanted].join('/')
    if (Object.hasOwn(lock.packages, place)) return place
  }
  return undefined
}

function componentOf(lock: Lock, place: string, folder: string): Component {
  const [identity, , , integrity = ''] = lock.packages[place] ?? ['', '', {}, '']
  const at = identity.lastIndexOf('@')
  const [packageName, packageVersion] = [identity.slice(0, at), identity.slice(at + 1)]
  const license = licenseOf(
    `${folder}/node_modules/${place.replaceAll(/(?<!@[^/]*)\/(?=[^/])/g, '/node_modules/')}`,
  )
  const [, hash] = /^sha512-(.+)$/.exec(integrity) ?? []
  return {
    type: 'library',
    'bom-ref': identity,
    name: packageName,
    version: packageVersion,
    purl: `pkg:npm/${packageName.replace('@', '%40')}@${packageVersion}`,
    ...(license && { licenses: [{ expression: license }] }),
    ...(hash && { hashes: [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }] }),
  }
}

function licenseOf(folder: string): string | undefined {
  try {
    const { license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
    return typeof license === 'string' ? license : undefined
  } catch {
    return undefined
  }
}
