// Commands on the database and over the admin API: each line of a table is run both ways and prints the same, in one process for
// each way, against the real executable. Lost answers, wrong tokens and other servers are tested with the executable itself and
// real servers in between.

import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { loginProvidersOf, wholeFile } from '../../cli/lib/remote'
import { databaseKinds, postgresUrl, temporaryFolder } from '../support/databases/databases'
import { type Ran, WRITTEN } from '../support/processes/command-line'
import { openCommandShell } from '../support/processes/command-shell'
import { type Installation, install, type Running, stopWell } from '../support/processes/executable'
import { rejection } from '../support/rejection'

setDefaultTimeout(300_000)

const reported: string[] = []
/** A chat that receives events. */
const chat = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    reported.push(await request.text())
    return new Response('thanks')
  },
})
/** Two recipients of events, one of them unreachable (a command on the database reports missing ones), and a plan. */
const config = {
  events: { to: { nobody: { slack: 'http://127.0.0.1:1/' }, ops: { slack: `${chat.url}` } } },
  webhooks: { allow: ['127.0.0.1/32'] },
  plans: { team: { priceFactor: '0.9', budget: { usd: '500', per: 'month' as const } } },
}

/** A vendor's export with more usage than the gateway has recorded. */
const vendorUsage = `start_time_iso,line_item,amount_value
2026-10-03T00:00:00+00:00,"gpt-x, input",0.25
2026-10-03T00:00:00+00:00,"gpt-x, output",0.125
`

interface Site {
  installation: Installation
  server: Running
  token: string
}

const sites = new Map<string, Site>()

async function siteOf(database: string): Promise<Site> {
  const known = sites.get(database)
  if (known) return known
  const databaseUrl = database === 'postgres' ? await postgresUrl() : undefined
  const installation = await install({ config, ...(databaseUrl !== undefined && { databaseUrl }) })
  const { token } = await installation.json('admins', 'create', 'ada', '--role', 'owner')
  const site = { installation, server: await installation.serve(), token }
  sites.set(database, site)
  return site
}

afterAll(async () => {
  for (const { installation, server } of sites.values()) await stopWell(installation, server)
  await chat.stop(true)
}, 180_000)

/** Run in this order. Every object is created twice, under two names for NAME; lists are the same for both. */
const lines = [
  'keys create NAME --balance 5 --rpm 60 --budget 1.50 --per day --json',
  'keys create NAME',
  'keys create NAME2 --account NAME --expires 30d',
  'keys show NAME --json',
  'keys update NAME --concurrency 3 --budget none',
  'keys pause NAME',
  'keys pause NAME',
  'keys resume NAME',
  'keys roll NAME',
  'keys roll-webhook NAME --json',
  'keys show nobody',
  'keys list',
  'keys list --json',
  'accounts list',
  'accounts show NAME',
  'accounts update NAME --display-name Somebody --note none',
  'plans show team',
  'accounts update NAME --plan team',
  'plans list',
  'plans list --json',
  'plans show team',
  'plans show team --json',
  'plans show nothing',
  'accounts freeze NAME',
  'keys show NAME',
  'accounts unfreeze NAME --json',
  'balance add NAME 2.5 --note invoice',
  'balance add NAME 1 --json',
  'balance add NAME 9007199',
  'balance add nobody 1',
  'balance adjust NAME -1 --note cash',
  'balance adjust NAME -100 --note cash',
  'balance show',
  'balance ledger NAME',
  'balance ledger NAME --csv',
  'balance ledger NAME --limit 1 --json',
  'codes create --amount 2.50 --count 2 --expires 30d --note spring',
  'codes create --amount 1 --json',
  'codes revoke AAAAA',
  'codes list --limit 1 --json',
  'admins create NAME --role viewer',
  'admins create NAME --role viewer',
  'admins revoke NAME',
  'admins revoke NAME',
  'admins list --json',
  'usage --by model --json',
  'usage --by day --and model --json',
  'requests list',
  'requests list --status odd',
  'requests list --metadata odd',
  'requests list --metadata team=none --csv',
  'requests list --limit 2000',
  'requests list --csv --after 1',
  'requests show req_1',
  'requests show req_1 --bodies',
  'tasks list --json',
  'tasks cancel video_1',
  'events conditions',
  'events test ops',
  'events test --json',
  'events test nowhere',
  'events redeliver evt_1',
  'sessions revoke ses_1',
  'admins revoke nobody',
  'statements list',
  'statements issue --month 2026-13',
  'statements issue --month 2026-01 --json',
  'statements issue --month 2026-01',
  'statements verify',
  'statements show 1',
  'retention show',
  'retention show --json',
  'retention apply',
  'retention apply --charges 99mo --dry-run',
  'retention apply --charges 99mo',
  'retention apply --charges soon',
  'models list --json',
  'models price test-chat --input-tokens 1000 --output-tokens 10',
  'upstreams list',
  'upstreams list --json',
  'upstreams test openai',
  'upstreams test nobody',
  'upstreams health',
  'upstreams refusals',
  'reconcile --upstream openai --month 2026-10 --file usage.csv',
  'reconcile --upstream openai --month 2026-10 --file usage.csv --json',
  'reconcile --upstream nobody --month 2026-10 --file usage.csv',
  'reconcile --own --month 2026-10',
  'reconcile --own --since 2026-10-01 --upstream openai --json',
  'reconcile --own --upstream nobody',
  'rehearse --month 2026-10',
  'rehearse --month 2026-10 --json',
  'rehearse --route test-chat=nobody',
  'rehearse --plan gold=gone.json',
  'config diff',
  'config reload --json',
  'backup --list',
  'keys revoke NAME2',
  'keys update NAME2 --rpm 1',
  'accounts close NAME --yes',
  'accounts close NAME --yes',
  'accounts freeze NAME',
  'balance add NAME 1',
  'audit --limit 3 --action account.close',
]

/** Output without the parts that always differ: names, ids, secrets, times, and the written place. */
function plain({ code, stdout, stderr }: Ran) {
  const text = (output: string) =>
    output
      .replaceAll(/\bann-[ab]/g, 'NAME')
      .replaceAll(/There are no backups in .*/g, 'There are none.')
      .replaceAll(/^Written to .*\n/gm, 'WRITTEN\n')
      .replaceAll(/ --(server|data-dir|config) \S+/g, '')
      .replaceAll(/(cli:\S+@\S+|\bada\b)/g, 'WHO')
      .replaceAll(/\b(key|tr|adm|code|aud)_[0-9a-f]+/g, '$1_ID')
      .replaceAll(/\b(sk|adm)-\w+…?\w*/g, '$1-SECRET')
      .replaceAll(/whsec_[\w+/=]+/g, 'whsec_SECRET')
      .replaceAll(/\b([0-9A-Z]{5}-){4}[0-9A-Z]{5}/g, 'CODE')
      .replaceAll(/…[0-9A-Z]{5}\b/g, '…HINT')
      .replaceAll(/\d{4}-\d\d-\d\d([T ][\d:.]+)?( UTC|Z)?/g, 'TIME')
      .replaceAll(/\d+ ms\b/g, 'A WHILE')
      .replaceAll(/\d+ (second|minute|hour|day)s?/g, 'A WHILE')
      .replaceAll(/ +/g, ' ')
  return { code, stdout: text(stdout), stderr: text(stderr) }
}

for (const database of databaseKinds) {
  test(`each command prints the same on the database and over the admin API (${database})`, async () => {
    const { installation, server, token } = await siteOf(database)
    const { configFile, dataDir } = installation
    const settings = ['--config', configFile, '--data-dir', dataDir]
    const home = dirname(configFile)
    const environment = { PATH: process.env.PATH, HOME: home }
    writeFileSync(join(home, 'usage.csv'), vendorUsage)
    const onDatabase = openCommandShell(home, environment)
    const overApi = openCommandShell(home, { ...environment, GATEWAY_ADMIN_TOKEN: token })
    for (const line of lines) {
      const words = (name: string) => [...line.replaceAll('NAME', name).split(' '), ...settings]
      const [here, there] = await Promise.all([
        onDatabase.run(words('ann-a')),
        overApi.run([...words('ann-b'), '--server', server.url]),
      ])
      // On the database it also adds up totals and creates the key that signs closed months, which a serving gateway has already
      // done.
      if (line.startsWith('retention apply')) here.stderr = here.stderr.replace(WRITTEN, '')
      expect({ line, ...plain(there) }).toEqual({ line, ...plain(here) })
      expect({ line, hasStack: /\n\s+at /.test(there.stderr) }).toEqual({ line, hasStack: false })
      expect(there.stdout + there.stderr).not.toContain(token)
    }
    await Promise.all([onDatabase.end(), overApi.end()])
    const entries = await installation.json('audit', '--limit', '1000')
    const count = (who: RegExp) => entries.filter(({ actor }: { actor: string }) => who.test(actor)).length
    expect(reported.splice(0).filter((text) => text.includes('Nothing has happened')).length).toBe(4)
    // Either way, every change of a command is in the audit trail; the first admin was created on the database.
    expect(count(/^ada$/)).toBeGreaterThan(20)
    expect(count(/^cli:.+@.+$/)).toBe(count(/^ada$/) + 1)
  })

  test(`a credit whose answer is lost is booked once (${database})`, async () => {
    const { installation, server, token } = await siteOf(database)
    await installation.makeKey('payer', '1')
    let lost = 0
    let isOut = false
    const between = Bun.serve({
      port: 0,
      async fetch(request) {
        const { pathname, search } = new URL(request.url)
        const { method, headers } = request
        const body = method === 'GET' ? undefined : await request.text()
        const answer = await fetch(`${server.url}${pathname}${search}`, {
          method,
          headers,
          ...(body && { body }),
        })
        if (!pathname.endsWith('/credits') || (lost > 0 && !isOut)) return answer
        lost++
        return new Response('gone', { status: 502 })
      },
    })
    try {
      const environment = { GATEWAY_ADMIN_TOKEN: token, GATEWAY_ADMIN_URL: '' }
      const add = (...more: string[]) =>
        installation.command(['balance', 'add', 'payer', '5', '--server', `${between.url}`, ...more], {
          environment,
        })
      const balance = async () => (await installation.json('balance', 'show', 'payer')).balance_usd
      expect(await add()).toMatchObject({ code: 0 })
      expect(lost).toBe(1)
      expect(await balance()).toBe('6.00')
      isOut = true
      const unsure = await add()
      expect(unsure).toMatchObject({ code: 1, stdout: '' })
      const [, key = ''] = /--idempotency-key (\S+)/.exec(unsure.stderr) ?? []
      isOut = false
      expect((await add('--idempotency-key', key)).stderr).toContain('was done before')
      expect(await balance()).toBe('11.00')
    } finally {
      await between.stop(true)
    }
  })
}

test('a refusal, or a server that is not a gateway, is reported in one line', async () => {
  const { installation, server, token } = await siteOf('sqlite')
  const viewer = (await installation.json('admins', 'create', 'looker', '--role', 'viewer')).token
  const answers: Record<string, () => Response> = {
    '/old/admin/v1/keys': () =>
      Response.json(
        { error: { code: 'unknown_route', message: 'There is no GET /keys here.' } },
        { status: 404, headers: { 'x-gateway-version': '0.0.1' } },
      ),
    '/elsewhere/admin/v1/keys': () => Response.redirect('https://example.com/'),
    '/odd/admin/v1/keys': () => Response.json({ keys: [] }),
  }
  const other = Bun.serve({
    port: 0,
    fetch: (request) => answers[new URL(request.url).pathname]?.() ?? new Response('<html>', { status: 404 }),
  })
  const twoLines = join(temporaryFolder(), 'two-lines.txt')
  writeFileSync(twoLines, `${token}\nand more\n`)
  const rows: [string, string, number, string[]][] = [
    ['keys list', `--server ${server.url} --token @${twoLines}`, 1, ['two-lines.txt has more than a token']],
    ['keys list', `--server ${server.url} --token adm-wrong`, 1, ['refuses the token', server.url]],
    [
      'codes create --amount 1',
      `--server ${server.url} --token ${viewer}`,
      1,
      ['looker is viewer', 'role operator'],
    ],
    ['keys list', '--server http://127.0.0.1:1 --token x', 1, ['cannot be reached (ECONNREFUSED)']],
    ['keys list', '--server http://203.0.113.1 --token x', 1, ['unencrypted', '--allow-http']],
    ['keys list', '--server ftp://example.com --token x', 2, ['takes an address']],
    ['keys list', `--server ${server.url}`, 2, ['takes a token']],
    ['keys list', '--token x', 2, ['needs --server']],
    ['keys list', '--context nothing', 2, ['no context nothing']],
    ['keys list', `--server ${other.url} --token x`, 1, ['not a gateway']],
    ['keys list', `--server ${other.url}old --token x`, 1, ['version 0.0.1']],
    ['keys list', `--server ${other.url}elsewhere --token x`, 1, ['https://example.com/']],
    ['keys list', `--server ${other.url}odd --token x`, 1, ['in a form']],
    ['balance verify', `--server ${server.url}`, 2, ['works on this machine only']],
    ['usage --rebuild', `--server ${server.url} --token ${token}`, 1, ['works on the database only']],
    ['backup here.zst', `--server ${server.url} --token ${token}`, 1, ['machine of the gateway']],
  ]
  try {
    for (const [line, flags, code, texts] of rows) {
      const ran = await installation.command([...line.split(' '), ...flags.split(' ')])
      expect({ line, flags, code: ran.code, stdout: ran.stdout }).toEqual({ line, flags, code, stdout: '' })
      for (const text of texts)
        expect({ line, flags, ...ran }).toMatchObject({ stderr: expect.stringContaining(text) })
      expect(ran.stderr).not.toContain(token)
    }
  } finally {
    await other.stop(true)
  }
})

test('a download that ends early or stalls is never accepted as complete', async () => {
  const { installation, token } = await siteOf('sqlite')
  const pieces = ['id,at\n', 'req_1,2026-10-01T00:00:00.000Z\n']
  using cutting = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket) {
        const chunks = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`)
        socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks.join('')}`)
        socket.flush()
        socket.end()
      },
    },
  })
  for (const line of ['requests list --csv', 'keys list']) {
    const words = [...line.split(' '), '--server', `http://127.0.0.1:${cutting.port}`, '--token', token]
    const { code, stderr } = await installation.command(words)
    expect({ line, code, stderr }).toEqual({
      line,
      code: 1,
      stderr: expect.stringContaining('closed the connection early'),
    })
  }
  const silent = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Buffer.from(pieces.join(''))),
  })
  const reader = wholeFile(silent, 'http://gateway', 20).getReader()
  expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe(pieces.join(''))
  expect((await rejection(reader.read())).message).toContain('has sent nothing for 0.02 seconds')
})

test('commands use the saved gateway until another one is named, and only the owner can read its file', async () => {
  const { installation, server, token } = await siteOf('sqlite')
  const { dataDir, configFile } = installation
  const home = temporaryFolder()
  const tokenFile = join(home, 'token.txt')
  writeFileSync(tokenFile, `${token}\n`)
  // Its own flags would name a database.
  const run = async (line: string, more: Record<string, string> = {}) => {
    const child = Bun.spawn([installation.path, ...line.split(' ')], {
      cwd: home,
      env: { PATH: process.env.PATH, HOME: home, ...more },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [stdout, stderr] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ])
    expect(stdout + stderr).not.toContain(token)
    return { code: await child.exited, stdout, stderr }
  }
  expect(await run(`contexts add rack --server ${server.url} --token adm-wrong`)).toMatchObject({ code: 1 })
  expect((await run('contexts list')).stderr).toContain('There are no contexts')
  const added = await run(`contexts add rack --server ${server.url}/admin/v1/ --token @${tokenFile}`)
  expect(added.stdout).toContain('as ada with the role owner')
  const file = join(home, '.config', 'gateway', 'contexts.json')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
    current: 'rack',
    contexts: { rack: { server: server.url, token } },
  })
  const made = await run('keys create saved --json')
  expect(JSON.parse(made.stdout)).toMatchObject({ name: 'saved' })
  expect(made.stderr).toContain(`Written to ${server.url}.`)
  expect((await installation.command(['keys', 'show', 'saved'])).code).toBe(0)
  const own = `--data-dir ${dataDir} --config ${configFile}`
  expect((await run(`balance verify ${own}`)).code).toBe(0)
  for (const line of ['balance verify', 'reconcile --upstream openai --month 2026-10 --file usage.csv']) {
    const refused = await run(line)
    expect({ line, code: refused.code }).toEqual({ line, code: 1 })
  }
  expect((await run('balance verify')).stderr).toContain('rack has commands work on another gateway')
  expect((await run('keys show saved --context none')).stderr).toContain('There is no key "saved"')
  expect((await run('contexts use none')).code).toBe(0)
  expect((await run('keys show saved')).code).toBe(1)
  expect((await run('keys show saved --context rack')).code).toBe(0)
  expect(
    (await run('keys show saved', { GATEWAY_ADMIN_URL: server.url, GATEWAY_ADMIN_TOKEN: token })).code,
  ).toBe(0)
  chmodSync(file, 0o644)
  expect((await run('keys list --context rack')).stderr).toContain(`chmod 600 ${file}`)
  chmodSync(file, 0o600)
  expect((await run('contexts remove rack')).code).toBe(0)
  expect(readFileSync(file, 'utf8')).not.toContain(token)
})

test('a gateway with a certificate of a private authority is reached only with --ca-file', async () => {
  const { installation, server, token } = await siteOf('sqlite')
  const home = temporaryFolder()
  const fixture = (name: string) => join(import.meta.dir, '../fixtures/tls', `${name}.pem`)
  using proxy = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    tls: { cert: readFileSync(fixture('address'), 'utf8'), key: readFileSync(fixture('key'), 'utf8') },
    fetch: ({ url, method, headers, body }) => {
      const { pathname, search } = new URL(url)
      return fetch(new URL(pathname + search, server.url), { method, headers, body, decompress: false })
    },
  })
  const environment = { PATH: process.env.PATH, HOME: home, GATEWAY_ADMIN_TOKEN: token }
  const shell = openCommandShell(home, environment)
  const add = (name: string, ...more: string[]) =>
    shell.run(['contexts', 'add', name, '--server', `${proxy.url}`, ...more])
  for (const [more, text] of [
    [[], 'certificate'],
    [['--ca-file', fixture('certificate')], 'certificate'],
    [['--ca-file', 'nowhere.pem'], 'cannot be read from'],
  ] as const) {
    const refused = await add('rack', ...more)
    expect({ more, ...refused }).toEqual({ more, code: 1, stdout: '', stderr: expect.stringContaining(text) })
    expect(refused.stderr).not.toContain(token)
  }
  expect((await shell.run(['contexts', 'list'])).stderr).toContain('There are no contexts')
  expect((await add('rack', '--ca-file', fixture('authority'))).stdout).toContain(
    'as ada with the role owner',
  )
  const made = await shell.run(['keys', 'create', 'behind-authority', '--json'])
  expect(made.code).toBe(0)
  expect((await installation.command(['keys', 'show', 'behind-authority'])).code).toBe(0)
  const [listed] = JSON.parse((await shell.run(['contexts', 'list', '--json'])).stdout)
  expect(listed).toMatchObject({ name: 'rack', ca_file: fixture('authority') })
  await shell.end()
})

test('each command on the page about the admin API runs unchanged', async () => {
  const { installation, server } = await siteOf('sqlite')
  await installation.makeKey('alice', '1')
  const page = await Bun.file(join(import.meta.dir, '../../docs/operate/admin.md')).text()
  const lines = page
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => /^(gateway|curl) /.test(line))
  expect(lines.length).toBeGreaterThan(8)
  const home = temporaryFolder()
  const { token } = await installation.json('admins', 'create', 'reader', '--role', 'owner')
  writeFileSync(join(home, 'token.txt'), token)
  for (const line of lines) {
    // The name is taken here.
    const here = line
      .replace(' ada ', ' bea ')
      .replaceAll(/https?:\/\/(gateway\.example\.com|127\.0\.0\.1:8080)/g, server.url)
    const child = Bun.spawn(
      ['sh', '-c', here.replace(/^gateway/, installation.path).replace(/^curl/, 'curl -sf')],
      {
        cwd: home,
        env: {
          PATH: process.env.PATH,
          HOME: home,
          TOKEN: token,
          // Variables have lower precedence than a context; flags that name the database have a higher one.
          GATEWAY_CONFIG: installation.configFile,
          GATEWAY_DATA_DIR: installation.dataDir,
        },
        stdin: 'ignore',
        stdout: 'ignore',
        stderr: 'pipe',
      },
    )
    const stderr = await new Response(child.stderr).text()
    const code = await child.exited
    expect({ line, code, stderr: code === 0 ? '' : stderr }).toEqual({ line, code: 0, stderr: '' })
  }
  expect((await installation.json('balance', 'show', 'alice')).balance_usd).toBe('18.50')
})

test.each(['before', 'in the middle of'])(
  'a gateway that stops %s its answer is not waited for',
  async (when) => {
    const begun = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n{"data":'
    const silent = createServer((socket) => {
      socket.on('error', () => {})
      if (when !== 'before') socket.write(begun)
    })
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const server = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
    const error = await rejection(loginProvidersOf({ server }, 50))
    expect(String(error)).toContain(`${server} did not answer within 0.05 seconds. Try again later.`)
    silent.close()
  },
)
