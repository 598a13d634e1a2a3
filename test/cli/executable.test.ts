// Differences between the compiled executable and the same code run by Bun: its worker, its limits, files that it loads from its
// working directory, and a configuration file in TypeScript without any source.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { audioFile } from '../support/audio-files'
import { say, waitFor } from '../support/gateway'
import {
  ask,
  emptyFolder,
  executable,
  install,
  type Running,
  stopWell,
} from '../support/processes/executable'

setDefaultTimeout(180_000)

describe('the executable', () => {
  test('prints its version', async () => {
    const { command } = await install()
    const child = Bun.spawn([await executable(), '--version'], { stdout: 'pipe', stderr: 'pipe' })
    expect(await new Response(child.stdout).text()).toMatch(/^1\.0\.0 \(schema \d+, commit [0-9a-f]{12}\)\n$/)
    expect((await command(['--help'])).stdout).toContain('serve')
  })

  test('counts the tokens of a cut stream in its embedded worker', async () => {
    const installation = await install()
    const secret = await installation.makeKey('alice', '100')
    const server = await installation.serve({ cwd: emptyFolder() })
    const reply = await ask(server, secret, {
      stream: true,
      messages: say('[sandbox tokens=50 cut_after=21] Tell me'),
    })
    expect(await reply.text()).toContain('upstream_cut')
    const [charge] = await installation.rows('select * from charges')
    // Counted, not estimated from the length: 20 pieces of text came, at 2,000 nano-dollars a token.
    expect(charge).toMatchObject({ state: 'settled', ended_by: 'upstream', usage_source: 'counted' })
    expect(charge?.amount).toBeWithin(15 * 2_000, 60 * 2_000)
    await stopWell(installation, server)
  })

  test('reads the length of audio in its embedded worker', async () => {
    const models = {
      listener: {
        family: 'openai-transcriptions',
        upstream: 'openai',
        upstreamModel: 'whisper-1',
        price: { per_audio_minute: '0.006' },
      },
    }
    const installation = await install({ models })
    const secret = await installation.makeKey('alice', '1')
    const server = await installation.serve({ cwd: emptyFolder() })
    const form = new FormData()
    form.append('model', 'listener')
    form.append('response_format', 'text')
    form.append('file', await audioFile('mp4', 30), 'speech.m4a')
    const headers = { authorization: `Bearer ${secret}` }
    const reply = await fetch(`${server.url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers,
      body: form,
    })
    expect({ status: reply.status, cost: reply.headers.get('x-gateway-cost-usd') }).toEqual({
      status: 200,
      cost: '0.003',
    })
    await stopWell(installation, server)
  })

  test('calls vendors more than 256 times at once, the default limit of its runtime', async () => {
    const installation = await install()
    const secret = await installation.makeKey('alice', '100')
    const server = await installation.serve()
    const calls = 300
    const hangUp = openMany(server, secret, calls)
    await waitFor(() => installation.sandbox.calls.length === calls)
    expect(installation.sandbox.calls).toHaveLength(calls)
    hangUp()
    await waitFor(() => installation.sandbox.calls.every(({ aborted }) => aborted))
    const released = async () =>
      (await installation.rows(`select id from charges where state = 'released' and ended_by = 'client'`))
        .length
    await waitFor(async () => (await released()) === calls)
    expect(await released()).toBe(calls)
    await stopWell(installation, server)
  })

  test('finds a configuration next to it', async () => {
    const folder = emptyFolder()
    copyFileSync(await executable(), join(folder, 'gateway'))
    const file = join(folder, 'gateway.config.yaml')
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable in a data format looks so
    writeFileSync(file, 'upstreams: { a: { kind: openai, apiKey: "${A_KEY}" } }\nmodels: {}\n')
    const child = Bun.spawn([join(folder, 'gateway'), 'config', 'check', '--json'], {
      cwd: emptyFolder(),
      env: { HOME: folder },
      stdout: 'pipe',
    })
    expect(JSON.parse(await new Response(child.stdout).text())).toMatchObject({ ok: true, file })
  })

  test('makes its data readable only by its owner', async () => {
    const installation = await install()
    await installation.makeKey('alice', '1')
    const server = await installation.serve()
    expect(statSync(installation.dataDir).mode & 0o777).toBe(0o700)
    expect(readdirSync(installation.dataDir)).toContain('gateway.sqlite')
    await stopWell(installation, server)
  })

  test('accepts a configuration in TypeScript, with types of a missing source', async () => {
    const installation = await install()
    const folder = emptyFolder()
    const { upstreams, models } = (await import(installation.configFile)).default
    writeFileSync(
      join(folder, 'prices.ts'),
      `export const price: { per_1m_input_tokens: string } = { per_1m_input_tokens: '0.5' }`,
    )
    writeFileSync(
      join(folder, 'gateway.config.ts'),
      `import type { Config } from './src/config/schema'
       import { price } from './prices'
       export default {
         upstreams: ${JSON.stringify(upstreams)},
         models: { 'my-embedding': { ...${JSON.stringify(models['test-embedding'])}, price } },
       } satisfies Config`,
    )
    const child = Bun.spawn([await executable(), 'models', 'list', '--json'], {
      cwd: folder,
      env: { HOME: folder },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [stdout, stderr] = await Promise.all(
      [child.stdout, child.stderr].map((stream) => new Response(stream).text()),
    )
    expect(stderr).toBe('')
    expect(stdout).toContain('my-embedding')
  })
})

describe('a malicious folder', () => {
  /** Files that Bun itself would obey in the working directory. */
  function hostileFolder() {
    const folder = emptyFolder()
    const mark = join(folder, 'was-here')
    writeFileSync(join(folder, 'preload.ts'), `require('node:fs').writeFileSync(${JSON.stringify(mark)}, '')`)
    writeFileSync(
      join(folder, 'bunfig.toml'),
      `preload = ["./preload.ts"]\n[run]\npreload = ["./preload.ts"]\n`,
    )
    // No machine has this address, so a server that obeyed could not start.
    writeFileSync(join(folder, '.env'), 'GATEWAY_HOST=192.0.2.1\n')
    writeFileSync(join(folder, 'tsconfig.json'), '{"compilerOptions":{"paths":{"citty":["./preload.ts"]}}}')
    writeFileSync(join(folder, 'package.json'), '{"name":"hostile","imports":{"citty":"./preload.ts"}}')
    return { folder, obeyed: () => existsSync(mark) }
  }

  test('is obeyed by Bun', async () => {
    const { folder, obeyed } = hostileFolder()
    const script = join(emptyFolder(), 'host.ts')
    writeFileSync(script, 'console.log(process.env.GATEWAY_HOST)')
    const { stdout } = Bun.spawnSync([process.execPath, script], { cwd: folder, env: {} })
    expect(stdout.toString()).toBe('192.0.2.1\n')
    expect(obeyed()).toBe(true)
  })

  test('is not obeyed by the executable', async () => {
    const { folder, obeyed } = hostileFolder()
    const installation = await install()
    const { key } = JSON.parse(
      (await installation.command(['keys', 'create', 'alice', '--balance', '1', '--json'], { cwd: folder }))
        .stdout,
    )
    const server = await installation.serve({ cwd: folder })
    expect(server.url).toStartWith('http://127.0.0.1:')
    // The worker is a separate program, which could obey too.
    const reply = await ask(server, key, { messages: say('[sandbox usage=missing]') })
    expect(reply.status).toBe(200)
    expect(await installation.rows('select usage_source from charges')).toEqual([{ usage_source: 'counted' }])
    await stopWell(installation, server)
    expect(obeyed()).toBe(false)
  })

  test('while the environment itself is obeyed', async () => {
    const installation = await install()
    const { code, stderr } = await installation.serveUntilRefused({
      environment: { GATEWAY_HOST: '192.0.2.1' },
    })
    expect(code).toBe(1)
    expect(stderr).toContain('192.0.2.1')
  })
})

/** Streams to which the vendor never says a word. Not by fetch, of which the tests' own process has only 256. */
function openMany({ url }: Running, secret: string, count: number): () => void {
  const agent = new Agent({ maxSockets: count })
  const body = JSON.stringify({ model: 'test-chat', stream: true, messages: say('[sandbox hang]') })
  const requests = Array.from({ length: count }, () => {
    const request = httpRequest(`${url}/v1/chat/completions`, {
      method: 'POST',
      agent,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    })
    request.on('error', () => {})
    request.end(body)
    return request
  })
  return () => {
    for (const request of requests) request.destroy()
    agent.destroy()
  }
}
