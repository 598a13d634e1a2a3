// Commands on an encrypted database: they read and write with the key of the same configuration, name a missing key before they do
// anything, and never print a key.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../support/databases/databases'
import { foundIn, idOf, masterKeys, spellingsOf } from '../support/databases/encrypted-gateway'
import { type CommandLine, createCommandLine, PROGRAM, type Ran } from '../support/processes/command-line'

setDefaultTimeout(180_000)

const [first, second] = masterKeys

/** A folder with a configuration whose keys are written by a test. */
function openFolder(): CommandLine & { folder: string; configure(secrets?: string): void } {
  const folder = temporaryFolder()
  const configure = (secrets?: string) =>
    writeFileSync(
      join(folder, 'gateway.config.ts'),
      `export default { upstreams: {}, models: {}, ${secrets ? `secrets: ${secrets}` : ''} }`,
    )
  return { ...createCommandLine(folder), folder, configure }
}

function databaseBytes(folder: string): Buffer {
  const dataDir = join(folder, 'data')
  return Buffer.concat(
    readdirSync(dataDir)
      .filter((name) => name.includes('sqlite'))
      .map((name) => readFileSync(join(dataDir, name))),
  )
}

function expectNoKey(ran: Ran): Ran {
  for (const key of masterKeys) {
    for (const spelling of spellingsOf(key))
      expect(Buffer.from(ran.stdout + ran.stderr).includes(spelling)).toBe(false)
  }
  return ran
}

test('secrets of webhooks are created and rolled with the key of the configuration', async () => {
  const { folder, configure, json, run } = openFolder()
  configure(`{ keyFile: ${JSON.stringify(join(folder, 'key'))} }`)
  writeFileSync(join(folder, 'key'), `${first}\n`)
  const made = await json('keys create alice --balance 5')
  const rolled = await json('keys roll-webhook alice')
  const { stdout } = expectNoKey(await run('keys show alice'))
  expect(stdout).toContain('alice')
  const bytes = databaseBytes(folder)
  expect(foundIn(bytes, [made.webhook_secret, rolled.webhook_secret, first])).toEqual([])
  expect(await json('config check')).toMatchObject({
    ok: true,
    encryption: { key: idOf(first), before: ['clear'] },
  })
})

test('if a key is missing, every command names it, says what to do, and changes nothing', async () => {
  const { configure, run, json, call, environment, folder } = openFolder()
  configure(`{ key: process.env.GATEWAY_SECRETS_KEY }`)
  const unset = expectNoKey(await run('keys list'))
  expect(unset).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('secrets.key: missing; is its environment'),
  })
  const env = { GATEWAY_SECRETS_KEY: first }
  const words = (line: string) => [...line.split(' '), '--data-dir', join(folder, 'data')]
  expect(await call(words('keys create alice'), { env })).toMatchObject({ code: 0 })
  const id = idOf(first)
  const cases = [
    [undefined, `encrypted with the key ${id}, and the configuration has no such key: set it as secrets.key`],
    [
      `{ key: '${second}' }`,
      `and secrets.key is the key ${idOf(second)}: if it replaces the other, add that to`,
    ],
  ] as const
  for (const [secrets, text] of cases) {
    configure(secrets)
    for (const line of ['keys list', 'keys create bob', 'balance verify', 'serve --port 0']) {
      const ran = expectNoKey(await run(line))
      expect({ line, ...ran }).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(text) })
      expect(ran.stderr.trim().split('\n')).toHaveLength(1)
    }
    const checked = expectNoKey(await run('config check'))
    expect(checked).toMatchObject({ code: 1, stderr: expect.stringContaining(text) })
    expect(JSON.parse((await run('config check --json')).stdout)).toMatchObject({ ok: false })
  }
  configure(`{ key: '${second}', olderKeys: ['${first}'] }`)
  expect((await json('keys list')).map(({ name }: { name: string }) => name)).toEqual(['alice'])
  // A command that only reads uses no key; the first that writes does.
  await json('keys create carol')
  const { stdout } = await run('config check')
  expect(stdout).toContain(`The database is encrypted with the key ${idOf(second)}.`)
  expect(stdout).toContain(`encrypted with ${id}`)
  // The environment has precedence over the file, and simulated vendors need no key.
  configure('{ key: null }')
  expect(await call(words('keys list'), { env })).toMatchObject({ code: 1 })
  configure('{ key: process.env.NONE }')
  expect(await call(['config', 'check', '--sandbox'], { env: environment() })).toMatchObject({ code: 0 })
})

test('checking the keys creates no database, and an unreachable one is not a fault of the configuration', async () => {
  const { folder, configure, call, run } = openFolder()
  configure(`{ key: '${first}' }`)
  const ran = await run('config check')
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  expect(existsSync(join(folder, 'data'))).toBe(false)
  const away = await call(['config', 'check'], {
    env: { GATEWAY_DATABASE_URL: 'postgres://127.0.0.1:1/none' },
  })
  expect(away.code).toBe(0)
  expect(away.stderr).toMatch(/^The keys of the database were not checked: .*\.\n$/)
})

test('a gateway that starts with a key encrypts what commands wrote before, and says so', async () => {
  const { folder, configure, json, environment } = openFolder()
  configure()
  const { webhook_secret: secret } = await json('keys create alice')
  expect(foundIn(databaseBytes(folder), [secret])).toEqual([secret])
  configure(`{ key: '${first}' }`)
  const words = [...PROGRAM, 'serve', '--port', '0', '--data-dir', join(folder, 'data')]
  const serving = Bun.spawn(words, { cwd: folder, env: environment(), stdout: 'pipe', stderr: 'pipe' })
  const log = new Response(serving.stderr).text()
  for await (const piece of serving.stdout) {
    if (new TextDecoder().decode(piece).includes('Gateway listening')) break
  }
  // Commands next to it have the same configuration.
  const rolled = await json('keys roll-webhook alice')
  expect(await json('config check')).toMatchObject({ encryption: { key: idOf(first), before: [] } })
  serving.kill('SIGTERM')
  expect(await serving.exited).toBe(0)
  expect(foundIn(databaseBytes(folder), [secret, rolled.webhook_secret, first])).toEqual([])
  expectNoKey({ code: 0, stdout: '', stderr: await log })
  expect(await log).toMatch(/"event":"rows_encrypted","key":"[0-9a-f]{12}","rows":[1-9]/)
})
