// The savings of vendors' prompt caches in reports of usage: exact by the prices of each charge, by every dimension, and never guessed.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { hold, settle } from '../../src/billing/ledger/ledger'
import { formatUsd } from '../../src/lib/money'
import { makeAdminToken } from '../support/browser/console-visit'
import { databaseKinds } from '../support/databases/databases'
import { makeCharge, makeSettlement } from '../support/databases/ledger-rows'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { createCommandLine } from '../support/processes/command-line'
import type { Json } from '../support/scenario'

setDefaultTimeout(120_000)

/** Pico-dollars for a token of plain input, cached input, cache writes, and output. */
const PICO = { input: 1_234_567, cached: 123_457, written: 1_500_001, output: 2_345_679 }
const usd = (picoForOne: number) => String(picoForOne / 1e6)
const price = {
  per_1m_input_tokens: usd(PICO.input),
  per_1m_cached_input_tokens: usd(PICO.cached),
  per_1m_cache_write_tokens: usd(PICO.written),
  per_1m_output_tokens: usd(PICO.output),
}
const { per_1m_cached_input_tokens: _, ...withoutCached } = price

describe.each(databaseKinds.map((kind) => [kind] as const))('savings of prompt caches on %s', (database) => {
  let gateway: TestGateway
  let bob: string
  /** Nano-dollars that each account saved with each model, as this test counts them. */
  const saved = new Map<string, bigint>()

  beforeAll(async () => {
    gateway = await startTestGateway({
      database,
      models: {
        'exact-chat': { family: 'openai-chat', upstream: 'openai', upstreamModel: 'gpt-6-mini', price },
        'exact-messages': {
          family: 'anthropic-messages',
          upstream: 'anthropic',
          upstreamModel: 'claude-haiku-4-5',
          price,
        },
        'no-cache-price': {
          family: 'openai-chat',
          upstream: 'openai',
          upstreamModel: 'gpt-6-mini',
          price: withoutCached,
        },
      },
    })
    bob = (await gateway.makeKey('bob', '10')).secret
  })
  afterAll(() => gateway.close())

  const nano = (pico: bigint) => (pico + 999n) / 1000n
  const count = (name: string, by: bigint) => saved.set(name, (saved.get(name) ?? 0n) + by)

  /** Requests a chat, and computes the savings of its cache from the usage that the caller got. */
  async function chat(model: string, words: string, more: Json = {}, headers: Record<string, string> = {}) {
    const account = headers.authorization ? 'bob' : 'alice'
    const messages = [{ role: 'user', content: `Why? [sandbox ${words}]` }]
    const response = await gateway.chat({ model, messages, max_tokens: 50, ...more }, headers)
    expect(response.status).toBe(200)
    const { usage } = (await response.json()) as Json
    const cached = BigInt(usage.prompt_tokens_details?.cached_tokens ?? 0)
    const [prompt, output] = [BigInt(usage.prompt_tokens), BigInt(usage.completion_tokens)]
    const priced = (cachedPico: number) =>
      nano(
        (prompt - cached) * BigInt(PICO.input) + cached * BigInt(cachedPico) + output * BigInt(PICO.output),
      )
    const hasPrice = model !== 'no-cache-price'
    if (hasPrice) count(`${account} ${model}`, priced(PICO.input) - priced(PICO.cached))
    return { cached }
  }

  /** Requests a message, whose usage counts plain, cached and written input separately. */
  async function message(words: string) {
    const messages = [{ role: 'user', content: `Why? [sandbox ${words}]` }]
    const response = await gateway.post('/v1/messages', { model: 'exact-messages', max_tokens: 50, messages })
    const { usage } = (await response.json()) as Json
    const each = (name: string, pico: number) => BigInt(usage[name] ?? 0) * BigInt(pico)
    const priced = (cachedPico: number) =>
      nano(
        each('input_tokens', PICO.input) +
          each('cache_read_input_tokens', cachedPico) +
          each('cache_creation_input_tokens', PICO.written) +
          each('output_tokens', PICO.output),
      )
    count('alice exact-messages', priced(PICO.input) - priced(PICO.cached))
  }

  test('are exact to the nano-dollar by account and model', async () => {
    expect((await chat('exact-chat', 'cached=1001')).cached).toBe(1001n)
    await chat('exact-chat', 'cached=7')
    await chat('exact-chat', 'tokens=3')
    await chat('exact-chat', 'cached=333', {}, { authorization: `Bearer ${bob}` })
    await chat('no-cache-price', 'cached=500')
    await message('cached=400 written=120')
    await message('tokens=5')
    await gateway.chat({
      model: 'exact-chat',
      messages: [{ role: 'user', content: '[sandbox status=500 cached=9]' }],
    })
    const token = await makeAdminToken(gateway, 'viewer')
    const usage = async (query: string) =>
      (await (
        await fetch(`${gateway.url}/admin/v1/usage?saved=true&${query}`, {
          headers: { authorization: `Bearer ${token}` },
        })
      ).json()) as Json
    const all = [...saved.values()].reduce((sum, each) => sum + each, 0n)
    const { rows, total } = await usage('by=account&and=model')
    const shown = (rows as Json[]).map(({ account, model, saved_usd }) => [`${account} ${model}`, saved_usd])
    expect(Object.fromEntries(shown)).toEqual({
      ...Object.fromEntries([...saved].map(([name, each]) => [name, formatUsd(each)])),
      'alice no-cache-price': '0.00',
    })
    expect(total).toMatchObject({ saved_usd: formatUsd(all), saved_unknown: 0 })
    for (const by of ['key', 'model', 'operation', 'day', 'hour', 'metadata.team']) {
      const each = await usage(`by=${by}`)
      expect(each.total.saved_usd).toBe(formatUsd(all))
      expect(each.rows.every((row: Json) => typeof row.saved_usd === 'string')).toBe(true)
    }
    const own = [...saved].filter(([name]) => name.startsWith('bob '))
    expect((await usage('by=key&account=bob')).total.saved_usd).toBe(formatUsd(own[0]?.[1] ?? 0n))
    const plain = await fetch(`${gateway.url}/admin/v1/usage`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(await plain.text()).not.toContain('saved')
  })

  test('of a charge whose quantities do not explain its price are counted as unknown', async () => {
    const { db, now } = gateway.server.world
    const at = now()
    const charge = makeCharge(1_000_000, {
      account: 'alice',
      createdAt: at,
      expiresAt: at + 60_000,
      pricesJson: JSON.stringify([
        { pico: { input_token: 1000, cached_input_token: 100, output_token: 1000 } },
      ]),
    })
    expect(await hold(db, charge)).toHaveProperty('held')
    const usageJson = JSON.stringify({
      prompt_tokens: 100,
      completion_tokens: 1,
      prompt_tokens_details: { cached_tokens: 50 },
    })
    await settle(db, charge, makeSettlement(77, { endedAt: at, usageJson }))
    const token = await makeAdminToken(gateway, 'viewer')
    const response = await fetch(`${gateway.url}/admin/v1/usage?saved=true&by=model`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const { rows } = (await response.json()) as Json
    expect(rows.find(({ model }: Json) => model === 'any')).toMatchObject({
      saved_usd: '0.00',
      saved_unknown: 1,
    })
  })

  if (database === 'sqlite')
    test('are a column of `gateway usage --saved`, which states how many requests are missing', async () => {
      const { run } = createCommandLine(gateway.dataDir, gateway.dataDir)
      const { stdout, stderr } = await run('usage --by account --saved')
      expect(stdout).toMatch(/^ACCOUNT .* PAID .* SAVED *$/m)
      const own = [...saved].find(([name]) => name.startsWith('bob '))?.[1] ?? 0n
      expect(stdout).toMatch(new RegExp(`^bob .* ${formatUsd(own).replace('.', '\\.')} *$`, 'm'))
      expect(stdout + stderr).toContain('SAVED does not include 1 request')
      expect((await run('usage --by account')).stdout).not.toContain('SAVED')
    })
})
