// gateway import as a shell sees it: what is found in databases of other gateways, that it is imported once, and that an imported
// key calls models with the official SDK and pays for them.

import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import { openSource, type SourceRow } from '../../cli/import/source'
import { startSandbox } from '../../sandbox'
import { startServer } from '../../src/app/server'
import { balanceOf } from '../../src/billing/ledger/balances'
import { audit } from '../../src/billing/proofs/audit'
import { type Config, faultsOf } from '../../src/config/schema'
import { databaseKinds, postgresUrl, temporaryFolder } from '../support/databases/databases'
import { dumpMysql, hasMariadb } from '../support/databases/mariadb'
import {
  emptyDatabase,
  litellmConfig,
  litellmPrices,
  makeLitellm,
  makeOneApi,
  runAll,
  type TheirDatabase,
  theirCode,
  theirSecrets,
  tokensOfGroups,
} from '../support/databases/other-gateways'
import { createCommandLine } from '../support/processes/command-line'
import { rejection } from '../support/rejection'
import type { Json } from '../support/scenario'

setDefaultTimeout(240_000)

const sandbox = startSandbox({ anyModel: true })
afterAll(() => sandbox.stop())
/** As their channels write it: without the path of the version. */
const base = sandbox.baseUrls.openai.replace(/\/v1$/, '')

/** Databases of other gateways; that of MySQL only where its server can be had. */
const hasPostgres = databaseKinds.includes('postgres')
const hasMysql = hasPostgres && (await hasMariadb())
const theirKinds: readonly TheirDatabase[] = hasMysql ? [...databaseKinds, 'mysql'] : databaseKinds
if (!hasMysql)
  test.skip('from MySQL (skipped: there is no MariaDB here, or these are the quick tests)', () => {})

/** A folder with commands on a database of a kind. */
async function place(kind: 'sqlite' | 'postgres') {
  const folder = temporaryFolder()
  const database = kind === 'postgres' ? await postgresUrl() : undefined
  const { call, environment } = createCommandLine(folder)
  const dataDir = join(folder, 'data')
  const env = environment({
    RESEARCH_KEY: sandbox.secrets.openai,
    ...(database && { GATEWAY_DATABASE_URL: database }),
  })
  const run = (...words: string[]) => call([...words, '--data-dir', dataDir], { env })
  return {
    folder,
    dataDir,
    database,
    run,
    async json(...words: string[]): Promise<Json> {
      const { code, stdout, stderr } = await run(...words, '--json')
      expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
      return JSON.parse(stdout)
    },
  }
}

/** The configuration that was written, with keys of the sandbox in its variables. */
async function configOf(file: string, variables: readonly string[]): Promise<Config> {
  const before = { ...process.env }
  for (const name of variables) process.env[name] = sandbox.secrets.openai
  try {
    return (await import(file)).default
  } finally {
    for (const name of variables) {
      if (before[name] === undefined) delete process.env[name]
      else process.env[name] = before[name]
    }
  }
}

/**
 * Calls a model with the official SDK at a gateway with the written configuration. Returns the balance of the account afterwards.
 */
async function callAs(
  secret: string,
  model: string,
  { config, dataDir, account }: { config: Config; dataDir: string; account: string },
): Promise<number> {
  const server = await startServer({ config, dataDir, placeOf: () => ({ hostname: '127.0.0.1', port: 0 }) })
  try {
    const client = new OpenAI({ apiKey: secret, baseURL: `${server.url}/v1`, maxRetries: 0 })
    const answer = await client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'Hi' }],
    })
    expect(answer.choices[0]?.message.content).toBeTruthy()
    const { db, now } = server.world
    expect((await audit(db, now())).problems).toEqual([])
    return (await balanceOf(db, account))?.balanceNano ?? -1
  } finally {
    await server.stop(0)
  }
}

/** Redeems a code twice, and a wrong one, by HTTP. Returns the statuses. */
async function redeemAs(
  secret: string,
  code: string,
  { config, dataDir }: { config: Config; dataDir: string },
): Promise<number[]> {
  const server = await startServer({ config, dataDir, placeOf: () => ({ hostname: '127.0.0.1', port: 0 }) })
  try {
    const statuses: number[] = []
    for (const text of [code, code, 'c'.repeat(32)]) {
      const { status } = await fetch(`${server.url}/v1/codes/redeem`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({ code: text }),
      })
      statuses.push(status)
    }
    return statuses
  } finally {
    await server.stop(0)
  }
}

async function statusOf(call: Promise<unknown>): Promise<unknown> {
  return call.catch(({ status }) => status)
}

/** Accounts, keys and the parts that are not imported, of both databases, which only differ in columns. */
function expectFound(looked: Json, flavor = 'one-api'): void {
  // The remainder of subscriptions, which New API has.
  const [alice, debtor] = flavor === 'new-api' ? ['17.469134', '0.80'] : ['2.469134', '0.00']
  expect(looked.accounts).toEqual([
    { name: 'alice', state: 'new', balance_usd: alice, frozen: false, plan: 'vip' },
    { name: 'Bob-Muller', state: 'new', balance_usd: '1.00', frozen: true, plan: 'default' },
    { name: 'debtor', state: 'new', balance_usd: debtor, frozen: false, plan: 'default' },
  ])
  expect(looked.keys.map(({ name, paused }: Json) => `${name} ${paused}`)).toEqual([
    'alice.laptop false',
    'alice.token-2 false',
    'alice.token-3 true',
    'Bob-Muller.token-4 false',
    'alice.token-6 false',
    'alice.token-7 true',
  ])
  const left = looked.left_behind.map(({ what, why }: Json) => `${what}: ${why}`).join('\n')
  for (const words of [
    'user gone: was deleted',
    'user debtor: owes money',
    'token token 5 of user 3: its user is not carried over',
    'key alice.token-2: may use models that are not carried over: dall-e-3',
    'token token 3 of alice: has used all that it may: it is paused',
    'model dall-e-3 of channel Main OpenAI: is paid in another way',
    'model never-priced: its price is neither',
    'model half-priced: its price of input is there, its completion ratio neither there nor in the',
    'model below-nothing: its ratios there are not a price',
    '1 redemption code: redeemed',
    'redemption code 3: is not of 32',
    'redemption code 4: is worth no amount',
    'channel asleep: is switched off',
    'channel draws: its type',
    'channel best: does not serve all groups that have these models, so it is not used for them: gpt-4.1-mini',
    'group default: shares no channel with other groups for these models, so its callers ask for other names: apart is default/apart',
    ...(flavor === 'new-api'
      ? [
          'subscription Pro of alice: what is left of it, $15.00, is credited and does not end here; there it ends on 2096-10-02. Plan pro gives its $20.00 of each month, and nobody has it yet: gateway accounts update alice --plan pro',
          'subscription Once of debtor: what is left of it, $0.80, is credited and does not end here; there it ends on 2096-10-02',
        ]
      : []),
  ])
    expect(left).toContain(words)
  expect(left).not.toContain('the configuration')
  expect(left.match(/^subscription/gm)?.length ?? 0).toBe(flavor === 'new-api' ? 2 : 0)
}

/** Models with their prices, shares and routes. */
function expectModels(config: Config, flavor: string): void {
  expect(config.models).toMatchObject({
    'gpt-4.1-mini': { route: ['gpt-4.1-mini:1', 'gpt-4.1-mini:2'] },
    'gpt-4.1-mini:1': {
      upstream: { 'main-openai': 3, spare: 1 },
      upstreamModel: 'gpt-4.1-mini',
      price: {
        per_1m_input_tokens: '0.40',
        per_1m_output_tokens: '1.60',
        ...(flavor === 'new-api' && { per_1m_cached_input_tokens: '0.10' }),
      },
    },
    'gpt-4.1-mini:2': { upstream: 'last' },
    'best-chat': { price: { per_1m_input_tokens: '0.60', per_1m_output_tokens: '3.00' } },
    'text-embedding-3-small': { family: 'openai-embeddings' },
    apart: { upstream: 'best' },
    'default/apart': { upstream: 'cheap' },
    'llama-at-home': { upstream: 'home', free: true },
  })
  expect(config.aliases).toEqual({ 'Best-Chat': 'best-chat' })
  const all = ['best-chat', 'gpt-4.1-mini', 'text-embedding-3-small']
  const vip = { priceFactor: '0.8', models: [...all, 'apart', 'vip-only'].sort() }
  expect(config.plans).toEqual({
    vip,
    default: { models: [...all, 'default/apart', 'llama-at-home'].sort() },
    ...(flavor === 'new-api' && { pro: { ...vip, allowance: { usd: '20.00', per: 'month' } } }),
  })
}

/** Secrets of keys that are paused, frozen, deleted, mistyped or not imported. */
async function expectRefused(server: Parameters<typeof callAs>[2]): Promise<void> {
  for (const [secret, status] of [
    [theirSecrets.spent, 403],
    [theirSecrets.disabled, 403],
    [theirSecrets.bob, 403],
    [theirSecrets.gone, 401],
    [`${theirSecrets.alice}x`, 401],
    [theirSecrets.gone.slice('sk-'.length), 401],
  ] as const)
    expect(await statusOf(callAs(secret, 'Best-Chat', server))).toBe(status)
}

/** The environment file has the keys, for its owner only. Returns the text of the configuration, which has none. */
function expectWritten(configFile: string, envFile: string): string {
  const text = readFileSync(configFile, 'utf8')
  expect(text).not.toContain('sk-vendor')
  expect(readFileSync(envFile, 'utf8')).toBe(
    'MAIN_OPENAI_KEY_1=sk-vendor-1\nMAIN_OPENAI_KEY_2=sk-vendor-2\nSPARE_KEY=sk-vendor\nLAST_KEY=sk-vendor\nBEST_KEY=sk-vendor\nCHEAP_KEY=sk-vendor\nHOME_KEY=sk-vendor\n',
  )
  expect(statSync(envFile).mode & 0o777).toBe(0o600)
  return text
}

/** Imports twice, where the second import changes nothing, and checks the result. Returns the second report. */
async function carryTwice(
  json: (...words: string[]) => Promise<Json>,
  words: readonly string[],
): Promise<Json> {
  const done = await json(...words, '--yes')
  expect(done).toMatchObject({ done: true })
  const shown = await json('accounts', 'list')
  const again = await json(...words, '--yes')
  expect(
    again.accounts
      .concat(again.keys)
      .map(({ name, state }: Json) => `${name} ${state}`)
      .slice(0, 2),
  ).toEqual(['alice carried', 'Bob-Muller carried'])
  expect(again.keys.every(({ state }: Json) => state === 'carried')).toBe(true)
  expect(await json('accounts', 'list')).toEqual(shown)
  expect(await json('keys', 'show', 'alice.token-2')).toMatchObject({
    account: 'alice',
    models: ['best-chat'],
    addresses: ['10.0.0.0/8', '127.0.0.1/32'],
    budget_usd: '0.50',
    budget_period: 'month',
    expires_at: '2096-10-02T07:06:40.000Z',
    hint: 'sk-Cd4…4Cd4',
  })
  expect(await json('accounts', 'show', 'alice')).toMatchObject({ note: 'e-mail alice@example.com' })
  expect(await json('accounts', 'show', 'Bob-Muller')).toMatchObject({ display_name: 'Bob Müller' })
  return again
}

for (const flavor of ['one-api', 'new-api'] as const) {
  for (const kind of theirKinds) {
    test(`${flavor} on ${kind} is imported once, and its keys continue to work`, async () => {
      const theirs = await makeOneApi(kind, flavor, base)
      const { folder, dataDir, database, run, json } = await place(kind === 'mysql' ? 'sqlite' : kind)
      const [configFile, envFile] = [join(folder, 'moved.config.ts'), join(folder, 'upstreams.env')]
      const words = ['import', flavor, theirs]
      const looked = await json(...words, '--write-config', configFile, '--write-env', envFile)
      expect(looked.done).toBe(false)
      expect(await json('accounts', 'list')).toEqual([])
      expectFound(looked, flavor)
      const hasLeft = JSON.stringify(looked.left_behind).includes(
        'keys that are switched off there are not carried: 1',
      )
      expect(hasLeft).toBe(flavor === 'new-api')

      const again = await carryTwice(json, words)
      expect(looked.codes).toEqual([{ hint: '…8950e', state: 'new', amount_usd: '2.00', note: 'gift 1' }])
      expect(again.codes).toMatchObject([{ state: 'carried' }])
      expect(JSON.stringify([looked, again])).not.toContain(theirCode)

      const keys: Json[] = await json('keys', 'list')
      expect(keys).toHaveLength(6)
      const lasting = keys.find(({ name }) => name === 'alice.token-6')
      expect(lasting).toMatchObject({ expires_at: null, created_at: expect.stringMatching(/^2\d{3}-/) })

      const text = expectWritten(configFile, envFile)
      const variables = [
        'MAIN_OPENAI_KEY_1',
        'MAIN_OPENAI_KEY_2',
        'SPARE_KEY',
        'LAST_KEY',
        'BEST_KEY',
        'CHEAP_KEY',
      ]
      const config = { ...(await configOf(configFile, variables)), ...(database && { database }) }
      expect(faultsOf(config)).toEqual([])
      expectModels(config, flavor)
      const server = { config, dataDir, account: 'alice' }
      const left1 = await callAs(theirSecrets.alice, 'Best-Chat', server)
      expect(left1).toBeLessThan(flavor === 'new-api' ? 17_469_134_000 : 2_469_134_000)
      // Their gateway also accepts its keys without `sk-`.
      expect(await redeemAs(theirSecrets.alice, theirCode, server)).toEqual([200, 409, 404])
      const left2 = await callAs(theirSecrets.limited.slice('sk-'.length), 'Best-Chat', server)
      expect(left2 - left1).toBeWithin(1_990_000_000, 2_000_000_000)
      await expectRefused(server)
      const table = await run('import', flavor, theirs)
      expect(table.stdout).toContain('NOT IMPORTED')
      expect(table.stderr).toContain('Nothing was changed')
      expect(table.stdout + table.stderr + text).not.toContain(theirSecrets.alice.slice(10))
    })
  }
}

test.each(databaseKinds)('a key with absurd figures does not hide others, on %s', async (kind) => {
  const { dataDir, database, run, json } = await place(kind)
  for (const name of ['odd', 'usual']) await json('keys', 'create', name)
  // As it may have been imported by an earlier version.
  const most = '9223372036854775807'
  await runAll(database ?? join(dataDir, 'gateway.sqlite'), [
    `update keys set expires_at = ${most}, paused_at = ${most}, tokens_per_minute = ${most}, budget = ${most},
      budget_period = 'day' where name = 'odd'`,
  ])
  const listed: Json[] = await json('keys', 'list')
  expect(listed.map(({ name }) => name).sort()).toEqual(['odd', 'usual'])
  expect(listed.find(({ name }) => name === 'odd')).toMatchObject({ expires_at: '9999-12-31T23:59:59.999Z' })
  expect((await run('keys', 'list')).stdout).toContain('usual')
  expect(await json('keys', 'update', 'odd', '--expires', '1d', '--tpm', '7')).toMatchObject({
    tokens_per_minute: 7,
    expires_at: expect.not.stringContaining('9999'),
  })
})

test('tokens of other groups get their models, and pay the highest price of an account', async () => {
  const theirs = await makeOneApi('sqlite', 'new-api', base)
  await runAll(theirs, [
    ...tokensOfGroups,
    `insert into options values ('AutoGroups', '["default","vip"]'), ('GroupGroupRatio', '{"default":{"vip":1.5}}')`,
  ])
  const { folder, dataDir, json } = await place('sqlite')
  const configFile = join(folder, 'moved.config.ts')
  const done = await json('import', 'new-api', theirs, '--yes', '--write-config', configFile)
  const left = done.left_behind.map(({ what, why }: Json) => `${what}: ${why}`)
  expect(left).toContain(
    'account debtor: its keys are of groups that pay different prices for the same models: here all pay the highest',
  )
  expect(left).toContain(
    'key debtor.of-cheap: is refused there, because its user may not use its group: it is paused',
  )
  const shared = ['best-chat', 'gpt-4.1-mini', 'text-embedding-3-small']
  const config = await configOf(configFile, [
    'MAIN_OPENAI_KEY_1',
    'MAIN_OPENAI_KEY_2',
    'SPARE_KEY',
    'LAST_KEY',
    'BEST_KEY',
    'CHEAP_KEY',
  ])
  expect(faultsOf(config)).toEqual([])
  expect(config.plans?.['vip-default']).toEqual({
    priceFactor: '1.5',
    priceFactors: { 'default/apart': '1', 'llama-at-home': '1' },
  })
  const models = async (name: string) => (await json('keys', 'show', name)).models
  expect(await models('debtor.of-vip')).toEqual([...shared, 'apart', 'vip-only'].sort())
  expect(await models('debtor.of-auto')).toEqual(
    [...shared, 'default/apart', 'llama-at-home', 'vip-only'].sort(),
  )
  expect(await json('keys', 'show', 'debtor.of-cheap')).toMatchObject({ status: 'paused', models: [] })
  const server = { config, dataDir, account: 'debtor' }
  const unknown = await callAs(theirSecrets.eitherGroup, 'apart', server).catch(({ code }) => code)
  expect(unknown).toBe('model_not_found')
  // $0.80 are left of a subscription.
  expect(await callAs(theirSecrets.otherGroup, 'vip-only', server)).toBeLessThan(800_000_000)
})

test('LiteLLM is imported by the hashes of its keys, with the remaining budgets', async () => {
  const theirs = await makeLitellm()
  const { folder, dataDir, json } = await place('sqlite')
  const [yaml, prices] = [join(folder, 'config.yaml'), join(folder, 'prices.json')]
  writeFileSync(yaml, litellmConfig(sandbox.baseUrls.openai))
  writeFileSync(prices, litellmPrices)
  const configFile = join(folder, 'moved.config.ts')
  const words = ['import', 'litellm', theirs, '--models', yaml, '--prices', prices]
  const done = await json(...words, '--yes', '--write-config', configFile)
  const accounts = done.accounts.map(({ name, balance_usd: usd }: Json) => `${name} ${usd}`)
  expect(accounts.sort()).toEqual(['Dave 2.00', 'Research 87.654321099', 'carol@example.com 3.50'])
  const left = done.left_behind.map(({ what, why }: Json) => `${what}: ${why}`).join('\n')
  for (const text of [
    'model unknown: its provider sagemaker is not known',
    'model openai/*: a star matches many models',
    'model hidden of the database: its settings are encrypted',
    'model odd: its price there cannot be carried: output_cost_per_image has no unit here',
    'model hidden-key: its credential stored is not in the file: in the database it is encrypted',
    'is a session of the dashboard',
    'key research-main: may use models that are not carried over: no such',
    'account carol@example.com: its budget is renewed each 30d there: what is left is credited, and plan allowance-5.00-month, which nobody has yet, gives as much: gateway accounts update carol@example.com --plan allowance-5.00-month',
    'team Research: its 2 keys share its limits there: here each of them may use as much',
    'organization Company: its teams may spend $1000 together there',
    'project Secret: the budget that its keys share there is not carried',
    '1 end users: their budgets, models and blocks are not carried',
    'fallbacks of best: long: tried there only for long prompts or after a filter, here after errors too',
  ])
    expect(left).toContain(text)
  await expectLitellmKeys(json)
  expect((await json(...words, '--yes')).keys.every(({ state }: Json) => state === 'carried')).toBe(true)
  const config = await configOf(configFile, ['RESEARCH_KEY', 'OPENAI_2_KEY'])
  expect(faultsOf(config)).toEqual([])
  expectLitellmModels(config)
  const server = { config, dataDir, account: 'Research' }
  expect(await callAs(theirSecrets.alice, 'good', server)).toBeLessThan(87_654_321_099)
  expect(await statusOf(callAs(theirSecrets.bob, 'best', server))).toBe(403)
  expect(await statusOf(callAs(theirSecrets.disabled, 'best', server))).toBe(403)
})

/** Keys with the lowest of the limits that applied to them. */
async function expectLitellmKeys(json: (...words: string[]) => Promise<Json>): Promise<void> {
  expect(await json('keys', 'show', 'research-main')).toMatchObject({
    account: 'Research',
    models: ['best'],
    requests_per_minute: 50,
    tokens_per_minute: 900,
    budget_usd: '10.00',
    budget_period: 'week',
    hint: 'sk-…b3Ab',
  })
  expect(await json('keys', 'show', 'lasting')).toMatchObject({
    status: 'active',
    requests_per_minute: null,
    budget_usd: null,
    expires_at: null,
  })
  expect(await json('keys', 'show', 'of-tier')).toMatchObject({
    models: ['by-file'],
    requests_per_minute: 30,
    tokens_per_minute: 5_000,
    concurrency: 2,
    budget_usd: '8.00',
    budget_period: 'week',
  })
  expect(await json('keys', 'show', 'of-member')).toMatchObject({
    account: 'Research',
    models: ['best'],
    requests_per_minute: 20,
    budget_usd: '2.00',
    budget_period: 'month',
  })
  expect(await json('keys', 'show', 'of-project')).toMatchObject({ status: 'paused', models: ['best'] })
  expect(await json('accounts', 'show', 'Dave')).toMatchObject({ note: 'e-mail dave@example.com' })
}

function expectLitellmModels(config: Config): void {
  expect(config.models).toMatchObject({
    best: { route: ['best:1', 'home', 'long:1'] },
    'best:1': {
      upstream: { openai: 1, 'openai-2': 2 },
      price: { per_1m_input_tokens: '1.00', per_1m_output_tokens: '4.00' },
    },
    'built-in': { route: ['built-in:1', 'best:1'] },
    'built-in:1': { upstream: 'openai', upstreamModel: 'gpt-4.1-mini' },
    'by-file': {
      route: ['by-file:1', 'home', 'best:1'],
      fallback: { on: ['too_long', 'empty', 'filtered'] },
    },
    'by-file:1': { upstream: 'openai', price: { per_1m_input_tokens: '0.15', per_1m_output_tokens: '0.60' } },
    'long:1': {
      price: {
        per_1m_input_tokens: '1.00',
        per_1m_output_tokens: '4.00',
        above_200k: { per_1m_input_tokens: '2.00', per_1m_output_tokens: '6.00' },
      },
    },
    home: { free: true },
  })
  expect(config.aliases).toEqual({ good: 'best' })
  expect(config.plans).toEqual({ 'allowance-5.00-month': { allowance: { usd: '5.00', per: 'month' } } })
}

for (const kind of theirKinds)
  test(`data read from ${kind} is of one moment and of one database`, async () => {
    const theirs = await makeOneApi(kind, 'one-api', base)
    // Otherwise SQLite has writers wait for readers.
    if (kind === 'sqlite') await runAll(theirs, ['pragma journal_mode = wal'])
    const source = openSource(theirs)
    const users = await source.rows('users', 'id')
    // The other gateway serves on.
    await runAll(theirs, ['update users set quota = 0', 'delete from tokens'])
    expect((await source.rows('tokens', 'id')).length).toBe(7)
    expect(await source.rows('users', 'id')).toEqual(users)
    expect(await source.rows('logs', 'id')).toEqual([])
    await source.close()
    const later = openSource(theirs)
    expect(await later.rows('tokens', 'id')).toEqual([])
    await later.close()
    if (kind === 'sqlite') return
    // The tables of other databases of the server are not its own.
    const empty = openSource(await emptyDatabase(kind))
    expect((await rejection(empty.rows('users', 'id', 'needed'))).message).toContain('it has no table users')
    await empty.close()
  })

/** Rows with their values as texts: a server answers large numbers as such. */
const textsOf = (rows: readonly SourceRow[]) =>
  rows.map((row) => Object.entries(row).map(([name, value]) => `${name} ${value}`))

test.if(hasMysql)('a dump of MySQL is read as its database is', async () => {
  const theirs = await makeOneApi('mysql', 'one-api', base)
  // What ends values, rows and statements, or begins one, in a value.
  const odd = String.raw`'It\'s \\ "one"); INSERT INTO \`tokens\` VALUES (1),(2);\n-- \t\r\0\Z '''`
  await runAll(theirs, [
    `update users set display_name = ${odd} where id = 1`,
    'create table logs (id bigint, content longtext)',
    `insert into logs values (1, ${odd})`,
  ])
  const server = openSource(theirs)
  const { folder, json } = await place('sqlite')
  for (const [index, options] of [
    [],
    ['--skip-extended-insert', '--complete-insert'],
    ['--compact'],
  ].entries()) {
    const file = join(folder, `${index}.sql`)
    await dumpMysql(theirs, file, options)
    // A dump without comments does not say what it is: its own comments of a version do.
    const dump = openSource(file)
    for (const [table, orderBy] of [
      ['users', 'id'],
      ['tokens', 'id'],
      ['channels', 'id'],
      ['options', 'key'],
    ] as const)
      expect(textsOf(await dump.rows(table, orderBy, 'needed'))).toEqual(
        textsOf(await server.rows(table, orderBy)),
      )
    expect(await dump.rows('abilities', 'id')).toEqual([])
    expect((await rejection(dump.rows('abilities', 'id', 'needed'))).message).toContain(
      'it has no table abilities',
    )
    await dump.close()
  }
  await server.close()
  expectFound(await json('import', 'one-api', join(folder, '0.sql')))
})

test.if(hasPostgres)('the password of an address may be in the environment', async () => {
  const folder = temporaryFolder()
  const { call, environment } = createCommandLine(folder)
  for (const kind of theirKinds.filter((each) => each !== 'sqlite')) {
    const address = new URL(await makeOneApi(kind, 'one-api', base))
    const variable = kind === 'mysql' ? 'MYSQL_PASSWORD' : 'PGPASSWORD'
    const env = environment({ [variable]: address.password })
    address.password = ''
    const { code, stdout } = await call(['import', 'one-api', address.href, '--data-dir', folder], { env })
    expect({ kind, code }).toEqual({ kind, code: 0 })
    expect(stdout).toContain('Bob-Muller')
  }
})

test.if(hasMysql)('an address without a setting for TLS uses it if the server offers it', async () => {
  const address = new URL(await makeOneApi('mysql', 'one-api', base))
  await runAll(address.href, [
    "create user if not exists 'careful'@'%' identified by 'secret' require ssl",
    "grant select on *.* to 'careful'@'%'",
  ])
  address.username = 'careful'
  const { json, run } = await place('sqlite')
  expectFound(await json('import', 'one-api', address.href))
  address.searchParams.set('sslmode', 'disable')
  expect((await run('import', 'one-api', address.href)).stderr).toContain('Access denied')
})

test('a server that requires TLS for passwords but does not offer it is reported', async () => {
  using server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open: (socket) => void socket.write(greetingOfMysql8()),
      // To every client that signs in: the password itself, because no hash of it is known yet.
      data: (socket) => void socket.write(Uint8Array.of(2, 0, 0, 2, 1, 4)),
    },
  })
  const { run } = await place('sqlite')
  const { code, stderr } = await run('import', 'one-api', `mysql://u:canary@127.0.0.1:${server.port}/x`)
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining('?allowPublicKeyRetrieval=true'),
  })
})

/** The first packet of a server without TLS whose users sign in with `caching_sha2_password`. */
function greetingOfMysql8(): Buffer {
  // Long passwords, version 4.1, transactions, secure connection, names of plugins; no TLS.
  const abilities = 0x0008_a201
  const body = Buffer.concat([
    Buffer.from('\x0a8.0.46\0\x01\0\0\0saltsalt\0', 'latin1'),
    Buffer.of(abilities & 0xff, (abilities >> 8) & 0xff, 0x2d, 2, 0, (abilities >> 16) & 0xff, 0, 21),
    Buffer.alloc(10),
    Buffer.from('saltsaltsalt\0caching_sha2_password\0', 'latin1'),
  ])
  return Buffer.concat([Buffer.of(body.length, 0, 0, 0), body])
}

describe('a command', () => {
  test('adds nothing to a closed account, and distinguishes two gateways of one kind', async () => {
    const theirs = await makeOneApi('sqlite', 'one-api', base)
    const { run, json } = await place('sqlite')
    expect((await run('keys', 'create', 'debtor')).code).toBe(0)
    expect((await run('accounts', 'close', 'debtor', '--yes')).code).toBe(0)
    const first = await json('import', 'one-api', theirs, '--yes')
    expect(JSON.stringify(first.left_behind)).toContain('is closed here permanently')
    expect(first.accounts.map(({ name }: Json) => name)).toEqual(['alice', 'Bob-Muller'])
    // Equal names of another source are other customers, unless the operator says otherwise.
    const second = ['import', 'one-api', theirs, '--yes', '--source', 'other']
    const apart = await json(...second)
    expect(apart.accounts).toEqual([])
    expect(apart.keys).toEqual([])
    expect(JSON.stringify(apart.left_behind)).toContain(
      'account alice","why":"is here already and is not from',
    )
    expect(await json('balance', 'show', 'alice')).toMatchObject({ balance_usd: '2.469134' })
    await json(...second, '--merge')
    expect(await json('balance', 'show', 'alice')).toMatchObject({ balance_usd: '4.938268' })
    expect(JSON.stringify(await json(...second))).not.toContain('is here already')
    expect((await json('audit', '--action', 'import.run')).length).toBe(2)
  })

  test('names the fault, and shows no password', async () => {
    const { folder, run } = await place('sqlite')
    const written = (name: string, text: string) => {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    }
    const empty = written('empty.db', '')
    const table = 'CREATE TABLE `users` (\n  `id` bigint,\n  `username` text\n);\n'
    const rows: [words: string[], text: string][] = [
      [['one-api', join(folder, 'nowhere.db')], 'There is no file'],
      [['one-api', empty], 'it has no table users'],
      [['one-api', written('of-postgres.sql', '--\n-- PostgreSQL database dump\n')], 'a dump of PostgreSQL'],
      [['one-api', written('cut.sql', `-- MySQL dump\n${table}`)], 'the dump is not whole'],
      [
        ['one-api', written('torn.sql', `-- By hand\n${table}INSERT INTO \`users\` VALUES (1,\n`)],
        'not whole',
      ],
      [['one-api', written('other.sql', '-- MySQL dump\n-- Dump completed\n')], 'it has no table users'],
      [
        ['one-api', written('odd.sql', `-- By hand\n${table}INSERT INTO \`users\` VALUES (1,'a);\n`)],
        'no such values',
      ],
      [['one-api', 'postgres://u:canary@127.0.0.1:1/x'], 'database cannot be read'],
      [['one-api', 'mysql://u:canary@127.0.0.1:1/x'], 'database cannot be read'],
      [['litellm'], 'Give the address of its database'],
    ]
    for (const [words, text] of rows) {
      const { code, stdout, stderr } = await run('import', ...words)
      expect({ words, code: code > 0, stdout }).toEqual({ words, code: true, stdout: '' })
      expect(stderr).toContain(text)
      expect(stderr).not.toContain('canary')
    }
  })
})
