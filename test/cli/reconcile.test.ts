// `gateway reconcile` run from a shell: the charges it reads according to the configuration, its output, and its exit code.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { addCredit, hold, settle } from '../../src/billing/ledger/ledger'
import { migrate } from '../../src/db/migrations'
import { openAddress, temporaryFolder } from '../support/databases/databases'
import { makeCharge, makeSettlement } from '../support/databases/ledger-rows'
import { createCommandLine } from '../support/processes/command-line'

setDefaultTimeout(120_000)

const AT = Date.UTC(2026, 9, 3)
const folder = temporaryFolder()
const dataDir = join(folder, 'data')
const { run, allFail } = createCommandLine(folder, dataDir)

test("a vendor's file is compared with the charges of its upstream", async () => {
  const model = { family: 'openai-chat', upstream: 'openai', upstreamModel: 'gpt-x', free: true }
  const config = {
    upstreams: {
      openai: { kind: 'openai', apiKey: 'sk-vendor' },
      other: { kind: 'openai', apiKey: 'sk-other' },
    },
    models: { fast: model, both: { ...model, upstream: { openai: 1, other: 1 }, upstreamModel: 'gpt-z' } },
  }
  writeFileSync(join(folder, 'gateway.config.ts'), `export default ${JSON.stringify(config)}\n`)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const db = openAddress(join(dataDir, 'gateway.sqlite'))
  await migrate(db)
  await addCredit(db, { id: 'd', account: 'alice', amountNano: 1_000, now: AT, note: null })
  const charge = makeCharge(500, { model: 'fast', createdAt: AT, expiresAt: AT + 60_000 })
  await hold(db, charge)
  const usageJson = JSON.stringify({ prompt_tokens: 200, completion_tokens: 20 })
  await settle(db, charge, makeSettlement(500, { endedAt: AT, usageJson }))
  await db.close()

  const titles = 'start_time_iso,model,num_model_requests,input_tokens,output_tokens'
  const day = '2026-10-03T00:00:00+00:00'
  writeFileSync(join(folder, 'same.csv'), `${titles}\n${day},gpt-x,1,200,20\n`)
  writeFileSync(join(folder, 'more.csv'), `${titles}\n${day},gpt-x,2,400,20\n`)
  writeFileSync(join(folder, 'own.csv'), `Date,Name,In,Cached,Cost\n2026-10-03,GPT X,150,50,0.0000005\n`)

  const same = await run('reconcile --upstream openai --month 2026-10 --file same.csv')
  expect({ code: same.code, out: same.stdout }).toEqual({ code: 0, out: expect.stringContaining('IN ALL') })
  expect(same.stderr).toContain('Compared 3 figures.')
  expect(same.stderr).toContain(
    'Other upstreams also serve these models, and their charges are included: both.',
  )

  expect(same.stdout).toMatch(/cost +- +\$0\.0000005\n/)

  const more = await run('reconcile --upstream openai --month 2026-10 --file more.csv')
  expect(more.code).toBe(1)
  expect(more.stdout).toMatch(/2026-10-03 +gpt-x +requests +2 +1 +\+1\n/)
  expect(more.stdout).toMatch(/2026-10-03 +gpt-x +input +400 +200 +\+200\n/)
  expect(more.stderr).toContain('2 figures differ.')

  const columns = `--columns day=Date,model=Name,input=In+Cached,cost=Cost --names 'GPT X=gpt-x'`
  const own = await run(`reconcile --upstream openai --month 2026-10 --file own.csv ${columns} --json`)
  expect({ code: own.code, stderr: own.stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(own.stdout)).toMatchObject({
    ok: true,
    compared: 2,
    vendor: { requests: null, input_tokens: 200, output_tokens: null, cost_usd: '0.0000005' },
    charges: { requests: 1, input_tokens: 200, cost_usd: '0.0000005' },
    shared_models: ['both'],
  })

  const line = 'reconcile --upstream openai --month 2026-10'
  await allFail(1, [
    [`${line} --file own.csv`, 'its columns are not known'],
    [`${line} --file none.csv`, 'none.csv cannot be read'],
    ['reconcile --upstream openai --month 2026-09 --file same.csv', 'The files have nothing of 2026-09'],
    ['reconcile --upstream nobody --month 2026-10 --file same.csv', 'There is no upstream "nobody"'],
  ])
  await allFail(2, [
    [`${line} --file same.csv --columns day=Date`, '--columns names day=… and model=…'],
    [`${line} --file same.csv --columns day=a,model=b,price=c`, '--columns takes day, model, requests'],
    [`${line} --file same.csv --tolerance much`, '--tolerance takes a percentage'],
    ['reconcile --upstream openai --month October --file same.csv', '--month takes a month'],
    ['reconcile --upstream openai --month 2026-10', 'Give --upstream, --month and --file, or --own'],
    [`${line} --file same.csv --since 7d`, '--since and --until need --own'],
    ['reconcile --own --file same.csv', '--file cannot be combined with --own'],
    ['reconcile --own --month 2026-10 --since 7d', '--month cannot be combined with --since'],
  ])
})

test('prices reported by vendors are compared with the price list, without a file', async () => {
  const none = await run('reconcile --own --month 2026-10')
  expect(none).toMatchObject({ code: 0, stdout: 'No vendor reported a price since 2026-10-01.\n' })
  const db = openAddress(join(dataDir, 'gateway.sqlite'))
  const ids: string[] = []
  for (const [model, costUsd, costNano] of [
    ['fast', 0.0000011, 1_000],
    ['fast', 0.000001, 1_000],
    ['both', 0.000002, 2_000],
    ['both', 0, 2_000],
  ] as const) {
    const each = makeCharge(0, { model, createdAt: AT, expiresAt: AT + 60_000 })
    ids.push(each.id)
    await hold(db, each)
    const usage = JSON.stringify({ prompt_tokens: 1, cost: costUsd })
    await settle(db, each, { ...makeSettlement(0, { endedAt: AT, usageJson: usage }), costNano })
  }
  await db.close()
  const shown = await run(`requests show ${ids[0]}`)
  expect(shown.stdout).toMatch(
    /^ +vendor +\$0\.0000011 by its own figure; by our list \$0\.000001, so \+10\.00 %$/m,
  )
  const zero = await run(`requests show ${ids.at(-1)}`)
  expect(zero.stdout).toMatch(/^ +vendor +\$0\.00 by its own figure$/m)
  const apart = await run('reconcile --own --month 2026-10')
  expect(apart.code).toBe(1)
  expect(apart.stdout).toMatch(/^MODEL +REQUESTS +OURS +OUR SUM +VENDOR'S SUM +APART\n/)
  expect(apart.stdout).toMatch(/^both +1 +cost +0\.000002 +0\.000002 +\+0\.00 %$/m)
  expect(apart.stdout).toMatch(/^fast +2 +cost +0\.000002 +0\.0000021 +\+5\.00 %$/m)
  expect(apart.stderr).toContain('From 2026-10-01 00:00:00 UTC to 2026-11-01 00:00:00 UTC. Prices are')
  expect(apart.stderr).toContain('Not compared: 1 request ')
  expect(apart.stderr).toContain('One model differs.')
  expect((await run('reconcile --own --month 2026-10 --tolerance 5')).code).toBe(0)
  expect((await run('reconcile --own')).stderr).toMatch(/^Since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\. /m)
  expect((await run('reconcile --own --month 2026-10 --upstream other')).code).toBe(0)
  const json = await run('reconcile --own --month 2026-10 --json')
  expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, models: [{ model: 'both' }, { model: 'fast' }] })
})
