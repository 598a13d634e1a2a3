// The configuration that decides which models are offered: that of the gateway serving from the data directory, otherwise that of
// the file. It contains no secrets.

import { resolve } from 'node:path'
import type { Config } from '../../src/config/schema'
import { remoteGateway } from '../lib/gateway'
import { type GatewayFlags, remoteOf } from '../lib/remote'
import { askServer } from '../process/control'
import { say } from '../view/output'
import type { Availability } from './catalogue'
import { dataDirOf, loadConfig, type SettingsFlags } from './settings'

interface Offer extends Availability {
  /** Without secrets. */
  config: Config
}

/** The offer of the gateway that flags, the environment or the current context name. */
export async function offerFor(flags: GatewayFlags): Promise<Offer> {
  const remote = remoteOf(flags)
  if (!remote) return { config: await offeredConfig(flags), sandbox: flags.sandbox }
  const gateway = remoteGateway(remote, flags)
  const shown = (await gateway.call('getConfiguration')) as object as Config
  // Addresses and keys of vendors are not shown, and not needed.
  const upstreams = Object.entries(shown.upstreams).map(([name, { kind }]) => [name, { kind, apiKey: null }])
  const config = { ...shown, upstreams: Object.fromEntries(upstreams) }
  const models = await gateway.rows('listModels')
  const hidden = models.flatMap(({ id, reason }): [string, string][] =>
    reason === null ? [] : [[id, reason]],
  )
  return { config, hidden: new Map(hidden) }
}

/**
 * The configuration without secrets, of the running gateway; of the file if none runs, or if another file than that of
 * the gateway is named.
 */
async function offeredConfig(flags: SettingsFlags): Promise<Config> {
  const dataDir = dataDirOf(flags)
  const status = await askServer(dataDir, 'GET /status')
  const isNamed = flags.config === undefined || resolve(flags.config) === status?.configFile
  const running = status && isNamed ? await askServer(dataDir, 'GET /config') : undefined
  if (!running) return (await loadConfig(flags)).config
  const compared = await askServer(dataDir, 'GET /config/changes')
  if (compared && ('faults' in compared || compared.changes.length > 0)) {
    say('The running gateway differs from the configuration file: `gateway config diff` shows how.')
  }
  return running
}
