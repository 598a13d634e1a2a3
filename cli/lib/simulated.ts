// The configuration of the sandbox: every vendor is simulated. It must never leave an address or a key of a real one.

import type { Config } from '../../src/config/schema'
import type { Sandbox } from '../../src/sandbox'
import { CommandFailed } from './errors'

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
