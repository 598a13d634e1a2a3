// The compiled executable reloads its configuration: by command, by signal and when the file changes; and commands
// show the configuration that the server runs, not only the file.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitFor } from '../support/gateway'
import { ask, type Installation, install, stopWell } from '../support/processes/executable'

setDefaultTimeout(180_000)

test('a changed file changes prices and models, and its faults are reported', async () => {
  const installation = await install()
  const { configFile, dataDir } = installation
  const secret = await installation.makeKey('alice', '5')
  const server = await installation.serve()
  const original = readFileSync(configFile, 'utf8')
  const rewrite = (text: string) => writeFileSync(configFile, text)
  const priceOf = async () =>
    (await installation.json('models', 'list')).find(({ id }: { id: string }) => id === 'test-chat').price
  const events = (event: string) => server.stderr().split(`"event":"${event}"`).length - 1

  expect(statSync(join(dataDir, 'control.sock')).mode & 0o777).toBe(0o600)
  expect(await installation.json('config', 'diff')).toEqual({ ok: true, changes: [] })
  const before = await priceOf()

  // The file is a program that imports another one; what the server runs is shown until it reloads.
  writeFileSync(join(configFile, '..', 'prices.ts'), `export const input = '3.00'\n`)
  const importing = original
    .replace('export default', "import { input } from './prices'\nexport default")
    .replace(
      '"test-chat":{',
      `'new-chat':{...${/"test-chat":(\{.*?\}\})/.exec(original)?.[1]}},"test-chat":{`,
    )
    .replace('"per_1m_input_tokens":"1.00"', '"per_1m_input_tokens":input')
  rewrite(importing)
  expect(await priceOf()).toEqual(before)
  expect((await installation.command(['models', 'list'])).stderr).toContain('config diff')
  const changed = await installation.json('config', 'diff')
  expect(changed.changes.length).toBeGreaterThan(0)
  await reloadInTrail(installation, changed)
  expect((await ask(server, secret, { model: 'new-chat' })).status).toBe(200)
  expect(await installation.json('config', 'diff')).toEqual({ ok: true, changes: [] })

  // A signal, with a change in the file that is imported.
  writeFileSync(join(configFile, '..', 'prices.ts'), `export const input = '4.00'\n`)
  expect((await installation.json('config', 'diff')).changes).toMatchObject([
    { before: '"3.00"', after: '"4.00"' },
  ])
  server.kill('SIGHUP')
  await waitFor(() => events('config_reloaded') === 2)
  expect(await installation.json('config', 'diff')).toEqual({ ok: true, changes: [] })

  // A broken file: the old configuration stays in force, and the command says why.
  rewrite(importing.replace('"family":"openai-chat"', '"family":"no-such-family"'))
  const refused = await installation.command(['config', 'reload'])
  expect(refused).toMatchObject({ code: 1 })
  expect(refused.stderr).toContain('no-such-family')
  rewrite('export default {')
  server.kill('SIGHUP')
  await waitFor(() => events('config_not_reloaded') === 2)
  expect((await ask(server, secret)).status).toBe(200)

  // The file is watched as soon as the configuration says so.
  rewrite(original.replace('export default {', 'export default {"server":{"watchConfig":true},'))
  expect((await installation.command(['config', 'reload'])).code).toBe(0)
  rewrite(
    original.replace(
      'export default {',
      'export default {"limitToBalance":true,"server":{"watchConfig":true},',
    ),
  )
  await waitFor(() => isAsTheFileSays(installation))
  await followsNamedFiles(installation, original, events)
  expect(await installation.json('config', 'diff')).toEqual({ ok: true, changes: [] })

  await stopWell(installation, server)
  const alone = await installation.command(['config', 'reload'])
  expect(alone).toMatchObject({ code: 1 })
  expect(alone.stderr).toContain('No gateway serves')
})

/** The lists of models and the keys that a watched configuration names are watched as well. */
async function followsNamedFiles(
  installation: Installation,
  original: string,
  events: (event: string) => number,
): Promise<void> {
  const { configFile, dataDir } = installation
  const list = join(configFile, '..', 'local.json')
  const keyFile = join(dataDir, 'vendor-key')
  const listOf = (name: string) => JSON.stringify({ kind: 'openai', models: { [name]: {} }, refused: {} })
  writeFileSync(list, listOf('gpt-4.1-mini'))
  writeFileSync(keyFile, 'a-key-of-a-file')
  writeFileSync(
    configFile,
    original
      .replace('export default {', 'export default {"server":{"watchConfig":true},')
      .replace(
        '"models":{',
        '"models":{"local/*":{"family":"openai-chat","upstream":"keyed","free":true,"list":"local.json"},',
      )
      .replace(
        '"upstreams":{',
        `"upstreams":{"keyed":{"kind":"openai","baseUrl":"http://127.0.0.1:9/v1","apiKeyFile":${JSON.stringify(keyFile)}},`,
      ),
  )
  await waitFor(() => isAsTheFileSays(installation))
  const listed = async () =>
    (await installation.json('models', 'list'))
      .map(({ id }: { id: string }) => id)
      .filter((id: string) => id.startsWith('local/'))
  expect(await listed()).toEqual(['local/gpt-4.1-mini'])
  writeFileSync(list, listOf('gpt-4.1'))
  await waitFor(async () => (await listed()).join() === 'local/gpt-4.1')
  const reloads = events('config_reloaded')
  writeFileSync(keyFile, 'a-newer-key-of-a-file')
  await waitFor(() => events('config_reloaded') > reloads)
}

/** The number of reloads does not show this: a file may be read more often than it was changed. */
async function isAsTheFileSays({ json }: Installation): Promise<boolean> {
  return (await json('config', 'diff')).changes.length === 0
}

/** Reloads by a command, which prints the changes and adds an entry to the audit trail. */
async function reloadInTrail({ json }: Installation, changed: { changes: object[] }): Promise<void> {
  expect(await json('config', 'reload')).toEqual(changed)
  const [entry, ...more] = await json('audit', '--action', 'configuration.reload')
  expect(entry).toMatchObject({ actor: expect.stringMatching(/^cli:/) })
  expect([entry.after.changes.length, more]).toEqual([changed.changes.length, []])
}
