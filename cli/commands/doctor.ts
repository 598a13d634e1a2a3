// gateway doctor: looks at everything that a gateway needs, and says the cure of what is wrong. It must never change anything,
// nor ask a vendor for what is billed.

import { defineCommand } from 'citty'
import { CommandFailed } from '../lib/errors'
import {
  clockOfVendor,
  examineConfiguration,
  examineDatabase,
  examineLog,
  examineServer,
  examineUpstreams,
  examineVersions,
} from '../lib/examine-gateway'
import {
  examineCertificate,
  examineClock,
  examineDisk,
  examineFiles,
  examinePendingEnds,
  examinePermissions,
} from '../lib/examine-machine'
import { examineStorage } from '../lib/examine-storage'
import { broken, type Finding } from '../lib/findings'
import { commandArgs, dataDirOf, type SettingsFlags } from '../lib/settings'
import { paint, print, printJson, say } from '../view/output'
import { renderTable } from '../view/table'

export const doctor = defineCommand({
  meta: {
    name: 'doctor',
    description:
      'Look at everything that the gateway needs, and say the cure. Exit 1 if something is broken.',
    examples: ['gateway doctor', 'gateway doctor --json | jq \'.findings[] | select(.state != "ok")\''],
  },
  args: commandArgs,
  async run({ args }) {
    const findings = await examineAll(args)
    const isBroken = findings.filter(({ state }) => state === 'broken')
    if (args.json) printJson({ ok: isBroken.length === 0, findings })
    else show(findings)
    if (isBroken.length > 0)
      throw new CommandFailed(`Broken: ${isBroken.map(({ check }) => check).join(', ')}.`)
    if (!args.json && findings.every(({ state }) => state === 'ok')) say('Nothing is wrong.')
  },
})

async function examineAll(flags: SettingsFlags): Promise<Finding[]> {
  const dataDir = dataDirOf(flags)
  const { finding, config, file } = await examineConfiguration(flags)
  const [database, upstreams, vendorClock, server, log, storage = []] = await Promise.all([
    config && examineDatabase(config, dataDir),
    config ? examineUpstreams(config, flags) : [],
    config && clockOfVendor(config, flags),
    examineServer(config, dataDir).catch((error: Error) => [
      broken('server', error.message, 'Run this as the user of the gateway.'),
    ]),
    config && examineLog(config),
    config && examineStorage(config, dataDir, Date.now()),
  ])
  const clocks = [database?.clock, vendorClock].filter((clock) => clock !== undefined)
  const certificate = examineCertificate(config, Date.now())
  const pending = examinePendingEnds(dataDir)
  return [
    finding,
    ...(database ? [database.finding] : []),
    ...server,
    ...(server.some(({ check }) => check === 'versions') ? [] : [examineVersions()]),
    ...upstreams,
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
  const columns = [
    { title: 'STATE' },
    { title: 'CHECK' },
    { title: 'FOUND, AND WHAT TO DO', flexible: true, widthMin: 30 },
  ]
  const colours = { ok: 'green', warning: 'yellow', broken: 'red' } as const
  print(
    renderTable(
      columns,
      findings.map(({ check, state, found, cure }) => [
        paint(colours[state], state),
        check,
        cure === null ? found : `${found.replace(/\.$/, '')}. ${cure}`,
      ]),
    ),
  )
}
