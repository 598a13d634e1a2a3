// gateway config: checks a configuration file and lists all faults at once, compares it with what the server runs, and has
// the server read it again. It must never change the file or the database.

import { defineCommand } from 'citty'
import type { Reloaded } from '../../src/app/reload'
import { encryptionOf } from '../../src/app/world'
import type { Change } from '../../src/config/changes'
import type { Config } from '../../src/config/schema'
import { CLEAR } from '../../src/db/encryption/codec'
import type { Encryption } from '../../src/db/encryption/keys'
import { lineOf } from '../../src/lib/error-line'
import { builtInJson, builtInText } from '../configuration/built-in'
import { availability, endings, endingsJson, listModels, listRoutes } from '../configuration/catalogue'
import { describeSearch } from '../configuration/config-file'
import {
  commandArgs,
  dataDirOf,
  judgeConfig,
  nameOfConfig,
  type SettingsFlags,
} from '../configuration/settings'
import { commandLineActor } from '../lib/actor'
import { CommandFailed } from '../lib/errors'
import { remoteGateway } from '../lib/gateway'
import { type GatewayFlags, gatewayArgs, remoteOf } from '../lib/remote'
import { needServer } from '../process/control'
import { describeChanges } from '../view/changes'
import { paint, print, printJson, say } from '../view/output'
import { renderBlock } from '../view/table'

const check = defineCommand({
  meta: {
    name: 'check',
    description: 'List all faults of the configuration, or its models and settings if it has none.',
    examples: ['gateway config check', 'gateway config check --config ./gateway.config.ts --json'],
  },
  args: commandArgs,
  async run({ args }) {
    const { value, file, faults, lookedIn } = await judgeConfig(args)
    const listed = faults.length > 0 ? [] : listModels(value as Config, args)
    const routes = faults.length > 0 ? [] : listRoutes(value as Config, args)
    const models = [...listed.map(({ model, reason }) => ({ id: model.id, reason })), ...routes]
    const now = Date.now()
    const available = listed.flatMap(({ model, reason }) => (reason === null ? [[model]] : []))
    const encryption = faults.length > 0 ? undefined : await readEncryption(value as Config, args)
    if (encryption?.fault !== undefined) faults.push(`secrets: ${encryption.fault}`)
    if (args.json) {
      printJson({
        ok: faults.length === 0,
        file: file ?? null,
        faults,
        models: models.flatMap(({ id, reason }) => (reason === null ? [id] : [])),
        hidden: models.flatMap(({ id, reason }) => (reason === null ? [] : [{ id, reason }])),
        ending: endingsJson(available, now),
        ...(encryption && { encryption: { key: encryption.key, before: encryption.before } }),
      })
    }
    if (faults.length > 0) {
      const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`
      throw new CommandFailed(`${nameOfConfig(file)} has ${count}:`, faults)
    }
    if (args.json) return
    print(paint('green', `${nameOfConfig(file)} has no faults.`))
    if (file === undefined) print(describeSearch(lookedIn))
    if (encryption) print(describeEncryption(encryption))
    if (models.length > 0) print(`\n${renderBlock([...availability(models), ...endings(available, now)])}`)
  },
})

const printBuiltIn = defineCommand({
  meta: {
    name: 'print',
    description:
      'Print the built-in catalogue: as the file gateway.config.ts, or as JSON. It holds no secret.',
    examples: [
      'gateway config print > gateway.config.ts',
      "gateway config print --json | jq '.models | keys'",
    ],
  },
  args: { json: { type: 'boolean', description: 'Print it in the form of gateway.config.json' } },
  run({ args }) {
    if (args.json) printJson(builtInJson())
    else print(builtInText().trimEnd())
  },
})

const diff = defineCommand({
  meta: {
    name: 'diff',
    description: 'Show the changes that a reload would apply, and those that need a restart.',
    examples: ['gateway config diff'],
  },
  args: gatewayArgs,
  async run({ args }) {
    const compared = await askFor(args, 'compareConfiguration')
    if ('faults' in compared) throw refused(compared.faults, args, 'The configuration has faults:')
    const { changes } = compared
    if (args.json) return printJson(changesJson(changes))
    if (changes.length === 0) return say('The running gateway has this configuration.')
    print(describeChanges(changes))
  },
})

const reload = defineCommand({
  meta: {
    name: 'reload',
    description:
      'Have the running gateway read its configuration again, as SIGHUP does. One with faults changes nothing.',
    examples: ['gateway config reload', "gateway config reload --json | jq -r '.changes[] | .setting'"],
  },
  args: gatewayArgs,
  async run({ args }) {
    const reloaded = await askFor(args, 'reloadConfiguration')
    if ('faults' in reloaded) {
      throw refused(
        reloaded.faults,
        args,
        'Not reloaded: the configuration in force stays. The new one has faults:',
      )
    }
    const { changes } = reloaded
    if (args.json) return printJson(changesJson(changes))
    const isRestartNeeded = changes.some(({ needsRestart }) => needsRestart)
    print(paint('green', changes.length === 0 ? 'Reloaded: nothing has changed.' : 'Reloaded.'))
    if (changes.length > 0) print(`\n${describeChanges(changes)}`)
    if (isRestartNeeded) say('\nSettings that need a restart stay unchanged until the gateway is restarted.')
  },
})

/** The answer of the process that serves from the data directory, or of a remote gateway. */
async function askFor(
  flags: GatewayFlags,
  id: 'compareConfiguration' | 'reloadConfiguration',
): Promise<Reloaded> {
  const remote = remoteOf(flags)
  if (!remote) {
    const dataDir = dataDirOf(flags)
    return id === 'compareConfiguration'
      ? needServer(dataDir, 'GET /config/changes')
      : needServer(dataDir, 'POST /config/reload', commandLineActor().name)
  }
  const { ok, faults, changes } = await remoteGateway(remote, flags).call(id)
  if (!ok) return { faults }
  return {
    changes: changes.map(({ needs_restart: needsRestart, ...change }) => ({ ...change, needsRestart })),
  }
}

function refused(faults: string[], { json }: { json?: boolean | undefined }, head: string): CommandFailed {
  if (json) printJson({ ok: false, faults })
  return new CommandFailed(head, faults)
}

function changesJson(changes: readonly Change[]) {
  return {
    ok: true,
    changes: changes.map(({ setting, kind, before, after, needsRestart }) => ({
      setting,
      kind,
      before,
      after,
      needs_restart: needsRestart,
    })),
  }
}

/** How the database is encrypted; undefined if it is not, or cannot be reached, which standard error then says. */
async function readEncryption(config: Config, flags: SettingsFlags): Promise<Encryption | undefined> {
  try {
    return await encryptionOf(config, dataDirOf(flags))
  } catch (error) {
    say(`The keys of the database were not checked: ${lineOf(error)}.`)
    return undefined
  }
}

function describeEncryption({ key, before }: Encryption): string {
  const now =
    key === CLEAR ? 'The database is not encrypted.' : `The database is encrypted with the key ${key}.`
  if (before.length === 0) return now
  const older = before.map((id) => (id === CLEAR ? 'not encrypted' : `encrypted with ${id}`)).join(' or ')
  return `${now} Some rows may still be ${older}: \`gateway serve\` changes them, and until then their keys must stay in secrets.olderKeys.`
}

export const config = defineCommand({
  meta: {
    name: 'config',
    description: 'Check the configuration, print the built-in one, and have a running gateway reload it.',
  },
  subCommands: { check, print: printBuiltIn, diff, reload },
})
