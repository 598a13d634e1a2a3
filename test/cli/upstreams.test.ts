// `gateway upstreams` and `gateway prices fetch`: connections tested by hand, and models of a vendor's list that enter the
// catalogue only from a fetched and reviewed file.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { shippedList } from '../../cli/configuration/shipped-lists'
import { tryUpstream } from '../../cli/lib/upstreams'
import builtIn from '../../gateway.config'
import { type Sandbox, startSandbox } from '../../sandbox'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { newId, randomBytes } from '../../src/app/world'
import { withListedModels } from '../../src/config/models/model-lists'
import { withVendorLists } from '../../src/config/models/vendor-lists'
import { type Config, faultsOf } from '../../src/config/schema'
import { temporaryFolder } from '../support/databases/databases'
import { say, startTestGateway } from '../support/gateway'
import { createCommandLine } from '../support/processes/command-line'
import { freePort } from '../support/processes/free-port'
import type { Json } from '../support/scenario'

setDefaultTimeout(120_000)

const folder = temporaryFolder()
const { json, run, allFail } = createCommandLine(folder)
const listFile = join(folder, 'openrouter.models.json')
let sandbox: Sandbox
let config: Json

const SECRET = 'a-key-that-nobody-may-see'

beforeAll(async () => {
  sandbox = startSandbox()
  const { baseUrls, secrets } = sandbox
  config = {
    upstreams: {
      openrouter: { kind: 'openrouter', baseUrl: baseUrls.openrouter, apiKey: secrets.openrouter },
      ollama: { kind: 'ollama', baseUrl: baseUrls.ollama, apiKey: null },
      claude: { kind: 'anthropic', baseUrl: baseUrls.anthropic, apiKey: secrets.anthropic },
      wrong: { kind: 'openai', baseUrl: baseUrls.openai, apiKey: SECRET, headers: { 'x-a': 'b' } },
      gone: {
        kind: 'openai',
        baseUrl: `http://127.0.0.1:${await freePort()}/v1?key=${SECRET}`,
        apiKey: null,
      },
      unset: { kind: 'openai' },
    },
    models: {
      'openrouter/*': { family: 'openai-chat', upstream: 'openrouter', list: 'openrouter.models.json' },
      'local/*': { family: 'openai-chat', upstream: 'ollama', list: 'ollama.models.json' },
      'openrouter/vendor/by-the-picture': {
        family: 'openai-chat',
        upstream: 'openrouter',
        upstreamModel: 'vendor/by-the-picture',
        price: { per_1m_input_tokens: '9', per_1m_output_tokens: '9' },
      },
    },
  }
  writeFileSync(join(folder, 'gateway.config.json'), JSON.stringify(config))
})
afterAll(() => sandbox.stop())

test('a missing list is a fault, except for the command that fetches it', async () => {
  const { code, stderr } = await run('config check')
  expect(code).toBe(1)
  expect(stderr).toContain(
    'models.openrouter/*.list: openrouter.models.json does not exist: `gateway prices fetch`',
  )
  const fetched = await json('prices fetch openrouter')
  expect(fetched).toMatchObject({ file: listFile, removed: [], changed: [] })
  expect(fetched.models).toEqual(fetched.added)
  expect(Object.keys(fetched.refused)).toEqual(['vendor/by-the-picture', 'openrouter/auto'])
  await json('prices fetch ollama')
  expect((await json('config check')).ok).toBe(true)
})

test('a fetched list adds models at its prices, without the refused ones', async () => {
  const models: Json[] = await json('models list')
  const byId = new Map(models.map((model) => [model.id, model]))
  expect(byId.get('openrouter/openai/gpt-4.1-mini')).toMatchObject({ available: true })
  expect(JSON.stringify(byId.get('openrouter/openai/gpt-4.1-mini'))).toContain('0.40')
  expect(byId.has('openrouter/openrouter/auto')).toBe(false)
  // Has its own entry in the configuration.
  expect(JSON.stringify(byId.get('openrouter/vendor/by-the-picture'))).toContain('9')
  expect([...byId.keys()].filter((id) => id.startsWith('local/'))).toEqual([
    'local/llama3.2:latest',
    'local/hf.co/bartowski/gemma-3:q4_k_m',
  ])
  const priced = await json('models price openrouter/anthropic/claude-sonnet-4.5 --input-tokens 1000000')
  expect(JSON.stringify(priced)).toContain('"3.0')
})

test('a changed price is shown, and takes effect only once it is in the file', async () => {
  const before = readFileSync(listFile, 'utf8')
  writeFileSync(listFile, before.replace('"0.40"', '"0.55"'))
  const { code, stdout } = await run('prices fetch openrouter')
  expect(code).toBe(0)
  expect(stdout).toContain('0 new, 0 gone, 1 changed')
  expect(stdout).toContain('0.55')
  const narrow = await json("prices fetch openrouter --only 'anthropic/*' --to one.json")
  expect(narrow.models).toEqual(['anthropic/claude-sonnet-4.5'])
  expect(narrow.refused).toEqual({})
})

test('a file that is not a list of models is never overwritten', async () => {
  const file = join(folder, 'precious.txt')
  writeFileSync(file, 'mine')
  await allFail(1, [
    ['prices fetch openrouter --to precious.txt', 'is not a list of models, and is not overwritten'],
    ['prices fetch claude', 'has no list of models with prices'],
    ['prices fetch unset', 'set OPENAI_API_KEY'],
    ['prices fetch opnrouter', 'Did you mean openrouter?'],
    ['upstreams test nobody', 'has no upstream "nobody"'],
  ])
  expect(readFileSync(file, 'utf8')).toBe('mine')
  expect(existsSync(`${file}.part`)).toBe(false)
})

test('upstreams are listed without their secrets', async () => {
  const { stdout, code } = await run('upstreams list')
  expect(code).toBe(0)
  expect(stdout).not.toContain(SECRET)
  const rows: Json[] = await json('upstreams list')
  expect(rows.map(({ name, key }) => [name, key])).toEqual([
    ['claude', 'set'],
    ['gone', 'none'],
    ['ollama', 'none'],
    ['openrouter', 'set'],
    ['unset', 'missing'],
    ['wrong', 'set'],
  ])
  expect(rows[5]).toMatchObject({ settings: ['headers'], models: 0, variable: null })
  expect(JSON.stringify(rows)).not.toContain(SECRET)
  const simulated: Json[] = await json('upstreams list --sandbox')
  expect(simulated.map(({ key, variable }) => [key, variable])).toEqual(rows.map(() => ['simulated', null]))
})

test('a failed test of an upstream reports the reason and the remedy', async () => {
  expect(await json('upstreams test openrouter')).toMatchObject({ state: 'ready', reason: null })
  expect(await json('upstreams test claude')).toMatchObject({ state: 'ready' })
  const wrong = await run('upstreams test wrong')
  expect([wrong.code, wrong.stderr]).toEqual([1, 'wrong cannot be used now.\n'])
  expect(wrong.stdout).toContain('HTTP 401: Incorrect API key provided')
  expect(wrong.stdout).toContain('Check the key: OPENAI_API_KEY')
  const { code, stdout } = await run('upstreams health --json')
  expect(code).toBe(1)
  expect(stdout).not.toContain(SECRET)
  expect((JSON.parse(stdout) as Json[]).map(({ upstream, state }) => [upstream, state])).toEqual([
    ['claude', 'ready'],
    ['gone', 'failed'],
    ['ollama', 'ready'],
    ['openrouter', 'ready'],
    ['wrong', 'failed'],
  ])
  const simulated = await run('upstreams health --sandbox')
  expect([simulated.code, simulated.stderr]).toEqual([0, ''])
})

test('the vendor reports when a model retires, and a day that the configuration lacks is shown', async () => {
  const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '1' }
  const model = (upstreamModel: string, more = {}) => ({
    family: 'openai-chat',
    upstream: 'openai',
    upstreamModel,
    price,
    ...more,
  })
  const dated = {
    upstreams: {
      openai: { kind: 'openai', baseUrl: sandbox.baseUrls.openai, apiKey: sandbox.secrets.openai },
    },
    models: {
      same: model('gpt-5', { retires: '2026-12-11' }),
      later: model('gpt-5-mini', { retires: '2026-12-01' }),
      silent: model('gpt-4o'),
      living: model('gpt-6-sol', { retires: '2027-06-01' }),
      unlisted: model('gpt-x', { retires: '2027-06-01' }),
    },
  } as Config
  expect(faultsOf(dated)).toEqual([])
  expect(await tryUpstream(dated, 'openai', {})).toMatchObject({
    state: 'ready',
    reason:
      'It retires models on other days than configured: gpt-5-mini 2026-12-11, here 2026-12-01; gpt-4o 2027-01-14, here no day; gpt-6-sol not announced, here 2027-06-01.',
    advice: 'Set `retires` of these models, or take a newer list with `gateway prices update`.',
    shutdown_dates: [
      { model: 'gpt-5-mini', configured: '2026-12-01', vendor: '2026-12-11' },
      { model: 'gpt-4o', configured: null, vendor: '2027-01-14' },
      { model: 'gpt-6-sol', configured: '2027-06-01', vendor: null },
    ],
  })
})

test('the shipped lists have the days that the vendor reports', async () => {
  const whole = withVendorLists(builtIn, shippedList).value as Config
  expect(await tryUpstream(whole, 'openai', { sandbox: true })).toMatchObject({
    state: 'ready',
    reason: null,
    shutdown_dates: [],
  })
})

test('upstreams of a remote gateway are listed and tested by that gateway, with the same output', async () => {
  const gateway = await startTestGateway({ sandbox, upstreams: config.upstreams })
  const token = makeToken(randomBytes)
  const admin = { id: newId('adm'), name: 'ada', role: 'operator', expiresAt: null, createdAt: 1 } as const
  expect(await createAdmin(gateway.server.world.db, { ...admin, token })).toBe(true)
  const there = `--server ${gateway.url} --token ${token}`
  for (const line of ['upstreams list', 'upstreams health', 'upstreams test wrong', 'upstreams test gone']) {
    const [here, elsewhere] = await Promise.all([run(`${line} --json`), run(`${line} --json ${there}`)])
    const known = Object.keys(config.upstreams)
    // A test gateway has upstreams of its own next to them.
    const rows = ({ stdout }: { stdout: string }) =>
      [JSON.parse(stdout)]
        .flat()
        .filter(({ name, upstream = name }: Json) => known.includes(upstream))
        .map((row: Json) => ({ ...row, models: 0, duration_ms: 0 }))
    expect({ line, code: elsewhere.code, rows: rows(elsewhere) }).toEqual({
      line,
      code: here.code,
      rows: rows(here),
    })
    expect(elsewhere.stdout + elsewhere.stderr).not.toContain(SECRET)
  }
  await allFail(1, [
    [`upstreams test unset ${there}`, 'The upstream unset has no key: set OPENAI_API_KEY'],
    [`upstreams test opnrouter ${there}`, 'Did you mean openrouter?'],
  ])
  await gateway.close()
})

test('every kind can be tested with its simulator', async () => {
  const { baseUrls, secrets } = sandbox
  const upstreams = Object.fromEntries(
    (Object.keys(baseUrls) as (keyof typeof baseUrls)[]).map((kind) => [
      kind,
      { kind, baseUrl: baseUrls[kind], apiKey: secrets[kind] },
    ]),
  )
  const states = await Promise.all(
    Object.keys(upstreams).map(async (name) => {
      const { state } = await tryUpstream({ upstreams, models: {} }, name, {})
      return [name, state] as const
    }),
  )
  // These have no list of models, in fact or in their simulators.
  const reached = ['dashscope', 'voyage', 'ark', 'cohere', 'fal']
  expect(Object.fromEntries(states)).toEqual(
    Object.fromEntries(states.map(([name]) => [name, reached.includes(name) ? 'reached' : 'ready'])),
  )

  // Its paths begin with a version; base URLs of older configurations end with it.
  const older = { kind: 'minimax', apiKey: secrets.minimax, baseUrl: `${baseUrls.minimax}/v1` }
  expect(await tryUpstream({ upstreams: { older }, models: {} }, 'older', {})).toMatchObject({
    state: 'ready',
  })
})

test('listed models are served, billed by the list, and others are not', async () => {
  const { value, faults } = withListedModels(config, folder)
  expect(faults).toEqual([])
  expect(faultsOf(value)).toEqual([])
  const { upstreams, models } = value as Config
  const gateway = await startTestGateway({ sandbox, upstreams, models })
  const ask = (model: string) =>
    gateway.chat({ model, messages: say('[sandbox tokens=10 prompt_tokens=100]') })
  expect((await ask('openrouter/openai/gpt-4.1-mini')).status).toBe(200)
  expect(Number((await gateway.newestCharge())?.amount)).toBe(100 * 400 + 10 * 1_600)
  expect((await ask('local/hf.co/bartowski/gemma-3:q4_k_m')).status).toBe(200)
  const unlisted = await ask('openrouter/openrouter/auto')
  expect([unlisted.status, ((await unlisted.json()) as Json).error.code]).toEqual([400, 'model_not_found'])
  await gateway.close()
})

test.each([
  ['a*b', { list: 'x.json' }, ': a star is allowed only at the end of an id'],
  ['a/*', {}, '.list: missing; an id with a star needs a list of models'],
  ['a/*', { list: 'none.json' }, '.list: none.json does not exist'],
  ['a/*', { list: 'gateway.config.json' }, '.list: gateway.config.json is not a list of models'],
  [
    'a/*',
    { list: 'openrouter.models.json', upstreamModel: 'x' },
    '.upstreamModel: the list names the models',
  ],
])('%s with %j is a fault', (id, entry, fault) => {
  const { faults, value } = withListedModels({ models: { [id]: entry } }, folder)
  expect(faults.length).toBe(1)
  expect(faults[0]).toStartWith(`models.${id}${fault}`)
  expect((value as Config).models).toEqual({})
})
