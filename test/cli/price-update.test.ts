// `gateway prices update`: a newer list is shown first, adopted only on the operator's command and only without faults, and can be
// reverted. A broken, huge or hostile list changes nothing.

import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../support/databases/databases'
import { createCommandLine } from '../support/processes/command-line'
import type { Json } from '../support/scenario'

setDefaultTimeout(120_000)

const folder = temporaryFolder()
const dataDir = join(folder, 'data')
const { call } = createCommandLine(folder, dataDir)
const file = join(folder, 'groq.json')
const taken = join(dataDir, 'prices', 'groq.json')

writeFileSync(
  join(folder, 'gateway.config.json'),
  JSON.stringify({
    upstreams: { groq: { kind: 'groq', apiKey: 'gsk-for-this-test', listed: true } },
    models: {},
  }),
)

const model = (input: string) => ({
  family: ['openai-chat'],
  contextTokens: 1_000,
  price: { per_1m_input_tokens: input, per_1m_output_tokens: '2.00' },
})
const list = (models: object, more: object = {}) => ({
  kind: 'groq',
  source: 'this test',
  fetchedAt: '2026-11-24',
  models,
  ends: {},
  refused: {},
  ...more,
})

const update = (...flags: string[]) => call(['prices', 'update', '--data-dir', dataDir, ...flags])
const write = (value: object | string) =>
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value))

/** The price of a model as `models list` says it; undefined if it is not listed. */
async function priceOf(id: string): Promise<string | undefined> {
  const { stdout } = await call(['models', 'list', '--json', '--data-dir', dataDir])
  const found = (JSON.parse(stdout) as Json[]).find((each) => each.id === id)
  return (found?.price as Record<string, string> | undefined)?.per_1m_input_tokens
}

describe('gateway prices update', () => {
  test('shows what would change and writes nothing without --yes', async () => {
    write(list({ 'other-model': model('0.10'), 'new-model': model('1.00') }))
    const { code, stdout, stderr } = await update('--from', file)
    expect(code).toBe(0)
    expect(stdout).toContain('groq of 2026-11-24: 2 models')
    expect(stderr).toContain('Nothing was written')
    expect(existsSync(taken)).toBe(false)
    expect(await priceOf('new-model')).toBeUndefined()
  })

  test('adopts a list, and reverts it step by step', async () => {
    expect((await update('--from', file, '--yes')).code).toBe(0)
    expect(await priceOf('new-model')).toBe('1.00')
    write(list({ 'new-model': model('1.50') }))
    const { stdout } = await update('--from', file, '--yes')
    expect(stdout).toContain('per_1m_input_tokens 1.00')
    expect(stdout).toContain('per_1m_input_tokens 1.50')
    expect(await priceOf('new-model')).toBe('1.50')
    expect((await update('--undo', 'groq')).code).toBe(0)
    expect(await priceOf('new-model')).toBe('1.00')
    expect((await update('--undo', 'groq')).code).toBe(0)
    expect(await priceOf('new-model')).toBeUndefined()
    // The list that ships.
    expect(await priceOf('openai/gpt-oss-120b')).toBeDefined()
    const { code, stderr } = await update('--undo', 'groq')
    expect(code).toBe(1)
    expect(stderr).toContain('No list of the kind groq was taken')
  })

  test('refuses a price that changes too much, unless the operator confirms it', async () => {
    write(list({ 'a-model': model('1.00') }))
    await update('--from', file, '--yes')
    for (const [price, words] of [
      ['3.01', 'groq/a-model: per_1m_input_tokens was 1.00 and is 3.01'],
      ['0', 'groq/a-model: per_1m_input_tokens was 1.00 and is 0'],
    ] as const) {
      write(list({ 'a-model': model(price) }))
      const { code, stderr } = await update('--from', file, '--yes')
      expect(code).toBe(1)
      expect(stderr).toContain(words)
      expect(await priceOf('a-model')).toBe('1.00')
    }
    expect((await update('--from', file, '--yes', '--accept-leaps')).code).toBe(0)
    expect(await priceOf('a-model')).toBe('0.00')
    await update('--undo', 'groq')
    await update('--undo', 'groq')
  })

  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  const good = JSON.stringify(list({ 'a-model': model('1.00') }))
  const hostile: Record<string, string> = {
    'not JSON': '{"kind": ',
    'another document': '{"object":"list","data":[]}',
    'a deep document': deep,
    'an unknown kind': good.replace('"groq"', '"nobody"'),
    'a number for a price': good.replace('"1.00"', '1.00'),
    'a negative price': good.replace('"1.00"', '"-1.00"'),
    'a price that is not a number': good.replace('"1.00"', '"NaN"'),
    'a number that JSON does not have': good.replace('"1.00"', 'NaN'),
    'a huge price': good.replace('"1.00"', '"1e400"'),
    'a number outside the range of doubles': good.replace('1000', '1e400'),
    'a price that is too fine': good.replace('"1.00"', '"0.0000000000001"'),
    'a missing price': good.replace('"per_1m_input_tokens":"1.00",', ''),
    'an unknown price': good.replace('per_1m_output_tokens', 'per_song'),
    'an unknown setting': good.replace('contextTokens', 'upstreamModels'),
    'an unknown family': good.replace('openai-chat', 'nobody-chat'),
    'the name of a prototype': good.replace('a-model', '__proto__'),
    'a prototype in a model': good.replace('"contextTokens":1000', '"__proto__":{"free":true}'),
    'a prototype of the document': good.replace('"kind"', '"__proto__":{"models":{}},"kind"'),
    'a name with a blank': good.replace('a-model', 'a model'),
    'one name twice': good.replace('"models":{', '"models":{"a-model":{},'),
    'two names of one id': good.replace('"models":{', `"models":{"A-Model":${JSON.stringify(model('9'))},`),
    'an invalid day': good.replace('2026-11-24', '2026-13-24'),
    'a text that is larger than a list may be': `${good}${' '.repeat(17 * 1024 * 1024)}`,
  }
  for (const [what, text] of Object.entries(hostile)) {
    test(`refuses ${what}`, async () => {
      write(text)
      const { code, stderr } = await update('--from', file, '--yes', '--accept-leaps')
      expect(code).toBe(1)
      expect(stderr).toContain('is not taken')
      expect(stderr).not.toContain('    at ')
      expect(existsSync(taken)).toBe(false)
    })
  }

  test('refuses a gigabyte without reading it', async () => {
    const huge = join(folder, 'huge.json')
    writeFileSync(huge, good)
    truncateSync(huge, 1024 ** 3)
    const { code, stderr } = await update('--from', huge, '--yes')
    expect([code, stderr]).toEqual([1, `${huge} is not taken: it has more than 16 MiB.\n`])
    expect(existsSync(taken)).toBe(false)
  })

  test('reads an address, up to the maximum size of a list', async () => {
    let sent = 0
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: ({ url }) => {
        if (url.endsWith('/list')) return new Response(good)
        if (url.endsWith('/gone')) return new Response('no', { status: 404 })
        return new Response(
          new ReadableStream({
            async pull(controller) {
              sent += 65_536
              if (sent > 1024 ** 3) controller.close()
              else controller.enqueue(new Uint8Array(65_536).fill(32))
            },
          }),
        )
      },
    })
    const at = (path: string) => `http://127.0.0.1:${server.port}/${path}`
    try {
      expect((await update('--from', at('list'), '--json')).stdout).toContain('"a-model"')
      expect((await update('--from', at('gone'), '--yes')).stderr).toContain('HTTP 404')
      expect((await update('--from', at('endless'), '--yes')).stderr).toContain('more than 16 MiB')
      expect(sent).toBeLessThan(256 * 1024 * 1024)
    } finally {
      await server.stop(true)
    }
  })

  test('reports a damaged adopted list', async () => {
    write(good)
    await update('--from', file, '--yes')
    writeFileSync(taken, readFileSync(taken, 'utf8').slice(0, 50))
    const { code, stderr } = await call(['models', 'list', '--data-dir', dataDir])
    expect(code).toBe(1)
    expect(stderr).toContain('gateway prices update --undo groq')
    expect((await update('--undo', 'groq')).code).toBe(0)
    expect((await call(['models', 'list', '--data-dir', dataDir])).code).toBe(0)
  })
})

afterAll(() => {
  expect(existsSync(taken)).toBe(false)
})
