// gateway console and gateway sessions next to a gateway that serves: links that sign in once as the named admin or key, and sessions that
// are listed and ended.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Ran } from '../support/processes/command-line'
import { type CommandShell, openCommandShell } from '../support/processes/command-shell'
import { type Serving, startServing } from '../support/processes/serving'

setDefaultTimeout(180_000)

let serving: Serving
let shell: CommandShell

beforeAll(async () => {
  serving = await startServing()
  shell = openCommandShell(serving.folder, { PATH: process.env.PATH, HOME: serving.folder })
  await run('admins create ada --role operator')
})
afterAll(async () => {
  await shell.end()
  await serving.stop()
})

const run = (line: string): Promise<Ran> =>
  shell.run([...line.split(' '), '--data-dir', serving.dataDir, '--sandbox'])

async function json(line: string) {
  const { code, stdout, stderr } = await run(`${line} --json`)
  expect({ line, code, stderr: code === 0 ? '' : stderr }).toEqual({ line, code: 0, stderr: '' })
  return JSON.parse(stdout)
}

/** Signs in with a link as its page does, and returns the identity of the session. */
async function follow(link: string) {
  const [address = '', token = ''] = link.split('/console#link=')
  const response = await fetch(`${address}/console/session`, {
    method: 'POST',
    headers: { origin: address, 'content-type': 'application/json' },
    body: JSON.stringify({ link: token, base: '' }),
  })
  const cookies = response.headers.getSetCookie().filter((each) => !each.includes('Max-Age=0'))
  const cookie = cookies[0]?.split(';')[0] ?? ''
  const session = async () => (await fetch(`${address}/console/session`, { headers: { cookie } })).status
  return { status: response.status, who: (await response.json()) as Record<string, unknown>, session }
}

test('a link signs in as the admin that it names, at the address on this machine, and is never logged', async () => {
  const [key] = await serving.rows(`select name from keys`)
  const rows: [string, object][] = [
    ['console', { kind: 'admin', name: 'console link', role: 'owner' }],
    ['console --role viewer', { kind: 'admin', name: 'console link', role: 'viewer' }],
    ['console --admin ada', { kind: 'admin', name: 'ada', role: 'operator' }],
    [`console --key ${key?.name}`, { kind: 'key', name: key?.name }],
  ]
  const tokens: string[] = []
  for (const [line, who] of rows) {
    const { link } = await json(line)
    expect(link).toStartWith(`${serving.url.replace(/\/$/, '')}/console#link=`)
    const first = await follow(link)
    expect({ line, status: first.status, who: first.who }).toMatchObject({ line, status: 200, who })
    expect((await follow(link)).status).toBe(401)
    tokens.push(link.split('#link=')[1])
  }
  const trail = await json('audit --action console.link')
  expect(trail.map(({ target }: { target: string }) => target).sort()).toEqual(
    ['admin:ada', 'admin:owner', 'admin:viewer', `key:${key?.name}`].sort(),
  )
  // Neither in the trail nor in the database.
  const file = join(serving.dataDir, 'gateway.sqlite')
  const kept = [file, `${file}-wal`].filter(existsSync).map((path) => readFileSync(path, 'latin1'))
  for (const token of tokens) expect(JSON.stringify(trail) + kept.join()).not.toContain(token)
})

test('a link has the given address and lifetime, and only it is printed', async () => {
  const from = Date.now()
  const { link, expires_at } = await json('console --url https://gateway.example.com/ai/ --expires 2h')
  expect(link).toMatch(/^https:\/\/gateway\.example\.com\/ai\/console#link=[\w-]{20,}$/)
  const SLACK_MS = 1_000
  expect(Date.parse(expires_at)).toBeWithin(from + 7_200_000 - SLACK_MS, Date.now() + 7_200_000 + SLACK_MS)
  const { stdout, stderr } = await run('console --role viewer')
  expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console#link=[\w-]+\n$/)
  expect(stderr).toContain('It signs in as viewer, once, until ')
})

test('an impossible setting is refused with the remedy', async () => {
  const rows: [string, number, string][] = [
    ['console --role boss', 2, 'viewer'],
    ['console --admin ada --role owner', 2, 'only one of'],
    ['console --expires 25h', 2, '24h at most'],
    ['console --admin nobody', 1, '`admins list`'],
    ['console --key nobody', 1, '`keys list`'],
    ['sessions revoke ses_none', 1, 'ses_none'],
  ]
  for (const [line, code, text] of rows) {
    const ran = await run(line)
    expect({ line, code: ran.code, stdout: ran.stdout }).toEqual({ line, code, stdout: '' })
    expect({ line, stderr: ran.stderr }).toEqual({ line, stderr: expect.stringContaining(text) })
  }
})

test('a revoked admin and a paused key get no link, and no entry in the audit trail', async () => {
  await run('admins create grace --role viewer')
  await run('admins revoke grace')
  const [key] = await serving.rows(`select name from keys`)
  await run(`keys pause ${key?.name}`)
  const links = async () => (await json('audit --action console.link')).length
  const before = await links()
  for (const line of ['console --admin grace', `console --key ${key?.name}`]) {
    const { code, stdout, stderr } = await run(line)
    expect({ line, code, stdout }).toEqual({ line, code: 1, stdout: '' })
    expect(stderr).toMatch(/^The (admin|key) \S+ is revoked/)
  }
  expect(await links()).toBe(before)
  await run(`keys resume ${key?.name}`)
})

test('sessions are listed with their owners, and a revoked one ends at once', async () => {
  const { session } = await follow((await json('console --admin ada')).link)
  expect(await session()).toBe(200)
  const [last, ...others] = await json('sessions list')
  expect(others.length).toBeGreaterThan(0)
  expect(last).toMatchObject({ kind: 'admin', name: 'ada', status: 'active', client_address: '127.0.0.1' })
  const table = await run('sessions list --limit 1')
  expect(table.stdout).toMatch(/^SESSION +KIND +NAME/)
  expect(table.stdout).toContain(last.id)
  expect(table.stdout.trim().split('\n').length).toBe(2)
  expect((await run(`sessions revoke ${last.id}`)).stdout).toBe('The session of ada has ended.\n')
  expect(await session()).toBe(401)
  expect((await run(`sessions revoke ${last.id}`)).stdout).toBe('It had ended before.\n')
  expect((await json('sessions list'))[0]).toMatchObject({ id: last.id, status: 'ended' })
})
