// The configuration of the sandbox: every vendor is simulated. It must never keep the URL or the key of a real vendor.

import type { Sandbox, VendorName } from '../../sandbox'
import { type Config, isRoute, sharesOf } from '../../src/config/schema'
import { CommandFailed } from '../lib/errors'

/** The configuration with every vendor simulated. Servers that speak OpenAI's API are simulated as OpenAI. */
export function simulated(
  config: Config,
  { baseUrls, secrets, issuer }: Pick<Sandbox, 'baseUrls' | 'secrets' | 'issuer'>,
): Config {
  const upstreams = Object.entries(config.upstreams).map(([name, upstream]) => {
    const vendor = upstream.kind as keyof Sandbox['baseUrls']
    // The address would otherwise be the real vendor's.
    if (!Object.hasOwn(baseUrls, vendor)) {
      throw new CommandFailed(
        `The sandbox has no simulator for upstreams of kind "${vendor}", as ${name} is. It has one for: ${Object.keys(baseUrls).join(', ')}.`,
      )
    }
    // Anything that leads to the real vendor, or authenticates the caller, is useless here.
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
  return { ...config, upstreams: Object.fromEntries(upstreams), signIn: simulatedSignIn(issuer) }
}

/** People of the simulated identity provider as operators, and as callers of the account that the sandbox fills. */
function simulatedSignIn(issuer: string): NonNullable<Config['signIn']> {
  const groups = {
    owners: { role: 'owner' as const },
    viewers: { role: 'viewer' as const },
    callers: { account: 'demo' },
  }
  return { sandbox: { issuer, clientId: 'gateway', title: 'the simulated provider', groups } }
}

/** The ids of models that no simulator knows by their vendor's name: another model answers for them. */
export function notSimulated({ upstreams, models }: Config, { knows }: Pick<Sandbox, 'knows'>): string[] {
  return Object.entries(models).flatMap(([id, entry]) => {
    if (isRoute(entry)) return []
    const name = entry.upstreamModel ?? id
    const kinds = sharesOf(entry).map(([upstream]) => upstreams[upstream]?.kind as VendorName)
    return kinds.every((kind) => knows(kind, name)) ? [] : [id]
  })
}
