// gateway retention: shows which months are closed and where their archives are, and closes old months by hand. It must never
// close what the configuration or the caller has not named.

import { defineCommand } from 'citty'
import { randomBytes } from '../../src/app/world'
import { openPlace } from '../../src/backup/schedule'
import { signingKey } from '../../src/billing/checkpoint'
import { type Closing, closedTotals, closingsOf } from '../../src/billing/closings'
import { parseMonths } from '../../src/config/retention'
import type { Config } from '../../src/config/schema'
import type { Db } from '../../src/db/db'
import { isoTime } from '../../src/db/iso-time'
import { formatUsd } from '../../src/lib/money'
import { NotClosed } from '../../src/retention/close'
import { chargesToClose, type MonthToClose, monthsToClose } from '../../src/retention/months'
import { runRetention } from '../../src/retention/run'
import { placeOfArchives } from '../../src/retention/schedule'
import { CommandFailed, WrongUsage } from '../lib/errors'
import { commandArgs, openDataDir, type SettingsFlags, withDatabase } from '../lib/settings'
import { commandLineOf } from '../program'
import { bytesText } from '../view/bytes'
import { createStatus, print, printJson, say } from '../view/output'
import { type Column, renderTable } from '../view/table'

const chargesArg = {
  type: 'string',
  valueHint: '24mo',
  description: 'How many months charges stay (default: retention.charges of the configuration)',
} as const

const show = defineCommand({
  meta: {
    name: 'show',
    description: 'Show which months are closed, and where their archives are.',
    examples: ['gateway retention show', 'gateway retention show --json | jq -r .closed[].archive'],
  },
  args: commandArgs,
  async run({ args }) {
    await withDatabase(args, async (db, config) => {
      const place = openPlace(placeOfArchives(config, openDataDir(args)))
      const [closings, totals] = [await closingsOf(db), await closedTotals(db)]
      if (args.json)
        return printJson({
          charges: config.retention?.charges ?? null,
          place: place.title,
          closed: closings.map((closing) => closingJson(closing, totals.get(closing.position))),
        })
      if (closings.length === 0) return say('No month is closed: all charges are in the database.')
      print(`Archives in ${place.title}:\n`)
      const columns: Column[] = [
        { title: 'MONTH' },
        { title: 'CHARGES', align: 'right' },
        { title: 'PAID', align: 'decimal' },
        { title: 'SIZE', align: 'right' },
        { title: 'ARCHIVE', flexible: true },
      ]
      const rows = closings.map(({ month, charges, position, archive, archiveBytes }) => [
        month,
        String(charges),
        formatUsd(totals.get(position)?.amountNano ?? 0),
        bytesText(archiveBytes),
        archive,
      ])
      print(renderTable(columns, rows))
    })
  },
})

const apply = defineCommand({
  meta: {
    name: 'apply',
    description:
      'Close months that are old enough, as the server does by itself; --dry-run only tells which.',
    examples: ['gateway retention apply --dry-run', 'gateway retention apply --charges 36mo --dry-run'],
  },
  args: {
    charges: chargesArg,
    'dry-run': { type: 'boolean', description: 'Only tell what would be closed' },
    ...commandArgs,
  },
  async run({ args }) {
    const work = async (db: Db, config: Config) => {
      const kept = args.charges ?? config.retention?.charges
      const keepMonths = kept === undefined ? undefined : parseMonths(kept)
      if (kept === undefined)
        throw new CommandFailed(
          'The configuration has no retention.charges, so that charges stay for ever. --charges 24mo names a time for this call.',
        )
      if (keepMonths === undefined)
        throw new WrongUsage(`--charges takes months such as 24mo, not "${kept}".`)
      if (args['dry-run']) return showMonths(db, kept, await monthsToClose(db, keepMonths, Date.now()), args)
      const dataDir = openDataDir(args)
      const place = openPlace(placeOfArchives(config, dataDir))
      const key = await signingKey(db, randomBytes, Date.now())
      const status = createStatus()
      const onProgress = (text: string) => {
        if (process.stderr.isTTY) status.show(text)
      }
      const parts = { db, place, key, scratch: dataDir, now: Date.now, onProgress }
      const { closed, waiting } = await runRetention(parts, keepMonths).catch((error) => {
        throw error instanceof NotClosed ? new CommandFailed(error.message) : error
      })
      status.clear()
      if (args.json)
        return printJson({ closed: closed.map((closing) => closingJson(closing)), waiting: waiting ?? null })
      for (const { month, charges, archive } of closed)
        print(`Closed ${month}: ${charges} charges, now in ${place.title}/${archive}.`)
      if (waiting) say(waitingText(waiting))
      else if (closed.length === 0) say(nothingText(kept))
    }
    await withDatabase(args, work, { silent: args['dry-run'] === true })
  },
})

async function showMonths(
  db: Db,
  kept: string,
  months: readonly MonthToClose[],
  args: SettingsFlags & { json?: boolean | undefined },
): Promise<void> {
  const rows = await Promise.all(
    months.map(async (month) => ({ ...month, ...(await chargesToClose(db, month)) })),
  )
  if (args.json)
    return printJson(
      rows.map(({ month, charges, amountNano, open }) => ({
        month,
        charges,
        amount_usd: formatUsd(amountNano),
        open,
      })),
    )
  if (rows.length === 0) return say(nothingText(kept))
  const columns: Column[] = [
    { title: 'MONTH' },
    { title: 'CHARGES', align: 'right' },
    { title: 'PAID', align: 'decimal' },
    { title: 'WAITS FOR', flexible: true },
  ]
  print(
    renderTable(
      columns,
      rows.map(({ month, charges, amountNano, open }) => [
        month,
        String(charges),
        formatUsd(amountNano),
        open === 0 ? '' : `${open} open charges`,
      ]),
    ),
  )
  say(`\nNothing was changed. To close them: ${commandLineOf(`retention apply --charges ${kept}`, args)}`)
}

function nothingText(kept: string): string {
  return `Nothing to close: no month with charges is wholly older than ${kept.replace('mo', ' months')}.`
}

function waitingText({ month, open }: { month: string; open: number }): string {
  const charges =
    open === 1 ? 'a charge that began before its end is' : `${open} charges that began before its end are`
  return `${month} waits: ${charges} still open.`
}

function closingJson(closing: Closing, totals?: { amountNano: number; shortfallNano: number }) {
  return {
    month: closing.month,
    closed_at: isoTime(closing.at),
    charges: closing.charges,
    ...(totals && {
      amount_usd: formatUsd(totals.amountNano),
      shortfall_usd: formatUsd(totals.shortfallNano),
    }),
    archive: closing.archive,
    bytes: closing.archiveBytes,
  }
}

export const retention = defineCommand({
  meta: {
    name: 'retention',
    description: 'Old charges: which months are closed, and where their archives are.',
  },
  subCommands: { show, apply },
})
