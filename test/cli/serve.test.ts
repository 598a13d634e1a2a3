// `gateway serve` as a process: its printed commands can be pasted, commands take effect while it runs, and it stops cleanly.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import catalogue from '../../gateway.config'
import { upstreamKinds } from '../../src/upstreams/kinds'
import { temporaryFolder } from '../support/databases/databases'
import { waitFor } from '../support/gateway'
import { PROGRAM, WRITTEN } from '../support/processes/command-line'
import type { Json } from '../support/scenario'
import { completion } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

const folder = temporaryFolder()
const env = { PATH: process.env.PATH ?? '', HOME: folder, XDG_DATA_HOME: join(folder, 'share') }

interface Process {
  stop(signal?: NodeJS.Signals): void
  /** Waits until the text is on standard output, and returns everything so far. */
  until(words: string | RegExp): Promise<string>
  /** Waits until the text is on standard error this number of times. */
  logged(words: string, times: number): Promise<void>
  ended: Promise<{ code: number; stdout: string; stderr: string }>
}

function start(words: string[], more: Record<string, string> = {}): Process {
  const child = Bun.spawn([...PROGRAM, ...words], {
    cwd: folder,
    env: { ...env, ...more },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let stdout = ''
  const reading = (async () => {
    const decoder = new TextDecoder()
    for await (const bytes of child.stdout) stdout += decoder.decode(bytes, { stream: true })
  })()
  let stderr = ''
  const logging = (async () => {
    const decoder = new TextDecoder()
    for await (const bytes of child.stderr) stderr += decoder.decode(bytes, { stream: true })
  })()
  const appears = async (has: () => boolean) => {
    while (!has()) {
      if (child.exitCode !== null) throw new Error(`it ended: ${stdout}${stderr}`)
      await Bun.sleep(10)
    }
  }
  return {
    stop: (signal = 'SIGTERM') => child.kill(signal),
    async until(words) {
      await appears(() => stdout.search(words) !== -1)
      return stdout
    },
    logged: (words, times) => appears(() => stderr.split(words).length > times),
    ended: (async () => {
      const code = await child.exited
      await Promise.all([reading, logging])
      return { code, stdout, stderr }
    })(),
  }
}

async function json(words: string[]): Promise<Json> {
  const { code, stdout, stderr } = await start([...words, '--json']).ended
  expect({ words, code, stderr: stderr.replace(WRITTEN, '') }).toEqual({ words, code: 0, stderr: '' })
  return JSON.parse(stdout)
}

async function serve(words: string[] = []): Promise<{ server: Process; reported: Json }> {
  const server = start(['serve', '--sandbox', '--port', '0', '--json', ...words])
  return { server, reported: JSON.parse(await server.until(/\}\n/)) }
}

function chat(url: string, key: string, body: Record<string, unknown> = {}): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'pgt-5-mini', messages: [{ role: 'user', content: 'Hello' }], ...body }),
  })
}

async function statusOf(response: Promise<Response>): Promise<number> {
  const { status, body } = await response
  await body?.cancel()
  return status
}

/** Runs a printed line in a shell, as a user pastes it. */
async function paste(line: string | undefined, cwd = folder, path = env.PATH): Promise<string> {
  const shell = Bun.spawn(['sh', '-c', line ?? 'false'], {
    cwd,
    env: { ...env, PATH: path },
    stdout: 'pipe',
    stderr: 'ignore',
  })
  return new Response(shell.stdout).text()
}

test('the printed commands work when pasted', async () => {
  const server = start(['serve', '--sandbox', '--port', '0', '--data-dir', 'data dir'])
  const shown = await server.until('requests list')
  expect(shown).toMatch(
    /^Gateway listening on http:\/\/127\.0\.0\.1:[1-9]\d* \(sandbox: vendors are simulated\)$/m,
  )
  expect(shown).toMatch(/^ {2}data +\S.*data dir$/m)
  expect(shown).toMatch(/^ {2}models +[a-z]+ \d+(, [a-z]+ \d+)+$/m)
  for (const page of ['docs', 'console']) {
    const address = new RegExp(`^ {2}\\w+ +(http://127\\.0\\.0\\.1:\\d+/${page})$`, 'm').exec(shown)?.[1]
    expect((await fetch(address ?? 'none:')).status).toBe(200)
  }
  const lines = shown.split('\n')
  expect(lines[0]).toStartWith('curl ')
  const answer = await paste(lines.find((line) => line.startsWith('curl ')))
  expect(answer).toContain('data: {')
  expect(answer).toEndWith('data: [DONE]\n\n')
  // The request log is written a moment after the answer.
  let usage = ''
  await waitFor(async () => {
    usage = await paste(lines.find((line) => line.includes('requests list')))
    return usage.includes(' demo ')
  })
  expect(usage).toMatch(/ demo +200 .* pgt-5\.4-mini$/m)
  server.stop('SIGINT')
  expect(await server.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('Stopping') })
})

const FREE_MODEL = `export default { upstreams: { a: { kind: 'openai' } }, models: { a: { family: 'openai-chat', upstream: 'a', free: true } } }\n`

test('the printed commands work in any folder, also if npx provides the only runtime', async () => {
  const own = join(temporaryFolder(), 'node_modules', '.bin')
  mkdirSync(own, { recursive: true })
  symlinkSync(process.execPath, join(own, 'bun'))
  // Like a shell without the runtime installed.
  const path = '/usr/bin:/bin'
  writeFileSync(join(folder, 'here.config.ts'), FREE_MODEL)
  const words = ['serve', '--sandbox', '--port', '0', '--config', 'here.config.ts']
  const server = start(words, { PATH: `${own}:${path}`, GATEWAY_DATA_DIR: join(folder, 'by variable') })
  const shown = await server.until('requests list')
  const line = shown.split('\n').find((each) => each.includes('requests list'))
  expect(await paste(`${line} --json`, temporaryFolder(), path)).toContain('"rows": []')
  server.stop()
  expect((await server.ended).code).toBe(0)
})

test('a sandbox uses the next free port if the default one is in use, and says so', async () => {
  const holder = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
  const config = { server: { port: holder.port }, upstreams: {}, models: {} }
  writeFileSync(join(folder, 'taken.config.json'), JSON.stringify(config))
  const words = ['serve', '--json', '--config', 'taken.config.json', '--data-dir']
  const real = await start([...words, 'taken']).ended
  expect(real).toMatchObject({ code: 1, stderr: expect.stringContaining('is in use') })
  const server = start([...words, 'taken sandbox', '--sandbox'])
  const { url } = JSON.parse(await server.until(/\}\n/))
  expect(Number(new URL(url).port)).toBeGreaterThan(holder.port ?? 0)
  expect((await fetch(`${url}/health`)).status).toBe(200)
  server.stop()
  expect(await server.ended).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(
      `Port ${holder.port} is in use: the sandbox listens on ${new URL(url).port}`,
    ),
  })
  await holder.stop()
})

/** The output of `serve` on a terminal of 80 columns; the server is stopped then. */
async function onTerminal(words: string[], untilShown: string, more: Record<string, string> = {}) {
  let shown = ''
  const decoder = new TextDecoder()
  const data = (_: unknown, bytes: Uint8Array) => {
    shown += decoder.decode(bytes)
  }
  const options = {
    cwd: folder,
    env: { ...env, TERM: 'xterm', NO_COLOR: '1', ...more },
    terminal: { cols: 80, rows: 24, data },
  }
  const command = [...PROGRAM, 'serve', '--port', '0', ...words]
  const child = Bun.spawn(command, options as object)
  await waitFor(() => shown.includes(untilShown) || child.exitCode !== null)
  const text = shown.replaceAll('\r\n', '\n')
  // Command lines and files are as long as the folders that they are in.
  const paths = [PROGRAM.at(-1) as string, folder]
  const isTooWide = (line: string) => line.length > 80 && !paths.some((path) => line.includes(path))
  expect(text.split('\n').filter(isTooWide)).toEqual([])
  return {
    text,
    async stop() {
      child.kill('SIGTERM')
      expect(await child.exited).toBe(0)
    },
  }
}

test('on a terminal of 80 columns no line is wider, and the first command works when pasted', async () => {
  const { text, stop } = await onTerminal(['--sandbox', '--data-dir', 'narrow'], 'narrow\r\n')
  const [command = '', ...others] = text.split('\n\n')
  expect(command).toStartWith('curl -N http://127.0.0.1:')
  expect(command.split('\n').length).toBeGreaterThan(3)
  expect(others.join('\n\n')).not.toContain('curl')
  expect(await paste(command)).toEndWith('data: [DONE]\n\n')
  expect(text).toMatch(/^ {2}models +openai \d+, dashscope \d+, /m)
  await stop()
})

test('without a vendor key it says that no model can be used, and suggests a remedy and --sandbox', async () => {
  const { text, stop } = await onTerminal(['--data-dir', 'keyless'], 'balance 5')
  expect(text).toStartWith('No model can be used: no vendor has an API key.')
  for (const [name, kind] of upstreamKinds) {
    if (name in catalogue.upstreams)
      expect(text).toMatch(new RegExp(`^ {2}${kind.secretVariable} +[1-9]\\d* models?$`, 'm'))
  }
  expect(text).toMatch(/ serve --sandbox$/m)
  expect(text).toMatch(/^Gateway listening on http:/m)
  await stop()
})

test('with some vendor keys it counts the usable models, and names the variables of the others', async () => {
  const { text, stop } = await onTerminal(['--data-dir', 'some'], 'balance 5', { OPENAI_API_KEY: 'sk-1' })
  expect(text).toStartWith('Gateway listening on http:')
  expect(text).toMatch(/^ {2}models +openai [1-9]\d*$/m)
  expect(text).toMatch(/^ {2}not available +dashscope [1-9]\d*: set DASHSCOPE_API_KEY$/m)
  expect(text).toMatch(/^ {17}xai [1-9]\d*: set XAI_API_KEY$/m)
  await stop()
})

test('commands take effect while it runs', async () => {
  const { server, reported } = await serve()
  expect(reported).toMatchObject({
    sandbox: true,
    config: null,
    hidden: [],
  })
  // Models from vendors' lists may be newer than the simulators. Models maintained by hand are all simulated, except for one
  // that its vendor has shut down.
  expect(reported.not_simulated.filter((id: string) => id in catalogue.models)).toEqual([
    'text-embedding-004',
  ])
  const answer = await chat(reported.url, reported.key)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('x-gateway-sandbox')).toBe('true')

  const { key } = await json(['keys', 'create', 'alice', '--sandbox'])
  expect(await statusOf(chat(reported.url, key))).toBe(402)
  await json(['balance', 'add', 'alice', '5', '--sandbox'])
  expect(await statusOf(chat(reported.url, key))).toBe(200)
  const refused = async (secret: string, status: number) => {
    await Bun.sleep(1_000)
    expect(await statusOf(chat(reported.url, secret))).toBe(status)
  }
  await json(['keys', 'update', 'alice', '--models', 'vgx-4', '--sandbox'])
  await refused(key, 400)
  await json(['keys', 'update', 'alice', '--models', 'none', '--sandbox'])
  const rolled = await json(['keys', 'roll', 'alice', '--sandbox'])
  await refused(key, 401)
  expect(await statusOf(chat(reported.url, rolled.key))).toBe(200)
  await json(['keys', 'revoke', 'alice', '--sandbox'])
  await refused(rolled.key, 401)

  const usage = await json(['usage', '--sandbox'])
  // Failed requests of unknown keys have their own row, beginning with the minute in which they are stored.
  const paid = usage.rows.filter(({ requests }: Json) => requests > 0)
  expect(paid.map(({ key, requests }: Json) => [key, requests]).sort()).toEqual([
    ['alice', 2],
    ['demo', 1],
  ])
  expect(await json(['balance', 'verify', '--sandbox'])).toMatchObject({ ok: true })

  const second = await start(['serve', '--sandbox', '--port', '0']).ended
  expect(second).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('Another gateway is serving'),
  })
  server.stop()
  expect((await server.ended).code).toBe(0)
})

test('a sandbox that is stopped as soon as it accepts commands ends cleanly', async () => {
  const dataDir = join(temporaryFolder(), 'data')
  const server = start(['serve', '--sandbox', '--port', '0', '--data-dir', dataDir])
  await waitFor(() => existsSync(join(dataDir, 'control.sock')))
  server.stop('SIGTERM')
  const { code, stderr } = await server.ended
  expect({ code, stderr: stderr.trim() }).toEqual({
    code: 0,
    stderr: 'Stopping: no new requests; waiting for the running ones.',
  })
})

test('every start refills the demonstration account, and replaces a revoked demonstration key', async () => {
  const words = ['--data-dir', 'demo']
  const { server, reported } = await serve(words)
  await json(['balance', 'adjust', 'demo', '-4', '--note', 'spent', '--sandbox', ...words])
  await json(['keys', 'revoke', 'demo', '--sandbox', ...words])
  server.stop()
  await server.ended
  const again = await serve(words)
  expect(await statusOf(chat(again.reported.url, reported.key))).toBe(401)
  expect(await statusOf(chat(again.reported.url, again.reported.key))).toBe(200)
  again.server.stop()
  await again.server.ended
  const keys = await json(['keys', 'list', '--sandbox', ...words])
  expect(keys.map((key: Json) => [key.name, key.status])).toEqual([
    ['demo-2', 'active'],
    ['demo', 'revoked'],
  ])
  const ledger = await json(['balance', 'ledger', 'demo', '--sandbox', ...words])
  const deposits = ledger.filter((entry: Json) => entry.kind === 'credit')
  expect(deposits.map((entry: Json) => entry.balance_after_usd)).toEqual(['10.00', '10.00'])
})

/** Longest time in milliseconds from a second signal to the end of the process (`src/app/server.ts`). */
const STOP_NOW_MS = 2_500

const stoppings: readonly [first: NodeJS.Signals, second: NodeJS.Signals][] = [
  ['SIGINT', 'SIGINT'],
  ['SIGTERM', 'SIGTERM'],
  ['SIGTERM', 'SIGINT'],
  ['SIGINT', 'SIGTERM'],
]
for (const [first, second] of stoppings) {
  test.concurrent(`${first} and ${second} within a second count as one, as when a terminal and a script runner both send one`, async () => {
    const { server, reported } = await serve(['--data-dir', `${first}-${second}`])
    const whole = (await streamFrom(reported, '[sandbox tokens=60 token_delay_ms=20] Hello')).text()
    // Without a pause, which can last a second on a busy machine.
    server.stop(first)
    server.stop(second)
    expect(await whole).toEndWith('data: [DONE]\n\n')
    expect((await server.ended).code).toBe(0)
  })
}

test.concurrent('a signal more than a second after the first cuts running requests, with the reason', async () => {
  const { server, reported } = await serve(['--data-dir', 'later'])
  const cut = (await streamFrom(reported, '[sandbox tokens=3000 token_delay_ms=20] Hello'))
    .text()
    .catch(String)
  server.stop('SIGINT')
  await server.logged('Stopping', 1)
  await Bun.sleep(1_500)
  const stoppedAt = performance.now()
  server.stop('SIGINT')
  expect((await server.ended).code).toBe(1)
  const text = await cut
  // On a busy machine the time of a stop may be over before the last bytes are sent.
  if (text.includes('ECONNRESET')) expect(performance.now() - stoppedAt).toBeGreaterThan(STOP_NOW_MS)
  else expect(text).toContain('shutting_down')
  expect(text).not.toContain('[DONE]')
})

test.concurrent('SIGHUP reloads the configuration: a stream continues, is charged, and the gateway serves', async () => {
  const { server, reported } = await serve(['--data-dir', 'hang-up'])
  const whole = (await streamFrom(reported, '[sandbox tokens=60 token_delay_ms=20] Hello')).text()
  const reloaded = '"event":"config_reloaded","cause":"SIGHUP"'
  server.stop('SIGHUP')
  await server.logged(reloaded, 1)
  server.stop('SIGHUP')
  await server.logged(reloaded, 2)
  expect(await whole).toEndWith('data: [DONE]\n\n')
  expect(await statusOf(chat(reported.url, reported.key))).toBe(200)
  server.stop()
  const { code, stderr } = await server.ended
  expect(code).toBe(0)
  expect(stderr.split(reloaded)).toHaveLength(3)
  expect(await json(['requests', 'list', '--sandbox', '--data-dir', 'hang-up'])).toMatchObject({
    rows: [{ status: 200 }, { status: 200 }],
    next: null,
  })
  expect(await json(['balance', 'show', 'demo', '--sandbox', '--data-dir', 'hang-up'])).toMatchObject({
    held_usd: '0.00',
  })
})

function streamFrom(reported: Json, prompt: string): Promise<Response> {
  return chat(reported.url, reported.key, { stream: true, messages: [{ role: 'user', content: prompt }] })
}

test.concurrent('SIGTERM lets a running stream end, and accepts no new request', async () => {
  const { server, reported } = await serve(['--data-dir', 'drain'])
  const response = await chat(reported.url, reported.key, {
    stream: true,
    messages: [{ role: 'user', content: '[sandbox tokens=60 token_delay_ms=20] Hello' }],
  })
  const text = response.text()
  await Bun.sleep(200)
  server.stop()
  expect(await text).toEndWith('data: [DONE]\n\n')
  const { code, stderr } = await server.ended
  const [stopping, line = '', ...others] = stderr.trimEnd().split('\n')
  expect({ code, stopping, others }).toEqual({
    code: 0,
    stopping: 'Stopping: no new requests; waiting for the running ones.',
    others: [],
  })
  expect(JSON.parse(line)).toMatchObject({ level: 'info', event: 'request', status: 200, ended_by: 'done' })
  expect(await json(['balance', 'verify', '--sandbox', '--data-dir', 'drain'])).toMatchObject({ ok: true })
  expect(await json(['balance', 'show', 'demo', '--sandbox', '--data-dir', 'drain'])).toMatchObject({
    held_usd: '0.00',
  })
})

test('without vendors it starts and says what is missing; the environment names host and port', async () => {
  const server = start(['serve', '--data-dir', 'real'], { GATEWAY_PORT: '0', GATEWAY_HOST: 'localhost' })
  const shown = await server.until('keys create NAME')
  expect(shown).toMatch(/^Gateway listening on http:\/\/localhost:[1-9]\d*$/m)
  expect(shown).toStartWith('No model can be used: no vendor has an API key.')
  expect(shown).toMatch(/^ {2}OPENAI_API_KEY +[1-9]\d* models$/m)
  server.stop()
  expect((await server.ended).code).toBe(0)
})

test('vendors are reached through a proxy, and hosts in NO_PROXY without it', async () => {
  const asked: string[] = []
  const answer = completion('By way of the proxy.', 7, 4)
  const proxy = createServer((request, response) => {
    // Requests to a proxy have whole addresses.
    asked.push(`${request.method} ${request.url}`)
    response.setHeader('content-type', 'application/json')
    request.resume().on('end', () => response.end(JSON.stringify(answer)))
  })
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done))
  const { port } = proxy.address() as AddressInfo
  const model = {
    family: 'openai-chat',
    upstreamModel: 'far',
    ownedBy: 'test',
    price: { per_1m_input_tokens: '1', per_1m_output_tokens: '1' },
  }
  const upstream = (baseUrl: string) => ({ kind: 'openai', baseUrl, apiKey: 'sk-far' })
  const config = {
    upstreams: {
      far: upstream('http://vendor.invalid/v1'),
      near: upstream(`http://127.0.0.1:${port}/v1`),
    },
    models: { far: { ...model, upstream: 'far' }, near: { ...model, upstream: 'near' } },
  }
  writeFileSync(join(folder, 'proxied.config.ts'), `export default ${JSON.stringify(config)}\n`)
  const flags = ['--config', 'proxied.config.ts', '--data-dir', 'proxied']
  const { key } = await json(['keys', 'create', 'alice', '--balance', '5', ...flags])
  const server = start(['serve', '--port', '0', '--json', ...flags], {
    HTTP_PROXY: `http://127.0.0.1:${port}`,
    NO_PROXY: '127.0.0.1',
  })
  const { url } = JSON.parse(await server.until(/\}\n/))
  for (const name of ['far', 'near']) {
    const response = await chat(url, key, { model: name })
    expect((await response.json()) as Json).toMatchObject({
      choices: [{ message: { content: 'By way of the proxy.' } }],
    })
  }
  expect(asked).toEqual(['POST http://vendor.invalid/v1/chat/completions', 'POST /v1/chat/completions'])
  server.stop()
  const { code, stderr } = await server.ended
  expect({ code, stderr: stderr.includes('proxy') }).toEqual({ code: 0, stderr: false })
  proxy.close()
  proxy.closeAllConnections()
})

test('an error at the start is printed as one line', async () => {
  writeFileSync(join(folder, 'file'), '')
  for (const odd of ['odd', 'odd sandbox'])
    mkdirSync(join(folder, odd, 'gateway.sqlite'), { recursive: true })
  writeFileSync(join(folder, 'odd sandbox', 'is-sandbox'), '')
  const holder = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
  const rows: [string[], string][] = [
    [['--port', String(holder.port), '--data-dir', 'busy'], 'is in use: choose another with --port'],
    [
      ['--port', '0', '--host', '192.0.2.1', '--data-dir', 'address'],
      'This machine has no address 192.0.2.1',
    ],
    [['--data-dir', 'file'], 'cannot be used'],
    [['--data-dir', 'odd'], 'The gateway cannot start: '],
    [
      ['--sandbox', '--port', String(holder.port), '--data-dir', 'busy sandbox'],
      'is in use: choose another with --port',
    ],
    [
      ['--sandbox', '--port', '0', '--host', '192.0.2.1', '--data-dir', 'address sandbox'],
      'has no address 192.0.2.1',
    ],
    [['--sandbox', '--data-dir', 'odd sandbox'], 'The gateway cannot start: '],
  ]
  await Promise.all(
    rows.map(async ([words, reason]) => {
      const { code, stdout, stderr } = await start(['serve', ...words]).ended
      expect({ words, code, stdout, stderr }).toEqual({
        words,
        code: 1,
        stdout: '',
        stderr: expect.stringContaining(reason),
      })
      expect(stderr.trim().split('\n')).toHaveLength(1)
    }),
  )
  await holder.stop()
})
