// Where the configuration is found, in which formats, and what `${NAME}` means there; and that no part of an upstream's address is
// lost. Commands run as processes in their own folders.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a variable in a data format looks like this

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { endings } from '../../cli/configuration/catalogue'
import { type ConfigSearchPlaces, findConfig, readConfigFile } from '../../cli/configuration/config-file'
import { type Config, faultsOf, type ModelConfig } from '../../src/config/schema'
import { KEY_VARIABLE } from '../../src/upstreams/settings'
import { databaseKinds, postgresUrl, temporaryFolder } from '../support/databases/databases'
import { dayIn } from '../support/days'
import { say, startTestGateway, testModels, waitFor } from '../support/gateway'
import { createCommandLine, PROGRAM } from '../support/processes/command-line'
import { startTaskVendor, videoBody } from '../support/vendors/task'
import { completion, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

const SECRET = 'sk-from-the-environment'

/** One configuration in every format. */
const formats: Record<string, string> = {
  ts: `export default { upstreams: { a: { kind: 'openai', apiKey: process.env.A_KEY } }, models: { found: { family: 'openai-chat', upstream: 'a', free: true } } } as const`,
  js: `export default { upstreams: { a: { kind: 'openai', apiKey: process.env.A_KEY } }, models: { found: { family: 'openai-chat', upstream: 'a', free: true } } }`,
  json: '{"upstreams":{"a":{"kind":"openai","apiKey":"${A_KEY}"}},"models":{"found":{"family":"openai-chat","upstream":"a","free":true}}}',
  jsonc:
    '{ // a comment\n"upstreams":{"a":{"kind":"openai","apiKey":"${A_KEY}"}},"models":{"found":{"family":"openai-chat","upstream":"a","free":true},},}',
  yaml: 'upstreams:\n  a: { kind: openai, apiKey: "${A_KEY}" }\nmodels:\n  found:\n    family: openai-chat\n    upstream: a\n    free: true\n',
  yml: 'upstreams:\n  a:\n    kind: openai\n    apiKey: ${A_KEY}\nmodels:\n  found: { family: openai-chat, upstream: a, free: true }\n',
  toml: '[upstreams.a]\nkind = "openai"\napiKey = "${A_KEY}"\n[models.found]\nfamily = "openai-chat"\nupstream = "a"\nfree = true\n',
}
const right: Config = {
  upstreams: { a: { kind: 'openai', apiKey: SECRET } },
  models: { found: { family: 'openai-chat', upstream: 'a', free: true } },
}

function fileIn(folder: string, name: string, text: string): string {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

test('models that have ended or end within 30 days are named, with their days', async () => {
  const folder = temporaryFolder()
  // A warning begins 30 days before, and this test may run across midnight.
  const [soon, later] = [dayIn(9), dayIn(32)]
  const model = (retires: string, more = {}): ModelConfig => ({
    family: 'openai-chat',
    upstream: 'a',
    free: true,
    retires,
    ...more,
  })
  const models = {
    staying: model(later),
    soon: model(soon, { successor: 'staying' }),
    too: model(soon),
    gone: model('2026-01-14'),
    keyless: { ...model(soon), upstream: 'b' },
  }
  const config = { upstreams: { ...right.upstreams, b: { kind: 'mistral' } }, models }
  fileIn(folder, 'gateway.config.json', JSON.stringify(config))
  const { run, json } = createCommandLine(folder)
  expect((await json('config check')).ending).toEqual([
    { model: 'gone', retires: '2026-01-14', successor: null },
    { model: 'soon', retires: soon, successor: 'staying' },
    { model: 'too', retires: soon, successor: null },
  ])
  const line = new RegExp(`^ +ending +gone ended 2026-01-14; soon, too on ${soon}$`, 'm')
  expect((await run('config check')).stdout).toMatch(line)
  // The start says the same.
  const server = Bun.spawn([...PROGRAM, 'serve', '--port', '0', '--data-dir', join(folder, 'data')], {
    cwd: folder,
    env: createCommandLine(folder).environment(),
    stdout: 'pipe',
    stderr: 'ignore',
  })
  let text = ''
  for await (const bytes of server.stdout) {
    text += new TextDecoder().decode(bytes)
    if (text.includes('keys create')) break
  }
  server.kill('SIGTERM')
  await server.exited
  expect(text).toMatch(line)
})

test('many ending models are counted, and the warning names the command that lists them', () => {
  const at = Date.parse('2026-12-11')
  const models = Array.from({ length: 8 }, (_, index) => [
    { id: `m${index}`, retirement: { at, knownAt: at, handsOver: false } },
  ])
  expect(endings(models, Date.parse('2026-11-24T12:00:00Z'))).toEqual([
    ['ending', 'm0, m1, m2, m3, m4, m5 on 2026-12-11; 2 more: gateway doctor --on 2026-12-24'],
  ])
})

describe('a configuration is read', () => {
  for (const [format, text] of Object.entries(formats)) {
    test(`as .${format}`, async () => {
      const folder = temporaryFolder()
      const file = fileIn(folder, `gateway.config.${format}`, text)
      const { call } = createCommandLine(folder)
      const check = (env: Record<string, string>) => call(['config', 'check', '--json'], { env })
      const found = await check({ A_KEY: SECRET })
      expect(found.stderr).toBe('')
      expect(JSON.parse(found.stdout)).toEqual({
        ok: true,
        file,
        faults: [],
        models: ['found'],
        hidden: [],
        ending: [],
      })
      expect(found.stdout).not.toContain(SECRET)
      // An unset key hides the models of its upstream, whatever the format.
      const hidden = await check({})
      expect(JSON.parse(hidden.stdout)).toMatchObject({ ok: true, models: [], hidden: [{ id: 'found' }] })
    })

    test(`as .${format}, with its settings`, async () => {
      const file = fileIn(
        temporaryFolder(),
        `other.${format}`,
        format === 'ts' || format === 'js' ? text.replaceAll('process.env.A_KEY', `'${SECRET}'`) : text,
      )
      const { value, faults } = await readConfigFile(file, { A_KEY: SECRET })
      expect({ value, faults }).toEqual({ value: right, faults: [] })
      expect(faultsOf(value)).toEqual([])
    })
  }

  const broken: Record<string, string> = {
    json: '{"upstreams": // no comments here\n{}}',
    jsonc: '{"upstreams": {} b}',
    yaml: 'upstreams: [1',
    toml: 'a = [1',
    ts: 'export default {',
    ini: 'a=1',
  }
  for (const [format, text] of Object.entries(broken)) {
    test(`with the place of its syntax error: .${format}`, async () => {
      const folder = temporaryFolder()
      const file = fileIn(folder, `broken.${format}`, text)
      const { code, stdout, stderr } = await createCommandLine(folder).call([
        'config',
        'check',
        '--config',
        file,
      ])
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toContain(format === 'ini' ? 'has no known format' : `${file} cannot be loaded`)
      expect(stderr).not.toMatch(/\n\s+at /)
    })
  }
})

describe('a variable in a data format', () => {
  const read = (config: object, environment: Record<string, string>) =>
    readConfigFile(fileIn(temporaryFolder(), 'c.json', JSON.stringify(config)), environment)

  test('is literal with two dollar signs, and may be a part of a text', async () => {
    const config = { a: '$${A}', b: 'x-${A}-${B}-${A}', c: ['${B}', { d: '$A {A} $' }], e: 1, f: null }
    expect(await read(config, { A: 'one', B: '' })).toEqual({
      value: { a: '${A}', b: 'x-one--one', c: ['', { d: '$A {A} $' }], e: 1, f: null },
      faults: [],
    })
  })

  test('is not replaced in values of variables, nor in names', async () => {
    expect(await read({ '${A}': '${A}' }, { A: '${B}', B: 'no' })).toEqual({
      value: { '${A}': '${B}' },
      faults: [],
    })
  })

  test('that is not set is an error, except for a key; all are reported at once', async () => {
    const config = {
      database: '${DATABASE}',
      upstreams: {
        a: { kind: 'openai', apiKey: '${KEY}', baseUrl: 'https://${HOST}/v1' },
        'b.c': { kind: 'openai', apiKey: '${EMPTY}' },
      },
      models: {},
    }
    const { value, faults } = await read(config, { EMPTY: '' })
    expect(faults).toEqual([
      'database: the environment variable DATABASE is not set',
      'upstreams.a.baseUrl: the environment variable HOST is not set',
    ])
    const upstreams = {
      a: { kind: 'openai', [KEY_VARIABLE]: 'KEY' },
      'b.c': { kind: 'openai', [KEY_VARIABLE]: 'EMPTY' },
    }
    expect(value).toEqual({ upstreams, models: {} })
    const folder = temporaryFolder()
    fileIn(folder, 'gateway.config.json', JSON.stringify(config))
    const { code, stderr } = await createCommandLine(folder).call(['keys', 'list'])
    expect(code).toBe(1)
    expect(stderr).toContain('the environment variable DATABASE is not set')
    expect(stderr).toContain('the environment variable HOST is not set')
  })

  test.each([
    [
      'c.ts',
      "export default { upstreams: { a: { kind: 'openai', apiKey: process.env.HOUSE_KEY } }, models }",
    ],
    [
      'c.mjs',
      "export default { upstreams: { 'a': { apiKey: process.env['HOUSE_KEY'], kind: 'openai' } }, models }",
    ],
    ['c.json', '{"upstreams":{"a":{"kind":"openai","apiKey":"${HOUSE_KEY}"}},"models":MODELS}'],
    [
      'c.toml',
      '[upstreams.b]\nkind = "openai"\napiKey = "b"\n[upstreams.a]\nkind = "openai"\napiKey = "${HOUSE_KEY}"\n',
    ],
  ])('of a key is named where the key is missing: %s', async (name, text) => {
    const folder = temporaryFolder()
    const models = { m: { family: 'openai-chat', upstream: 'a', free: true } }
    const prefix = `// a: { kind: 'openai', apiKey: null }\nconst models = ${JSON.stringify(models)}\n`
    const written = text.replace('MODELS', JSON.stringify(models))
    const table = '[models.m]\nfamily = "openai-chat"\nupstream = "a"\nfree = true\n'
    const file = fileIn(
      folder,
      name,
      name.endsWith('s') ? prefix + text : name.endsWith('toml') ? text + table : written,
    )
    const { call } = createCommandLine(folder)
    const checked = await call(['config', 'check', '--config', file])
    expect(checked.stdout).toContain('set HOUSE_KEY, or apiKey in the configuration')
    const listed = JSON.parse((await call(['upstreams', 'list', '--json', '--config', file])).stdout)
    expect(listed).toContainEqual(expect.objectContaining({ name: 'a', variable: 'HOUSE_KEY' }))
  })

  test('with an impossible name is an error', async () => {
    const { faults } = await read({ server: { host: '${a b}' } }, {})
    expect(faults).toEqual([expect.stringContaining('server.host: ${a b} is not the name of a variable')])
  })

  test('false means that a server needs no key, because TOML has no null', async () => {
    const file = fileIn(
      temporaryFolder(),
      'c.toml',
      '[upstreams.a]\nkind = "openai"\napiKey = false\n[models]\n',
    )
    const { value } = await readConfigFile(file, {})
    expect(value).toEqual({ upstreams: { a: { kind: 'openai', apiKey: null } }, models: {} })
    expect(faultsOf(value)).toEqual([])
  })
})

describe('a configuration is found', () => {
  const base = temporaryFolder()
  const around = (more: Partial<ConfigSearchPlaces> = {}): ConfigSearchPlaces => ({
    workingDirectory: join(base, 'work'),
    executableDirectory: join(base, 'bin'),
    home: join(base, 'home'),
    platform: 'linux',
    environment: { XDG_CONFIG_HOME: join(base, 'xdg') },
    ...more,
  })

  test('the nearest first: working directory, executable, user', () => {
    const places: [folder: string, name: string][] = [
      ['xdg/gateway', 'config.toml'],
      ['bin', 'gateway.config.yaml'],
      ['work', 'gateway.config.jsonc'],
    ]
    expect(findConfig(undefined, around())).toEqual({
      file: undefined,
      lookedIn: [join(base, 'work'), join(base, 'bin'), join(base, 'xdg/gateway'), '/etc/gateway'],
    })
    // Each overrides those before it.
    for (const [folder, name] of places) {
      const file = fileIn(join(base, folder), name, '')
      expect(findConfig(undefined, around()).file).toBe(file)
    }
    const named = fileIn(base, 'named.json', '')
    const environment = { ...around().environment, GATEWAY_CONFIG: named }
    expect(findConfig(undefined, around({ environment })).file).toBe(named)
    const flag = fileIn(base, 'flag.json', '')
    expect(findConfig(flag, around({ environment })).file).toBe(flag)
  })

  test('in the folders of each system', () => {
    const lookedIn = (more: Partial<ConfigSearchPlaces>) =>
      findConfig(undefined, {
        ...around(),
        workingDirectory: '/nowhere',
        executableDirectory: '/nowhere',
        home: '/home/a',
        environment: {},
        ...more,
      }).lookedIn
    expect(lookedIn({})).toEqual(['/nowhere', '/home/a/.config/gateway', '/etc/gateway'])
    expect(lookedIn({ environment: { XDG_CONFIG_HOME: 'relative' } })).toEqual([
      '/nowhere',
      '/home/a/.config/gateway',
      '/etc/gateway',
    ])
    expect(lookedIn({ platform: 'darwin' })).toEqual([
      '/nowhere',
      '/home/a/.config/gateway',
      '/home/a/Library/Application Support/gateway',
      '/Library/Application Support/gateway',
      '/etc/gateway',
    ])
    expect(
      lookedIn({ platform: 'win32', environment: { APPDATA: '/roaming', PROGRAMDATA: '/data' } }),
    ).toEqual(['/nowhere', '/roaming/gateway', '/data/gateway'])
  })

  test('not if a folder has two: it is unclear which one applies', () => {
    const folder = temporaryFolder()
    const files = ['gateway.config.json', 'gateway.config.yaml'].map((name) => fileIn(folder, name, ''))
    expect(() => findConfig(undefined, around({ workingDirectory: folder }))).toThrow(
      `There are several configurations: ${files.join(', ')}.`,
    )
  })

  test('or the built-in one, and then the searched places are listed', async () => {
    const folder = temporaryFolder()
    const { call } = createCommandLine(folder)
    const { stdout } = await call(['config', 'check'])
    expect(stdout).toContain('The built-in configuration has no faults.')
    // An executable also looks in its own folder.
    const near = PROGRAM.length === 1 ? `${dirname(PROGRAM[0] as string)}, ` : ''
    expect(stdout).toContain(`in: ${folder}, ${near}${folder}/.config/gateway, /etc/gateway.`)
    const file = fileIn(join(folder, '.config/gateway'), 'config.yaml', formats.yaml ?? '')
    expect((await call(['config', 'check'])).stdout).toContain(`${file} has no faults.`)
  })

  test('by a path that does not exist: the error says where the path is from', async () => {
    const { call } = createCommandLine(temporaryFolder())
    const rows = [
      [['--config', 'gone.ts'], {}, '--config names'],
      [[], { GATEWAY_CONFIG: '/gone.ts' }, 'GATEWAY_CONFIG names /gone.ts, which does not exist'],
      [['--config', '/tmp'], {}, '--config names /tmp, which is not a file'],
    ] as const
    for (const [words, env, text] of rows) {
      const { code, stderr } = await call(['config', 'check', ...words], { env })
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(text) })
    }
  })
})

describe('the address of an upstream', () => {
  test('keeps its query in every call', async () => {
    const vendor = startVendor()
    using tasks = startTaskVendor()
    const addresses: string[] = []
    vendor.answer = ({ url }) => {
      addresses.push(url.slice(vendor.url.length))
      return Response.json(completion('Hi', 1, 1))
    }
    const polled: string[] = []
    const proxy = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const { pathname, search } = new URL(request.url)
        polled.push(`${request.method} ${search}`)
        const body = request.method === 'POST' ? await request.text() : null
        return fetch(`${tasks.upstream.baseUrl}${pathname}`, { method: request.method, body })
      },
    })
    const gateway = await startTestGateway({
      upstreams: {
        odd: { ...vendor.upstream, baseUrl: `${vendor.url}/v1/?api-version=2024-10-21&x=%20y` },
        dashscope: { ...tasks.upstream, baseUrl: `http://127.0.0.1:${proxy.port}?region=eu` },
      },
      models: { odd: { ...(testModels['test-chat'] as ModelConfig), upstream: 'odd' } },
    })
    await gateway.post('/v1/chat/completions', { model: 'odd', messages: say('Hi') })
    expect(addresses).toEqual(['/v1/chat/completions?api-version=2024-10-21&x=%20y'])
    await gateway.post('/v1/videos/generations', videoBody('x'))
    await waitFor(() => polled.includes('GET ?region=eu'))
    expect([...new Set(polled)].sort()).toEqual(['GET ?region=eu', 'POST ?region=eu'])
    await gateway.server.world.db.batch([])
    tasks.answerPoll = (id) => Response.json({ output: { task_id: id, task_status: 'FAILED' } })
    await waitFor(async () => (await gateway.charges()).every(({ state }) => state !== 'held'))
    await gateway.close()
    await Promise.all([vendor.stop(), proxy.stop(true)])
  })

  const rows: [baseUrl: string, fault: string | undefined][] = [
    ['https://api.example.com/v1?api-version=1', undefined],
    ['http://127.0.0.1:11434/v1', undefined],
    ['https://', 'not an address'],
    ['http://a b/v1', 'not an address'],
    ['https://user:word@api.example.com/v1', 'use apiKey'],
    ['https://api.example.com/v1#part', 'what follows # is not sent'],
    ['api.example.com', 'Expected'],
  ]
  for (const [baseUrl, fault] of rows) {
    test(`${baseUrl} ${fault ? 'is a fault' : 'is right'}`, () => {
      const faults = faultsOf({ upstreams: { a: { kind: 'openai', baseUrl } }, models: {} })
      expect(faults).toEqual(fault ? [expect.stringContaining(fault)] : [])
      expect(faults.join()).not.toContain('word@')
    })
  }
})

describe('a configuration with faults', () => {
  const upstreams = { a: { kind: 'openai', apiKey: SECRET } }
  const priceless = { colour: 'red', upstreams, models: { a: { family: 'openai-chat', upstream: 'a' } } }
  const program = (config: object) => `export default ${JSON.stringify(config)}\n`
  const place = (text: string, name = 'gateway.config.ts') => {
    const folder = temporaryFolder()
    const file = fileIn(folder, name, text)
    return { folder, file, sqlite: join(folder, 'data', 'gateway.sqlite'), ...createCommandLine(folder) }
  }
  const working = [
    'keys create alice --account team --balance 5',
    'keys list',
    'keys show alice',
    'keys update alice --rpm 5',
    'keys pause alice',
    'keys resume alice',
    'keys roll alice',
    'keys revoke alice',
    'balance show',
    'balance add team 5',
    'balance adjust team -1 --note why',
    'balance ledger team',
    'balance verify --archives',
    'accounts list',
    'accounts show team',
    'accounts update team --note slow',
    'accounts freeze team',
    'codes create --amount 1',
    'codes list',
    'requests list',
    'usage --by model',
    'tasks list',
    'events list',
    'audit',
    'sessions list',
    'console --url http://localhost:8080',
  ]

  describe.each(databaseKinds)('on %s', (kind) => {
    test('blocks only commands that use a faulty setting', async () => {
      const database = kind === 'postgres' ? { database: await postgresUrl() } : {}
      const { folder, file, inShell, run, allFail } = place(program({ ...priceless, ...database }))
      const warning = `Warning: ${file} has faults, the first is colour: Unexpected property.`
      for (const line of [...working, `backup ${join(folder, 'copy')}`]) {
        const { code, stderr } = await inShell.run(line)
        const warnings = stderr.split(warning).length - 1
        expect({ line, code, warnings, stderr }).toMatchObject({ line, code: 0, warnings: 1 })
        expect(stderr).toContain('`gateway config check` lists all')
      }
      // The first process that meets the faults is one of its own.
      expect(JSON.parse((await run('keys show alice --json')).stdout)).toMatchObject({ status: 'revoked' })
      const all = `${file} has faults:\n  colour: Unexpected property\n  models.a.price: missing`
      await allFail(1, [
        ['requests show req_none', 'There is no request req_none'],
        ['keys create bob --models a', all],
        ['keys update alice --models a', all],
        ['models list', all],
        ['upstreams list', all],
        ['config check', `${file} has 2 faults:\n  colour`],
      ])
      // A start that fails ends its process, and keeps each fault on a line of its own.
      const served = await run('serve')
      expect(served).toMatchObject({ code: 1, stdout: '' })
      expect(served.stderr.trimEnd().split('\n').slice(0, 3)).toEqual([
        `${file} has faults:`,
        '  colour: Unexpected property',
        expect.stringMatching(/^ {2}models\.a\.price: missing/),
      ])
    })
  })

  test.each([
    ['database', { database: 'mysql://127.0.0.1/a' }],
    ['databaseReplica', { databaseReplica: 'postgres://127.0.0.1:1/copy' }],
    ['secrets.key', { secrets: { key: 'short' } }],
    ['databse', { databse: 'somewhere' }],
    ['store', { store: { url: 'postgres://127.0.0.1:1/a' } }],
    ['server.database', { server: { database: 'postgres://127.0.0.1:1/a' } }],
    ['secret', { secret: { key: 'A'.repeat(44) } }],
  ])('that may be about the database opens none: %s', async (fault, config) => {
    const { file, sqlite, run } = place(program({ upstreams, models: {}, ...config }))
    const { code, stdout, stderr } = await run('keys create alice')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toStartWith(`${file} has faults:\n  ${fault}: `)
    expect(existsSync(sqlite)).toBe(false)
  })

  test('that names ClickHouse gets one sentence that says what to use, and commands continue', async () => {
    const log = { to: 'clickhouse', keep: '9d', clickhouse: { url: 'http://127.0.0.1:8123' } }
    const { file, run } = place(program({ upstreams, models: {}, log }))
    expect(await run('keys create alice')).toMatchObject({ code: 0 })
    expect(await run('usage')).toMatchObject({ code: 0 })
    expect(await run('requests list')).toMatchObject({ code: 0 })
    const { code, stderr } = await run('config check')
    expect({ code, lines: stderr.trimEnd().split('\n') }).toEqual({
      code: 1,
      lines: [
        `${file} has one fault:`,
        expect.stringMatching(
          /^ {2}log: requests are no longer written to ClickHouse; remove log\.to and log\.clickhouse\..*PostgreSQL.*OTLP/,
        ),
      ],
    })
  })
})

describe('a configuration that cannot be loaded', () => {
  const whole = { upstreams: {}, models: {} }
  const opened = async (name: string, text: string) => {
    const folder = temporaryFolder()
    const line = createCommandLine(folder)
    const before = fileIn(folder, 'before.json', JSON.stringify(whole))
    expect(await line.run(`keys create alice --balance 5 --config ${before}`)).toMatchObject({ code: 0 })
    return {
      folder,
      file: fileIn(folder, name, text),
      sqlite: join(folder, 'data', 'gateway.sqlite'),
      ...line,
    }
  }

  test.each([
    ['gateway.config.ts', "import type { A } from './a'\n// database: 'postgres://a/b',\nexport default {"],
    ['gateway.config.ts', "throw new Error('no such secret')\nexport default { models: {} }"],
    ['gateway.config.yaml', '# database: postgres://a/b\nmodels: [1'],
  ])('does not block commands if it names no database: %s %s', async (name, text) => {
    const { file, sqlite, run, allFail } = await opened(name, text)
    for (const line of ['keys revoke alice', 'balance show', 'requests list', 'usage', 'audit']) {
      const { code, stderr } = await run(line)
      expect({ line, code, stderr }).toMatchObject({ line, code: 0 })
      expect(stderr).toContain(`Warning: ${file} cannot be loaded: `)
      expect(stderr).toContain(`Commands use ${sqlite}, because the file names no other database.`)
    }
    await allFail(1, [
      ['keys create bob --models a', `${file} cannot be loaded`],
      ['models list', `${file} cannot be loaded`],
      ['serve', `${file} cannot be loaded`],
    ])
  })

  test('fails if no database exists yet', async () => {
    const folder = temporaryFolder()
    const file = fileIn(folder, 'gateway.config.json', '{"models":')
    const { run } = createCommandLine(folder)
    const { code, stderr } = await run('keys create alice')
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`${file} cannot be loaded`) })
    expect(existsSync(join(folder, 'data', 'gateway.sqlite'))).toBe(false)
  })

  test.each([
    ['gateway.config.ts', 'export default { database: process.env.STORE,'],
    ['gateway.config.ts', "import base from './base'\nexport default { ...base,"],
    ['gateway.config.ts', "const { url } = require('./place')\nexport default {"],
    ['gateway.config.toml', 'database = "postgres://a/b"\na = [1'],
    ['gateway.config.json', '{"Database": '],
  ])('opens no other database than it may name: %s %s', async (name, text) => {
    const { file, run } = await opened(name, text)
    const refused = await run('keys revoke alice')
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 1, stdout: '' })
    expect(refused.stderr).toContain(`${file} cannot be loaded: `)
    expect(refused.stderr).toContain('It may name a database: set GATEWAY_DATABASE_URL')
  })

  test('but that of the environment', async () => {
    const { file, call } = await opened('gateway.config.ts', 'export default { database: process.env.STORE,')
    const url = await postgresUrl()
    const env = { GATEWAY_DATABASE_URL: url }
    const { code, stderr } = await call(['keys', 'create', 'bob'], { env })
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(stderr).toContain(`Warning: ${file} cannot be loaded: `)
    expect(stderr).toContain(`${new URL(url).pathname}, because GATEWAY_DATABASE_URL names it.`)
    const listed = await call(['keys', 'list', '--json'], { env })
    expect(JSON.parse(listed.stdout).map(({ name }: { name: string }) => name)).toEqual(['bob'])
    const refused = await call(['keys', 'list'], { env: { GATEWAY_DATABASE_REPLICA_URL: url } })
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain(
      'The environment has faults:\n  databaseReplica: it is a copy of `database`',
    )
  })
})
