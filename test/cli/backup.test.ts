// gateway backup, restore and move as people type them, also while a server runs; and a server that does not start on a database
// whose log has lost commits.

import { expect, setDefaultTimeout, test } from 'bun:test'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { databaseKinds, openAddress, postgresUrl, temporaryFolder } from '../support/databases/databases'
import { createCommandLine } from '../support/processes/command-line'
import { freePort } from '../support/processes/free-port'
import { MISSING_BUCKET, startObjectStore, storeKey } from '../support/servers/object-store'

setDefaultTimeout(180_000)

function openFolder() {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'gateway.config.ts'), 'export default { upstreams: {}, models: {} }')
  return { ...createCommandLine(folder), folder }
}

test('backups are made, listed, limited to the requested number, and restored elsewhere', async () => {
  const { run, json, allFail, folder } = openFolder()
  await run('keys create alice --balance 5')
  const made = await run('backup first.zst')
  expect(made).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Read back and checked: accounts 1'),
  })
  const named = await json('backup')
  expect(named).toMatchObject({
    accounts: 1,
    problems: [],
    removed: [],
    place: join(folder, 'data', 'backups'),
  })
  expect((await json('backup --list')).map(({ name }: { name: string }) => name)).toEqual([named.name])
  await allFail(1, [
    ['backup first.zst', 'first.zst is there already'],
    ['backup other.zst --keep 2', '--keep only works for backups that are named by their time'],
    ['restore first.zst', 'is there already'],
    ['restore nowhere.zst', 'There is no file nowhere.zst here'],
  ])
  await allFail(2, [
    ['backup --keep none', '--keep takes a whole number'],
    ['move --to sqlite:here', '--to takes an address that begins with postgres://'],
  ])
  await allFail(1, [['restore gateway.config.ts', 'is not a backup, or is damaged']], join(folder, 'other'))
  const again = join(folder, 'again')
  expect(await run('restore first.zst', again)).toMatchObject({ code: 0, stderr: '' })
  expect(await json('audit --action backup.restore', again)).toMatchObject([
    { action: 'backup.restore', target: 'backup:first.zst', after: { accounts: 1 } },
  ])
  expect(await json('balance show', again)).toMatchObject([{ account: 'alice', balance_usd: '5.00' }])
  const byName = join(folder, 'by-name')
  mkdirSync(join(byName, 'backups'), { recursive: true })
  cpSync(join(folder, 'data', 'backups'), join(byName, 'backups'), { recursive: true })
  expect(await json(`restore ${named.name}`, byName)).toMatchObject({ accounts: 1, problems: [] })
})

test('an unusable place is reported with its own error, and a folder without its mounted disk is not created', async () => {
  const { run, call, folder } = openFolder()
  await run('keys create alice --balance 5')
  const store = startObjectStore()
  const bucket = {
    endpoint: store.endpoint,
    region: 'x',
    accessKeyId: storeKey,
    secretAccessKey: 'the-secret',
  }
  const gone = `http://127.0.0.1:${await freePort()}`
  const places: [s3: object, words: string][] = [
    [{ ...bucket, bucket: MISSING_BUCKET }, 'NoSuchBucket: NoSuchBucket.'],
    [{ ...bucket, bucket: 'safe', endpoint: gone }, 'no answer (ConnectionRefused).'],
  ]
  for (const [s3, words] of places) {
    writeFileSync(
      join(folder, 'bucket.json'),
      JSON.stringify({ upstreams: {}, models: {}, backup: { s3, every: '1d' } }),
    )
    const lines = ['backup', 'backup --list', 'restore gateway-20261122T060000Z.sqlite.zst']
    for (const line of lines) {
      const data = line.startsWith('restore') ? join(folder, 'other') : join(folder, 'data')
      const ran = await call([...line.split(' '), '--config', 'bucket.json', '--data-dir', data])
      expect({ line, code: ran.code, stderr: ran.stderr }).toEqual({
        line,
        code: 1,
        stderr: expect.stringMatching(/^The bucket \w+ at http\S+ cannot be used: .*\.\n$/),
      })
      expect(ran.stderr).toContain(words)
    }
    const examined = await call([
      'doctor',
      '--json',
      '--config',
      'bucket.json',
      '--data-dir',
      join(folder, 'data'),
    ])
    const { findings } = JSON.parse(examined.stdout)
    const found = findings.find(({ check }: { check: string }) => check === 'backups')
    expect(found).toMatchObject({ state: 'broken', found: expect.stringContaining(words.slice(0, -1)) })
    expect(examined.stdout).not.toContain('the-secret')
  }
  await store.stop()

  const there = join(folder, 'not-mounted', 'gateway')
  const refused = await run(`backup ${join(there, 'one.zst')}`)
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('Mount its disk, or create it') })
  expect(existsSync(join(folder, 'not-mounted'))).toBe(false)
  expect((await run(`backup ${join(there, 'one.zst')} --make`)).code).toBe(0)
  expect((await run(`backup ${join(there, 'next', 'one.zst')}`)).code).toBe(0)
  expect(readdirSync(there).sort()).toEqual(['next', 'one.zst'])
})

test('a server whose log has lost commits does not start, and says what to do', async () => {
  const { run, folder } = openFolder()
  const data = join(folder, 'data')
  await run('keys create alice --balance 5')
  const file = join(data, 'gateway.sqlite')
  const live = openAddress(file)
  for (let number = 0; number < 12; number++)
    await live.batch([
      { sql: 'insert into times (name, at, reference) values ($1, 0, 0)', parameters: [`${number}`] },
    ])
  const crashed = join(folder, 'crashed')
  mkdirSync(crashed)
  for (const name of readdirSync(data)) copyFileSync(join(data, name), join(crashed, name))
  await live.close()
  const log = join(crashed, 'gateway.sqlite-wal')
  const bytes = readFileSync(log)
  bytes.writeUInt8(bytes.readUInt8(5000) ^ 1, 5000)
  writeFileSync(log, bytes)
  const { code, stderr } = await run('serve --port 0', crashed)
  expect(code).toBe(1)
  expect(stderr).toContain('can no longer be read. Nothing was changed.')
  expect(readFileSync(log).equals(bytes)).toBe(true)
})

test.skipIf(!databaseKinds.includes('postgres'))(
  'a move to PostgreSQL keeps the old files under another name',
  async () => {
    const { run, json, allFail, folder, environment } = openFolder()
    await run('keys create alice --balance 5')
    const url = await postgresUrl()
    expect(await json(`move --to ${url}`)).toMatchObject({ accounts: 1, problems: [] })
    expect(existsSync(join(folder, 'data', 'gateway.sqlite'))).toBe(false)
    expect(existsSync(join(folder, 'data', 'gateway.sqlite.moved'))).toBe(true)
    await allFail(1, [[`move --to ${url}`, 'it was moved before']])
    const { call } = createCommandLine(folder)
    const env = environment({ GATEWAY_DATABASE_URL: url })
    const shown = await call(['balance', 'show', '--json'], { env })
    expect(JSON.parse(shown.stdout)).toMatchObject([{ account: 'alice', balance_usd: '5.00' }])
    const trail = await call(['audit', '--json', '--action', 'database.move'], { env })
    expect(JSON.parse(trail.stdout)).toMatchObject([{ action: 'database.move', after: { accounts: 1 } }])
    const second = join(folder, 'second')
    await run('keys create bob', second)
    expect(await run(`move --to ${url}`, second)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The database has rows already'),
    })
    const kept = await call(['backup', 'moved.zst', '--json'], { env })
    expect(JSON.parse(kept.stdout)).toMatchObject({ accounts: 1, problems: [] })
  },
)
