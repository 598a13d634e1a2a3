// A first configuration: `gateway init` writes one that passes the check and overwrites nothing, `config print` shows the
// built-in catalogue, and `extends` adds to it.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { choosableKinds } from '../../cli/configuration/new-config'
import shipped from '../../gateway.config'
import { extended } from '../../src/config/extension'
import { type Config, faultsOf } from '../../src/config/schema'
import { temporaryFolder } from '../support/databases/databases'
import { createCommandLine, PROGRAM } from '../support/processes/command-line'

setDefaultTimeout(60_000)

const folder = temporaryFolder()
const { call, environment } = createCommandLine(folder)

test('init writes a configuration for every vendor that passes the check, and says what is next', async () => {
  const file = join(folder, 'every', 'gateway.config.ts')
  const azure = 'https://house.openai.azure.com'
  const all = choosableKinds.map((kind) => (kind === 'azure' ? `azure=${azure}` : kind)).join()
  const words = ['init', '--config', file, '--upstream', all, '--port', '9123', '--json']
  const database = 'postgres://gateway@127.0.0.1/gateway'
  const { code, stdout, stderr } = await call([...words, '--database', database])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const { missing, next } = JSON.parse(stdout)
  expect(missing).toContain('OPENAI_API_KEY')
  expect(next).toContainEqual(expect.stringContaining('serve --config'))
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect((await call(['config', 'check', '--config', file])).stderr).not.toContain('faults:')
  const written = (await import(file)).default
  expect(written).toMatchObject({ extends: 'builtin', database, server: { host: '127.0.0.1', port: 9123 } })
  expect(written.upstreams.azure).toMatchObject({ kind: 'azure', baseUrl: azure })
  expect(written.upstreams.local).toEqual({
    kind: 'openai',
    baseUrl: 'http://127.0.0.1:8000/v1',
    apiKey: null,
  })
  // It serves the models of the server, as soon as that runs.
  expect(written.upstreams.ollama).toMatchObject({ kind: 'ollama', discover: true })
  // The examples in comments are settings that pass, too.
  const examples = readFileSync(file, 'utf8').replaceAll(/^( *)\/\/ (.*[,{])$/gm, '$1$2')
  const whole = join(folder, 'every', 'examples.ts')
  writeFileSync(
    whole,
    examples.replaceAll(/^.*list: '.*$/gm, '').replaceAll(/process\.env\.S3_\w+/g, "'set'"),
  )
  const { value, faults } = extended((await import(whole)).default, shipped)
  expect([...faults, ...faultsOf({ ...(value as object), secrets: undefined })]).toEqual([])
  expect(Object.keys((value as typeof shipped).models)).toContain('my-model')
})

test('init overwrites nothing, and asks only on a terminal', async () => {
  const file = join(folder, 'gateway.config.ts')
  expect(await call(['init'])).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
  expect(existsSync(file)).toBe(false)
  writeFileSync(file, 'mine')
  expect(await call(['init', '--yes'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('left as it is'),
  })
  const other = join(folder, 'gateway.config.js')
  expect(await call(['init', '--yes', '--config', other])).toMatchObject({ code: 1 })
  expect([readFileSync(file, 'utf8'), existsSync(other)]).toEqual(['mine', false])
  expect(
    await call(['init', '--yes', '--upstream', 'opnai', '--config', join(folder, 'x', 'a.ts')]),
  ).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Did you mean openai?'),
  })
})

test.each([
  ['azure', 'azure needs its address'],
  ['azure=house', 'begins with http:// or https://'],
  ['openai=https://example.com', 'has one address'],
  ['local=ftp://host', 'begins with http:// or https://'],
])('init takes no upstream %s', async (upstream, words) => {
  const file = join(folder, 'refused', 'gateway.config.ts')
  const { code, stderr } = await call(['init', '--yes', '--upstream', upstream, '--config', file])
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(words) })
  expect(existsSync(file)).toBe(false)
})

test.skipIf(!Bun.which('script'))('init asks on a terminal, and again for what it cannot take', async () => {
  const file = join(folder, 'asked.ts')
  const line = [...PROGRAM, 'init', '--config', `${folder}/asked/gateway.config.ts`].join(' ')
  const child = Bun.spawn(['script', '-qec', line, '/dev/null'], {
    env: environment(),
    stdin: 'pipe',
    stdout: 'pipe',
  })
  const answers = ['opnai', 'openai,groq,local=http://127.0.0.1:9999/v1', '', '0.0.0.0', '99999', '9001']
  let shown = ''
  const decoder = new TextDecoder()
  for await (const bytes of child.stdout) {
    shown += decoder.decode(bytes, { stream: true })
    // One answer for each prompt.
    while (answers.length > 0 && shown.split('> ').length + answers.length > 7) {
      child.stdin.write(`${answers.shift()}\n`)
      child.stdin.flush()
    }
  }
  expect(await child.exited).toBe(0)
  expect(shown).toContain('has no faults')
  expect(shown).toContain('Did you mean openai?')
  expect(shown).toContain('a number from 1 to 65535, not "99999"')
  expect(existsSync(file)).toBe(false)
  const text = readFileSync(join(folder, 'asked', 'gateway.config.ts'), 'utf8')
  expect(text).toContain("groq: { kind: 'groq'")
  expect(text).toContain("local: { kind: 'openai', baseUrl: 'http://127.0.0.1:9999/v1', apiKey: null },")
  expect(text).toContain("host: '0.0.0.0',\n    port: 9001,")
})

test('config print shows the catalogue as a file and as data, without keys of the environment', async () => {
  const text = await call(['config', 'print'])
  expect(text.stdout).toBe(readFileSync(join(import.meta.dir, '../../gateway.config.ts'), 'utf8'))
  const env = { OPENAI_API_KEY: 'the-secret' }
  const { stdout } = await call(['config', 'print', '--json'], { env })
  expect(stdout).not.toContain('the-secret')
  const file = join(folder, 'printed.json')
  writeFileSync(file, stdout)
  const { code, stdout: checked } = await call(['config', 'check', '--json', '--config', file], { env })
  expect({ code, ...JSON.parse(checked) }).toMatchObject({
    code: 0,
    models: expect.arrayContaining(['pgt-5-mini']),
  })
})

test('extends adds to the catalogue: entries of the file take precedence, null removes an entry and its references', async () => {
  const mine = { family: 'openai-chat', upstream: 'local', free: true }
  const file = {
    extends: 'builtin',
    upstreams: { local: { kind: 'openai', baseUrl: 'http://127.0.0.1:1/v1', apiKey: null }, cohere: null },
    models: { 'my-model': mine, 'pgt-5-mini': mine, 'whisper-1': null },
    aliases: { fast: 'my-model' },
  }
  const { value, faults } = extended(file, {
    ...shipped,
    aliases: { old: 'whisper-1', kept: 'pgt-5.4-mini' },
  })
  const { models, upstreams, aliases } = value as Config
  expect([...faults, ...faultsOf(value)]).toEqual([])
  expect(Object.keys(upstreams)).toEqual(expect.arrayContaining(['local', 'openai']))
  expect(Object.keys(models)).toEqual(expect.arrayContaining(['my-model', 'pgt-5.4-mini', 'claude-opus-5-5']))
  for (const gone of ['whisper-1', 'rerank-v4.0-pro']) expect(Object.keys(models)).not.toContain(gone)
  expect(models['pgt-5-mini']).toEqual(mine as never)
  expect(aliases).toEqual({ kept: 'pgt-5.4-mini', fast: 'my-model' })
  expect(shipped.models['whisper-1']).toBeDefined()
  writeFileSync(join(folder, 'extended.json'), JSON.stringify(file))
  const listed = await call(['models', 'list', '--json', '--config', join(folder, 'extended.json')])
  expect(listed.stdout).toContain('"my-model"')
})

test('an entry that cannot be extended or removed is an error', () => {
  const faultsIn = (written: object) => extended(written, shipped).faults
  expect(faultsIn({ extends: 'other' })).toEqual([expect.stringContaining('only "builtin"')])
  expect(faultsIn({ extends: 'builtin', models: { 'no-such': null } })).toEqual([
    expect.stringContaining('models.no-such: null removes'),
  ])
  const { value } = extended({ extends: 'builtin', models: [] }, shipped)
  expect(faultsOf(value).join()).toContain('models:')
})
