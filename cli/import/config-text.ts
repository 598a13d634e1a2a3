// The configuration that serves the models of another gateway. It must not contain a vendor's key: those are in variables, which an
// environment file may set.

import type { Config } from '../../src/config/schema'
import { faultsOf } from '../../src/config/schema'
import type { Found, FoundUpstream } from './found'

/** A value for an environment file, in the form that the program reads. */
class Variables {
  constructor(readonly names: readonly string[]) {}
}

/** The parts of a configuration; keys are variables. */
function configOf(
  { upstreams, models, routes, aliases, plans }: Found,
  keyOf: (upstream: FoundUpstream) => unknown,
) {
  return {
    upstreams: Object.fromEntries(
      upstreams.map((upstream) => {
        const { name, kind, baseUrl, apiVersion } = upstream
        const apiKey = keyOf(upstream)
        return [
          name,
          { kind, ...(baseUrl !== undefined && { baseUrl }), ...(apiVersion && { apiVersion }), apiKey },
        ]
      }),
    ),
    models: {
      ...Object.fromEntries(
        models.map(({ id, family, upstreams: shares, upstreamModel, price }) => {
          const names = Object.keys(shares)
          const upstream = names.length === 1 ? names[0] : shares
          const named = upstreamModel === id ? {} : { upstreamModel }
          return [id, { family, upstream, ...named, ...(price === 'free' ? { free: true } : { price }) }]
        }),
      ),
      ...routes,
    },
    ...(Object.keys(aliases).length > 0 && { aliases }),
    ...(Object.keys(plans).length > 0 && { plans }),
  }
}

/** Faults that the configuration would have; they are listed as work to do by hand. */
export function faultsOfFound(found: Found): string[] {
  return faultsOf(configOf(found, ({ keys }) => (keys.length === 0 ? null : 'set')) as unknown as Config)
}

/** The text of a configuration in TypeScript. */
export function configText(found: Found, from: string): string {
  const config = configOf(found, ({ keys }) =>
    keys.length === 0 ? null : new Variables(keys.map(({ variable }) => variable)),
  )
  const severalKeys = found.upstreams.some(({ keys }) => keys.length > 1) ? KEYS_THAT_ARE_SET : ''
  return `// The models of ${from}, made by \`gateway import\`. Compare the prices before you serve: \`gateway prices\`. All settings:
// docs/configuration.md

${severalKeys}export default ${written(config, '')}
`
}

/** A function in the configuration, for upstreams with several keys that may not all be set. */
const KEYS_THAT_ARE_SET = `/** Keys; without any the models of their upstream are hidden. */
const keysThatAreSet = (...keys: (string | undefined)[]) => {
  const set = keys.filter((key) => key !== undefined)
  return set.length === 0 ? undefined : set
}

`

/** The variables of keys that the other gateway had, one line each. */
export function environmentText(found: Found): string {
  const set = found.upstreams.flatMap(({ keys }) => keys.filter(({ value }) => value !== undefined))
  return set.map(({ variable, value = '' }) => `${variable}=${quoted(value)}\n`).join('')
}

function quoted(value: string): string {
  return /^[\w./:+=@-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`
}

function written(value: unknown, indent: string): string {
  if (value instanceof Variables) {
    const names = value.names.map((name) => `process.env.${name}`)
    return names.length === 1 ? (names[0] ?? '') : `keysThatAreSet(${names.join(', ')})`
  }
  if (typeof value === 'string') return textOf(value)
  if (Array.isArray(value)) return `[${value.map((item) => written(item, indent)).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const deeper = `${indent}  `
  const lines = Object.entries(value).map(
    ([name, member]) =>
      `${deeper}${/^[A-Za-z_]\w*$/.test(name) ? name : textOf(name)}: ${written(member, deeper)},`,
  )
  const line = `{ ${lines.map((text) => text.trim().replace(/,$/, '')).join(', ')} }`
  if (!line.includes('\n') && indent.length + line.length < 100) return lines.length === 0 ? '{}' : line
  return `{\n${lines.join('\n')}\n${indent}}`
}

/** A text in single quotes. */
function textOf(text: string): string {
  const json = JSON.stringify(text).slice(1, -1)
  return `'${json.replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}
