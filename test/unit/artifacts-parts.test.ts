// The modules that keep results: the permitted configuration, durations and sizes as text, strings in JSON text, and
// the semaphore for copies.

import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { faultsOf } from '../../src/config/schema'
import { parseBytes, parseDurationMs } from '../../src/lib/durations'
import { replaceStrings } from '../../src/lib/json/json'
import { createSemaphore } from '../../src/lib/semaphore'
import { temporaryFolder } from '../support/databases/databases'
import { createCommandLine } from '../support/processes/command-line'
import { rejection } from '../support/rejection'

const HOUR_MS = 3_600_000
const s3 = {
  bucket: 'results',
  endpoint: 'https://s3.example.com',
  region: 'eu-central-1',
  accessKeyId: 'AKIATEST',
  secretAccessKey: 'wJalrXUtnFEMI',
}

describe('faults of the configuration', () => {
  const rest = { upstreams: {}, models: {} }
  const rows: [artifacts: unknown, faults: string[], more?: object][] = [
    [{ keep: '7d' }, []],
    [{ keep: '12h', maxBytes: '500MB', s3 }, []],
    [{ keep: '7d', s3 }, [], { database: 'postgres://localhost/gateway' }],
    [{ keep: '7d' }, ['artifacts.s3: missing'], { database: 'postgres://localhost/gateway' }],
    [{}, ['artifacts.keep: ']],
    [{ keep: 7 }, ['artifacts.keep: ']],
    [{ keep: '7 days' }, ['artifacts.keep: "7 days" is not a duration such as "12h" or "7d"']],
    [{ keep: '0d' }, ['artifacts.keep: "0d" is not a duration']],
    [{ keep: '7d', maxBytes: '10' }, ['artifacts.maxBytes: "10" is not a size such as "500MB" or "10GB"']],
    [{ keep: 'x', maxBytes: '0GB' }, ['artifacts.keep: "x"', 'artifacts.maxBytes: "0GB"']],
    [{ keep: '7d', kept: true }, ['artifacts.kept: ']],
    [{ keep: '7d', s3: { ...s3, endpoint: 'minio:9000' } }, ['artifacts.s3.endpoint: ']],
    [{ keep: '7d', s3: { ...s3, prefix: '../x y' } }, ['artifacts.s3.prefix: ']],
    [
      { keep: '7d', s3: { ...s3, accessKeyId: undefined, secretAccessKey: undefined } },
      [
        'artifacts.s3.accessKeyId: missing; is its environment variable set?',
        'artifacts.s3.secretAccessKey: missing',
      ],
    ],
    [{ keep: '7d' }, ['server.publicUrl: '], { server: { publicUrl: 'ai.example.com' } }],
    [{ keep: '7d' }, ['server.publicUrl: '], { server: { publicUrl: 'https://ai.example.com?x=1' } }],
    [{ keep: '7d' }, [], { server: { publicUrl: 'https://ai.example.com:8443/gateway' } }],
  ]
  for (const [artifacts, expected, more] of rows) {
    test(`${JSON.stringify({ artifacts, ...more }).slice(0, 110)}: ${expected.length || 'none'}`, () => {
      const faults = faultsOf({ ...rest, artifacts, ...more })
      expect(faults.map((fault, index) => fault.slice(0, expected[index]?.length))).toEqual(expected)
      expect(faults.join()).not.toContain(s3.secretAccessKey)
    })
  }
})

test('the command line checks the configuration with the environment’s variables', async () => {
  const folder = temporaryFolder()
  const { call } = createCommandLine(folder)
  const write = (artifacts: object) =>
    Bun.write(
      join(folder, 'gateway.config.ts'),
      `export default ${JSON.stringify({ upstreams: {}, models: {}, artifacts })}`,
    )
  const env = { GATEWAY_DATABASE_URL: 'postgres://127.0.0.1:1/none' }
  await write({ keep: '7d' })
  expect((await call(['config', 'check'])).code).toBe(0)
  for (const words of [
    ['config', 'check'],
    ['models', 'list'],
  ]) {
    const ran = await call(words, { env })
    expect(ran.code).toBe(1)
    expect(ran.stderr).toContain('artifacts.s3: missing')
  }
  // The sandbox has its own database and files: it needs neither a bucket nor its secrets.
  await write({ keep: '7d', s3: { ...s3, accessKeyId: undefined } })
  expect((await call(['config', 'check'], { env })).stderr).toContain('artifacts.s3.accessKeyId: missing')
  expect((await call(['config', 'check', '--sandbox'], { env })).code).toBe(0)
})

test('durations and sizes are parsed from text', () => {
  const durations = ['90s', '45m', '12h', '7d', '2w', '', '7', 'd', '-1d', '1.5d', '7D', '99999999w']
  expect(durations.map(parseDurationMs)).toEqual([
    90_000,
    45 * 60_000,
    12 * HOUR_MS,
    168 * HOUR_MS,
    336 * HOUR_MS,
    ...Array.from({ length: 7 }, () => undefined),
  ])
  const sizes = ['500KB', '10GB', '1.5 GB', '999TB', '', '10', '10gb', '0MB', '-1GB', '1GiB', '1000GB']
  expect(sizes.map(parseBytes)).toEqual([
    500_000,
    10e9,
    1.5e9,
    999e12,
    ...Array.from({ length: 7 }, () => undefined),
  ])
})

describe('strings in JSON', () => {
  const replacements = new Map([
    ['a/b', 'X'],
    ['q"\\', 'Y"'],
  ])
  const rows: [text: string, result: string][] = [
    ['{"u":"a/b"}', '{"u":"X"}'],
    ['{"u":"a\\/b", "v" : ["\\u0061/b","a/b "]}', '{"u":"X", "v" : ["X","a/b "]}'],
    ['{"u":"see a/b"}', '{"u":"see a/b"}'],
    ['{"u":"q\\"\\\\"}', '{"u":"Y\\""}'],
    ['{"u":"\\"a/b\\""}', '{"u":"\\"a/b\\""}'],
    ['"a/b"', '"X"'],
    ['1', '1'],
    ['{"u":"a/b', '{"u":"a/b'],
  ]
  for (const [text, result] of rows) {
    test(text, () => expect(replaceStrings(text, replacements)).toBe(result))
  }
})

describe('the semaphore', () => {
  const quiet = new AbortController().signal

  test('serves in order, and passes each free place to the next in the queue', async () => {
    const turns = createSemaphore(2)
    const order: number[] = []
    const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
    const all = gates.map((gate, index) =>
      turns.run(quiet, async () => {
        order.push(index)
        await gate.promise
        if (index === 1) throw new Error('failed')
      }),
    )
    const settled = Promise.allSettled(all)
    await Bun.sleep(0)
    expect(order).toEqual([0, 1])
    gates[1]?.resolve()
    await Promise.allSettled([all[1]])
    await Bun.sleep(0)
    expect(order).toEqual([0, 1, 2])
    for (const gate of gates) gate.resolve()
    expect((await settled).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ])
    expect(order).toEqual([0, 1, 2, 3, 4])
  })

  test('gives no place to a waiter that has left the queue', async () => {
    const turns = createSemaphore(1)
    const gate = Promise.withResolvers<void>()
    const first = turns.run(quiet, () => gate.promise)
    const leaver = new AbortController()
    const second = turns.run(leaver.signal, async () => 'second')
    const third = turns.run(quiet, async () => 'third')
    leaver.abort(new Error('left'))
    expect((await rejection(second)).message).toContain('left')
    gate.resolve()
    await first
    expect(await third).toBe('third')
    expect(await turns.run(quiet, async () => 'fourth')).toBe('fourth')
    expect((await rejection(turns.run(leaver.signal, async () => 'fifth'))).message).toContain('left')
  })
})
