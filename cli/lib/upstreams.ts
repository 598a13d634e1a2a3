// Opens one upstream of the configuration for a command. It must be called only for a command that the operator has typed.

import { type Outside, outside } from '../../src/app/world'
import { endsAt } from '../../src/catalogue/retirement'
import type { Config } from '../../src/config/schema'
import type { Upstream, UpstreamKind } from '../../src/contract/upstream'
import { transportBehind } from '../../src/http-client/environment-proxies'
import { CancelToken } from '../../src/lib/cancel-token'
import { lineOf } from '../../src/lib/error-line'
import { upstreamKinds } from '../../src/upstreams/kinds'
import { type ProbeResult, probeUpstream } from '../../src/upstreams/probe'
import { keysOfUpstream, keyVariableOf } from '../../src/upstreams/secrets'
import type { UpstreamConfig } from '../../src/upstreams/settings'
import { createUpstream } from '../../src/upstreams/upstream'
import { simulated } from '../configuration/simulated'
import { CommandFailed } from './errors'
import { didYouMean } from './near-names'

interface OpenUpstream {
  name: string
  entry: UpstreamConfig
  kind: UpstreamKind
  upstream: Upstream
  close(): Promise<void>
}

/** The network for calls to vendors: through the proxies of the environment, if it names any. */
export function network(): Outside {
  try {
    return { ...outside, transport: transportBehind(process.env) }
  } catch (error) {
    throw new CommandFailed(`HTTPS_PROXY or HTTP_PROXY: ${lineOf(error)}.`)
  }
}

/** The settings of an upstream, and its kind. Fails with similar names if it does not exist. */
function findUpstream({ upstreams }: Config, name: string): { entry: UpstreamConfig; kind: UpstreamKind } {
  const entry = Object.hasOwn(upstreams, name) ? upstreams[name] : undefined
  const kind = entry && upstreamKinds.get(entry.kind)
  if (entry && kind) return { entry, kind }
  throw noSuchUpstream(name, Object.keys(upstreams))
}

/** The failure of a command that names none of the upstreams. */
export function noSuchUpstream(name: string, names: readonly string[]): CommandFailed {
  const hint = didYouMean(name, names) || ` There are: ${names.join(', ')}.`
  return new CommandFailed(`The configuration has no upstream "${name}".${hint}`)
}

/** Opens an upstream that has a key; with `sandbox`, its simulator. */
export async function openUpstream(
  config: Config,
  name: string,
  { sandbox: isSimulated }: { sandbox?: boolean | undefined },
): Promise<OpenUpstream> {
  findUpstream(config, name)
  const sandbox = isSimulated ? (await import('../../sandbox')).startSandbox() : undefined
  const { entry, kind } = findUpstream(sandbox ? simulated(config, sandbox) : config, name)
  if (keysOfUpstream(kind, entry) === undefined) {
    throw new CommandFailed(
      `The upstream ${name} has no key: set ${keyVariableOf(kind, entry)}, or apiKey in the configuration.`,
    )
  }
  const world = {
    ...(sandbox ? outside : network()),
    environment: process.env,
    log: () => {},
  }
  const upstream = createUpstream(name, kind, entry, world)
  return {
    name,
    entry,
    kind,
    upstream,
    async close() {
      upstream.close()
      await sandbox?.stop()
    },
  }
}

/** Tries an upstream that has a key; with `sandbox`, its simulator. */
export async function tryUpstream(
  config: Config,
  name: string,
  flags: { sandbox?: boolean | undefined },
): Promise<ProbeResult> {
  const open = await openUpstream(config, name, flags)
  try {
    return await probeUpstream({ ...open, ends: endsAt(config, name) }, outside)
  } finally {
    await open.close()
  }
}

/** Runs work that is aborted after a time, in milliseconds. */
export async function within<Result>(
  timeoutMs: number,
  work: (signal: CancelToken['signal']) => Promise<Result>,
): Promise<Result> {
  const token = new CancelToken()
  const timer = setTimeout(
    () => token.abort(new CommandFailed(`There was no answer within ${timeoutMs / 1000} seconds.`)),
    timeoutMs,
  )
  try {
    return await work(token.signal)
  } finally {
    clearTimeout(timer)
  }
}
