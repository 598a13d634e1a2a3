// `gateway retention` as people type it: the months it would close, those it closed, and the output of other commands about them.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { addCredit, hold, settle } from '../../src/billing/ledger/ledger'
import { migrate } from '../../src/db/migrations'
import { openAddress, temporaryFolder } from '../support/databases/databases'
import { makeCharge, makeSettlement } from '../support/databases/ledger-rows'
import { createCommandLine } from '../support/processes/command-line'

setDefaultTimeout(120_000)

const folder = temporaryFolder()
const dataDir = join(folder, 'data')
const { run, json, allFail } = createCommandLine(folder, dataDir)

async function fill(): Promise<void> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const db = openAddress(join(dataDir, 'gateway.sqlite'))
  await migrate(db)
  const first = Date.UTC(2024, 0, 5)
  await addCredit(db, { id: 'paid', account: 'alice', amountNano: 1_000_000_000, now: first, note: null })
  for (let month = 0; month < 4; month++) {
    const at = Date.UTC(2024, month, 10, 12)
    const charge = makeCharge(50_000_000, { id: `charge-of-${month}`, model: 'fast', createdAt: at })
    await hold(db, charge)
    await settle(db, charge, makeSettlement(50_000_000, { endedAt: at }))
  }
  await db.close()
}

test('months are listed before they are closed, then closed, and every report about them says so', async () => {
  const config = {
    upstreams: { openai: { kind: 'openai', apiKey: 'sk-vendor' } },
    models: { fast: { family: 'openai-chat', upstream: 'openai', free: true } },
  }
  const write = (more: object) =>
    writeFileSync(
      join(folder, 'gateway.config.ts'),
      `export default ${JSON.stringify({ ...config, ...more })}\n`,
    )
  write({})
  await fill()
  await allFail(1, [['retention apply', 'The configuration has no retention.charges']])
  await allFail(2, [['retention apply --charges 12', '--charges takes months such as 24mo, not "12"']])
  expect((await run('retention show')).stderr).toContain('No month is closed')
  expect((await run('retention apply --charges 999mo')).stderr).toContain('wholly older than 999 months')
  write({ retention: { charges: '12mo' } })

  const [dry] = [await json('retention apply --dry-run')]
  expect(dry).toEqual(
    [0, 1, 2].map((month) => ({ month: `2024-0${month + 1}`, charges: 1, amount_usd: '0.05', open: 0 })),
  )
  expect((await run('retention apply --dry-run')).stderr).toContain('Nothing was changed. To close them:')
  expect(await json('retention show')).toMatchObject({ charges: '12mo', closed: [] })

  const applied = await run('retention apply')
  expect(applied).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Closed 2024-01: 1 charge, now in /),
  })
  const { place, closed } = await json('retention show')
  expect(place).toBe(join(dataDir, 'archive'))
  expect(closed.map(({ archive }: { archive: string }) => archive)).toEqual(readdirSync(place).sort())
  const [{ archive }] = closed
  expect((await run('retention show')).stdout).toContain('2024-03')

  const entries = await json('balance ledger alice --until 2024-03-01')
  expect(entries).toMatchObject([
    { id: 'closing-2024-02', kind: 'closing', at: '2024-02-29T23:59:59.999Z', balance_after_usd: '0.90' },
    { id: 'closing-2024-01', kind: 'closing', amount_usd: '-0.05', balance_after_usd: '0.95', charge: null },
    { kind: 'credit', balance_after_usd: '1.00' },
  ])
  expect(entries[1].note).toBe(`1 charge up to 2024-01, in ${archive}`)
  expect(await json('usage --month 2024-02 --by model')).toMatchObject({
    total: { requests: 1, amount_usd: '0.05' },
  })

  const id = `req_${Date.UTC(2024, 0, 10).toString(16).padStart(12, '0')}${'0'.repeat(20)}`
  expect((await run(`requests show ${id}`)).stdout).toContain('charges of 2024-01 are closed, in')
  writeFileSync(
    join(folder, 'vendor.csv'),
    'start_time_iso,model,num_model_requests,input_tokens,output_tokens\n2024-02-03T00:00:00+00:00,fast,1,2,3\n',
  )
  await allFail(1, [
    ['reconcile --upstream openai --month 2024-02 --file vendor.csv', 'The charges of 2024-02 are closed'],
    ['reconcile --own --month 2024-02', 'are closed and can no longer be compared'],
  ])
  // A longer period begins with open charges.
  expect((await run('reconcile --own --since all')).stderr).toMatch(/^\nSince 20\d\d-\d\d-01 00:00:00 UTC/)
  expect(await run('balance verify --whole --archives')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('closed'),
  })
  rmSync(join(place, archive))
  expect(await run('balance verify --archives')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`the archive ${archive} of 2024-01 cannot be read`),
  })
})
