// gateway backup: writes a checked copy of the database to one compressed file while the server continues. It must never
// leave a file that was not read back.

import { existsSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { defineCommand } from 'citty'
import { databaseFile } from '../../src/app/world'
import { type BackupReport, makeBackup } from '../../src/backup/backup'
import { type BackupPlace, folderPlace, nameOfBackup, timeOfBackup } from '../../src/backup/place'
import { openPlace, placeOf, removeOld, sourceOf } from '../../src/backup/schedule'
import { isoTime } from '../../src/db/iso-time'
import { dataDirOf, loadForDatabase, openDataDir } from '../configuration/settings'
import { auditCommand } from '../lib/actor'
import { CommandFailed } from '../lib/errors'
import { type Gateway, remoteGateway } from '../lib/gateway'
import { gatewayArgs, remoteOf } from '../lib/remote'
import { parseCount } from '../lib/values'
import { bytesText } from '../view/bytes'
import { print, printJson, say } from '../view/output'
import { renderBlock } from '../view/table'
import { utcTime } from '../view/times'

export const backup = defineCommand({
  meta: {
    name: 'backup',
    description: 'Write a checked copy of the database to one file, while the server keeps running.',
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
      description: 'The new file (default: named by the time, in the configured place)',
    },
    keep: {
      type: 'string',
      valueHint: 'N',
      description: 'Remove the oldest backups of that place until N are left',
    },
    list: { type: 'boolean', description: 'List the backups of that place' },
    make: {
      type: 'boolean',
      description: 'Create the folder and its parents, even if a disk may not be mounted',
    },
    ...gatewayArgs,
  },
  async run({ args }) {
    const remote = remoteOf(args)
    if (remote) return backUpThere(remoteGateway(remote, args), args)
    const config = await loadForDatabase(args)
    const dataDir = dataDirOf(args)
    const make = args.make === true
    const configured = () => openPlace(placeOf(config, dataDir), { make })
    if (args.list) {
      const place = configured()
      return showList(await listOf(place), place.title, args.json)
    }
    const keep = args.keep === undefined ? undefined : parseCount('keep', args.keep)
    if (args.file !== undefined && keep !== undefined)
      throw new CommandFailed(
        '--keep only works for backups that are named by their time: leave out the file.',
      )
    if (!config.database && !existsSync(databaseFile(dataDir)))
      throw new CommandFailed(`There is no database in ${dataDir}.`)
    const now = Date.now()
    const target = args.file === undefined ? configured() : folderPlace(dirname(resolve(args.file)), { make })
    const name = args.file === undefined ? nameOfBackup(now) : basename(args.file)
    if (args.file !== undefined && existsSync(args.file))
      throw new CommandFailed(`${args.file} is there already. Name a new file.`)
    const source = sourceOf(config, databaseFile(dataDir))
    const report = await makeBackup(source, target, name, { scratch: openDataDir(args), now })
    const removed = await removeOld(target, keep)
    await auditCommand(config, dataDir, {
      action: 'backup.make',
      target: `backup:${name}`,
      after: { bytes: report.bytes, place: target.title, removed },
    })
    if (args.json) printJson({ ...jsonOf(report), place: target.title, removed })
    else print(describe(report, target.title, removed))
    failForProblems(report)
  },
})

interface BackupFlags {
  file?: string | undefined
  keep?: string | undefined
  list?: boolean | undefined
  make?: boolean | undefined
  json?: boolean | undefined
}

/** A backup that a remote gateway makes, in the place that its own configuration names. */
async function backUpThere(gateway: Gateway, { file, keep, list, make, json }: BackupFlags): Promise<void> {
  if (file !== undefined || keep !== undefined || make)
    throw new CommandFailed(
      'A file, --keep and --make are for the machine of the gateway. Over the admin API backups go to the place that its configuration names.',
    )
  if (list) {
    const rows = await gateway.rows('listBackups')
    return showList(rows, rows[0]?.place ?? 'the place of the gateway', json)
  }
  const { place, database_bytes: databaseBytes, ...made } = await gateway.call('makeBackup')
  const report = { ...made, databaseBytes }
  if (json) printJson({ ...jsonOf(report), place, removed: [] })
  else print(describe(report, place, []))
  failForProblems(report)
}

function failForProblems({ problems }: Pick<BackupReport, 'problems'>): void {
  if (problems.length > 0)
    throw new CommandFailed('The backup is whole, but the books of the database are wrong:', problems)
}

interface Listed {
  name: string
  made_at: string
  place: string
}

/** The backups of a place, newest first. */
async function listOf(place: BackupPlace): Promise<Listed[]> {
  return (await place.names()).toReversed().map((name) => ({
    name,
    made_at: isoTime(timeOfBackup(name)),
    place: place.title,
  }))
}

function showList(rows: readonly Listed[], title: string, isJson: boolean | undefined): void {
  if (isJson) {
    printJson(rows)
    return
  }
  if (rows.length === 0) {
    say(`There are no backups in ${title}.`)
    return
  }
  print(`Backups in ${title}:\n`)
  print(renderBlock(rows.map(({ name, made_at }) => [name, utcTime(Date.parse(made_at))])))
}

function jsonOf({ databaseBytes, ...report }: BackupReport) {
  return { ...report, database_bytes: databaseBytes }
}

function describe(report: BackupReport, title: string, removed: readonly string[]): string {
  const { name, version, schema, bytes, databaseBytes, accounts, charges } = report
  const lines = [
    `Backed up to ${title}/${name}`,
    `${bytesText(bytes)}, ${bytesText(databaseBytes)} unpacked, schema ${schema}, by version ${version}.`,
    `Read back and checked: accounts ${accounts}, charges ${charges}.`,
    ...(removed.length > 0 ? [`Removed ${removed.length} older.`] : []),
  ]
  return lines.join('\n')
}
