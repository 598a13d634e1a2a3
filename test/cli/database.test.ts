// What commands say about the database: a command that writes says where, a command that only reads does not; and that reports may
// take longer than any request.

import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { moveToPostgres } from '../../src/backup/restore'
import { migrate } from '../../src/db/migrations'
import { openAddress, postgresUrl, temporaryFolder } from '../support/databases/databases'
import { writeEarlierFile } from '../support/databases/earlier-build'
import { createCommandLine } from '../support/processes/command-line'
import { rejection } from '../support/rejection'

setDefaultTimeout(180_000)

const CONFIG = `export default { upstreams: { a: { kind: 'openai', apiKey: 'sk-a' } }, models: { a: { family: 'openai-chat', upstream: 'a', free: true } } }\n`

function commandLine() {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'gateway.config.ts'), CONFIG)
  return { folder, ...createCommandLine(folder) }
}

test.concurrent('every command that writes reports the database on standard error, and none that reads does', async () => {
  const { folder, run } = commandLine()
  const said = `Written to ${join(folder, 'data', 'gateway.sqlite')}.\n`
  const writing = [
    'keys create alice --balance 5',
    'keys create bob --json',
    'keys update alice --rpm 5',
    'keys roll alice --json',
    'keys roll-webhook alice',
    'balance add alice 5 --json',
    'balance adjust alice -1 --note x',
    'keys revoke bob',
  ]
  for (const line of writing) {
    const { code, stdout, stderr } = await run(line)
    expect({ line, code, said: stderr.endsWith(said), times: stderr.split('Written to').length - 1 }).toEqual(
      {
        line,
        code: 0,
        said: true,
        times: 1,
      },
    )
    expect(stdout).not.toContain('Written')
  }
  const reading = [
    'keys list',
    'keys show alice',
    'balance show',
    'balance ledger alice',
    'balance verify',
    'tasks list',
    'usage',
    'requests list',
    'models list',
    'config check',
    'env openai',
  ]
  for (const line of reading) {
    const { code, stderr } = await run(line)
    expect({ line, code, said: stderr.includes('Written') }).toEqual({ line, code: 0, said: false })
  }
  // Nothing was written.
  const { code, stderr } = await run('balance add nobody 5')
  expect({ code, said: stderr.includes('Written') }).toEqual({ code: 1, said: false })
})

test.concurrent('the password of a PostgreSQL database is not in its output', async () => {
  const { call } = commandLine()
  const url = await postgresUrl()
  const { host, pathname } = new URL(url)
  const { code, stderr } = await call(['keys', 'create', 'alice', '--json'], {
    env: { GATEWAY_DATABASE_URL: `${url}?application_name=secret` },
  })
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: `Written to postgres://postgres@${host}${pathname}.\n`,
  })
})

test.concurrent('a report may take PostgreSQL longer than the time limit of a request', async () => {
  const { call } = commandLine()
  const url = await postgresUrl({ template: 'template1' })
  const db = openAddress(url)
  await migrate(db)
  // As slow as with millions of charges: every query of them takes longer than the five seconds.
  await db.batch([
    { sql: 'alter view charges rename to quick_charges' },
    { sql: 'create view charges as select c.* from quick_charges c, (select pg_sleep(5.5)) as slow' },
  ])
  await db.close()
  const env = { GATEWAY_DATABASE_URL: url }
  const [usage, verify] = await Promise.all([
    call(['usage', '--json'], { env }),
    call(['balance', 'verify', '--json'], { env }),
  ])
  expect(usage).toMatchObject({ code: 0, stderr: '' })
  expect(verify).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(verify.stdout)).toMatchObject({ ok: true })
})

/** A copy of a data directory whose last commits are only in the log, as a killed process leaves it. */
function killed(dataDir: string): string {
  const copy = temporaryFolder()
  const path = join(dataDir, 'gateway.sqlite')
  const live = new Database(path)
  live.run('pragma wal_autocheckpoint = 0')
  for (let number = 0; number < 12; number++)
    live.run('insert into marks (name, position) values (?, ?)', [`test ${number}`, number])
  for (const end of ['', '-wal']) copyFileSync(path + end, join(copy, `gateway.sqlite${end}`))
  live.close()
  return copy
}

/** Hashes of a database and its log. */
const bytesIn = (dataDir: string) =>
  ['', '-wal'].map((end) => Bun.hash(readFileSync(join(dataDir, `gateway.sqlite${end}`))))

test.concurrent('no command opens or changes a database whose log is damaged', async () => {
  const { folder, run } = commandLine()
  await run('keys create alice --balance 5')
  const dataDir = killed(join(folder, 'data'))
  const log = join(dataDir, 'gateway.sqlite-wal')
  const bytes = readFileSync(log)
  bytes.writeUInt8(bytes.readUInt8(200) ^ 1, 200)
  writeFileSync(log, bytes)
  const before = bytesIn(dataDir)
  const lines = [
    'serve --port 0',
    'doctor',
    'balance show',
    'balance verify',
    'balance add alice 5',
    'keys list',
    'usage',
    'backup copy.zst',
    'console',
    'move --to postgres://127.0.0.1:1/none',
  ]
  for (const line of lines) {
    const { code, stdout, stderr } = await run(line, dataDir)
    expect({ line, code, is: (stdout + stderr).replaceAll(/\s+/g, ' ').includes('is damaged') }).toEqual({
      line,
      code: 1,
      is: true,
    })
    expect({ line, bytes: bytesIn(dataDir) }).toEqual({ line, bytes: before })
  }
})

test.concurrent('no command opens or changes a database of an old build, and each says what to do in a sentence', async () => {
  const { folder, run } = commandLine()
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  const file = join(dataDir, 'gateway.sqlite')
  writeEarlierFile(file)
  const db = openAddress(file)
  await db.batch([{ sql: 'delete from schema_versions where version > 20' }])
  await db.close()
  writeFileSync(join(folder, 'old.zst'), Bun.zstdCompressSync(readFileSync(file)))
  const before = Bun.hash(readFileSync(file))
  const lines = [
    'serve --port 0',
    'doctor',
    'balance show',
    'balance verify',
    'balance add alice 5',
    'keys list',
    'keys create bob',
    'usage',
    'tasks list',
    'backup copy.zst',
    'console',
    `restore ${join(folder, 'old.zst')}`,
  ]
  for (const line of lines) {
    const { code, stdout, stderr } = await run(
      line,
      line.startsWith('restore') ? join(folder, 'other') : dataDir,
    )
    const text = (stdout + stderr).replaceAll(/\s+/g, ' ')
    const sentence =
      /The database has schema 20, of a build before 1\.0: start the build of commit \w+ on it once/
    expect({ line, code, says: sentence.test(text), stack: text.includes('    at ') }).toEqual({
      line,
      code: 1,
      says: true,
      stack: false,
    })
    expect({ line, bytes: Bun.hash(readFileSync(file)) }).toEqual({ line, bytes: before })
  }
  expect(existsSync(join(folder, 'other', 'gateway.sqlite'))).toBe(false)
})

test.concurrent('a command on a damaged database says what to do, and shows no stack', async () => {
  const { folder, run } = commandLine()
  await run('keys create alice --balance 5')
  const dataDir = join(folder, 'data')
  const path = join(dataDir, 'gateway.sqlite')
  writeFileSync(path, 'x'.repeat(20_000))
  for (const line of ['backup copy.zst', 'balance show', 'keys list', 'serve --port 0']) {
    const { code, stderr } = await run(line)
    expect({ line, code, stderr }).toEqual({
      line,
      code: 1,
      stderr: expect.stringMatching(/is not a database\. The database is damaged: .*gateway restore.*\n$/),
    })
    expect({ line, has: stderr.includes('    at ') }).toEqual({ line, has: false })
  }
})

test.concurrent('a command that only reads leaves the files of a killed process unchanged, and creates none', async () => {
  const { folder, run } = commandLine()
  await run('keys create alice --balance 5')
  const dataDir = killed(join(folder, 'data'))
  const before = bytesIn(dataDir)
  for (const line of [
    'doctor',
    'balance show',
    'keys list',
    'usage',
    'requests list',
    'balance ledger alice',
  ]) {
    const { code, stdout } = await run(line, dataDir)
    expect({ line, bytes: bytesIn(dataDir) }).toEqual({ line, bytes: before })
    if (line === 'keys list') expect({ code, has: stdout.includes('alice') }).toEqual({ code: 0, has: true })
  }
  const none = join(folder, 'none')
  expect(await run('keys list', none)).toMatchObject({ code: 0 })
  expect(existsSync(join(none, 'gateway.sqlite'))).toBe(false)
})

test.concurrent('an interrupted move is not served, and continues or starts again; rows that were moved are not copied twice', async () => {
  const { folder, run, call } = commandLine()
  const url = await postgresUrl()
  const there = { env: { GATEWAY_DATABASE_URL: url } }
  const onTarget = (line: string) => call([...line.split(' '), '--data-dir', join(folder, 'data')], there)
  await run('keys create alice --balance 5')
  const file = join(folder, 'data', 'gateway.sqlite')
  const breakOff = (table: string) => {
    if (table === 'keys') throw new Error('broken off')
  }
  expect(
    await rejection(moveToPostgres(file, url, { now: Date.now(), onProgress: breakOff })),
  ).toBeInstanceOf(Error)
  for (const line of ['serve --port 0', 'keys list', 'keys create eve'])
    expect({ line, ...(await onTarget(line)) }).toMatchObject({
      line,
      code: 1,
      stderr: expect.stringContaining('--anew'),
    })
  // The copied file differs now.
  await run('balance add alice 5')
  expect(await run(`move --to ${url}`)).toMatchObject({ code: 1, stderr: expect.stringContaining('--anew') })
  expect(existsSync(file)).toBe(true)
  expect(await run(`move --to ${url} --anew`)).toMatchObject({ code: 0 })
  for (const line of ['serve --port 0', 'keys list', 'keys create eve', 'doctor']) {
    const { code, stdout, stderr } = await run(line)
    expect({
      line,
      code,
      is: (stdout + stderr).replaceAll(/\s+/g, ' ').includes('was moved to PostgreSQL'),
    }).toEqual({ line, code: 1, is: true })
  }
  expect(existsSync(file)).toBe(false)
  expect((await onTarget('balance show')).stdout).toContain('10.00')
  // Broken off after the file was renamed, and before the target was served.
  const db = openAddress(url)
  await db.batch([
    { sql: 'create table copied_tables (name text primary key, position text, copied bigint not null)' },
  ])
  await db.close()
  expect(await run(`move --to ${url} --anew`)).toMatchObject({ code: 0 })
  expect((await onTarget('balance show')).stdout).toContain('10.00')
})
