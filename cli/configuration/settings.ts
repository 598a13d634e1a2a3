// Finds the configuration and the data. Flags must take precedence over the environment, the environment over the file, the file
// over defaults.

import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import builtIn from '../../gateway.config'
import { databaseFile, makeDataDir, openForCommand } from '../../src/app/world'
import { extended } from '../../src/config/extension'
import { withMarkups } from '../../src/config/models/costs'
import { withListedModels } from '../../src/config/models/model-lists'
import { withVendorLists } from '../../src/config/models/vendor-lists'
import { type Config, faultsOf } from '../../src/config/schema'
import { type Db, notifyingDb } from '../../src/db/db'
import { SchemaRefused } from '../../src/db/schema/rules'
import { lineOf } from '../../src/lib/error-line'
import { asObject } from '../../src/lib/objects'
import { assertOnDatabase } from '../lib/contexts'
import { CommandFailed, databaseLineOf } from '../lib/errors'
import { markSandbox, requireKind } from '../process/data-kind'
import { homeFolder } from '../process/system-user'
import { say } from '../view/output'
import { findConfig, NotLoaded, readConfigFile } from './config-file'
import { mayName, withoutFaulty, withoutFile } from './faulty-config'
import { listsInForce } from './updated-lists'

/** Flags that every command takes. */
export const settingsArgs = {
  config: {
    type: 'string',
    valueHint: 'FILE',
    description:
      'Configuration file (default: gateway.config.* here, next to the executable or in the folders for settings)',
  },
  'data-dir': {
    type: 'string',
    valueHint: 'DIR',
    description: 'Folder of the database (default: the data directory of this user)',
  },
  json: { type: 'boolean', description: 'Print one JSON document instead of text' },
} as const

/** Flags of every command except `serve`, whose `--sandbox` does more. */
export const commandArgs = {
  ...settingsArgs,
  sandbox: { type: 'boolean', description: 'Use the data of `gateway serve --sandbox`' },
} as const

export interface SettingsFlags {
  config?: string | undefined
  'data-dir'?: string | undefined
  sandbox?: boolean | undefined
}

interface LoadedConfig {
  config: Config
  /** The file that was read; undefined for the built-in configuration. */
  file: string | undefined
}

const OTHERS_READ_OR_WRITE = 0o066

/** The configuration in use, with its faults. */
interface JudgedConfig {
  value: unknown
  file: string | undefined
  faults: string[]
  /** Searched folders, if no configuration was found. */
  lookedIn: string[]
}

interface LoadOptions {
  /** True for the command that fetches lists of models: for it, a missing list is not a fault. */
  mayLackLists?: boolean
}

/** Loads the configuration in use and lists all its faults. */
export async function judgeConfig(
  flags: SettingsFlags,
  { mayLackLists = false }: LoadOptions = {},
): Promise<JudgedConfig> {
  const { file, lookedIn } = findConfig(flags.config)
  const { value: written, faults } =
    file === undefined ? { value: builtIn, faults: [] } : await readConfigFile(file)
  const lists = listsInForce(placeOfData(flags))
  // A file that extends nothing does not wait for the lists of the catalogue.
  const usesCatalogue = file === undefined || asObject(written).extends !== undefined
  const catalogue = usesCatalogue ? (withVendorLists(builtIn, lists).value as Config) : builtIn
  const whole = file === undefined ? { value: catalogue, faults: [] } : extended(written, catalogue)
  const shipped = withVendorLists(whole.value, lists)
  const listed = withListedModels(shipped.value, file === undefined ? process.cwd() : dirname(file))
  const sold = withMarkups(listed.value)
  const value = inForce(sold.value, flags)
  return {
    value,
    file,
    lookedIn,
    faults: [
      ...faults,
      ...whole.faults,
      ...shipped.faults,
      ...(mayLackLists ? [] : listed.faults),
      ...sold.faults,
      ...faultsOf(value),
    ],
  }
}

/** Loads a valid configuration, or fails with all its faults. */
export async function loadConfig(flags: SettingsFlags, options: LoadOptions = {}): Promise<LoadedConfig> {
  const { value, file, faults } = await judgeConfig(flags, options)
  if (faults.length > 0) throw withFaults(file, faults)
  return { config: value as Config, file }
}

function withFaults(file: string | undefined, faults: readonly string[]): CommandFailed {
  return new CommandFailed(`${nameOfConfig(file)} has faults:`, faults)
}

/**
 * Loads a configuration for a command on the database, which must work while the file is being changed: a setting with
 * faults throws all of them when it is read. Fails if the faults may concern the database itself.
 */
export async function loadForDatabase(flags: SettingsFlags): Promise<Config> {
  const judged = await judgeConfig(flags).catch((error) => {
    if (error instanceof NotLoaded) return error
    throw error
  })
  if (judged instanceof NotLoaded) return configWithoutFile(judged, flags)
  const { value, file, faults } = judged
  if (faults.length === 0) return value as Config
  const failure = withFaults(file, faults)
  const usable = withoutFaulty(value, faults, failure)
  if (!usable) throw failure
  say(
    `Warning: ${nameOfConfig(file)} has faults, the first is ${faults[0]}. Commands work without the faulty settings; \`gateway config check\` lists all.`,
  )
  return usable
}

/** The settings of the environment, if the database is known without the file, and all others throw why it was not loaded. */
async function configWithoutFile(failure: NotLoaded, flags: SettingsFlags): Promise<Config> {
  const { file, message } = failure
  const known = inForce({}, flags) as Partial<Config>
  const faults = faultsOf({ ...known, upstreams: {}, models: {} })
  if (faults.length > 0) throw new CommandFailed(`${message} The environment has faults:`, faults)
  const text = await Bun.file(file)
    .text()
    .catch(() => {
      throw failure
    })
  const config = withoutFile(known, file, text, failure)
  const dataDir = dataDirOf(flags)
  if (!config.database && !flags.sandbox && mayName(file, text, 'database'))
    throw new CommandFailed(
      `${message} It may name a database: set GATEWAY_DATABASE_URL to work on that one, or fix the file.`,
    )
  if (!config.database && !existsSync(databaseFile(dataDir))) throw failure
  const why = config.database ? 'GATEWAY_DATABASE_URL names it' : 'the file names no other database'
  say(
    `Warning: ${message} Commands use ${nameOfDatabase(config, dataDir)}, because ${flags.sandbox ? '--sandbox has its own' : why}. \`gateway config check\` tests the file.`,
  )
  return config
}

/**
 * The configuration with the settings of the environment. The sandbox always uses its own database and files, never those with real
 * money.
 */
function inForce(written: unknown, flags: SettingsFlags): unknown {
  if (typeof written !== 'object' || written === null) return written
  const {
    database: fileDatabase,
    databaseReplica: fileReplica,
    artifacts,
    secrets: fileSecrets,
    ...config
  } = written as Partial<Config>
  const database = urlIn('GATEWAY_DATABASE_URL') ?? fileDatabase
  const replica = urlIn('GATEWAY_DATABASE_REPLICA_URL') ?? fileReplica
  const secrets = secretsKey() ? { ...keylessOf(fileSecrets), key: secretsKey() } : fileSecrets
  const telemetry = telemetryOf(config.telemetry)
  const { s3, ...onDisk } = artifacts ?? {}
  const kept = flags.sandbox && s3 ? onDisk : artifacts
  return {
    ...config,
    ...(telemetry !== undefined && { telemetry }),
    ...(database !== undefined && !flags.sandbox && { database }),
    ...(replica !== undefined && !flags.sandbox && { databaseReplica: replica }),
    ...(kept !== undefined && { artifacts: kept }),
    // Simulated data needs no protection, and must work on machines that have no key.
    ...(secrets !== undefined && !flags.sandbox && { secrets }),
  }
}

/** The configured collector, otherwise that of the standard OpenTelemetry variables. */
function telemetryOf(written: Config['telemetry']): Config['telemetry'] {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: pairs } = process.env
  if (written || !endpoint || process.env.OTEL_SDK_DISABLED === 'true') return written
  const headers = Object.fromEntries(
    (pairs ?? '').split(',').flatMap((pair) => {
      const [, name, value] = /^\s*([\w-]+)=(.*?)\s*$/.exec(pair) ?? []
      return name === undefined || value === undefined ? [] : [[name, decodeURIComponent(value)]]
    }),
  )
  const { OTEL_SERVICE_NAME: serviceName, OTEL_TRACES_SAMPLER_ARG: ratio } = process.env
  return {
    endpoint,
    headers,
    ...(serviceName && { serviceName }),
    ...(ratio && { sampleRatio: Number(ratio) }),
  }
}

export function nameOfConfig(file: string | undefined): string {
  return file ?? 'The built-in configuration'
}

/**
 * The data directory. The sandbox has one of its own, so that simulated and real money never mix. Fails for one with data of the
 * other kind.
 */
export function dataDirOf(flags: SettingsFlags): string {
  const dataDir = placeOfData(flags)
  requireKind(dataDir, flags.sandbox === true, usualOfSandbox())
  return dataDir
}

function placeOfData(flags: SettingsFlags): string {
  return flags['data-dir'] ? resolve(flags['data-dir']) : usualDataDir(flags)
}

function usualOfSandbox(): string {
  return join(dataHome(), 'gateway-sandbox')
}

/** The default data directory. */
function usualDataDir({ sandbox }: SettingsFlags): string {
  const { GATEWAY_DATA_DIR: named } = process.env
  if (named) return resolve(named, sandbox ? 'sandbox' : '')
  return sandbox ? usualOfSandbox() : join(dataHome(), 'gateway')
}

/** The data directory, created if absent. */
export function openDataDir(flags: SettingsFlags): string {
  const dataDir = dataDirOf(flags)
  try {
    makeDataDir(dataDir)
    if (flags.sandbox) markSandbox(dataDir)
  } catch (error) {
    throw new CommandFailed(`The data directory ${dataDir} cannot be used: ${lineOf(error)}.`)
  }
  return dataDir
}

/** A warning if other users can read or write the data directory; undefined otherwise. */
export function permissionWarning(dataDir: string): string | undefined {
  // Windows has no such mode.
  if (process.platform === 'win32' || (statSync(dataDir).mode & OTHERS_READ_OR_WRITE) === 0) return undefined
  return `Warning: other users of this machine can read or write the data directory ${dataDir}. Close it with: chmod 700 ${dataDir}`
}

interface DatabaseOptions {
  /** True for a report that only records how far it has read. */
  silent?: boolean
  /** True if a command could work over the admin API and does not. All others fail while a context is in use. */
  isChosen?: boolean
}

/**
 * Runs a command on the database, which a running server may be using too. Reports the database if the command wrote to
 * it, unless it is `silent`.
 */
export async function withDatabase<Result>(
  flags: SettingsFlags,
  work: (db: Db, config: Config) => Promise<Result>,
  { silent = false, isChosen = false }: DatabaseOptions = {},
): Promise<Result> {
  if (!isChosen) assertOnDatabase(flags)
  const config = await loadForDatabase(flags)
  const dataDir = openDataDir(flags)
  const db = await openForCommand(config, dataDir).catch((error) => {
    if (error instanceof SchemaRefused) throw error
    const where = config.database ? 'The database' : `The database in ${dataDir}`
    throw new CommandFailed(`${where} cannot be opened: ${databaseLineOf(error)}`)
  })
  let hasWritten = false
  const watched = notifyingDb(db, () => {
    hasWritten = true
  })
  try {
    return await work(watched, config)
  } finally {
    if (hasWritten && !silent) say(`Written to ${nameOfDatabase(config, dataDir)}.`)
    await db.close()
  }
}

/** The address of the database without its password. */
export function nameOfDatabase({ database }: Config, dataDir: string): string {
  if (!database) return databaseFile(dataDir)
  const url = URL.parse(database)
  if (!url) return 'the PostgreSQL database of the configuration'
  return `${url.protocol}//${url.username && `${url.username}@`}${url.host}${url.pathname}`
}

function urlIn(variable: string): string | undefined {
  const url = process.env[variable]
  if (url && !/^postgres(ql)?:\/\//.test(url)) {
    throw new CommandFailed(`${variable} must begin with postgres://.`)
  }
  return url || undefined
}

/** The key that encrypts the database. */
function secretsKey(): string | undefined {
  return process.env.GATEWAY_SECRETS_KEY || undefined
}

function keylessOf(secrets: Config['secrets']): Config['secrets'] {
  const { keyFile: _file, ...rest } = secrets ?? {}
  return rest
}

function dataHome(): string {
  if (process.env.XDG_DATA_HOME) return process.env.XDG_DATA_HOME
  if (process.platform === 'darwin') return join(homeFolder(), 'Library', 'Application Support')
  if (process.platform === 'win32') return process.env.LOCALAPPDATA ?? join(homeFolder(), 'AppData', 'Local')
  return join(homeFolder(), '.local', 'share')
}
