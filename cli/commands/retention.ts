// gateway retention: shows which months are closed and where their archives are, and closes old months by hand. It must never close
// a month that neither the configuration nor the caller has named.

import { defineCommand } from 'citty'
import type { ReplyOf } from '../../src/admin/client'
import { parseMonths } from '../../src/config/retention'
import { WrongUsage } from '../lib/errors'
import { gatewayCommand, withGateway } from '../lib/gateway'
import { type GatewayFlags, gatewayArgs } from '../lib/remote'
import { commandLineOf } from '../program'
import { bytesText } from '../view/bytes'
import { counted } from '../view/counted'
import { print, printJson, say } from '../view/output'
import { printTable } from '../view/table'

const show = gatewayCommand({
  name: 'show',
  description: 'Show closed months and the place of their archives.',
  examples: ['gateway retention show', 'gateway retention show --json | jq -r .closed[].archive'],
  run: (args) => async (gateway) => {
    const found = await gateway.call('getRetention')
    if (args.json) return printJson(found)
    if (found.closed.length === 0) return say('No month is closed: all charges are in the database.')
    print(`Archives in ${found.place}:\n`)
    printTable(found.closed, [
      ['MONTH', ({ month }) => month],
      ['CHARGES', ({ charges }) => String(charges), { align: 'right' }],
      ['PAID', ({ amount_usd }) => amount_usd, { align: 'decimal' }],
      ['SIZE', ({ bytes }) => bytesText(bytes), { align: 'right' }],
      ['ARCHIVE', ({ archive }) => archive, { flexible: true }],
    ])
  },
})

const apply = defineCommand({
  meta: {
    name: 'apply',
    description:
      'Close months that are old enough; the server also does this by itself. --dry-run only lists them.',
    examples: ['gateway retention apply --dry-run', 'gateway retention apply --charges 36mo --dry-run'],
  },
  args: {
    charges: {
      type: 'string',
      valueHint: '24mo',
      description: 'How many months charges are kept (default: retention.charges of the configuration)',
    },
    'dry-run': { type: 'boolean', description: 'Only list what would be closed' },
    ...gatewayArgs,
  },
  async run({ args }) {
    const { charges } = args
    const isDry = args['dry-run'] === true
    if (charges !== undefined && parseMonths(charges) === undefined)
      throw new WrongUsage(`--charges takes months such as 24mo, not "${charges}".`)
    await withGateway(
      args,
      async (gateway) => {
        if (isDry) return showMonths(await gateway.call('listMonthsToClose', { query: { charges } }), args)
        const done = await gateway.call('closeMonths', { body: { charges } })
        if (args.json) return printJson({ closed: done.closed, waiting: done.waiting })
        for (const { month, charges, archive } of done.closed)
          print(`Closed ${month}: ${counted(charges, 'charge')}, now in ${done.place}/${archive}.`)
        if (done.waiting) say(waitingText(done.waiting))
        else if (done.closed.length === 0) say(nothingText(done.charges))
      },
      { silent: isDry },
    )
  },
})

function showMonths(
  { charges: kept, data }: ReplyOf<'listMonthsToClose'>,
  args: GatewayFlags & { json?: boolean | undefined },
): void {
  if (args.json || data.length === 0) {
    if (args.json) printJson(data)
    else say(nothingText(kept))
    return
  }
  printTable(data, [
    ['MONTH', ({ month }) => month],
    ['CHARGES', ({ charges }) => String(charges), { align: 'right' }],
    ['PAID', ({ amount_usd: paid }) => paid, { align: 'decimal' }],
    ['WAITS FOR', ({ open }) => (open === 0 ? '' : `${open} open charges`), { flexible: true }],
  ])
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

export const retention = defineCommand({
  meta: {
    name: 'retention',
    description: 'Manage old charges: closed months and their archives.',
  },
  subCommands: { show, apply },
})
