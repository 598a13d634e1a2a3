// `gateway env` as a shell sees it: its output is run by a real shell and used by real clients; only lines to paste may be on
// standard output.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import { addressOf, env } from '../../cli/commands/env'
import { makeSecret } from '../../src/accounts/keys'
import { assignment } from '../../src/api-document/clients'
import { temporaryFolder } from '../support/databases/databases'
import { say, startTestGateway } from '../support/gateway'
import { createCommandLine } from '../support/processes/command-line'

setDefaultTimeout(180_000)

const folder = temporaryFolder()
const price = { per_1m_input_tokens: '0.25', per_1m_output_tokens: '2.00' }
const config = {
  server: { host: '0.0.0.0', port: 9100 },
  upstreams: { ready: { kind: 'openai', apiKey: 'sk-vendor' }, voyage: { kind: 'voyage', apiKey: 'x' } },
  models: {
    chat: { family: 'openai-chat', upstream: 'ready', price },
    responding: { family: 'openai-responses', upstream: 'ready', price },
    embed: { family: 'voyage-embeddings', upstream: 'voyage', price: { per_1m_input_tokens: '0.02' } },
    best: { route: ['chat'] },
  },
}
writeFileSync(join(folder, 'gateway.config.ts'), `export default ${JSON.stringify(config)}\n`)

const secret = makeSecret((count) => crypto.getRandomValues(new Uint8Array(count)))
const { call, run, json, allFail, environment } = createCommandLine(folder)

const base = 'http://127.0.0.1:9100'
const modelVariables = [
  'ANTHROPIC_MODEL',
  'ANTHROPIC_DEFAULT_OPUS_MODEL',
  'ANTHROPIC_DEFAULT_SONNET_MODEL',
  'ANTHROPIC_DEFAULT_HAIKU_MODEL',
  'CLAUDE_CODE_SUBAGENT_MODEL',
]
const webhookSecret = `whsec_${'ab+/'.repeat(8)}`

const printed: [line: string, lines: string[]][] = [
  [
    `env openai --key ${secret} --shell sh`,
    [`export OPENAI_BASE_URL=${base}/v1`, `export OPENAI_API_KEY=${secret}`],
  ],
  ['env openai --shell fish', [`set -gx OPENAI_BASE_URL ${base}/v1`, 'set -gx OPENAI_API_KEY sk-YOUR-KEY']],
  [
    'env openai --shell powershell',
    [`$env:OPENAI_BASE_URL = '${base}/v1'`, "$env:OPENAI_API_KEY = 'sk-YOUR-KEY'"],
  ],
  [
    `env anthropic --key ${secret} --shell sh`,
    [
      `export ANTHROPIC_BASE_URL=${base}`,
      `export ANTHROPIC_AUTH_TOKEN=${secret}`,
      `export ANTHROPIC_API_KEY=${secret}`,
    ],
  ],
  [
    `env claude-code --model chat --key ${secret} --shell sh`,
    [
      `export ANTHROPIC_BASE_URL=${base}`,
      `export ANTHROPIC_AUTH_TOKEN=${secret}`,
      ...modelVariables.map((name) => `export ${name}=chat`),
    ],
  ],
  [
    'env claude-code --shell sh --url https://ai.example.com/',
    ['export ANTHROPIC_BASE_URL=https://ai.example.com', 'export ANTHROPIC_AUTH_TOKEN=sk-YOUR-KEY'],
  ],
  [
    `env mcp --key ${secret}`,
    [`claude mcp add --transport http gateway ${base}/mcp --header 'Authorization: Bearer ${secret}'`],
  ],
  [
    `env langchain --key ${secret} --shell sh`,
    [
      `export OPENAI_API_BASE=${base}/v1`,
      `export OPENAI_BASE_URL=${base}/v1`,
      `export OPENAI_API_KEY=${secret}`,
    ],
  ],
  [
    `env open-webui --key ${secret} --shell sh`,
    [
      `export OPENAI_API_BASE_URL=${base}/v1`,
      `export OPENAI_API_KEY=${secret}`,
      `export OPENAI_API_CONFIGS='{"0":{"headers":{"X-Gateway-Mode":"chat"}}}'`,
    ],
  ],
  [
    `env gemini --key ${secret} --shell sh`,
    [`export GOOGLE_GEMINI_BASE_URL=${base}`, `export GEMINI_API_KEY=${secret}`],
  ],
  [
    'env codex --model responding',
    [
      'model = "responding"',
      'model_provider = "gateway"',
      '',
      '[model_providers.gateway]',
      'name = "Gateway"',
      `base_url = "${base}/v1"`,
      'env_key = "GATEWAY_API_KEY"',
      'wire_api = "responses"',
    ],
  ],
  [`env webhook --shell sh --key ${webhookSecret}`, [`export GATEWAY_WEBHOOK_SECRET=${webhookSecret}`]],
  ['env webhook --shell sh', ['export GATEWAY_WEBHOOK_SECRET=whsec_YOUR-SECRET']],
]

test('each client gets its lines, and nothing else is on standard output', async () => {
  await Promise.all(
    printed.map(async ([line, lines]) => {
      const { code, stdout } = await run(line)
      expect({ line, code, lines: stdout.trimEnd().split('\n') }).toEqual({ line, code: 0, lines })
    }),
  )
})

test('without a secret the output says where it comes from', async () => {
  const [key, given, webhook, checked] = await Promise.all([
    run('env openai'),
    run(`env openai --key ${secret}`),
    run('env webhook'),
    run(`env webhook --key ${webhookSecret}`),
  ])
  for (const words of ['Replace sk-YOUR-KEY', 'keys create NAME', 'keys roll NAME', '--data-dir'])
    expect(key.stderr).toContain(words)
  expect(given.stderr).toBe('')
  expect(webhook.stderr).toContain('Replace whsec_YOUR-SECRET')
  expect(webhook.stderr).toContain('keys roll-webhook NAME')
  expect(checked.stderr).toStartWith('Verify each webhook with it')
})

test('the same as one document', async () => {
  expect(await json(`env openai --key ${secret}`)).toEqual({
    client: 'openai',
    url: base,
    variables: { OPENAI_BASE_URL: `${base}/v1`, OPENAI_API_KEY: secret },
    command: null,
    file: null,
  })
  expect(await json('env claude-code --model best')).toMatchObject({
    variables: { ANTHROPIC_BASE_URL: base, ANTHROPIC_DEFAULT_HAIKU_MODEL: 'best' },
  })
  expect(await json('env mcp')).toMatchObject({
    variables: {},
    command: expect.stringContaining(`${base}/mcp`),
  })
})

test('settings in a file name the file, and the secret is in a variable', async () => {
  const { stdout, stderr } = await run(`env opencode --model chat --key ${secret} --shell sh`)
  expect(JSON.parse(stdout)).toMatchObject({
    model: 'gateway/chat',
    provider: { gateway: { options: { baseURL: `${base}/v1`, apiKey: '{env:GATEWAY_API_KEY}' } } },
  })
  expect(stdout).not.toContain(secret)
  expect(stderr).toContain('opencode.json')
  expect(stderr).toContain(`export GATEWAY_API_KEY=${secret}`)
  const chosen = await run('env continue')
  expect(chosen.stdout).toContain('model: "chat"')
})

test('wrong arguments end with exit code 2 and the correct usage', async () => {
  await allFail(2, [
    ['env', 'CLIENT'],
    [
      'env bard',
      'CLIENT is one of openai, anthropic, claude-code, gemini, codex, opencode, continue, open-webui, langchain, ai-sdk, n8n, cursor, mcp, webhook, not "bard"',
    ],
    [`env openai --key ${secret.slice(0, -1)}`, '--key takes a whole secret of this gateway'],
    ['env webhook --key sk-1', 'begins with whsec_'],
    ['env openai --shell tcsh', '--shell takes sh, fish, powershell, not "tcsh"'],
    ['env openai --url ai.example.com', '--url takes an address such as https://ai.example.com'],
    ['env openai --url https://ai.example.com/v1/', '--url takes the address without /v1'],
    ['env openai --model chat', '--model is for claude-code'],
  ])
  await allFail(1, [
    ['env claude-code --model nothing', 'has no model "nothing" for messages'],
    ['env claude-code --model embed', 'has no model "embed" for messages'],
  ])
})

test('the address is the public one, or that of the environment, of the file, or the default, in this order', async () => {
  const file = { upstreams: {}, models: {} }
  const rows: [server: object | undefined, environment: Record<string, string>, address: string][] = [
    [undefined, {}, 'http://127.0.0.1:8080'],
    [{ host: '::', port: 1 }, {}, 'http://[::1]:1'],
    [{ host: 'fd00::1', port: 1 }, {}, 'http://[fd00::1]:1'],
    [{ host: '10.0.0.1', port: 1 }, { GATEWAY_HOST: '10.0.0.2', GATEWAY_PORT: '2' }, 'http://10.0.0.2:2'],
    [{ publicUrl: 'https://x.org/ai//', port: 1 }, { GATEWAY_PORT: '2' }, 'https://x.org/ai'],
  ]
  for (const [server, environment, address] of rows) {
    expect(addressOf({ ...file, ...(server && { server }) }, environment)).toBe(address)
  }
  const other = join(folder, 'port')
  mkdirSync(other)
  const { stdout } = await call(['env', 'anthropic', '--shell', 'sh'], {
    cwd: other,
    env: { GATEWAY_PORT: '7007' },
  })
  expect(stdout).toContain('ANTHROPIC_BASE_URL=http://127.0.0.1:7007\n')
})

test('the examples of the help work with the built-in catalogue, whose aliases count as models', async () => {
  const other = join(folder, 'builtin')
  mkdirSync(other)
  const { meta } = env as { meta: { examples: string[] } }
  const examples = meta.examples.filter((line) => !line.includes('|'))
  expect(examples.length).toBeGreaterThan(3)
  for (const line of examples) {
    // A redirection would leave an empty file behind where a command fails.
    expect(line).not.toContain('>')
    const words = line.replace('sk-…', secret).split(' ').slice(1)
    const { code, stdout } = await call(words, { cwd: other })
    expect({ line, code, isEmpty: stdout === '' }).toEqual({ line, code: 0, isEmpty: false })
  }
  const { stdout } = await call(['env', 'codex', '--model', 'gpt-5.5'], { cwd: other })
  expect(stdout).toStartWith('model = "gpt-5.5"\n')
})

test('a command that fails prints nothing, and one without a model says what to replace', async () => {
  const failed = await run('env codex --model nothing')
  expect({ code: failed.code, stdout: failed.stdout }).toEqual({ code: 1, stdout: '' })
  const other = join(folder, 'keyless')
  mkdirSync(other)
  const { code, stdout, stderr } = await call(['env', 'codex'], { cwd: other })
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('model = "MODEL-ID"') })
  expect(stderr).toContain('Replace MODEL-ID with the id of a model')
})

test('a value with special characters of a shell stays one word', async () => {
  const value = `a'b "c" $HOME \\ d`
  const shown = Bun.spawnSync(['sh', '-c', `${assignment('sh', 'VALUE', value)}\nprintf %s "$VALUE"`])
  expect(shown.stdout.toString()).toBe(value)
  expect(assignment('fish', 'VALUE', value)).toBe(`set -gx VALUE 'a\\'b "c" $HOME \\\\ d'`)
  expect(assignment('powershell', 'VALUE', value)).toBe(`$env:VALUE = 'a''b "c" $HOME \\ d'`)
})

test('the official client works with the evaluated output', async () => {
  const gateway = await startTestGateway()
  const { stdout } = await call([
    'env',
    'openai',
    '--shell',
    'sh',
    '--url',
    gateway.url,
    '--key',
    gateway.secret,
  ])
  const shell = Bun.spawnSync(
    ['sh', '-c', `eval "$LINES_TO_PASTE"; printf '%s\\n%s' "$OPENAI_BASE_URL" "$OPENAI_API_KEY"`],
    {
      env: environment({ LINES_TO_PASTE: stdout }),
    },
  )
  const [baseURL, apiKey] = shell.stdout.toString().split('\n')
  const client = new OpenAI({ baseURL: baseURL ?? '', apiKey: apiKey ?? '' })
  const completion = await client.chat.completions.create({ model: 'test-chat', messages: say('Hello!') })
  expect(completion.choices[0]?.message.content).toContain('Hello!')
  const { stdout: other } = await call([
    'env',
    'anthropic',
    '--url',
    gateway.url,
    '--key',
    gateway.secret,
    '--json',
  ])
  const { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: token } = JSON.parse(other).variables
  const answer = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test-messages', max_tokens: 50, messages: say('Hello!') }),
  })
  expect({ status: answer.status, body: await answer.json() }).toMatchObject({
    status: 200,
    body: { type: 'message' },
  })
  expect(await gateway.charges()).toHaveLength(2)
  await gateway.close()
})
