// Where the configuration and the data are: flags win over environment, over the file, over defaults.

import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import builtIn from '../gateway.config'
import { type Config, faultsOf } from '../src/config'
import type { Db } from '../src/db/db'
import { makeDataDir, openDatabase } from '../src/world'
import { CommandFailed } from './run'

/** The flags that every command takes. */
export const settingsArgs = {
  config: {
    type: 'string',
    valueHint: 'FILE',
    description: 'Configuration file (default: ./gateway.config.ts, else the built-in one)',
  },
  'data-dir': { type: 'string', valueHint: 'DIR', description: 'Where the database is' },
} as const

export interface SettingsFlags {
  config?: string | undefined
  'data-dir'?: string | undefined
}

export interface LoadedConfig {
  config: Config
  /** The file it came from, or undefined for the built-in one. */
  file: string | undefined
}

const FILE_NAME = 'gateway.config.ts'

/** Loads the configuration without judging it. */
export async function readConfig(
  flags: SettingsFlags,
): Promise<{ value: unknown; file: string | undefined }> {
  const named = flags.config ?? process.env.GATEWAY_CONFIG
  const file = named ? resolve(named) : existsSync(FILE_NAME) ? resolve(FILE_NAME) : undefined
  if (file === undefined) return { value: builtIn, file }
  if (!existsSync(file)) throw new CommandFailed(`There is no configuration file ${file}.`)
  try {
    return { value: (await import(file)).default, file }
  } catch (error) {
    throw new CommandFailed(`${file} cannot be loaded: ${error instanceof Error ? error.message : error}`)
  }
}

/** Loads a configuration that is in order, or fails with all its faults. */
export async function loadConfig(flags: SettingsFlags): Promise<LoadedConfig> {
  const { value, file } = await readConfig(flags)
  const faults = faultsOf(value)
  if (faults.length > 0) {
    throw new CommandFailed(
      [`${file ?? 'The built-in configuration'} has faults:`, ...faults.map((fault) => `  ${fault}`)].join(
        '\n',
      ),
    )
  }
  const config = value as Config
  const database = process.env.GATEWAY_DATABASE_URL
  return { config: database ? { ...config, database } : config, file }
}

/** The data directory; the sandbox has its own beside it, so that simulated and real money never mix. */
export function dataDirOf(flags: SettingsFlags, sandbox: boolean): string {
  const named = flags['data-dir'] ?? process.env.GATEWAY_DATA_DIR
  if (named) return resolve(named)
  return join(dataHome(), sandbox ? 'gateway-sandbox' : 'gateway')
}

/** Runs a command's work on the database, which a running server may be using at the same time. */
export async function withDatabase<Result>(
  flags: SettingsFlags,
  work: (db: Db, config: Config) => Promise<Result>,
): Promise<Result> {
  const { config } = await loadConfig(flags)
  const dataDir = dataDirOf(flags, false)
  makeDataDir(dataDir)
  const db = await openDatabase(config, dataDir)
  try {
    return await work(db, config)
  } finally {
    await db.close()
  }
}

function dataHome(): string {
  if (process.env.XDG_DATA_HOME) return process.env.XDG_DATA_HOME
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support')
  if (process.platform === 'win32') return process.env.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local')
  return join(homedir(), '.local', 'share')
}
