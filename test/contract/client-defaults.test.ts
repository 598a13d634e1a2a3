// Model names that clients request by default, according to their packages (test/fixtures/client-defaults.json): each
// is served by the built-in catalogue, or its refusal says how an operator can give a model that name.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { shippedList } from '../../cli/configuration/shipped-lists'
import { simulated } from '../../cli/configuration/simulated'
import builtIn from '../../gateway.config'
import { type Sandbox, startSandbox } from '../../sandbox'
import { withVendorLists } from '../../src/config/models/vendor-lists'
import type { Config } from '../../src/config/schema'
import { wavOf } from '../../src/lib/file-formats/wav'
import clients from '../fixtures/client-defaults.json'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'

let sandbox: Sandbox
let gateway: TestGateway
const { upstreams, models, aliases } = withVendorLists(builtIn, shippedList).value as Config

beforeAll(async () => {
  sandbox = startSandbox({ record: true })
  const whole = simulated({ upstreams, models } as Config, sandbox)
  gateway = await startTestGateway({
    sandbox,
    balance: '1000',
    upstreams: whole.upstreams,
    models: whole.models as never,
    config: { aliases: aliases ?? {}, realNames: true },
  })
})
afterAll(async () => {
  await gateway.close()
  await sandbox.stop()
})

/** A plain request of each operation for which clients have defaults, by its path. */
const plain: Readonly<Record<string, object>> = {
  'chat/completions': { messages: say('Hello!') },
  responses: { input: 'Hello!' },
  messages: { max_tokens: 100, messages: say('Hello!') },
  completions: { prompt: 'Hello!', max_tokens: 20 },
  embeddings: { input: 'Hello!' },
  'images/generations': { prompt: 'a fox' },
  'audio/speech': { input: 'Hello!', voice: 'alloy' },
}

/**
 * Names that an alias leads to another model, because they are newer than the shipped lists, have ended, or have no
 * certain price.
 */
const byAlias = new Set([
  'gpt-6.2-sol',
  'gpt-6.2-astra',
  'gpt-3.5-turbo',
  'gemini-2.5-pro-exp-03-25',
  'gemini-3-pro-preview',
  'grok-4-1-fast-non-reasoning-latest',
  'qwen-plus-latest',
])

describe('a client’s default model is served', () => {
  for (const { client, source, unserved = {}, ...names } of clients as Json[]) {
    test(client, async () => {
      expect(source).toStartWith('https://')
      for (const [path, models] of Object.entries(names) as [string, string[]][]) {
        for (const model of models) {
          const response = await ask(path, model)
          const text = await response.text()
          expect({ model, status: response.status, text: response.ok || text }).toEqual({
            model,
            status: 200,
            text: true,
          })
          const { path: called, body } = sandbox.calls.at(-1) ?? {}
          const isItself = `${called} ${body}`.includes(model)
          if (path !== 'audio/transcriptions')
            expect({ model, isItself }).toEqual({ model, isItself: !byAlias.has(model) })
        }
      }
      for (const [path, models] of Object.entries(unserved) as [string, string[]][]) {
        for (const model of models) {
          const response = await ask(path, model)
          const { error } = (await response.json()) as Json
          expect([model, response.status, error.code]).toEqual([model, 400, 'model_not_found'])
          // OpenAI has no completions model left, so no name can lead to one.
          const hint =
            path === 'completions'
              ? `This key may not use any model for /v1/${path}.`
              : `by \`aliases\` in the configuration: { "${model}": `
          expect(error.message).toContain(hint)
        }
      }
    })
  }
})

function ask(path: string, model: string): Promise<Response> {
  if (path === 'contents') {
    const contents = [{ role: 'user', parts: [{ text: 'Hello!' }] }]
    return gateway.post(`/v1beta/models/${model}:generateContent`, { contents })
  }
  if (path !== 'audio/transcriptions') return gateway.post(`/v1/${path}`, { model, ...plain[path] })
  const form = new FormData()
  form.append('model', model)
  const wav = wavOf({ sampleRate: 8_000, channels: 1 }, [new Uint8Array(16_000)])
  form.append('file', new File([new Uint8Array(wav)], 'sound.wav'))
  const headers = { authorization: `Bearer ${gateway.secret}` }
  return fetch(`${gateway.url}/v1/audio/transcriptions`, { method: 'POST', headers, body: form })
}
