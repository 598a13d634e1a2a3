// Finds and reads the configuration file. It must never choose between two files in one folder, or read an unset variable as an
// empty text.

import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, extname, isAbsolute, join, resolve } from 'node:path'
import { lineOf } from '../../src/lib/error-line'
import { asObject, isObject } from '../../src/lib/objects'
import { KEY_VARIABLE } from '../../src/upstreams/settings'
import { CommandFailed } from '../lib/errors'
import { homeFolder } from '../process/system-user'
import { isCompiled } from '../program'

type Environment = Readonly<Record<string, string | undefined>>

/** Facts that decide where a configuration is searched. */
export interface ConfigSearchPlaces {
  workingDirectory: string
  /** The folder of the executable; undefined if the program runs from its source. */
  executableDirectory: string | undefined
  home: string
  platform: NodeJS.Platform
  environment: Environment
}

interface FoundConfig {
  /** Undefined if nothing was found. */
  file: string | undefined
  /** Folders that were searched, in order; empty if a file was named. */
  lookedIn: string[]
}

/** A configuration file that exists but could not be parsed or run. */
export class NotLoaded extends CommandFailed {
  constructor(
    readonly file: string,
    reason: string,
  ) {
    super(`${file} cannot be loaded: ${reason}.`)
  }
}

export interface ReadConfig {
  value: unknown
  /** One sentence for each misnamed or unset variable. */
  faults: string[]
}

const NAME = 'gateway.config'
/** Names within a folder that belongs to the gateway. */
const NAMES_IN_OWN_FOLDER = [NAME, 'config']
const parsers: Readonly<Record<string, (text: string) => unknown>> = {
  '.json': JSON.parse,
  '.jsonc': Bun.JSONC.parse,
  '.yaml': Bun.YAML.parse,
  '.yml': Bun.YAML.parse,
  '.toml': Bun.TOML.parse,
}
export const PROGRAMS = ['.ts', '.mts', '.js', '.mjs']
const FORMATS = [...PROGRAMS, ...Object.keys(parsers)]

export function configSearchPlaces(): ConfigSearchPlaces {
  return {
    workingDirectory: process.cwd(),
    executableDirectory: isCompiled() ? dirname(process.execPath) : undefined,
    home: homeFolder(),
    platform: process.platform,
    environment: process.env,
  }
}

/** The configuration file to use: the named one, or the first that is found. */
export function findConfig(
  flag: string | undefined,
  around: ConfigSearchPlaces = configSearchPlaces(),
): FoundConfig {
  const named = flag || around.environment.GATEWAY_CONFIG
  if (named) return { file: namedFile(named, flag ? '--config' : 'GATEWAY_CONFIG'), lookedIn: [] }
  const folders = foldersOf(around).filter(
    ({ folder }) => folder !== around.workingDirectory || canSearch(folder),
  )
  for (const { folder, names } of folders) {
    const files = names.flatMap((name) => FORMATS.map((format) => join(folder, name + format))).filter(isFile)
    if (files.length > 1) {
      throw new CommandFailed(
        `There are several configurations: ${files.join(', ')}. Keep one of them, or name one with --config.`,
      )
    }
    if (files[0] !== undefined) return { file: files[0], lookedIn: [] }
  }
  return { file: undefined, lookedIn: folders.map(({ folder }) => folder) }
}

/** The searched names and folders, as a sentence. */
export function describeSearch(folders: readonly string[]): string {
  return `Looked for ${NAME} with ${FORMATS.join(', ')} in: ${folders.join(', ')}.`
}

function namedFile(name: string, by: string): string {
  const file = resolve(name)
  if (!existsSync(file)) throw new CommandFailed(`${by} names ${file}, which does not exist.`)
  if (!isFile(file)) throw new CommandFailed(`${by} names ${file}, which is not a file.`)
  return file
}

/** Folders to search, without duplicates, the nearest first. */
function foldersOf(around: ConfigSearchPlaces): { folder: string; names: readonly string[] }[] {
  const { workingDirectory, executableDirectory } = around
  const near = [workingDirectory, ...(executableDirectory === undefined ? [] : [executableDirectory])]
  const folders = [
    ...near.map((folder) => ({ folder, names: [NAME] })),
    ...ownFolders(around).map((folder) => ({ folder, names: NAMES_IN_OWN_FOLDER })),
  ]
  return folders.filter(
    ({ folder }, index) => folders.findIndex((other) => other.folder === folder) === index,
  )
}

/** Configuration folders of the user, then of the system. */
export function ownFolders({ platform, home, environment }: ConfigSearchPlaces): string[] {
  if (platform === 'win32') {
    const roaming = environment.APPDATA ?? join(home, 'AppData', 'Roaming')
    return [roaming, environment.PROGRAMDATA ?? 'C:\\ProgramData'].map((folder) => join(folder, 'gateway'))
  }
  const named = environment.XDG_CONFIG_HOME
  // The XDG Base Directory Specification says that a relative path is ignored.
  const users = [named && isAbsolute(named) ? named : join(home, '.config')]
  const systems = ['/etc']
  if (platform === 'darwin') {
    users.push(join(home, 'Library', 'Application Support'))
    systems.unshift('/Library/Application Support')
  }
  return [...users, ...systems].map((folder) => join(folder, 'gateway'))
}

/** Whether this user may read a folder: not another user's, when a command runs after `sudo -u`. */
function canSearch(folder: string): boolean {
  try {
    accessSync(folder, constants.X_OK)
    return true
  } catch (error) {
    return (error as { code?: string }).code !== 'EACCES'
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

/**
 * Reads a file by its format. Programs read the environment themselves; in data files `${NAME}` stands for a variable.
 */
export async function readConfigFile(
  file: string,
  environment: Environment = process.env,
): Promise<ReadConfig> {
  const read = await parsed(file, environment)
  named = filesNamedIn(read.value, dirname(file))
  return { ...read, value: withKeyVariables(read.value, file) }
}

/** The configuration with a note at each upstream of the variable that supplies its missing key. */
function withKeyVariables(config: unknown, file: string): unknown {
  if (!isObject(config) || !isObject(config.upstreams)) return config
  const source = readFileSync(file, 'utf8')
  const noted = Object.entries(config.upstreams).map(([name, entry]) => {
    const isMissing = isObject(entry) && 'apiKey' in entry && entry.apiKey === undefined
    const variable = isMissing ? variableIn(source, name) : undefined
    return [name, variable === undefined ? entry : { ...(entry as object), [KEY_VARIABLE]: variable }]
  })
  return { ...config, upstreams: Object.fromEntries(noted) }
}

/** The variable from which a file reads the key of an upstream; undefined if its text does not show it. */
function variableIn(source: string, upstream: string): string | undefined {
  const entry = new RegExp(`(?<![\\w-])${RegExp.escape(upstream)}["']?\\s*[:=\\]](?:(?!\\n\\[)[^}])*`, 'g')
  const key = /apiKey["']?\s*[:=]\s*(?:process\.env(?:\.|\[["'])|["']\$\{)(\w+)/
  for (const [text] of source.matchAll(entry)) {
    const variable = key.exec(text)?.[1]
    if (variable !== undefined) return variable
  }
  return undefined
}

async function parsed(file: string, environment: Environment): Promise<ReadConfig> {
  const format = extname(file).toLowerCase()
  const parse = parsers[format]
  try {
    if (parse) return withVariables(parse(readFileSync(file, 'utf8')), environment)
    if (PROGRAMS.includes(format)) return { value: await importAnew(file), faults: [] }
  } catch (error) {
    throw new NotLoaded(file, reasonOf(error))
  }
  throw new CommandFailed(`${file} has no known format: its name must end in one of ${FORMATS.join(', ')}.`)
}

/** Modules that configurations have loaded, which are unloaded before one is read again. */
const loaded = new Set<string>()

async function importAnew(file: string): Promise<unknown> {
  for (const path of loaded) delete require.cache[path]
  const before = new Set(Object.keys(require.cache))
  try {
    return (await import(file)).default
  } finally {
    loaded.add(file)
    for (const path of Object.keys(require.cache)) if (!before.has(path)) loaded.add(path)
  }
}

/** Files that the configuration named when it was read last, and that a reload reads again. */
let named: readonly string[] = []

/** The lists of models of a configuration, and the keys and certificates of its upstreams. It may have any fault. */
function filesNamedIn(config: unknown, folder: string): string[] {
  const { models, upstreams } = asObject(config)
  const lists = Object.values(asObject(models)).map((model) => asObject(model).list)
  const secrets = Object.values(asObject(upstreams)).flatMap((upstream) => {
    const { apiKeyFile, tls } = asObject(upstream)
    return [apiKeyFile, ...Object.values(asObject(tls))]
  })
  const isNamed = (name: unknown): name is string => typeof name === 'string' && name !== ''
  return [
    ...lists.filter(isNamed).map((name) => resolve(folder, name)),
    ...secrets.filter(isNamed).map((name) => resolve(name)),
  ]
}

/** The files from which a configuration was read: itself, those that it imports, and those that it names. */
export function filesOfConfig(file: string): string[] {
  return [...new Set([file, ...loaded, ...named])]
}

/** A reference to a variable; `$${` stands for `${` itself. */
const REFERENCE = /\$(\$?)\{([^{}]*)\}/g
const VARIABLE = /^[A-Za-z_]\w*$/

function withVariables(written: unknown, environment: Environment): ReadConfig {
  const faults: string[] = []
  const fill = (text: string, path: readonly string[]): string | undefined => {
    let isUnset = false
    const filled = text.replaceAll(REFERENCE, (whole, dollar: string, name: string) => {
      if (dollar) return whole.slice(1)
      const value = environment[name]
      if (!VARIABLE.test(name)) {
        faults.push(`${path.join('.')}: ${whole} is not the name of a variable; write $\${ for a literal $\{`)
      } else if (value === undefined && !isKey(path)) {
        faults.push(`${path.join('.')}: the environment variable ${name} is not set`)
      }
      isUnset ||= value === undefined || (isKey(path) && value === '')
      return value ?? ''
    })
    return isUnset ? undefined : filled
  }
  const walk = (value: unknown, path: readonly string[]): unknown => {
    if (typeof value === 'string') return fill(value, path)
    // TOML has no null, by which other formats say that a server needs no key.
    if (value === false && isKey(path)) return null
    if (Array.isArray(value)) return value.map((item, index) => walk(item, [...path, String(index)]))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, walk(item, [...path, name])]),
    )
  }
  return { value: walk(written, []), faults }
}

/**
 * Whether a path is that of an API key. An unset key only hides the models of its upstream, like `process.env.NAME` in a program.
 */
function isKey([first, , third, ...more]: readonly string[]): boolean {
  if (first !== 'upstreams') return false
  return third === 'credentials' ? more.length === 1 : third === 'apiKey' && more.length === 0
}

/** The reason of a load error. Syntax errors are a list, with the position separate from the message. */
function reasonOf(error: unknown): string {
  const first = error instanceof AggregateError ? error.errors[0] : error
  const { position } = first as { position?: { line: number; column: number } | null }
  return `${lineOf(first)}${position ? ` (line ${position.line}, column ${position.column})` : ''}`
}
