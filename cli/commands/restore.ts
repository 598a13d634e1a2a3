// gateway restore: brings the database back from a backup, into an empty place. It must never overwrite anything.

import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { defineCommand } from 'citty'
import { databaseFile } from '../../src/app/world'
import { BackupDamaged } from '../../src/backup/backup'
import { restore as restoreBackup, TargetFilled } from '../../src/backup/restore'
import { openPlace, placeOf } from '../../src/backup/schedule'
import type { Config } from '../../src/config/schema'
import { withScratchFolder } from '../../src/db/scratch-folder'
import { commandArgs, dataDirOf, loadConfig, openDataDir } from '../configuration/settings'
import { auditCommand } from '../lib/actor'
import { CommandFailed } from '../lib/errors'
import { lockDataDir } from '../process/serve-lock'
import { commandLineOf } from '../program'
import { counted } from '../view/counted'
import { createStatus, print, printJson } from '../view/output'

export const restore = defineCommand({
  meta: {
    name: 'restore',
    description: 'Restore the database from a backup. Overwrites nothing.',
    examples: [
      'gateway restore /mnt/nas/gateway.sqlite.zst',
      'gateway restore gateway-20261122T060000Z.sqlite.zst --data-dir ./again',
    ],
  },
  args: {
    backup: {
      type: 'positional',
      required: true,
      description: 'A file, or the name of a backup in the configured place',
    },
    ...commandArgs,
  },
  async run({ args }) {
    const { config } = await loadConfig(args)
    const dataDir = openDataDir(args)
    const target = config.database ? { url: config.database } : { file: databaseFile(dataDir) }
    // A server would not notice the replaced file.
    if (!config.database) lockDataDir(dataDir)
    const status = createStatus()
    const onProgress = (table: string, rows: number) => {
      if (process.stderr.isTTY) status.show(`copying ${table}: ${counted(rows, 'row')}`)
    }
    try {
      const findings = await withScratchFolder(dataDir, async (folder) => {
        const packed = await fetchBackup(args.backup, config, dataDirOf(args), join(folder, 'backup'))
        return restoreBackup(packed, target, { scratch: dataDir, now: Date.now(), onProgress })
      })
      status.clear()
      const { accounts, charges, problems } = findings
      await auditCommand(config, dataDir, {
        action: 'backup.restore',
        target: `backup:${basename(args.backup)}`,
        after: { accounts, charges },
      })
      if (args.json) printJson({ backup: args.backup, data_dir: dataDir, ...findings })
      else print(`Restored: accounts ${accounts}, charges ${charges}. Start: ${commandLineOf('serve', args)}`)
      if (problems.length > 0)
        throw new CommandFailed('The backup is whole, but the books in it are wrong:', problems)
    } catch (error) {
      status.clear()
      if (error instanceof BackupDamaged || error instanceof TargetFilled)
        throw new CommandFailed(error.message)
      throw error
    }
  },
})

/** The path of a backup: the file itself, or a copy of the one of this name in the configured place. */
async function fetchBackup(name: string, config: Config, dataDir: string, to: string): Promise<string> {
  if (existsSync(name)) return name
  const place = openPlace(placeOf(config, dataDir))
  if (!(await place.names()).includes(name))
    throw new CommandFailed(`There is no file ${name} here, and no backup of this name in ${place.title}.`)
  await place.bring(name, to)
  return to
}
