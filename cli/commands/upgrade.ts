// gateway upgrade: brings the database to the schema of this version, as `serve` does at its start. It must never do so while
// anybody serves the database, or upgrade a file without a verified copy.

import { defineCommand } from 'citty'
import { inspectDatabase, openDatabase } from '../../src/app/world'
import { program } from '../../src/db/schema/program'
import { verdictOn } from '../../src/db/schema/rules'
import { commandArgs, loadConfig, nameOfDatabase, openDataDir } from '../configuration/settings'
import { auditCommand } from '../lib/actor'
import { registerProcess } from '../process/processes'
import { lockDataDir } from '../process/serve-lock'
import { commandLineOf } from '../program'
import { print, printJson, say } from '../view/output'

export const upgrade = defineCommand({
  meta: {
    name: 'upgrade',
    description: 'Upgrade the database to the schema of this version. No server may be running.',
    examples: ['gateway upgrade', 'gateway upgrade --without-copy'],
  },
  args: {
    'without-copy': {
      type: 'boolean',
      description: 'Do not make a checked copy first: for a database that you have copied yourself',
    },
    ...commandArgs,
  },
  async run({ args }) {
    const { config } = await loadConfig(args)
    const dataDir = openDataDir(args)
    const found = await inspectDatabase(config, dataDir)
    const { schema: to, version } = program()
    if (!found || verdictOn(found, 'upgrade') !== 'upgrade') {
      const state = found && found.schema > 0 ? `has schema ${to} already` : 'is made by the first start'
      if (args.json) return printJson({ from: found?.schema ?? 0, to, copy: null })
      return print(`${nameOfDatabase(config, dataDir)} ${state}: nothing to do.`)
    }
    // A server on PostgreSQL may run anywhere: it records in the database that it is alive.
    if (!config.database) lockDataDir(dataDir)
    const { others } = registerProcess(dataDir)
    let copy: unknown = null
    const log = (event: string, fields: Record<string, unknown>) => {
      if (event !== 'database_upgrading') return
      copy = fields.copy
      const first = copy === null ? '' : ` First a checked copy is written: ${copy}`
      say(`Upgrading ${nameOfDatabase(config, dataDir)} from schema ${found.schema} to ${to}.${first}`)
    }
    const makesCopy = args['without-copy'] !== true
    const db = await openDatabase(config, dataDir, {
      role: 'upgrade',
      patient: true,
      upgrade: { log, others, makesCopy, wall: Date.now },
    })
    await db.close()
    await auditCommand(config, dataDir, {
      action: 'database.upgrade',
      target: 'database',
      before: { schema: found.schema, version: found.version },
      after: { schema: to, version, copy },
    })
    if (args.json) printJson({ from: found.schema, to, copy })
    else print(`Upgraded from schema ${found.schema} to ${to}. Start: ${commandLineOf('serve', args)}`)
  },
})
