// Describes the upstreams of a configuration to operators: the address of each, whether it has a key, and other settings. It must
// never show a key, or a URL with one in it.

import { type Config, isRoute, sharesOf } from '../config/schema'
import { baseUrlOf } from '../upstreams/connection'
import { upstreamKinds } from '../upstreams/kinds'
import { keysOfUpstream, keyVariableOf } from '../upstreams/secrets'
import type { UpstreamConfig } from '../upstreams/settings'

export interface ListedUpstream {
  name: string
  kind: string
  /** Whether it has a key; `none`: it needs none. */
  key: 'set' | 'none' | 'missing'
  /** The variable of the environment that sets the key; null if none is missing. */
  variable: string | null
  /** How many models it serves. */
  models: number
  address: string
  /** Names of settings that change how the vendor is called. */
  settings: string[]
}

/** The upstreams by their names. */
export function listUpstreams(config: Config): ListedUpstream[] {
  return Object.entries(config.upstreams)
    .flatMap(([name, entry]) => {
      const kind = upstreamKinds.get(entry.kind)
      if (!kind) return []
      const key = keyStateOf(entry)
      const { origin, pathname } = new URL(baseUrlOf(kind, entry))
      return {
        name,
        kind: kind.kind,
        key,
        variable: key === 'missing' ? keyVariableOf(kind, entry) : null,
        models: modelCountOf(config, name),
        // Without its query, which may contain a key.
        address: origin + pathname.replace(/\/$/, ''),
        settings: settingsOf(entry),
      }
    })
    .sort((one, other) => (one.name < other.name ? -1 : 1))
}

function keyStateOf(entry: UpstreamConfig): ListedUpstream['key'] {
  // The file may be gone since the configuration was read.
  if (entry.apiKeyFile !== undefined) return 'set'
  const keys = keysOfUpstream(upstreamKinds.get(entry.kind), entry)
  if (keys === undefined) return 'missing'
  return keys[0] === null ? 'none' : 'set'
}

function modelCountOf({ models }: Config, name: string): number {
  return Object.values(models).filter(
    (entry) => !isRoute(entry) && sharesOf(entry).some(([upstream]) => upstream === name),
  ).length
}

function settingsOf(entry: UpstreamConfig): string[] {
  const named = ['region', 'project', 'apiVersion'] as const
  const present = ['auth', 'headers', 'query', 'defaultBody', 'forcedBody', 'proxy', 'tls'] as const
  return [
    ...named.flatMap((setting) => (entry[setting] === undefined ? [] : [`${setting} ${entry[setting]}`])),
    ...present.filter((setting) => entry[setting]),
  ]
}
