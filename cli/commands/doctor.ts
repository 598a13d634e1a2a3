// gateway doctor: checks everything that a gateway needs, and suggests a remedy for each fault. It must never change anything, or
// call a vendor for anything that is billed.

import { defineCommand } from 'citty'
import { DAY_MS } from '../../src/billing/reports/usage-totals'
import { isoDay } from '../../src/db/iso-time'
import { formatUsd } from '../../src/lib/money'
import { commandArgs, dataDirOf, loadConfig, type SettingsFlags } from '../configuration/settings'
import { broken, type Finding } from '../doctor/findings'
import {
  clockOfVendor,
  examineConfiguration,
  examineDatabase,
  examineLog,
  examineServer,
  examineUpstreams,
  examineVersions,
} from '../doctor/gateway'
import {
  examineCertificate,
  examineClock,
  examineDisk,
  examineFiles,
  examinePendingEnds,
  examinePermissions,
} from '../doctor/machine'
import {
  type EndingModel,
  endingJson,
  endingModels,
  examineRetirements,
  usesAtSuccessors,
} from '../doctor/models'
import { examineStorage } from '../doctor/storage'
import { CommandFailed } from '../lib/errors'
import { paint, print, printJson, say } from '../view/output'
import { priceText } from '../view/price'
import { printTable, renderTable } from '../view/table'

export const doctor = defineCommand({
  meta: {
    name: 'doctor',
    description:
      'Look at everything that the gateway needs, and say the cure. Exit 1 if something is broken.',
    examples: [
      'gateway doctor',
      'gateway doctor --on 2026-12-11',
      'gateway doctor --json | jq \'.findings[] | select(.state != "ok")\'',
    ],
  },
  args: {
    on: {
      type: 'string',
      valueHint: 'DAY',
      description: 'Instead list models that vendors retire by this day, with their use in 30 days',
    },
    ...commandArgs,
  },
  async run({ args }) {
    if (args.on !== undefined) return showEnding(args, args.on)
    const findings = await examineAll(args)
    const isBroken = findings.filter(({ state }) => state === 'broken')
    if (args.json) printJson({ ok: isBroken.length === 0, findings })
    else show(findings)
    if (isBroken.length > 0)
      throw new CommandFailed(`Broken: ${isBroken.map(({ check }) => check).join(', ')}.`)
    if (!args.json && findings.every(({ state }) => state === 'ok')) say('Nothing is wrong.')
  },
})

/** Lists models that are retired by a day such as `2026-12-11`, inclusive. */
async function showEnding(flags: SettingsFlags & { json?: boolean | undefined }, day: string): Promise<void> {
  const before = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(day) + DAY_MS : Number.NaN
  if (Number.isNaN(before)) throw new CommandFailed(`--on: "${day}" is not a day such as 2026-12-11.`)
  const { config } = await loadConfig(flags)
  const [now, dataDir] = [Date.now(), dataDirOf(flags)]
  const ending = await endingModels(config, dataDir, flags, { now, before })
  const uses = await usesAtSuccessors(config, dataDir, ending, now)
  if (flags.json) return printJson(ending.map((model) => endingJson(model, uses.get(model.id))))
  if (ending.length === 0) return say(`No model that can be used ends by ${day}.`)
  const columns = [
    { title: 'MODEL' },
    { title: 'ENDS' },
    { title: 'REQUESTS', align: 'right' as const },
    { title: 'PAID', align: 'decimal' as const },
    { title: 'THEN', align: 'decimal' as const },
    { title: 'SUCCESSOR', flexible: true, widthMin: 20 },
  ]
  print(
    renderTable(
      columns,
      ending.map(({ id, retirement, requests, amountNano, successor }) => {
        const use = uses.get(id)
        return [
          id,
          isoDay(retirement.at),
          String(requests),
          formatUsd(amountNano),
          use ? formatUsd(use.amountNano) : '',
          successorText(retirement, successor),
        ]
      }),
      undefined,
      ending.map(({ accounts }) => (accounts.length > 0 ? `used by ${accounts.join(', ')}` : '')),
    ),
  )
  say('Requests and payments are those of the last 30 days; THEN is what they cost at the successor.')
  const notPriced = [...uses.values()].reduce((sum, use) => sum + use.notPriced, 0)
  if (notPriced > 0) say(`${notPriced} of them cannot be repriced and keep their amount in THEN.`)
}

function successorText(
  { successor, handsOver }: EndingModel['retirement'],
  found: EndingModel['successor'],
): string {
  if (successor === undefined) return 'none named'
  if (!found) return `${successor}, which is not served here`
  const { price, ...entry } = found.entry
  // The prices of long prompts and of tiers are in models list.
  const usual = Object.entries(price ?? {}).filter(
    ([key]) => key !== 'service_tiers' && !key.startsWith('above_'),
  )
  return `${found.id}${handsOver ? ', which takes over' : ''}: ${priceText({ ...entry, ...(price && { price: Object.fromEntries(usual) }) })}`
}

async function examineAll(flags: SettingsFlags): Promise<Finding[]> {
  const dataDir = dataDirOf(flags)
  const { finding, config, file } = await examineConfiguration(flags)
  const [database, upstreams, vendorClock, server, log, storage = [], retirements] = await Promise.all([
    config && examineDatabase(config, dataDir),
    config ? examineUpstreams(config, flags) : [],
    config && clockOfVendor(config, flags),
    examineServer(config, dataDir).catch((error: Error) => [
      broken('server', error.message, 'Run this as the user of the gateway.'),
    ]),
    config && examineLog(config),
    config && examineStorage(config, dataDir, Date.now()),
    config && examineRetirements(config, dataDir, flags, Date.now()),
  ])
  const clocks = [database?.clock, vendorClock].filter((clock) => clock !== undefined)
  const certificate = examineCertificate(config, Date.now())
  const pending = examinePendingEnds(dataDir)
  return [
    finding,
    ...(database?.findings ?? []),
    ...server,
    ...(server.some(({ check }) => check === 'versions') ? [] : [examineVersions()]),
    ...upstreams,
    ...(retirements ? [retirements] : []),
    ...storage,
    examineDisk(dataDir),
    examineClock(clocks),
    examineFiles(),
    examinePermissions(dataDir, file, config),
    ...(certificate ? [certificate] : []),
    ...(pending ? [pending] : []),
    ...(log ? [log] : []),
  ]
}

function show(findings: readonly Finding[]): void {
  const colours = { ok: 'green', warning: 'yellow', broken: 'red' } as const
  printTable(findings, [
    ['STATE', ({ state }) => paint(colours[state], state)],
    ['CHECK', ({ check }) => check],
    [
      'FOUND, AND WHAT TO DO',
      ({ found, cure }) => (cure === null ? found : `${found.replace(/\.$/, '')}. ${cure}`),
      { flexible: true, widthMin: 30 },
    ],
  ])
}
