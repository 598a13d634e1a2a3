// gateway init: writes a commented configuration, after asking on a terminal or from flags. It must never overwrite a file, or
// write a vendor's key.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, extname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { defineCommand } from 'citty'
import { lineOf } from '../../src/lib/error-line'
import { configSearchPlaces, findConfig } from '../configuration/config-file'
import {
  choosableKinds,
  configText,
  keyVariableOf,
  type NewConfig,
  type NewUpstream,
  usualUrlOf,
} from '../configuration/new-config'
import { judgeConfig } from '../configuration/settings'
import { CommandFailed, WrongUsage } from '../lib/errors'
import { didYouMean } from '../lib/near-names'
import { commandLineOf } from '../program'
import { paint, print, printJson, say } from '../view/output'
import { renderBlock, wrap } from '../view/table'

const FILE_NAME = 'gateway.config.ts'
const DATABASE_FORM = /^postgres(ql)?:\/\/./

const SQLITE = 'sqlite'

export const init = defineCommand({
  meta: {
    name: 'init',
    description: 'Ask questions and write a commented configuration. Overwrites nothing.',
    examples: [
      'gateway init',
      'gateway init --upstream openai,anthropic --yes',
      'gateway init --upstream ollama --database postgres://gateway@db/gateway --host 0.0.0.0 --yes',
    ],
  },
  args: {
    config: { type: 'string', valueHint: 'FILE', description: `File to write (default ./${FILE_NAME})` },
    upstream: {
      type: 'string',
      valueHint: 'A,B',
      description: `Vendors: ${choosableKinds.join(', ')} (default: those with a key in the environment). With a URL: azure=https://…, local=http://… (your own server)`,
    },
    database: {
      type: 'string',
      valueHint: 'URL',
      description: `postgres://… for several nodes, or ${SQLITE} (default ${SQLITE})`,
    },
    host: { type: 'string', valueHint: 'H', description: 'Address to listen on (default 127.0.0.1)' },
    port: { type: 'string', valueHint: 'P', description: 'Port to listen on (default 8080)' },
    yes: { type: 'boolean', description: 'Ask nothing: use flags and defaults' },
    json: { type: 'boolean', description: 'Print one JSON document instead of text' },
  },
  async run({ args }) {
    const file = resolve(args.config ?? FILE_NAME)
    refuseExisting(file)
    const given = { upstream: args.upstream, database: args.database, host: args.host, port: args.port }
    const answers = readAnswers(args.yes || args.json ? given : await ask(given))
    write(file, configText(answers))
    const { faults } = await judgeConfig({ config: file })
    if (faults.length > 0) throw new CommandFailed(`${file} is written, and has faults:`, faults)
    const missing = answers.upstreams.flatMap(({ name }) => {
      const variable = keyVariableOf(name)
      return variable === undefined || process.env[variable] ? [] : [variable]
    })
    const next = nextSteps(file, missing)
    if (args.json)
      return printJson({
        file,
        upstreams: answers.upstreams.map(({ name }) => name),
        missing,
        next: next.map(([, line]) => line),
      })
    print(paint('green', `${file} is written, and has no faults.`))
    print(`\nNext:\n\n${renderBlock(next.map(([about, line]) => [about, line, 'whole']))}`)
  },
})

/** The checks of answers, by the names of flags. Each check returns the answer in the form of the configuration, or throws WrongUsage. */
const checks = {
  upstream: readUpstreams,
  database: readDatabase,
  host: readHost,
  port: readPort,
}

type Question = keyof typeof checks
type Answers = Record<Question, string | undefined>

function refuseExisting(file: string): void {
  if (!['.ts', '.mts', '.js', '.mjs'].includes(extname(file))) {
    throw new WrongUsage(`--config names ${file}: a program is written, so its name ends in .ts or .js.`)
  }
  if (existsSync(file))
    throw new CommandFailed(`${file} exists and is left as it is. Name another file with --config.`)
  // Two configurations in one folder would prevent the gateway from starting.
  const folder = dirname(file)
  const around = {
    ...configSearchPlaces(),
    workingDirectory: folder,
    executableDirectory: undefined,
    environment: {},
  }
  const { file: other } = findConfig(undefined, { ...around, home: folder })
  if (other !== undefined && dirname(other) === folder) {
    throw new CommandFailed(
      `${other} exists, and a folder has one configuration. Name a file elsewhere with --config.`,
    )
  }
}

/** Asks for missing answers, and again if an answer is invalid. Fails if nobody can answer. */
async function ask(given: Answers): Promise<Answers> {
  if (!process.stdin.isTTY) {
    throw new WrongUsage('There is no terminal for questions: add --yes to use flags and defaults.')
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const question = async (name: Question, about: string, usual: string) => {
    if (given[name] !== undefined) return given[name]
    say(wrap(about, process.stderr.columns || 80).join('\n'))
    for (;;) {
      const answer = (await terminal.question(usual === '' ? '> ' : `[${usual}] > `)).trim() || usual
      const fault = faultOf(() => checks[name](answer))
      if (fault === undefined) return answer
      say(fault)
    }
  }
  try {
    return {
      upstream: await question(
        'upstream',
        `Vendors, separated by commas: ${choosableKinds.join(', ')}. With an address: azure=https://RESOURCE.openai.azure.com, local=http://127.0.0.1:8000/v1 (your own server)`,
        kindsWithKeys().join(','),
      ),
      database: await question('database', `Database: ${SQLITE}, or postgres://… for several nodes`, SQLITE),
      host: await question('host', 'Address to listen on: 0.0.0.0 is all of this machine', '127.0.0.1'),
      port: await question('port', 'Port', '8080'),
    }
  } catch (error) {
    throw new CommandFailed(`Nothing is written: ${lineOf(error)}.`)
  } finally {
    terminal.close()
  }
}

/** The fault of an answer; undefined if it has none. */
function faultOf(check: () => unknown): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof WrongUsage) return error.message
    throw error
  }
}

function kindsWithKeys(): string[] {
  return choosableKinds.filter((kind) => {
    const variable = keyVariableOf(kind)
    return usualUrlOf(kind) !== '' && variable !== undefined && process.env[variable]
  })
}

function readAnswers({ upstream, database = SQLITE, host = '127.0.0.1', port = '8080' }: Answers): NewConfig {
  return {
    upstreams: readUpstreams(upstream ?? kindsWithKeys().join()),
    database: readDatabase(database),
    host: readHost(host),
    port: readPort(port),
  }
}

function readUpstreams(text: string): NewUpstream[] {
  const upstreams = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(readUpstream)
  return [...new Map(upstreams.map((upstream) => [upstream.name, upstream])).values()]
}

function readUpstream(text: string): NewUpstream {
  const [name = '', ...rest] = text.split('=')
  const baseUrl = rest.length === 0 ? undefined : rest.join('=')
  if (!choosableKinds.includes(name)) {
    throw new WrongUsage(
      `There is no vendor "${name}" to choose.${didYouMean(name, choosableKinds) || ` There are: ${choosableKinds.join(', ')}.`}`,
    )
  }
  const usual = usualUrlOf(name)
  if (baseUrl === undefined && usual === '')
    throw new WrongUsage(`${name} needs its address: ${name}=https://RESOURCE.openai.azure.com.`)
  if (baseUrl !== undefined && usual === undefined)
    throw new WrongUsage(`${name} has one address, so none is given. Change its baseUrl in the file.`)
  const { protocol } = (baseUrl !== undefined && URL.parse(baseUrl)) || {}
  if (baseUrl !== undefined && protocol !== 'http:' && protocol !== 'https:')
    throw new WrongUsage(`${name} takes an address that begins with http:// or https://, not "${baseUrl}".`)
  return { name, baseUrl }
}

function readDatabase(text: string): string | undefined {
  if (text === SQLITE) return undefined
  if (!DATABASE_FORM.test(text))
    throw new WrongUsage(`--database takes ${SQLITE} or an address that begins with postgres://.`)
  return text
}

function readHost(text: string): string {
  if (/^[\w.:[\]-]+$/.test(text)) return text
  throw new WrongUsage(`--host takes the name or address of this machine, such as 0.0.0.0, not "${text}".`)
}

function readPort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65535) return Number(text)
  throw new WrongUsage(`--port takes a number from 1 to 65535, not "${text}".`)
}

/** Writes a file that only its owner can read, because the URL of a database may contain a password. */
function write(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    throw new CommandFailed(`${file} cannot be written: ${lineOf(error)}.`)
  }
}

function nextSteps(file: string, missing: readonly string[]): [string, string][] {
  const isFound = file === join(process.cwd(), FILE_NAME)
  const flags = isFound ? {} : { config: file }
  return [
    ...missing.map((variable): [string, string] => ['set the key', `export ${variable}=…`]),
    ['look at everything', commandLineOf('doctor', flags)],
    ['start', commandLineOf('serve', flags)],
    ['make a key', commandLineOf('keys create NAME --balance 5', flags)],
  ]
}
