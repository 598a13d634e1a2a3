// gateway config: checks a configuration file and lists all faults at once, before a server reads it. It must never
// change the file.

import { defineCommand } from 'citty'
import type { Config } from '../../src/config/schema'
import { availability, listModels, listRoutes } from '../lib/catalogue'
import { describeSearch } from '../lib/config-file'
import { failedFor } from '../lib/errors'
import { commandArgs, judgeConfig, nameOfConfig } from '../lib/settings'
import { paint, print, printJson } from '../view/output'
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
    if (args.json) {
      printJson({
        ok: faults.length === 0,
        file: file ?? null,
        faults,
        models: models.flatMap(({ id, reason }) => (reason === null ? [id] : [])),
        hidden: models.flatMap(({ id, reason }) => (reason === null ? [] : [{ id, reason }])),
      })
    }
    if (faults.length > 0) {
      const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`
      throw failedFor(`${nameOfConfig(file)} has ${count}:`, faults)
    }
    if (args.json) return
    print(paint('green', `${nameOfConfig(file)} has no faults.`))
    if (file === undefined) print(describeSearch(lookedIn))
    if (models.length > 0) print(`\n${renderBlock(availability(models))}`)
  },
})

export const config = defineCommand({
  meta: { name: 'config', description: 'Check the configuration file.' },
  subCommands: { check },
})
