// Only `serve` and `gateway upgrade` change the schema of a database, while no other process serves it, and after a checked copy of
// a SQLite file. No other command changes it under a running server. All run as real processes.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { program } from '../../src/db/schema/program'
import { databaseKinds, openAddress, temporaryFolder } from '../support/databases/databases'
import { whenTestsEnd } from '../support/ending'
import { startTestGateway, type TestGateway, testConfig, waitFor } from '../support/gateway'
import { createCommandLine } from '../support/processes/command-line'
import { freePort } from '../support/processes/free-port'
import { type Serving, startServing } from '../support/processes/serving'

setDefaultTimeout(180_000)

const NEWER = [
  process.execPath,
  '--preload',
  resolve(import.meta.dir, '../support/processes/newer-version.ts'),
  resolve(import.meta.dir, '../../cli/main.ts'),
]
const own = program().schema
const ACTION = 'database.upgrade'
const TOO_OLD = `The database has schema ${own}, and this gateway (9.9.9) needs schema ${own + 1} for that: run "gateway upgrade".\n`
const TOO_NEW = `The database has schema ${own + 1}, and this gateway (${program().version}) knows only ${own}: use version 9.9.9 or newer.\n`

/** Starts the newer version. */
function startNewer(folder: string, words: string[], env: Record<string, string> = {}) {
  const child = Bun.spawn([...NEWER, ...words], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  whenTestsEnd(() => child.kill('SIGKILL'))
  return child
}

async function ended(child: ReturnType<typeof startNewer>) {
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, stdout, stderr }
}

/** Runs a command of the newer version on the data of a sandbox. */
function newer({ folder, dataDir }: Pick<Serving, 'folder' | 'dataDir'>, line: string) {
  return ended(startNewer(folder, [...line.split(' '), '--sandbox', '--data-dir', dataDir]))
}

async function chat({ url, key }: Pick<Serving, 'url' | 'key'>, model = 'pgt-6-luna'): Promise<number> {
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': crypto.randomUUID(),
    },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 9 }),
  })
  await reply.text()
  return reply.status
}

describe('a newer version on the SQLite file of an older one', () => {
  test('reads while the older server keeps serving, and changes nothing', async () => {
    const server = await startServing()
    expect(await chat(server)).toBe(200)
    const shape = () => server.rows('select sql from sqlite_schema order by name')
    const before = await shape()
    for (const line of ['keys list', 'balance show', 'usage', 'requests list']) {
      const { code, stderr } = await newer(server, line)
      expect({ line, code, stderr }).toEqual({ line, code: 0, stderr: '' })
    }
    for (const line of ['keys create bob', 'balance add demo 5', 'balance verify']) {
      const { code, stderr } = await newer(server, line)
      expect({ line, code, stderr }).toEqual({ line, code: 1, stderr: TOO_OLD })
    }
    for (const line of ['serve --port 0', 'upgrade']) {
      const { code, stderr } = await newer(server, line)
      expect({ line, code, stderr }).toEqual({
        line,
        code: 1,
        stderr: expect.stringContaining('Another gateway is serving'),
      })
    }
    expect(await newer(server, 'serve --port 0 --take-over')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('stop the running one'),
    })
    expect((await newer(server, 'doctor')).stdout.replaceAll(/\s+/g, ' ')).toContain(
      `gateway upgrade brings it to ${own + 1}`,
    )
    expect(await chat(server)).toBe(200)
    expect(await shape()).toEqual(before)
    await server.stop()
  })

  test('upgrades it once no server runs, after making a copy with which the older version can serve again', async () => {
    const server = await startServing()
    expect(await chat(server)).toBe(200)
    const [{ total } = {}] = await server.rows('select sum(balance) as total from accounts')
    await server.stop()
    // A process that still answers its last callers has no lock on the directory.
    const draining = Bun.spawn(
      [process.execPath, resolve(import.meta.dir, '../support/processes/stay-registered.ts'), server.dataDir],
      { stdout: 'pipe' },
    )
    await draining.stdout.getReader().read()
    for (const line of ['upgrade', 'serve --port 0'])
      expect(await newer(server, line)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('a process serves it'),
      })
    draining.kill('SIGKILL')
    await draining.exited

    const upgraded = await newer(server, 'upgrade --json')
    expect(upgraded.stderr).toContain(`from schema ${own} to ${own + 1}. First a checked copy is written`)
    const { copy, ...versions } = JSON.parse(upgraded.stdout)
    expect(versions).toEqual({ from: own, to: own + 1 })
    expect(await newer(server, 'upgrade')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('nothing to do'),
    })
    expect(await newer(server, 'balance verify')).toMatchObject({ code: 0 })
    const trail = await newer(server, `audit --json --action ${ACTION}`)
    expect(JSON.parse(trail.stdout)).toMatchObject([{ before: { schema: own }, after: { schema: own + 1 } }])

    const { run } = createCommandLine(server.folder, server.dataDir, ['--sandbox'])
    for (const line of ['keys list', 'balance add demo 5', 'serve --port 0', 'upgrade', 'backup now.zst'])
      expect({ line, ...(await run(line)) }).toMatchObject({ line, code: 1, stderr: TOO_NEW })
    expect((await run('doctor')).stdout.replaceAll(/\s+/g, ' ')).toContain('use version 9.9.9 or newer')

    const back = join(server.folder, 'back')
    expect(await run(`restore ${copy}`, back)).toMatchObject({ code: 0 })
    const restored = openAddress(join(back, 'gateway.sqlite'))
    expect(await restored.query({ sql: 'select sum(balance) as total from accounts' })).toEqual([
      { total: total ?? null },
    ])
    await restored.close()
    expect(await run('balance verify', back)).toMatchObject({ code: 0 })
  })

  test('upgrades it automatically when it begins to serve, and says so', async () => {
    const server = await startServing()
    await server.stop()
    const words = ['serve', '--sandbox', '--port', '0', '--json', '--data-dir', server.dataDir]
    const child = startNewer(server.folder, words)
    await child.stdout.getReader().read()
    child.kill('SIGTERM')
    const [log] = await Promise.all([new Response(child.stderr).text(), child.exited])
    const lines = log.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
    const events = lines.filter(({ event }) => event.startsWith('database_'))
    const [{ copy }] = events
    expect(events).toMatchObject([
      {
        event: 'database_upgrading',
        from: own,
        to: own + 1,
        copy: expect.stringContaining('/backups/gateway-'),
      },
      { event: 'database_upgraded', from: own, to: own + 1 },
    ])
    expect(existsSync(copy)).toBe(true)
  })

  test('changes nothing if the copy cannot be made', async () => {
    const server = await startServing()
    await server.stop()
    writeFileSync(join(server.dataDir, 'backups'), 'not a folder')
    const { code, stderr } = await newer(server, 'upgrade')
    expect({ code, has: stderr.includes('    at ') }).toEqual({ code: 1, has: false })
    expect(await server.rows('select max(version) as version from schema_versions')).toEqual([
      { version: own },
    ])
    expect(await newer(server, 'upgrade --without-copy')).toMatchObject({ code: 0 })
  })

  test('suggests "gateway upgrade" if it would read columns that do not exist yet', async () => {
    const folder = temporaryFolder()
    const { run } = createCommandLine(folder)
    expect(await run('keys create alice --balance 5')).toMatchObject({ code: 0 })
    const file = join(folder, 'data', 'gateway.sqlite')
    const db = openAddress(file)
    await db.batch([
      { sql: 'drop table top_up_codes' },
      { sql: 'delete from schema_versions where version = $1', parameters: [own] },
    ])
    await db.close()
    const lacking = `The database has schema ${own - 1}, and this gateway (${program().version}) needs schema ${own} for that: run "gateway upgrade".\n`
    expect(await run('keys list')).toMatchObject({ code: 0, stdout: expect.stringContaining('alice') })
    expect(await run('codes list')).toEqual({ code: 1, stdout: '', stderr: lacking })
  })
})

describe.skipIf(!databaseKinds.includes('postgres'))(
  'a newer version on the PostgreSQL of older nodes',
  () => {
    /** A folder with the configuration of a node. */
    function besides(gateway: TestGateway): { folder: string; words: string[] } {
      const folder = temporaryFolder()
      const file = join(folder, 'gateway.config.json')
      writeFileSync(file, JSON.stringify(testConfig(gateway.sandbox, {}, gateway.databaseUrl)))
      return { folder, words: ['--config', file, '--data-dir', join(folder, 'data')] }
    }

    test('reads while they run, refuses to upgrade while one runs, and upgrades once all have stopped', async () => {
      const gateway = await startTestGateway({ database: 'postgres' })
      const { folder, words } = besides(gateway)
      const run = (line: string) => ended(startNewer(folder, [...line.split(' '), ...words]))
      const answers = async () => (await gateway.chat({}, { 'idempotency-key': crypto.randomUUID() })).status
      expect(await answers()).toBe(200)
      for (const line of ['keys list', 'balance show', 'usage', 'requests list']) {
        const { code, stderr } = await run(line)
        expect({ line, code, stderr }).toEqual({ line, code: 0, stderr: '' })
      }
      expect(await run('keys create bob')).toMatchObject({ code: 1, stderr: TOO_OLD })
      for (const line of ['upgrade', 'serve --port 0'])
        expect({ line, ...(await run(line)) }).toMatchObject({
          line,
          code: 1,
          stderr: expect.stringMatching(/a process serves it \(\S+\/\S+\): stop them first, all nodes of it/),
        })
      const backup = join(folder, 'before.zst')
      expect(await run(`backup ${backup}`)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(`schema ${own}`),
      })
      expect(await answers()).toBe(200)
      await gateway.close()
      expect(await run('upgrade')).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(`to ${own + 1}`),
      })
      expect(await run('balance verify')).toMatchObject({ code: 0 })
    })

    test('makes an older node that was silent for too long not ready, with the reason in its log', async () => {
      const gateway = await startTestGateway({ database: 'postgres' })
      const { folder, words } = besides(gateway)
      const db = openAddress(gateway.databaseUrl ?? '')
      // Like a node that cannot say for a minute that it runs.
      await db.batch([
        {
          sql: 'create function silence() returns trigger language plpgsql as $$ begin return null; end $$',
        },
        {
          sql: `create trigger silent before insert or update on times for each row
            when (new.name like 'node:%') execute function silence()`,
        },
        { sql: `delete from times where name like 'node:%'` },
      ])
      expect(await ended(startNewer(folder, ['upgrade', ...words]))).toMatchObject({ code: 0 })
      await waitFor(async () => (await fetch(`${gateway.url}/health/ready`)).status === 503)
      const { fields } = gateway.log.findLast(({ event }) => event === 'database_unavailable') ?? {}
      expect(fields?.reason).toContain('use version 9.9.9 or newer')
      await db.close()
      await gateway.server.stop(0)
      await gateway.sandbox.stop()
    })

    test('with the same schema serves next to an older node, and takes its place', async () => {
      const gateway = await startTestGateway({ database: 'postgres' })
      const { folder, words } = besides(gateway)
      const port = await freePort()
      const child = startNewer(folder, ['serve', '--json', '--port', String(port), ...words], {
        TEST_SAME_SCHEMA: '1',
      })
      await child.stdout.getReader().read()
      const ofNewer = { url: `http://127.0.0.1:${port}`, key: gateway.secret }
      const ofOlder = { url: gateway.url, key: gateway.secret }
      const statuses = await Promise.all(
        Array.from({ length: 20 }, (_, index) => chat(index % 2 ? ofNewer : ofOlder, 'test-chat')),
      )
      expect(statuses).toEqual(Array(20).fill(200))
      expect(await (await fetch(`${ofNewer.url}/health`)).json()).toMatchObject({ version: '9.9.9' })
      // The older node stops first; its vendor keeps running.
      await gateway.server.stop(0)
      expect(await chat(ofNewer, 'test-chat')).toBe(200)
      child.kill('SIGTERM')
      expect(await child.exited).toBe(0)
      const db = openAddress(gateway.databaseUrl ?? '')
      expect(
        await db.query({ sql: `select count(*) as count from charges where state = 'settled'` }),
      ).toEqual([{ count: 21 }])
      expect(await db.query({ sql: `select name from times where name like 'node:%'` })).toEqual([])
      await db.close()
      await gateway.sandbox.stop()
    })
  },
)
