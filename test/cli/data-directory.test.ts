// The files of the data directory: whatever its mode and the umask, only their owner may read them, and a directory open to others
// causes a warning.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { lockDataDir } from '../../cli/process/serve-lock'
import { openSqlite } from '../../src/db/drivers/sqlite'
import { temporaryFolder } from '../support/databases/databases'
import { say, startTestGateway, waitFor } from '../support/gateway'
import { createCommandLine, PROGRAM } from '../support/processes/command-line'

setDefaultTimeout(180_000)

let umask = 0
beforeAll(() => {
  umask = process.umask(0)
})
afterAll(() => {
  process.umask(umask)
})

/** Every file below, with its mode; folders of ours among them. */
function modesIn(folder: string): Record<string, string> {
  const modes: Record<string, string> = {}
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    modes[path.slice(folder.length + 1)] = (statSync(path).mode & 0o777).toString(8)
  }
  return modes
}

function openFolder(): string {
  const folder = join(temporaryFolder(), 'wide open')
  mkdirSync(folder)
  chmodSync(folder, 0o777)
  return folder
}

test('databases, what lies next to them, uploads, kept results and the lock are the owner’s alone', async () => {
  const dataDir = openFolder()
  // As an earlier version left it.
  await openSqlite(join(dataDir, 'gateway.sqlite')).close()
  chmodSync(join(dataDir, 'gateway.sqlite'), 0o644)
  lockDataDir(dataDir)
  const gateway = await startTestGateway({
    dataDir,
    config: { artifacts: { keep: '1d' } },
    models: {
      'gkx-imagine-image': {
        family: 'xai-images',
        upstream: 'xai',
        upstreamModel: 'grok-imagine-image',
        price: { per_image: '0.02', per_input_image: '0.01' },
      },
    },
  })
  await (await gateway.chat()).text()
  const picture = await gateway.post('/v1/images/generations', {
    model: 'gkx-imagine-image',
    prompt: 'a fox',
  })
  expect(await picture.text()).toContain('/artifacts/')
  const saving = gateway.server.world.uploads.save(
    (async function* () {
      yield Buffer.from('half')
      await waitFor(() => readdirSync(join(dataDir, 'uploads')).length > 0)
    })(),
  )
  await waitFor(() => readdirSync(join(dataDir, 'uploads')).length > 0)
  await gateway.requestLog()
  const modes = modesIn(dataDir)
  const files = Object.entries(modes).filter(([path]) => statSync(join(dataDir, path)).isFile())
  for (const name of [
    'gateway.sqlite',
    'gateway.sqlite-wal',
    'gateway.sqlite-shm',
    'requests.sqlite',
    'requests.sqlite-wal',
    'serve.lock',
  ]) {
    expect({ name, is: existsSync(join(dataDir, name)) }).toEqual({ name, is: true })
  }
  expect(files.length).toBeGreaterThan(8)
  expect(Object.fromEntries(files.filter(([, mode]) => mode !== '600'))).toEqual({})
  const folders = Object.entries(modes).filter(([path]) => statSync(join(dataDir, path)).isDirectory())
  expect(folders.length).toBeGreaterThan(2)
  expect(Object.fromEntries(folders.filter(([, mode]) => mode !== '700'))).toEqual({})
  await (await saving).remove()
  await gateway.close()
})

test('a request log under its name before 1.0 is read by commands, and a server renames it with all its rows', async () => {
  const earlier = join(temporaryFolder(), 'data')
  mkdirSync(earlier)
  const first = await startTestGateway({ dataDir: join(temporaryFolder(), 'data') })
  await first.chat({ messages: say('hello') })
  const [row] = await first.requestLog()
  // As a killed process leaves them: the row is in the log next to the file.
  for (const end of ['', '-wal', '-shm']) {
    copyFileSync(join(first.dataDir, `gateway.sqlite${end}`), join(earlier, `gateway.sqlite${end}`))
    copyFileSync(join(first.dataDir, `requests.sqlite${end}`), join(earlier, `journal.sqlite${end}`))
  }
  await first.close()
  const names = () =>
    readdirSync(earlier)
      .filter((name) => /^(?!gateway).*sqlite/.test(name))
      .sort()

  const { run } = createCommandLine(temporaryFolder())
  const listed = await run('requests list --json', earlier)
  expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining(row?.id as string) })
  expect(names()).toEqual(['journal.sqlite', 'journal.sqlite-shm', 'journal.sqlite-wal'])

  const second = await startTestGateway({ dataDir: earlier })
  expect(await second.requestLog()).toEqual(row ? [row] : [])
  await second.chat({ messages: say('hello') })
  expect(names()).toEqual(['requests.sqlite', 'requests.sqlite-shm', 'requests.sqlite-wal'])
  await second.close()
  expect((await run('requests list --json', earlier)).stdout).toContain(row?.id as string)
})

test('a directory that others can read causes a warning at start, and a private one does not', async () => {
  const wide = openFolder()
  const own = join(temporaryFolder(), 'own')
  for (const [dataDir, words] of [
    [wide, 'chmod 700'],
    [own, ''],
  ] as const) {
    const config = join(temporaryFolder(), 'gateway.config.ts')
    writeFileSync(config, 'export default { upstreams: {}, models: {} }\n')
    const child = Bun.spawn([...PROGRAM, 'serve', '--port', '0', '--data-dir', dataDir, '--config', config], {
      env: { PATH: process.env.PATH ?? '', HOME: temporaryFolder() },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const reader = child.stdout.getReader()
    await reader.read()
    child.kill('SIGTERM')
    const [stderr] = await Promise.all([new Response(child.stderr).text(), child.exited])
    if (words === '') expect(stderr).not.toContain('Warning')
    else
      expect(stderr).toContain(
        `Warning: other users of this machine can read or write the data directory ${dataDir}`,
      )
    expect(stderr).toContain(words)
    expect(statSync(join(dataDir, 'gateway.sqlite')).mode & 0o777).toBe(0o600)
  }
})

test('a sandbox and a gateway with real vendors never share a data directory', async () => {
  const folder = temporaryFolder()
  const { call, run } = createCommandLine(folder)
  const real = join(folder, 'real')
  const simulated = join(folder, 'simulated')
  expect(await run('keys create alice --balance 5', real)).toMatchObject({ code: 0 })
  expect(await run('keys create alice --balance 5 --sandbox', simulated)).toMatchObject({ code: 0 })
  const bytes = () => readFileSync(join(real, 'gateway.sqlite'))
  const before = bytes()
  for (const words of ['serve --port 0', 'keys list', 'balance show', 'doctor', 'health', 'restart']) {
    const [onReal, onSimulated] = await Promise.all([run(`${words} --sandbox`, real), run(words, simulated)])
    expect({ words, ...onReal }).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('real vendors'),
    })
    expect({ words, ...onSimulated }).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('Add --sandbox'),
    })
  }
  expect(bytes()).toEqual(before)
  expect(await run('keys list --sandbox', simulated)).toMatchObject({ code: 0 })
  // The directory of a gateway on PostgreSQL has no database.
  for (const log of ['requests.sqlite', 'journal.sqlite']) {
    const onPostgres = join(folder, `postgres ${log}`)
    mkdirSync(onPostgres)
    writeFileSync(join(onPostgres, log), '')
    expect(await run('keys list --sandbox', onPostgres)).toMatchObject({ code: 1 })
  }
  const env = { GATEWAY_DATA_DIR: real }
  expect(await call(['keys', 'create', 'bob', '--sandbox'], { env })).toMatchObject({ code: 0 })
  expect(existsSync(join(real, 'sandbox', 'gateway.sqlite'))).toBe(true)
  expect((await call(['keys', 'list'], { env })).stdout).not.toContain('bob')
})

test('the default directory of the sandbox is also accepted without a mark', async () => {
  const folder = temporaryFolder()
  const { run } = createCommandLine(folder)
  const usual = join(folder, 'share', 'gateway-sandbox')
  expect(await run('keys create alice --sandbox', usual)).toMatchObject({ code: 0 })
  rmSync(join(usual, 'is-sandbox'))
  expect(await run('keys list', usual)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('of a sandbox'),
  })
  expect(await run('keys list --sandbox', usual)).toMatchObject({ code: 0 })
})
