// The configuration that decides what is offered: that of the gateway which serves from the data directory, else that of the
// file. It has no secrets.

import { resolve } from 'node:path'
import type { Config } from '../../src/config/schema'
import { say } from '../view/output'
import { askServer } from './control'
import { dataDirOf, loadConfig, type SettingsFlags } from './settings'

/**
 * The configuration without secrets, of the running gateway; of the file if none runs, or if another file than that of
 * the gateway is named.
 */
export async function offeredConfig(flags: SettingsFlags): Promise<Config> {
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
