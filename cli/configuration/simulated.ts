// The configuration of the sandbox: every vendor is simulated. It must never keep the address or the key of a real vendor.

import type { Sandbox, VendorName } from '../../sandbox'
import { type Config, isRoute, sharesOf } from '../../src/config/schema'
import { CommandFailed } from '../lib/errors'

/** The configuration with every vendor simulated. Servers that speak OpenAI's API are simulated as OpenAI. */
export function simulated(
  config: Config,
  { baseUrls, secrets }: Pick<Sandbox, 'baseUrls' | 'secrets'>,
): Config {
  const upstreams = Object.entries(config.upstreams).map(([name, upstream]) => {
    const vendor = upstream.kind as keyof Sandbox['baseUrls']
    // The address would otherwise be the real vendor's.
    if (!Object.hasOwn(baseUrls, vendor)) {
      throw new CommandFailed(
        `The sandbox has no simulator for upstreams of kind "${vendor}", as ${name} is. It has one for: ${Object.keys(baseUrls).join(', ')}.`,
      )
    }
    // What leads to the real vendor, or proves who asks it, has no use here.
    const {
      apiKeyFile: _file,
      credentials: _credentials,
      auth: _auth,
      proxy: _proxy,
      tls: _tls,
      ...settings
    } = upstream
    return [name, { ...settings, baseUrl: baseUrls[vendor], apiKey: secrets[vendor], proxy: null }]
  })
  return { ...config, upstreams: Object.fromEntries(upstreams) }
}

/** The ids of models that no simulator knows by their vendor's name: another model answers in their place. */
export function notSimulated({ upstreams, models }: Config, { knows }: Pick<Sandbox, 'knows'>): string[] {
  return Object.entries(models).flatMap(([id, entry]) => {
    if (isRoute(entry)) return []
    const name = entry.upstreamModel ?? id
    const kinds = sharesOf(entry).map(([upstream]) => upstreams[upstream]?.kind as VendorName)
    return kinds.every((kind) => knows(kind, name)) ? [] : [id]
  })
}
