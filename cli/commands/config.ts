// gateway config: checks a configuration file and lists all faults at once, before a server reads it. It must never
// change the file or the database.

import { defineCommand } from 'citty'
import { encryptionOf } from '../../src/app/world'
import type { Config } from '../../src/config/schema'
import { CLEAR } from '../../src/db/codec'
import type { Encryption } from '../../src/db/encryption-keys'
import { availability, listModels, listRoutes } from '../lib/catalogue'
import { describeSearch } from '../lib/config-file'
import { failedFor, lineOf } from '../lib/errors'
import { commandArgs, dataDirOf, judgeConfig, nameOfConfig, type SettingsFlags } from '../lib/settings'
import { paint, print, printJson, say } from '../view/output'
import { renderBlock } from '../view/table'

const check = defineCommand({
  meta: {
    name: 'check',
    description: 'List all faults of the configuration, or what it offers when it has none.',
    examples: ['gateway config check', 'gateway config check --config ./gateway.config.ts --json'],
  },
  args: commandArgs,
  async run({ args }) {
    const { value, file, faults, lookedIn } = await judgeConfig(args)
    const models =
      faults.length > 0
        ? []
        : [
            ...listModels(value as Config, args).map(({ model, reason }) => ({ id: model.id, reason })),
            ...listRoutes(value as Config, args),
          ]
    const encryption = faults.length > 0 ? undefined : await lookAtKeys(value as Config, args)
    if (encryption?.fault !== undefined) faults.push(`secrets: ${encryption.fault}`)
    if (args.json) {
      printJson({
        ok: faults.length === 0,
        file: file ?? null,
        faults,
        models: models.flatMap(({ id, reason }) => (reason === null ? [id] : [])),
        hidden: models.flatMap(({ id, reason }) => (reason === null ? [] : [{ id, reason }])),
        ...(encryption && { encryption: { key: encryption.key, before: encryption.before } }),
      })
    }
    if (faults.length > 0) {
      const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`
      throw failedFor(`${nameOfConfig(file)} has ${count}:`, faults)
    }
    if (args.json) return
    print(paint('green', `${nameOfConfig(file)} has no faults.`))
    if (file === undefined) print(describeSearch(lookedIn))
    if (encryption) print(describeEncryption(encryption))
    if (models.length > 0) print(`\n${renderBlock(availability(models))}`)
  },
})

/** How the database is encrypted; undefined if it is not, or cannot be reached, which standard error then says. */
async function lookAtKeys(config: Config, flags: SettingsFlags): Promise<Encryption | undefined> {
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
  meta: { name: 'config', description: 'Check the configuration file.' },
  subCommands: { check },
})
