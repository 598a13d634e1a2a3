// What commands say about the database: each that writes says where it wrote, none that only reads does; and that reports
// may take longer than anything that serves.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrate } from '../../src/db/migrations'
import { createCommandLine } from '../support/command-line'
import { openAddress, postgresUrl, temporaryFolder } from '../support/databases'

setDefaultTimeout(180_000)

const CONFIG = `export default { upstreams: { a: { kind: 'openai', apiKey: 'sk-a' } }, models: { a: { family: 'openai-chat', upstream: 'a', free: true } } }\n`

function commandLine() {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'gateway.config.ts'), CONFIG)
  return { folder, ...createCommandLine(folder) }
}

test.concurrent('every command that writes says on standard error where, and none that reads', async () => {
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

test.concurrent('the password of a PostgreSQL database is not among what it says', async () => {
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

test.concurrent('a report that PostgreSQL needs longer for than a statement that serves still comes', async () => {
  const { call } = commandLine()
  const url = await postgresUrl({ template: 'template1' })
  const db = openAddress(url)
  await migrate(db)
  // As slow as with millions of charges: every look at them takes longer than the five seconds.
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
