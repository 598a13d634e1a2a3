// The command line as a shell sees it: real processes, their exit codes, their output and the resulting books. Every row of a table
// is a command line, so that a changed name or flag cannot go unnoticed.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isSecret } from '../../src/accounts/keys'
import { type Charge, hold, release, settle } from '../../src/billing/ledger/ledger'
import { openSqlite } from '../../src/db/drivers/sqlite'
import { openPageFile } from '../../src/request-log/page-file'
import { openRequestLog } from '../../src/request-log/request-log'
import { newLogRow } from '../../src/request-log/row'
import { postgresUrl, temporaryFolder } from '../support/databases/databases'
import { createCommandLine, PROGRAM, WRITTEN } from '../support/processes/command-line'
import type { Json } from '../support/scenario'

setDefaultTimeout(180_000)

const folder = temporaryFolder()
const configFile = join(folder, 'gateway.config.ts')
const dataDir = join(folder, 'data')

const price = { per_1m_input_tokens: '0.25', per_1m_output_tokens: '2.00' }
const config = {
  upstreams: { ready: { kind: 'openai', apiKey: 'sk-vendor' }, keyless: { kind: 'voyage' } },
  models: {
    chat: {
      family: 'openai-chat',
      upstream: 'ready',
      upstreamModel: 'vendor-chat',
      ownedBy: 'somebody',
      price,
    },
    embed: {
      family: 'voyage-embeddings',
      upstream: 'keyless',
      price: { per_1m_input_tokens: '0.02', per_request: '0.001' },
    },
    gratis: { family: 'openai-chat', upstream: 'ready', free: true },
  },
}
writeFileSync(configFile, `export default ${JSON.stringify(config)}\n`)

const { environment, call, run, json, inShell, allFail, onTerminal } = createCommandLine(folder, dataDir)

/** A process that blocks writes to the database of its own folder, from the start of the tests on. */
const lockedDir = join(folder, 'locked')
const refusedByLock = (async () => {
  await run('keys create alice', lockedDir)
  // It ends with its parent, even if the one test that waits for it is not run, or all tests are killed.
  const source = `const db = new (require('bun:sqlite').Database)(${JSON.stringify(join(lockedDir, 'gateway.sqlite'))})
    db.run('begin immediate'); console.log('locked')
    process.stdin.resume().on('end', () => process.exit(db.inTransaction ? 0 : 1))`
  const locker = Bun.spawn([process.execPath, '-e', source], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'ignore',
  })
  await locker.stdout.getReader().read()
  const ran = await run('balance add alice 5', lockedDir)
  locker.kill()
  return ran
})()

const leaves = [
  'serve',
  'keys create',
  'keys list',
  'keys show',
  'keys update',
  'keys roll',
  'keys roll-webhook',
  'keys revoke',
  'balance show',
  'balance add',
  'balance adjust',
  'balance ledger',
  'balance verify',
  'tasks list',
  'tasks show',
  'tasks watch',
  'tasks cancel',
  'tasks redeliver',
  'tasks reconcile',
  'usage',
  'models list',
  'models price',
  'env',
  'config check',
]

test('every command explains itself, with examples and without colour', async () => {
  await Promise.all(
    leaves.map(async (path) => {
      const help = await inShell.call([...path.split(' '), '--help'])
      expect({ path, code: help.code, stderr: help.stderr }).toEqual({ path, code: 0, stderr: '' })
      for (const words of [
        `Usage  gateway ${path}`,
        '--config',
        '--data-dir',
        '--json',
        'Examples',
        `  gateway ${path}`,
      ]) {
        expect(help.stdout).toContain(words)
      }
      expect(help.stdout).not.toContain('\u001b')
    }),
  )
  const [alone, help, group, byWord, version] = await Promise.all([
    call([]),
    call(['help']),
    call(['keys']),
    call(['help', 'keys', 'create']),
    call(['--version']),
  ])
  expect(alone).toMatchObject({ code: 2, stdout: '' })
  expect(alone.stderr).toContain('Usage  gateway COMMAND')
  expect(help.code).toBe(0)
  for (const name of ['serve', 'keys', 'balance', 'usage', 'models', 'config']) {
    expect(help.stdout).toMatch(new RegExp(`^  ${name} +\\S`, 'm'))
  }
  expect(group).toMatchObject({ code: 2, stdout: '' })
  expect(group.stderr).toContain('revoke')
  expect(byWord.stdout).toContain('Usage  gateway keys create NAME [flags]')
  expect(version.stdout).toMatch(/^\d+\.\d+\.\d+ \(schema \d+, (commit \w+|from source)\)\n$/)
})

test('wrong usage ends with exit code 2 and the reason', async () => {
  await allFail(2, [
    ['nothing', 'There is no command gateway nothing'],
    ['keys nothing', 'There is no command gateway keys nothing'],
    ['keys nothing --help', 'There is no command gateway keys nothing'],
    ['keys create', 'NAME'],
    ['keys create alice bob', 'Unexpected argument "bob"'],
    ['keys create alice --balnce 5', 'Unknown flag --balnce'],
    ['keys create alice -x', 'Unknown flag -x'],
    ['keys create alice --balance', '--balance needs a value'],
    ['keys create alice --balance --json', '--balance needs a value'],
    ['keys create ..', '".." is not a valid name'],
    ['keys create alice --account .', '"." is not a valid name'],
    ['keys create alice --balance 5 --balance 6', '--balance is given twice'],
    ['keys create alice --json=yes', '--json takes no value'],
    ['keys create alice --no-json', 'Unknown flag --no-json'],
    ['keys create alice --balance five', '--balance takes dollars'],
    ['keys create alice --balance -5', 'must not be negative'],
    ['keys create alice --balance 0.0000000001', 'takes dollars'],
    ["keys create 'al ice'", 'is not a valid name: use 1 to 64'],
    [`keys create ${'a'.repeat(65)}`, 'is not a valid name: use 1 to 64'],
    [`keys create key_${'0'.repeat(32)}`, 'is not a valid name: use 1 to 64'],
    ['keys create alice --account a/b', 'is not a valid name: use 1 to 64'],
    ['keys create alice --rpm 0', '--rpm takes a whole number from 1'],
    ['keys create alice --tpm 1.5', '--tpm takes a whole number'],
    ['keys create alice --concurrency many', '--concurrency takes a whole number'],
    ['keys create alice --expires 30', '--expires takes a duration'],
    ['keys create alice --expires 0d', '--expires takes a duration'],
    ['keys create alice --budget 5', '--budget needs --per'],
    ['keys create alice --per day', '--per needs --budget'],
    ['keys create alice --budget 5 --per year', '--per takes day, week, month'],
    ['keys create alice --budget 0 --per day', 'must be more than 0'],
    ['keys create alice --models ,', '--models takes the ids'],
    ['keys update alice', 'give at least one setting'],
    ['keys show', 'NAME'],
    ['balance add alice', 'USD'],
    ['balance add alice 0', 'must be more than 0'],
    ['balance add alice -5', 'must be more than 0'],
    ['balance add alice 1e3', 'takes dollars'],
    ['balance add alice 9999999', 'takes dollars up to 9007199'],
    ['balance adjust alice 5', 'needs a reason: --note TEXT'],
    ['balance adjust alice 0 --note nothing', 'must not be 0'],
    ['balance ledger alice --csv --json', 'Choose one of --csv and --json'],
    ['usage --by colour', '--by takes key, account, spender, model'],
    ['usage --since yesterday', '--since takes a date'],
    ['requests list --limit 0', '--limit takes a whole number from 1'],
    ['requests list --limit 1001', '--limit takes at most 1000'],
    ['requests list --status bad', '--status takes a status such as 429'],
    ['serve --port 65536', '--port takes a number'],
  ])
})

test('an impossible command ends with exit code 1 and one line', async () => {
  writeFileSync(join(folder, 'file'), '')
  mkdirSync(join(folder, 'odd', 'gateway.sqlite'), { recursive: true })
  writeFileSync(join(folder, 'broken.ts'), 'export default {{')
  writeFileSync(join(folder, 'typo.ts'), `export default ${JSON.stringify({ ...config, modles: {} })}`)
  writeFileSync(join(folder, 'throws.ts'), 'throw new Error("no such secret\\nand more")')
  await run('keys create alice --balance 1', join(folder, 'failures'))
  await allFail(
    1,
    [
      ['keys create alice', 'A key named alice already exists'],
      ['keys create bob --models chat,unknown,other', 'no model "unknown", "other"; `models list` shows all'],
      ['keys create bob --models chat,Embd', 'no model "Embd". Did you mean embed? `models list` shows all.'],
      ['keys create bob --models vendor-chat', 'no model "vendor-chat". Did you mean chat?'],
      ['keys update alice --models grati,em', 'no model "grati", "em". Did you mean gratis or embed?'],
      ['models price chta --input-tokens 1', 'no model "chta". Did you mean chat?'],
      ['env claude-code --model gratiss', 'no model "gratiss" for messages. Did you mean gratis?'],
      ['keys create bob --account alice --balance 9007199', 'the maximum'],
      ['keys show nobody', 'There is no key "nobody"'],
      ['keys update nobody --rpm 1', 'There is no key "nobody"'],
      ['keys roll nobody', 'There is no key "nobody"'],
      ['keys revoke nobody', 'There is no key "nobody"'],
      ['balance show nobody', 'There is no account "nobody"'],
      ['balance add nobody 5', 'keys create NAME --account ACCOUNT'],
      ['balance add alice 9007199', 'the maximum'],
      ['balance adjust alice -2 --note why', 'Account alice has only $1.00 available'],
      ['balance ledger nobody', 'There is no account "nobody"'],
      ['config check --config missing.ts', 'which does not exist'],
      ['config check --config typo.ts', 'typo.ts has one fault:\n  modles: '],
      ['models list --config typo.ts', 'typo.ts has faults:\n  modles: '],
      ['config check --config broken.ts', 'broken.ts cannot be loaded'],
      ['config check --config throws.ts', 'throws.ts cannot be loaded: no such secret.\n'],
    ],
    join(folder, 'failures'),
  )
  await allFail(1, [['keys list', 'The data directory']], join(folder, 'file'))
  await allFail(1, [['keys list', 'cannot be opened: disk I/O error']], join(folder, 'odd'))
  const noServer = await call(['keys', 'list'], {
    env: { GATEWAY_DATABASE_URL: 'postgres://a:hidden@127.0.0.1:1/b' },
  })
  expect(noServer).toMatchObject({ code: 1, stdout: '' })
  expect(noServer.stderr.trim().split('\n')).toHaveLength(1)
  expect(noServer.stderr).not.toContain('hidden')
})

test('a key from creation to revocation', async () => {
  const made = await json(
    'keys create alice --account team --balance 5.25 --models chat,embed --expires 30d --rpm 60 --tpm 1000 --concurrency 4 --budget 1.50 --per week',
  )
  const { key, webhook_secret, id, hint, expires_at, created_at, ...rest } = made
  expect(webhook_secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(isSecret(key)).toBe(true)
  expect(id).toMatch(/^key_[0-9a-f]{32}$/)
  expect(key.startsWith(hint.slice(0, 6))).toBe(true)
  // Counted from the command, and made a moment later.
  expect(Math.abs(Date.parse(expires_at) - Date.parse(created_at) - 30 * 86_400_000)).toBeLessThan(60_000)
  expect(rest).toEqual({
    name: 'alice',
    account: 'team',
    account_status: 'open',
    status: 'active',
    models: ['chat', 'embed'],
    addresses: null,
    requests_per_minute: 60,
    tokens_per_minute: 1000,
    concurrency: 4,
    budget_usd: '1.50',
    budget_used_usd: '0.00',
    budget_period: 'week',
    paused_at: null,
    revoked_at: null,
    spenders: null,
    cache: null,
    balance_usd: '5.25',
    held_usd: '0.00',
    available_usd: '5.25',
  })

  const human = await run('keys create bob')
  expect(human.code).toBe(0)
  // Only the secret, so that it can be put into a variable.
  expect(isSecret(human.stdout.trimEnd())).toBe(true)
  expect(human.stderr).toContain('only this once')
  expect(human.stderr).toContain('balance add bob 5')

  expect((await run('accounts freeze bob')).code).toBe(0)
  expect((await run('keys show bob')).stdout).toMatch(/^ {2}status +account frozen$/m)
  expect((await run('accounts unfreeze bob')).code).toBe(0)
  expect((await run('keys show bob')).stdout).toMatch(/^ {2}status +active$/m)

  const list = await json('keys list')
  expect(list.map((each: Json) => [each.name, each.account])).toEqual([
    ['bob', 'bob'],
    ['alice', 'team'],
  ])
  expect(JSON.stringify(list)).not.toContain(key)
  const shown = await json(`keys show ${id}`)
  expect(shown).toEqual({ id, hint, expires_at, created_at, ...rest, budget_used_usd: '0.00' })

  const updated = await json(
    'keys update alice --rpm none --models none --tpm 5 --budget 3 --per day --expires 2w',
  )
  expect(updated).toMatchObject({
    models: null,
    requests_per_minute: null,
    tokens_per_minute: 5,
    concurrency: 4,
    budget_usd: '3.00',
    budget_period: 'day',
  })
  const rule = { from: ['user', 'x-user'], budget_usd: '5', budget_period: 'day', requests_per_minute: 60 }
  const named = await run(`keys update alice --spenders '${JSON.stringify(rule)}'`)
  expect(named.stdout).toMatch(/^ {2}spenders +by user or x-user, \$5 a day each, 60 requests\/min each$/m)
  const closed = await run(`keys update alice --spenders '{"from":["user"],"create":false}'`)
  expect(closed.stdout).toMatch(/^ {2}spenders +by user, no new ones$/m)
  expect((await run('keys update alice --spenders none')).stdout).not.toContain('spenders')
  const limited = await json('keys update alice --from 203.0.113.9,10.0.0.0/8')
  expect(limited.addresses).toEqual(['203.0.113.9/32', '10.0.0.0/8'])
  expect((await run('keys show alice')).stdout).toMatch(
    /^ {2}used from +203\.0\.113\.9\/32, 10\.0\.0\.0\/8$/m,
  )
  expect((await run('keys update alice --from office')).stderr).toContain('not "office"')
  for (const [given, cache, shown] of [
    ['1h', { ttl: '1h' }, 'for 1h'],
    ['90m:0.25', { ttl: '90m', price: '0.25' }, 'for 90m, at 0.25 of the price'],
    ['off', false, 'off'],
  ] as const) {
    expect((await json(`keys update alice --cache ${given}`)).cache).toEqual(cache)
    expect((await run('keys show alice')).stdout).toContain(`response cache  ${shown}\n`)
  }
  expect((await run('keys update alice --cache soon')).stderr).toContain(
    '"soon" is not a duration such as "1h"',
  )
  expect((await run('keys update alice --cache 1h:2')).stderr).toContain('"2" is not a fraction')
  expect((await json('keys update alice --cache none')).cache).toBeNull()
  const freed = await json(
    'keys update alice --budget none --tpm none --concurrency none --expires none --from none',
  )
  expect(freed).toMatchObject({
    addresses: null,
    tokens_per_minute: null,
    concurrency: null,
    budget_usd: null,
    budget_period: null,
    expires_at: null,
  })

  const rolled = await json('keys roll alice')
  expect(isSecret(rolled.key)).toBe(true)
  expect(rolled.key).not.toBe(key)
  expect(rolled.hint).not.toBe(hint)

  const revoked = await json('keys revoke alice')
  expect(revoked.status).toBe('revoked')
  // A repeated revocation succeeds.
  expect((await json('keys revoke alice')).revoked_at).toBe(revoked.revoked_at)
  await allFail(1, [
    ['keys roll alice', 'was revoked'],
    ['keys update alice --rpm 1', 'was revoked'],
    ['keys create alice', 'names are not reused'],
  ])
  const [table, block] = await Promise.all([run('keys list'), run('keys show alice')])
  expect(table.stdout).toMatch(/^alice +team +\S+ +revoked +all models$/m)
  expect(block.stdout).toMatch(/^ {2}account +team$/m)
})

test('deposits, corrections, the ledger and its verification', async () => {
  const data = join(folder, 'money')
  await run('keys create alice', data)
  expect(await json('balance add alice 5 --note start', data)).toMatchObject({
    account: 'alice',
    amount_usd: '5.00',
    balance_usd: '5.00',
    held_usd: '0.00',
    available_usd: '5.00',
    note: 'start',
  })
  expect(await json('balance adjust alice -1.50 --note \'cash, "back"\'', data)).toMatchObject({
    amount_usd: '-1.50',
    balance_usd: '3.50',
  })
  expect(await json('balance adjust --note goodwill alice +0.000000001', data)).toMatchObject({
    balance_usd: '3.500000001',
  })
  const dashed = await run('balance adjust --note again -- alice -0.5', data)
  expect(dashed).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Adjusted alice by -\$0\.50\.\n/) })

  const balance = {
    account: 'alice',
    balance_usd: '3.000000001',
    held_usd: '0.00',
    available_usd: '3.000000001',
  }
  expect(await json('balance show alice', data)).toEqual(balance)
  expect(await json('balance show', data)).toEqual([balance])
  const ledger = await json('balance ledger alice', data)
  expect(ledger.map((each: Json) => [each.kind, each.amount_usd, each.balance_after_usd, each.note])).toEqual(
    [
      ['adjust', '-0.50', '3.000000001', 'again'],
      ['adjust', '0.000000001', '3.500000001', 'goodwill'],
      ['adjust', '-1.50', '3.50', 'cash, "back"'],
      ['credit', '5.00', '5.00', 'start'],
    ],
  )
  const csv = await run('balance ledger alice --csv', data)
  const lines = csv.stdout.trimEnd().split('\n')
  expect(lines[0]).toBe('id,at,kind,amount_usd,balance_after_usd,charge,note')
  expect(lines).toHaveLength(5)
  expect(lines[2]).toMatch(/^tr_[0-9a-f]+,\d{4}-\d\d-\d\dT[\d:.]+Z,adjust,-1\.50,3\.50,,"cash, ""back"""$/)

  expect(await json('balance verify', data)).toEqual({
    ok: true,
    since: null,
    closed: 0,
    read: 0,
    accounts: 1,
    charges: 0,
    transfers: 4,
    books: {
      funding_usd: '3.000000001',
      revenue_usd: '0.00',
      shortfall_usd: '0.00',
      accounts_usd: '3.000000001',
    },
    problems: [],
  })
  const db = openSqlite(join(data, 'gateway.sqlite'))
  await db.batch([{ sql: 'update accounts set balance = balance + 7' }])
  await db.close()
  const [wrong, document] = await Promise.all([
    run('balance verify', data),
    run('balance verify --json', data),
  ])
  expect(wrong.code).toBe(1)
  expect(wrong.stderr).toContain('One problem in the books:\n  account alice: balance')
  expect(document.code).toBe(1)
  expect(JSON.parse(document.stdout)).toMatchObject({
    ok: false,
    problems: [expect.stringContaining('account alice')],
  })
})

/** Four requests as a server leaves them: paid, paid beyond the balance by a count, released, running. */
async function makeHistory(data: string): Promise<void> {
  const key = await json('keys create alice --balance 1', data)
  const db = openSqlite(join(data, 'gateway.sqlite'))
  const now = Date.now()
  const charge = (id: string, model: string, heldNano: number): Charge => ({
    id,
    account: 'alice',
    keyId: key.id,
    model,
    operation: 'chat',
    heldNano,
    pricesJson: '{}',
    createdAt: now,
    expiresAt: now + 60_000,
    budgetPeriod: null,
    windowMinute: null,
    windowTokens: 0,
  })
  const ending = { usageJson: null, endedBy: 'done', endedAt: now, tokens: 0 } as const
  const [paid, beyond, failed, running] = [
    charge('req_1', 'chat', 200_000_000),
    charge('req_2', 'embed', 100_000_000),
    charge('req_3', 'chat', 100_000_000),
    charge('req_4', 'chat', 0),
  ] as const
  for (const each of [paid, beyond, failed, running]) await hold(db, each)
  await settle(db, paid, { ...ending, priceNano: 150_000_000, usageSource: 'upstream' })
  await release(db, failed, { endedBy: 'upstream', endedAt: now })
  await settle(db, beyond, { ...ending, priceNano: 1_000_000_000, usageSource: 'counted' })
  await db.close()
  const requestLog = await openRequestLog(
    await openPageFile(openSqlite(join(data, 'requests.sqlite')), 86_400_000),
    () => {},
  )
  const entry = {
    ...newLogRow({ requestId: '', operation: { name: 'chat' } }, { now: () => now, monotonic: () => 0 }),
    account: 'alice',
    keyId: key.id,
    upstream: 'ready',
    stream: true,
    startedAt: 0,
    firstByteMs: 1.4,
    durationMs: 9.6,
  }
  const ended = { usageSource: 'upstream', endedBy: 'done', operation: 'chat', errorCode: null, at: now }
  const figures = { inputTokens: 3, outputTokens: 4, amountNano: 150_000_000, status: 200, model: 'chat' }
  requestLog.write({ ...entry, ...ended, ...figures, id: 'req_1' })
  requestLog.write({
    ...entry,
    ...ended,
    ...figures,
    id: 'req_9',
    status: 429,
    errorCode: 'slow',
    amountNano: null,
  })
  await requestLog.close()
}

test('usage sums the charges and lists the newest requests', async () => {
  const data = join(folder, 'usage')
  expect(await json('requests list', data)).toEqual({ rows: [], next: null, looked: null })
  expect((await run('usage', data)).stderr).toContain('no requests')
  await makeHistory(data)
  const total = {
    requests: 4,
    running: 1,
    released: 1,
    counted: 1,
    estimated: 0,
    amount_usd: '1.00',
    shortfall_usd: '0.15',
  }
  const [byKey, byModel, byAccount, table, pairs] = await Promise.all([
    json('usage', data),
    json('usage --since all --by model', data),
    json('usage --by account --since 45m', data),
    run('usage --by model', data),
    run('usage --by account --and model', data),
  ])
  expect(pairs.stdout).toMatch(/^ACCOUNT +MODEL +REQUESTS /m)
  expect(pairs.stdout).toMatch(/^alice +embed +1 .* 0\.85 +0\.15$/m)
  expect(pairs.stdout).toMatch(/^total +4 .* 1\.00 +0\.15$/m)
  expect(byKey).toMatchObject({ by: 'key', rows: [{ key: 'alice', ...total }], total })
  expect(Date.now() - Date.parse(byKey.since)).toBeLessThan(86_500_000)
  expect(byAccount).toMatchObject({ by: 'account', rows: [{ account: 'alice', ...total }] })
  expect(byModel).toMatchObject({
    since: null,
    rows: [
      { model: 'embed', requests: 1, counted: 1, amount_usd: '0.85', shortfall_usd: '0.15' },
      { model: 'chat', requests: 3, running: 1, released: 1, amount_usd: '0.15', shortfall_usd: '0.00' },
    ],
    total,
  })
  expect(table.stdout).toMatch(/^MODEL +REQUESTS +RUNNING +RELEASED +COUNTED +PAID +SHORTFALL$/m)
  expect(table.stdout).toMatch(/^embed +1 +0 +0 +1 \(100%\) +0\.85 +0\.15$/m)
  expect(table.stdout).toMatch(/^total +4 +1 +1 +1 \(50%\) +1\.00 +0\.15$/m)

  const [requests, newest] = await Promise.all([
    json('requests list', data),
    run('requests list --limit 1', data),
  ])
  expect(requests.rows.map((each: Json) => each.id)).toEqual(['req_9', 'req_1'])
  expect(requests.rows[1]).toMatchObject({
    key: 'alice',
    model: 'chat',
    status: 200,
    stream: true,
    input_tokens: 3,
    output_tokens: 4,
    duration_ms: 10,
    amount_usd: '0.15',
    error_code: null,
  })
  expect(newest.stdout.trimEnd().split('\n')).toHaveLength(2)
  expect(newest.stdout).toMatch(/alice +429 +3\+4 +10 ms +chat slow$/m)
  expect(await json('balance verify', data)).toMatchObject({ ok: true, books: { shortfall_usd: '0.15' } })
})

test('a check names a few of the many models that an upstream without a key has, and counts the others', async () => {
  const { stdout } = await run(`config check --config ${join(import.meta.dir, '../../gateway.config.ts')}`)
  expect(stdout).toMatch(
    /^ {2}not available +qnx[^,]+(, [^,]+){11}, \d+ more: upstream dashscope has no API key/m,
  )
  expect(Math.max(...stdout.split('\n').map(({ length }) => length))).toBeLessThan(600)
})

test('a valid configuration lists what it offers, an invalid one all its errors at once', async () => {
  expect(await json('config check')).toEqual({
    ok: true,
    file: configFile,
    faults: [],
    models: ['chat', 'gratis'],
    ending: [],
    hidden: [{ id: 'embed', reason: expect.stringContaining('upstream keyless has no API key') }],
  })
  const human = await run('config check')
  expect(human.stdout).toMatch(/^ {2}models +chat, gratis$/m)
  expect(human.stdout).toMatch(/^ {2}not available +embed: upstream keyless/m)

  const model = config.models.chat
  const wrong = {
    upstreams: { ...config.upstreams, odd: { kind: 'nobody' } },
    models: {
      cheap: { ...model, price: { ...price, per_1m_input_tokens: 'little' } },
      fine: { ...model, price: { ...price, per_1m_output_tokens: '0.0000001' } },
      lost: { ...model, upstream: 'nowhere' },
      strange: { ...model, family: 'unheard' },
      priceless: { family: 'openai-chat', upstream: 'ready' },
      half: { ...model, price: { per_1m_input_tokens: '1' } },
      tiered: { ...model, price: { ...price, per_image: { '1k': '0.02' } } },
    },
  }
  writeFileSync(join(folder, 'wrong.ts'), `export default ${JSON.stringify(wrong)}`)
  const faults = [
    'upstreams.odd.kind: unknown kind "nobody"',
    'models.cheap.price.per_1m_input_tokens: "little" is not an amount',
    'models.fine.price.per_1m_output_tokens: "0.0000001" is not a whole number',
    'models.lost.upstream: there is no upstream "nowhere"',
    'models.strange.family: unknown family "unheard"',
    'models.priceless.price: missing',
    'models.half.price: the family openai-chat needs per_1m_output_tokens',
    'models.tiered.price.per_image: the family openai-chat has no tiers: give one amount',
  ]
  const [text, document] = await Promise.all([
    run('config check --config wrong.ts'),
    run('config check --config wrong.ts --json'),
  ])
  expect(text).toMatchObject({ code: 1, stdout: '' })
  for (const fault of faults) expect(text.stderr).toContain(fault)
  expect(document.code).toBe(1)
  expect(JSON.parse(document.stdout)).toMatchObject({
    ok: false,
    faults: faults.map((fault) => expect.stringContaining(fault)),
    models: [],
  })
})

test('flags take precedence over the environment, and the sandbox has its own directory', async () => {
  const names = async (words: string[], env: Record<string, string> = {}): Promise<string[]> => {
    const { stdout } = await call(['balance', 'show', '--json', ...words], { env })
    return JSON.parse(stdout).map((each: Json) => each.account)
  }
  const byFlag = join(folder, 'by-flag')
  const byEnvironment = join(folder, 'by-environment')
  await Promise.all([
    run('keys create flagged', byFlag),
    run('keys create surrounded', byEnvironment),
    call(['keys', 'create', 'real']),
    call(['keys', 'create', 'simulated', '--sandbox']),
  ])
  const env = { GATEWAY_DATA_DIR: byEnvironment }
  expect(await names(['--data-dir', byFlag], env)).toEqual(['flagged'])
  expect(await names([], env)).toEqual(['surrounded'])
  expect(await names([])).toEqual(['real'])
  // A database with real money is not queried for simulated money.
  expect(await names(['--sandbox'], { GATEWAY_DATABASE_URL: 'postgres://127.0.0.1:1/none' })).toEqual([
    'simulated',
  ])
  if (process.platform === 'linux') expect(existsSync(join(folder, 'share', 'gateway-sandbox'))).toBe(true)
  const elsewhere = { cwd: temporaryFolder(), env: { GATEWAY_CONFIG: configFile } }
  const checked = await call(['config', 'check', '--json'], elsewhere)
  expect(JSON.parse(checked.stdout).file).toBe(configFile)
})

test('the same commands on PostgreSQL', async () => {
  const env = { GATEWAY_DATABASE_URL: await postgresUrl() }
  const at = async (line: string): Promise<Json> => {
    const { stdout, stderr, code } = await call([...line.split(' '), '--json', '--data-dir', dataDir], {
      env,
    })
    expect({ line, code, stderr: stderr.replace(WRITTEN, '') }).toEqual({ line, code: 0, stderr: '' })
    return JSON.parse(stdout)
  }
  await at('keys create alice --balance 5 --budget 1 --per day')
  await at('balance adjust alice -1.50 --note why')
  expect(await at('balance show alice')).toMatchObject({ available_usd: '3.50' })
  expect(await at('balance ledger alice')).toHaveLength(2)
  expect(await at('keys show alice')).toMatchObject({ budget_used_usd: '0.00' })
  expect(await at('usage --by key')).toMatchObject({ rows: [], total: { requests: 0 } })
  expect(await at('balance verify')).toMatchObject({ ok: true, books: { accounts_usd: '3.50' } })
  const examined = await call(['doctor', '--json', '--data-dir', dataDir], { env })
  const engine = JSON.parse(examined.stdout).findings.find((each: Json) => each.check === 'database engine')
  expect(engine).toMatchObject({ state: 'ok', found: expect.stringMatching(/^PostgreSQL \d+/) })
})

test('only a terminal gets colour and fitted lines', async () => {
  const many = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [`model-number-${index}`, config.models.chat]),
  )
  writeFileSync(join(folder, 'many.ts'), `export default ${JSON.stringify({ ...config, models: many })}`)
  const words = ['config', 'check', '--config', 'many.ts']
  const [coloured, plain, piped] = await Promise.all([
    onTerminal(words),
    onTerminal(words, { NO_COLOR: '1' }),
    call(words),
  ])
  expect(coloured).toContain('\u001b[')
  expect(plain).not.toContain('\u001b[')
  for (const line of plain.split(/\r?\n/)) expect(line.length).toBeLessThanOrEqual(80)
  expect(plain).toContain('model-number-29')
  expect(piped.stdout).not.toContain('\u001b[')
  expect(piped.stdout.trimEnd().split('\n')).toHaveLength(3)
})

test('a reader that closes early is not an error', async () => {
  const data = join(folder, 'money')
  const db = openSqlite(join(data, 'gateway.sqlite'))
  await db.batch(
    Array.from({ length: 3_000 }, (_, index) => ({
      sql: `insert into transfers (id, at, kind, from_book, to_book, amount) values ($1, 1, 'credit', 'funding', 'account:alice', 1)`,
      parameters: [`many_${index}`],
    })),
  )
  await db.close()
  const program = PROGRAM.map((word) => `'${word}'`).join(' ')
  const line = `${program} balance ledger alice --csv --data-dir '${data}' | head -n 1`
  const child = Bun.spawn(['sh', '-c', line], {
    cwd: folder,
    env: environment(),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  expect(await new Response(child.stdout).text()).toContain('balance_after_usd')
  expect(await new Response(child.stderr).text()).toBe('')
})

test('a database locked by another process is reported in one clear line', async () => {
  const ran = await refusedByLock
  expect(ran).toMatchObject({ code: 1, stdout: '' })
  expect(ran.stderr).toMatch(/^The database .* locked.*\n$/)
})
