// gateway move: copies the embedded database into one of PostgreSQL, so that several nodes can serve it. It must never
// leave two databases that both look like the one in use.

import { existsSync, renameSync } from 'node:fs'
import { defineCommand } from 'citty'
import { databaseFile, movedFile } from '../../src/app/world'
import { BackupDamaged } from '../../src/backup/backup'
import { moveToPostgres, TargetFilled } from '../../src/backup/restore'
import { commandArgs, dataDirOf, loadConfig } from '../configuration/settings'
import { auditCommand } from '../lib/actor'
import { CommandFailed, WrongUsage } from '../lib/errors'
import { lockDataDir } from '../process/serve-lock'
import { commandLineOf } from '../program'
import { counted } from '../view/counted'
import { createStatus, print, printJson } from '../view/output'

export const move = defineCommand({
  meta: {
    name: 'move',
    description: 'Move the embedded database to PostgreSQL. The server must not run.',
    examples: ['gateway move --to postgres://gateway@db.example.com/gateway'],
  },
  args: {
    to: {
      type: 'string',
      valueHint: 'URL',
      required: true,
      description: 'An empty PostgreSQL database, or that of an interrupted move',
    },
    anew: {
      type: 'boolean',
      description: 'Remove the rows copied by an interrupted move, and start over',
    },
    ...commandArgs,
  },
  async run({ args }) {
    if (!/^postgres(ql)?:\/\//.test(args.to))
      throw new WrongUsage('--to takes an address that begins with postgres://.')
    const { config } = await loadConfig(args)
    const dataDir = dataDirOf(args)
    const moved = movedFile(dataDir)
    // Left by a move that was interrupted at its very end.
    const file = existsSync(databaseFile(dataDir)) ? databaseFile(dataDir) : moved
    if (!existsSync(file)) throw new CommandFailed(`There is no database in ${dataDir}.`)
    lockDataDir(dataDir)
    const status = createStatus()
    const onProgress = (table: string, rows: number) => {
      if (process.stderr.isTTY) status.show(`copying ${table}: ${counted(rows, 'row')}`)
    }
    try {
      const findings = await moveToPostgres(file, args.to, {
        now: Date.now(),
        onProgress,
        anew: args.anew === true,
        onCopied: () => renameSync(file, moved),
      })
      status.clear()
      const { accounts, charges } = findings
      await auditCommand({ ...config, database: args.to }, dataDir, {
        action: 'database.move',
        target: 'database',
        before: { file },
        after: { accounts, charges },
      })
      if (args.json) printJson({ ...findings, moved_file: moved })
      else print(describe(findings, moved, commandLineOf('serve', args)))
      if (findings.problems.length > 0)
        throw new CommandFailed('The copy is the same, but its books are wrong:', findings.problems)
    } catch (error) {
      status.clear()
      if (error instanceof TargetFilled && file === moved) {
        throw new CommandFailed(
          `There is no database in ${dataDir}: it was moved before, and ${moved} is what it was. Name the new one in the configuration, as database, or in GATEWAY_DATABASE_URL; to copy ${moved} again, give an empty database.`,
        )
      }
      if (error instanceof BackupDamaged || error instanceof TargetFilled)
        throw new CommandFailed(error.message)
      throw error
    }
  },
})

function describe(
  { accounts, charges }: { accounts: number; charges: number },
  moved: string,
  start: string,
): string {
  return [
    `Moved: accounts ${accounts}, charges ${charges}. All counts and sums are the same on both sides.`,
    `The old database is ${moved}, which nothing reads any more.`,
    'Name the new one in the configuration, as database, or in GATEWAY_DATABASE_URL.',
    `Then start: ${start}`,
  ].join('\n')
}
