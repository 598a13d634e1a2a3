// gateway backup: writes a checked copy of the database to one compressed file while the server goes on. It must never
// leave a file that was not read back.

import { existsSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { defineCommand } from 'citty'
import { databaseFile } from '../../src/app/world'
import { type BackupReport, makeBackup } from '../../src/backup/backup'
import { type BackupPlace, folderPlace, nameOfBackup, timeOfBackup } from '../../src/backup/place'
import { openPlace, placeOf, removeOld, sourceOf } from '../../src/backup/schedule'
import { CommandFailed, failedFor } from '../lib/errors'
import { commandArgs, dataDirOf, loadConfig, openDataDir } from '../lib/settings'
import { parseCount } from '../lib/values'
import { bytesText } from '../view/bytes'
import { print, printJson, say } from '../view/output'
import { renderBlock } from '../view/table'
import { utcTime } from '../view/times'

export const backup = defineCommand({
  meta: {
    name: 'backup',
    description: 'Write a checked copy of the database to one file, while the server goes on.',
    examples: [
      'gateway backup /mnt/nas/gateway.sqlite.zst',
      'gateway backup --keep 14',
      'gateway backup --list',
    ],
  },
  args: {
    file: {
      type: 'positional',
      required: false,
      description: 'The new file (default: one named by the time, in the place that the configuration names)',
    },
    keep: {
      type: 'string',
      valueHint: 'N',
      description: 'Remove the oldest backups of that place until N are left',
    },
    list: { type: 'boolean', description: 'List the backups of that place' },
    ...commandArgs,
  },
  async run({ args }) {
    const { config } = await loadConfig(args)
    const dataDir = dataDirOf(args)
    const place = openPlace(placeOf(config, dataDir))
    if (args.list) return list(place, args.json)
    const keep = args.keep === undefined ? undefined : parseCount('keep', args.keep)
    if (args.file !== undefined && keep !== undefined)
      throw new CommandFailed('--keep goes with backups that are named by their time: leave the file out.')
    if (!config.database && !existsSync(databaseFile(dataDir)))
      throw new CommandFailed(`There is no database in ${dataDir}.`)
    const now = Date.now()
    const target = args.file === undefined ? place : folderPlace(dirname(resolve(args.file)))
    const name = args.file === undefined ? nameOfBackup(now) : basename(args.file)
    if (args.file !== undefined && existsSync(args.file))
      throw new CommandFailed(`${args.file} is there already. Name a new file.`)
    const source = sourceOf(config, databaseFile(dataDir))
    const report = await makeBackup(source, target, name, { scratch: openDataDir(args), now })
    const removed = await removeOld(target, keep)
    if (args.json) printJson({ ...jsonOf(report), place: target.title, removed })
    else print(describe(report, target, removed))
    if (report.problems.length > 0)
      throw failedFor('The backup is whole, but the books of the database are wrong:', report.problems)
  },
})

async function list(place: BackupPlace, isJson: boolean | undefined): Promise<void> {
  const names = await place.names()
  if (isJson)
    return printJson(
      names.map((name) => ({
        name,
        made_at: new Date(timeOfBackup(name)).toISOString(),
        place: place.title,
      })),
    )
  if (names.length === 0) return say(`There are no backups in ${place.title}.`)
  print(`Backups in ${place.title}:\n`)
  print(renderBlock(names.map((name) => [name, utcTime(timeOfBackup(name))])))
}

function jsonOf({ name, bytes, databaseBytes, accounts, charges, problems }: BackupReport) {
  return { name, bytes, database_bytes: databaseBytes, accounts, charges, problems }
}

function describe(report: BackupReport, { title }: BackupPlace, removed: readonly string[]): string {
  const { name, bytes, databaseBytes, accounts, charges } = report
  const lines = [
    `Backed up to ${title}/${name} (${bytesText(bytes)}, ${bytesText(databaseBytes)} unpacked).`,
    `Read back and checked: accounts ${accounts}, charges ${charges}.`,
    ...(removed.length > 0 ? [`Removed ${removed.length} older.`] : []),
  ]
  return lines.join('\n')
}
