// Statements and margins on the command line: a month is issued once, shown as a page, a table and JSON, verified, and compared
// with the costs at the vendors.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { addCredit, hold, settle } from '../../src/billing/ledger/ledger'
import { migrate } from '../../src/db/migrations'
import { openAddress, temporaryFolder } from '../support/databases/databases'
import { makeCharge, makeSettlement } from '../support/databases/ledger-rows'
import { createCommandLine } from '../support/processes/command-line'

setDefaultTimeout(120_000)

const folder = temporaryFolder()
const dataDir = join(folder, 'data')
const {
  inShell: { run, json },
} = createCommandLine(folder, dataDir)

test('a month is issued as a statement in three forms, and its usage has a margin', async () => {
  const config = {
    upstreams: {},
    models: {},
    statements: { seller: { name: 'Gateways & Sons' }, tax: { name: 'VAT', percent: '25' } },
  }
  writeFileSync(join(folder, 'gateway.config.ts'), `export default ${JSON.stringify(config)}\n`)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const db = openAddress(join(dataDir, 'gateway.sqlite'))
  await migrate(db)
  const at = Date.UTC(2026, 0, 15)
  await addCredit(db, { id: 'paid', account: 'alice', amountNano: 5e9, now: at, note: 'invoice 7' })
  const charge = makeCharge(2e9, { model: 'fast', createdAt: at, expiresAt: at + 60_000 })
  await hold(db, charge)
  await settle(db, charge, makeSettlement(1_500_000_000, { endedAt: at + 1_000, costNano: 1e9 }))
  await db.close()

  const issued = await run('statements issue --month 2026-01')
  expect({ code: issued.code, out: issued.stdout }).toEqual({
    code: 0,
    out: expect.stringMatching(/1 +2026-01 +alice +0\.00 +1\.50 +3\.50/),
  })
  expect((await run('statements issue --month 2026-01')).stdout).not.toContain('alice')
  expect(await json('statements list')).toMatchObject([{ number: 1, month: '2026-01', account: 'alice' }])
  expect(await json('statements show 1')).toMatchObject({
    number: 1,
    content: {
      opening_usd: '0.00',
      transfers: [{ kind: 'credit', amount_usd: '5.00' }],
      used_usd: '1.50',
      tax: { name: 'VAT', net_usd: '1.20', tax_usd: '0.30' },
      closing_usd: '3.50',
    },
  })
  const page = (await run('statements show 1')).stdout
  expect(page).toStartWith('<!doctype html>')
  for (const text of ['Gateways &amp; Sons', 'invoice 7', 'VAT']) expect(page).toContain(text)
  const table = (await run('statements show 1 --format csv')).stdout.split(/\r?\n/)
  expect(table[0]).toBe('number,account,month,line,at,text,requests,amount_usd')
  expect(table.filter((line) => line.includes(',closing,'))).toEqual([expect.stringMatching(/,3\.50$/)])
  expect((await run('statements verify')).stdout).toBe('1 statement is as it was issued.\n')

  const used = await run('usage --month 2026-01 --by model')
  expect(used.stdout).toMatch(/ COST +MARGIN\n/)
  expect(used.stdout).toMatch(/^fast +1 .* 1\.50 .* 1\.00 +0\.50\n/m)
})
