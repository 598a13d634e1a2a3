// `serve --sandbox` with any configuration: models that no simulator knows, upstreams at any address, configurations
// without a chat model or without any, and a demonstration key that stays the same.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { notSimulated, simulated } from '../../cli/configuration/simulated'
import builtIn from '../../gateway.config'
import { type Sandbox, startSandbox } from '../../sandbox'
import { type Config, faultsOf, isRoute, type ModelConfig } from '../../src/config/schema'
import type { Model } from '../../src/contract/family'
import { operationOf, pathForModel } from '../../src/contract/operations'
import { upstreamKinds } from '../../src/upstreams/kinds'
import { temporaryFolder } from '../support/databases/databases'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import { createCommandLine, PROGRAM } from '../support/processes/command-line'

setDefaultTimeout(600_000)

const chatPrice = { per_1m_input_tokens: '0.05', per_1m_output_tokens: '0.20' }
const kinds = [...upstreamKinds.keys()]

/** The upstream in the README, and a server at an unusual address. */
const ownServers: Config = {
  upstreams: { ollama: { kind: 'openai', baseUrl: 'http://127.0.0.1:11434/v1?x=1', apiKey: null } },
  models: {
    'llama3.2': { family: 'openai-chat', upstream: 'ollama', free: true },
    qwen3: { family: 'openai-chat', upstream: 'ollama', upstreamModel: 'qwen3:8b', price: chatPrice },
  },
}

/** Every model of the catalogue under a name that no vendor has. */
function renamed(models: Config['models']): Config['models'] {
  return Object.fromEntries(
    Object.entries(models)
      .filter(([, model]) => !isRoute(model))
      .map(([id, model]) => [
        `${id}-x`,
        { ...(model as ModelConfig), upstreamModel: `zebra-9${/-[tir]2v/.exec(id)?.[0] ?? ''}` },
      ]),
  )
}

const built = builtIn as Config
/** A chat model under a name that no vendor has, behind each kind that serves chat completions. */
const unknownChats = Object.fromEntries(
  kinds
    .filter(
      (kind) =>
        !['anthropic', 'ark', 'cohere', 'elevenlabs', 'fal', 'minimax', 'runway', 'voyage'].includes(kind),
    )
    .map((kind): [string, ModelConfig] => [
      `zebra-of-${kind}`,
      { family: 'openai-chat', upstream: kind, upstreamModel: 'zebra-9', price: chatPrice },
    ]),
)
/** Google's API has answered 404 for it since 2026-01-14 (ai.google.dev/gemini-api/docs/deprecations). */
const shutDown = new Set(['text-embedding-004'])
/** Models that edit videos, which a plain prompt cannot request: test/contract/video-vendors.test.ts tests them. */
const editors = /^runway-aleph2/
const config: Config = {
  upstreams: {
    ...Object.fromEntries(
      kinds.map((kind) => [kind, { kind, apiKey: 'none', baseUrl: 'https://elsewhere.example/a/b' }]),
    ),
    ...ownServers.upstreams,
  },
  models: { ...built.models, ...renamed(built.models), ...unknownChats, ...ownServers.models },
}

let sandbox: Sandbox
let gateway: TestGateway

beforeAll(async () => {
  sandbox = startSandbox({ anyModel: true })
  const { upstreams, models } = simulated(config, sandbox)
  gateway = await startTestGateway({ sandbox, balance: '1000', upstreams, models: models as never })
})
afterAll(async () => {
  await gateway.close()
  await sandbox.stop()
})

/** The answer of a model to a plain request, with its text only if it failed. */
async function resultOf(gateway: TestGateway, model: Model) {
  const operation = operationOf(model.family.operation)
  const { body: form } = operation
  const path = pathForModel(operation, model.id)
  if (form === 'form') return { id: model.id, status: 200, text: '' }
  const { plain } = model.family
  const wantsPictures = (model.referenceImages?.min ?? 0) > 0 || /[ir]2v/.test(model.id)
  const images =
    wantsPictures && plain.fields.includes('images') ? { images: ['https://example.com/a.png'] } : {}
  const body = { model: model.id, ...plain.body({ text: '[sandbox task_ms=1] Hello!', ...images }, model) }
  const response = await gateway.post(`${path}${model.family.kind === 'task' ? '?wait=300' : ''}`, body)
  const text = model.family.kind === 'speech' ? '' : await response.text()
  await (response.bodyUsed ? undefined : response.arrayBuffer())
  return {
    id: model.id,
    status: response.status,
    text: response.status > 202 || text.includes('"failed"') ? text : '',
  }
}

describe('every model of the catalogue, and one under an unknown name, is simulated', () => {
  const families = new Set(
    Object.values(config.models).flatMap((model) => (isRoute(model) ? [] : [model.family].flat())),
  )
  for (const family of families) {
    test(family, async () => {
      const { catalogue } = gateway.server.world
      const models = [...catalogue.models].flatMap(([id, forms]) =>
        id in config.models ? forms.filter((form) => form.family.name === family && !editors.test(id)) : [],
      )
      expect(models.length).toBeGreaterThan(1)
      // In parallel, because videos take a while.
      const faults = (await Promise.all(models.map((model) => resultOf(gateway, model)))).filter(
        ({ text }) => text !== '',
      )
      expect(faults).toEqual([])
    })
  }

  test('an image edit', async () => {
    const form = new FormData()
    const picture = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    )
    form.set('model', 'pgt-image-2-x')
    form.set('prompt', 'a hat')
    form.set('image', new File([picture], 'a.png', { type: 'image/png' }))
    const headers = { authorization: `Bearer ${gateway.secret}` }
    const response = await fetch(`${gateway.url}/v1/images/edits`, { method: 'POST', headers, body: form })
    expect({ status: response.status, text: (await response.text()).slice(0, 20) }).toMatchObject({
      status: 200,
    })
  })

  test('in streams and errors too', async () => {
    const stream = await gateway.chat({ model: 'qwen3', stream: true })
    expect(await stream.text()).toEndWith('data: [DONE]\n\n')
    const refused = await gateway.chat({ model: 'qwen3', messages: say('[sandbox status=404]') })
    expect(refused.status).toBe(502)
  })
})

test('every built-in model is simulated by a simulator that knows it, except those that their vendor has shut down', async () => {
  const strict = startSandbox()
  expect(notSimulated(built, strict)).toEqual([...shutDown])
  const { upstreams, models } = simulated(built, strict)
  const own = await startTestGateway({ sandbox: strict, balance: '1000', upstreams, models: models as never })
  const faults: unknown[] = []
  for (const [id, forms] of own.server.world.catalogue.models) {
    if (!(id in built.models) || shutDown.has(id) || editors.test(id)) continue
    for (const model of forms) {
      const { status, text } = await resultOf(own, model)
      if (status > 202) faults.push({ id, family: model.family.name, status, text })
    }
  }
  expect(faults).toEqual([])
  await own.close()
  await strict.stop()
})

test('a model without a simulator is reported, whatever its kind, and gets the answer of another model', () => {
  expect(notSimulated({ ...config, models: renamed(built.models) }, sandbox)).toEqual(
    Object.keys(renamed(built.models)),
  )
})

test('a simulator is as strict as the real vendor unless it is set to accept any model', async () => {
  const strict = startSandbox()
  const response = await fetch(`${strict.baseUrls.openai}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${strict.secrets.openai}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'zebra-9', messages: say('Hi') }),
  })
  expect(response.status).toBe(404)
  await strict.stop()
})

test('a kind without a simulator is reported, and never reaches the real vendor', () => {
  const odd = { upstreams: { far: { kind: 'telepathy', apiKey: 'k' } }, models: {} } as Config
  expect(() => simulated(odd, sandbox)).toThrow(
    'The sandbox has no simulator for upstreams of kind "telepathy", as far is.',
  )
})

describe('the demonstration', () => {
  const speech = { family: 'dashscope-speech', upstream: 'd', price: { per_1m_characters: '10' } }
  const configs: readonly [name: string, config: Config, tries: RegExp | undefined, answer: string][] = [
    ['with servers of the operator only', ownServers, /chat\/completions/, 'data: [DONE]'],
    [
      'without a chat model',
      {
        upstreams: { o: { kind: 'openai', apiKey: 'k' }, d: { kind: 'dashscope', apiKey: 'k' } },
        models: {
          voice: speech,
          vectors: { family: 'openai-embeddings', upstream: 'o', price: { per_1m_input_tokens: '1' } },
        },
      },
      /v1\/embeddings/,
      '"embedding"',
    ],
    [
      'with pictures only',
      {
        upstreams: { x: { kind: 'xai' } },
        models: {
          p: { family: 'xai-images', upstream: 'x', price: { per_image: '0.1', per_input_image: '0.1' } },
        },
      },
      /images\/generations/,
      '"data"',
    ],
    ['without any model', { upstreams: {}, models: {} }, undefined, ''],
  ]
  for (const [name, written, tries, answer] of configs) {
    test(`${name} starts, and the printed command works`, async () => {
      expect(faultsOf(written)).toEqual([])
      const folder = temporaryFolder()
      writeFileSync(join(folder, 'gateway.config.json'), JSON.stringify(written))
      const first = await serveOnce(folder)
      if (tries === undefined) expect(first.reported.try).toBeNull()
      else expect(first.reported.try).toMatch(tries)
      expect(first.answer).toContain(answer)
      expect(first.reported.key).toStartWith('sk-')
      // A client set up with it continues to work after a restart.
      const second = await serveOnce(folder)
      expect(second.reported.key).toBe(first.reported.key)
      expect(second.answer).toContain(answer)
    })
  }

  async function serveOnce(folder: string) {
    const env = createCommandLine(folder).environment()
    const child = Bun.spawn([...PROGRAM, 'serve', '--sandbox', '--port', '0', '--json'], {
      cwd: folder,
      env,
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const { value } = await child.stdout.getReader().read()
    const reported = JSON.parse(
      Buffer.from(value ?? []).toString() || (await new Response(child.stderr).text()),
    )
    const shell = Bun.spawn(['sh', '-c', reported.try ?? 'true'], {
      cwd: folder,
      env,
      stdout: 'pipe',
      stderr: 'ignore',
    })
    const answer = await new Response(shell.stdout).text()
    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
    return { reported, answer }
  }
})
