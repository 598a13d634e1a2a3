// `gateway rehearse` run from a shell: price lists of vendors, other configurations, plans and substitutes. The database and the
// admin API give the same output, and a broken or hostile file is refused before anything is read.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { newId, randomBytes } from '../../src/app/world'
import { apply } from '../../src/db/db'
import { temporaryFolder } from '../support/databases/databases'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { createCommandLine } from '../support/processes/command-line'
import type { Json } from '../support/scenario'
import { completion, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(120_000)

const folder = temporaryFolder()
const vendor = startVendor()
const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }
const chat = { family: 'openai-chat', upstream: 'openai' } as const
const models = {
  small: { ...chat, upstreamModel: 'gpt-small', price },
  large: { ...chat, upstreamModel: 'gpt-large', price: { ...price, per_1m_output_tokens: '8.00' } },
  sold: {
    ...chat,
    upstreamModel: 'gpt-sold',
    cost: price,
    price: { ...price, per_1m_output_tokens: '3.00' },
  },
  either: { route: ['small', 'large'] },
}
const plans = { gold: { priceFactor: '0.5', requestsPerMinute: 500 } }

let gateway: TestGateway
let line: ReturnType<typeof createCommandLine>
let token: string

const write = (name: string, value: object | string) => {
  writeFileSync(join(folder, name), typeof value === 'string' ? value : JSON.stringify(value))
  return name
}

beforeAll(async () => {
  vendor.answer = () => Response.json(completion('Hi', 1_000, 100))
  gateway = await startTestGateway({
    upstreams: { openai: vendor.upstream },
    models,
    config: { plans },
  })
  const { config, db } = gateway.server.world
  line = createCommandLine(folder, gateway.dataDir)
  // The configuration of the gateway, as its operator has it in a file.
  write('gateway.config.json', config)
  const bob = await gateway.makeKey('bob', '10')
  await apply(db, [
    {
      sql: `insert into account_details (name, plan) values ('bob', 'gold')
        on conflict (name) do update set plan = excluded.plan`,
    },
  ])
  token = makeToken(randomBytes)
  await createAdmin(db, {
    id: newId('adm'),
    name: 'viewer',
    role: 'viewer',
    token,
    expiresAt: null,
    createdAt: Date.now(),
  })
  // The plan of a key is read again a second later.
  await Bun.sleep(1_100)
  for (const model of ['small', 'large', 'sold']) {
    expect((await gateway.chat({ model })).status).toBe(200)
    expect((await gateway.chat({ model }, { authorization: `Bearer ${bob.secret}` })).status).toBe(200)
  }
  await gateway.server.world.requestLog.flush()
})
afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})

const list = (prices: Record<string, object>, more: object = {}) => ({
  kind: 'openai',
  source: 'this test',
  fetchedAt: '2026-11-25',
  models: Object.fromEntries(
    Object.entries(prices).map(([name, price]) => [name, { family: ['openai-chat'], price }]),
  ),
  ends: {},
  refused: {},
  ...more,
})

async function rehearse(flags: string): Promise<Json> {
  const { code, stdout, stderr } = await line.run(`rehearse ${flags} --json`)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const local = JSON.parse(stdout)
  const remote = await line.run(`rehearse ${flags} --json --server ${gateway.url} --token ${token}`)
  expect({ code: remote.code, stderr: remote.stderr }).toEqual({ code: 0, stderr: '' })
  const { until: _, since: __, ...same } = JSON.parse(remote.stdout)
  expect(local).toMatchObject(same)
  return local
}

describe('gateway rehearse', () => {
  test('the configuration in use changes no price', async () => {
    const found = await rehearse('--since 1d')
    expect(found).toMatchObject({
      total: {
        requests: 6,
        paid_usd: '0.00645',
        would_pay_usd: '0.00645',
        difference_usd: '0.00',
        refused: 0,
      },
      kept: [],
    })
    const shown = await line.run('rehearse')
    expect(shown.stdout).toMatch(/alice +3 +0\.0043 +0\.0043 +0\.0012 +0\.0001 +0\n/)
    expect(shown.stderr).toContain('The same as was paid.')
    expect(Math.max(...shown.stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80)
  })

  test('a list prices models by their names at the vendor, and a model sold with a cost keeps its price', async () => {
    const dear = { per_1m_input_tokens: '10.00', per_1m_output_tokens: '20.00' }
    const file = write('list.json', list({ 'gpt-small': dear, 'gpt-sold': dear, other: dear }))
    const { accounts } = await rehearse(`--prices ${file}`)
    // The price of `small` is ten times as high, and so is the cost of `sold`.
    expect(accounts).toMatchObject([
      { account: 'alice', would_pay_usd: '0.0151', cost_usd: '0.012', margin_usd: '-0.0107' },
      { account: 'bob', would_pay_usd: '0.00755', cost_usd: '0.012', margin_usd: '-0.01135' },
    ])
  })

  test('another configuration has its own prices, and a plan has the prices in a file', async () => {
    const other = write('other.config.json', {
      upstreams: { openai: { kind: 'openai', apiKey: 'none' } },
      models: { small: { ...models.small, price: { ...price, per_1m_input_tokens: '3.00' } } },
    })
    const { total } = await rehearse(`--prices ${other}`)
    expect(total).toMatchObject({ would_pay_usd: '0.00945', difference_usd: '0.003' })
    const plan = write('gold.yaml', `priceFactor: '0.9'\npriceFactors:\n  'l*': '1'\n`)
    const [, bob] = (await rehearse(`--plan gold=${plan}`)).accounts as Json[]
    // 0.0012 and 0.0013 times 0.9, and 0.0018 whole.
    expect(bob).toMatchObject({ account: 'bob', paid_usd: '0.00215', would_pay_usd: '0.00405' })
  })

  test('a model is priced as another one', async () => {
    const { total } = await rehearse('--route small=large,gpt-sold=small')
    expect(total).toMatchObject({ would_pay_usd: '0.0072', cost_usd: null })
    const { total: one } = await rehearse('--route small=large --model small')
    expect(one).toMatchObject({ requests: 2, paid_usd: '0.0018', would_pay_usd: '0.0027' })
  })

  test('a broken or hostile file, an unknown plan and an unknown model are refused in one line', async () => {
    const fine = list({ 'gpt-small': price })
    const rows: [string, RegExp][] = [
      ['--prices gone.json', /gone\.json does not exist/],
      [`--prices ${write('a.json', '{"kind"')}`, /a\.json has faults:\n {2}it is not JSON/],
      [`--prices ${write('b.json', { ...fine, kind: 'nobody' })}`, /no kind of upstream "nobody"/],
      [
        `--prices ${write('c.json', list({ 'gpt-small': { ...price, per_1m_input_tokens: '-1' } }))}`,
        /"-1" is not/,
      ],
      [`--prices ${write('d.json', JSON.stringify(fine).replace('"1.00"', '1e400'))}`, /per_1m_input_tokens/],
      [
        `--prices ${write('e.json', `{"__proto__":{"polluted":1},${JSON.stringify(fine).slice(1)}`)}`,
        /e\.json/,
      ],
      [`--prices ${write('f.json', '['.repeat(100_000))}`, /f\.json/],
      [
        `--prices ${write('g.config.json', { upstreams: {}, models: { x: { free: true } } })}`,
        /g\.config\.json has faults/,
      ],
      [`--prices ${write('h.json', ' '.repeat(17 * 1024 * 1024))}`, /more than 16 MiB/],
      [`--plan gold=${write('i.json', { priceFactor: '-1' })}`, /plans\.gold\.priceFactor/],
      [`--plan gold=${write('j.json', { models: ['small'] })}`, /needs priceFactor/],
      [`--plan silver=${write('k.json', { priceFactor: '1' })}`, /plans\.silver: there is no such plan/],
      ['--plan gold', /--plan takes NAME=FILE/],
      ['--route small=nothing', /nothing/],
      ['--route smal=large', /no model "smal" is configured, and it has no charges/],
      ['--route small=either', /either is a route\. Name one of its models: small, large/],
      ['--since yesterday', /--since takes/],
    ]
    for (const [flags, reason] of rows) {
      const { code, stdout, stderr } = await line.run(`rehearse ${flags}`)
      expect({ flags, code: code > 0, stdout }).toEqual({ flags, code: true, stdout: '' })
      expect(stderr).toMatch(reason)
    }
  })
})
