// The built-in catalogue for people: its text, and the same as data. It must never contain a key from the environment.

import catalogue from '../../gateway.config'
import { upstreamKinds } from '../../src/upstreams/kinds'
import { readBuiltInText } from './built-in-text' with { type: 'macro' }

/** The file as it is in the repository. */
export function builtInText(): string {
  // A text import would give the module itself, which the bundle already contains.
  return readBuiltInText()
}

/** The catalogue as a configuration in JSON, with references to the variables of keys. */
export function builtInJson(): object {
  const upstreams = Object.entries(catalogue.upstreams).map(([name, entry]) => [
    name,
    { ...entry, apiKey: `\${${upstreamKinds.get(entry.kind)?.secretVariable}}` },
  ])
  return { ...catalogue, upstreams: Object.fromEntries(upstreams) }
}
