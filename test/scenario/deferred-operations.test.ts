// Every operation that can be deferred, by its field and by the header: the task has the answer that is sent at once without it, for
// the same price, and for one request to the vendor. Every other operation refuses.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import shipped from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import { type OperationName, operations } from '../../src/contract/operations'
import { databaseKinds } from '../support/databases/databases'
import { imageModel, say, startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'
import { foxPicture, hasFile, sentFields, silentSound } from '../support/sent-fields'

setDefaultTimeout(120_000)

const listed = shipped.models as Record<string, ModelConfig>
/** A request of each operation that can be deferred. A file makes it a form. */
const requests: Partial<Record<OperationName, Record<string, unknown>>> = {
  chat: { model: 'test-chat', messages: say('Hello') },
  messages: { model: 'test-messages', max_tokens: 50, messages: say('Hello') },
  completions: { model: 'instruct', prompt: 'Hello' },
  speech: { model: 'tts-1', input: 'Hello there', voice: 'nova' },
  image: { model: 'picture', prompt: 'A fox' },
  'image-edit': { model: 'pgt-image-2', prompt: 'At night', image: foxPicture() },
  transcription: { model: 'whisper-1', file: silentSound(3), response_format: 'srt' },
  translation: { model: 'whisper-1', file: silentSound(3) },
}
const refused: Partial<Record<OperationName, Record<string, unknown>>> = {
  embeddings: { model: 'test-embedding', input: 'x' },
  responses: { model: 'answers', input: 'Hello' },
  rerank: { model: 'vgx-rerank-2.5', query: 'x', documents: ['y'] },
  video: { model: 'gkx-imagine-video', prompt: 'A fox' },
}

test('the operations that can be deferred are these', () => {
  const names = operations.filter(({ canBeDeferred }) => canBeDeferred).map(({ name }) => name)
  expect(names.sort()).toEqual((Object.keys(requests) as OperationName[]).sort())
})

/** Members that differ from answer to answer: ids, times, addresses, and random names in them. */
const NEW_EACH_TIME = /^(id|created|url)$/
const comparable = (text: string) =>
  text.startsWith('{')
    ? JSON.parse(text, (name, value) => (NEW_EACH_TIME.test(name) ? typeof value : value))
    : text

for (const database of databaseKinds) {
  describe(`on ${database}`, () => {
    let gateway: TestGateway
    beforeAll(async () => {
      const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '2' }
      gateway = await startTestGateway({
        database,
        models: {
          instruct: {
            family: 'openai-completions',
            upstream: 'openai',
            upstreamModel: 'gpt-3.5-turbo-instruct',
            price,
          },
          answers: { family: 'openai-responses', upstream: 'openai', upstreamModel: 'gpt-5-mini', price },
          picture: imageModel,
          ...Object.fromEntries(
            ['tts-1', 'pgt-image-2', 'whisper-1', 'vgx-rerank-2.5'].map((id) => [
              id,
              listed[id] as ModelConfig,
            ]),
          ),
        },
      })
    })
    afterAll(() => gateway.close())

    const pathOf = (name: string) => operations.find((operation) => operation.name === name)?.path ?? ''

    function send(path: string, fields: Record<string, unknown>, headers: Record<string, string> = {}) {
      const { body, headers: own } = sentFields(fields)
      return fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: { ...own, authorization: `Bearer ${gateway.secret}`, ...headers },
        body,
      })
    }

    /** The answer of a request with its effects, as soon as it has been read. */
    async function effectsOf(ask: () => Promise<Response>) {
      const [calls, end] = [gateway.sandbox.calls.length, await gateway.newest()]
      const response = await ask()
      const text = Buffer.from(await response.arrayBuffer()).toString('latin1')
      return {
        status: response.status,
        type: response.headers.get('content-type')?.split(';')[0],
        answer: comparable(text),
        calls: gateway.sandbox.calls.length - calls,
        charges: (await gateway.charges(end.charge)).map(({ state, amount }) => ({ state, amount })),
      }
    }

    async function resultOf(accepted: Response): Promise<Response> {
      expect([accepted.status, await accepted.clone().text()]).toEqual([202, expect.any(String)])
      const { id } = (await accepted.json()) as Json
      const headers = { authorization: `Bearer ${gateway.secret}` }
      await fetch(`${gateway.url}/v1/tasks/${id}?wait=300`, { headers })
      return fetch(`${gateway.url}/v1/tasks/${id}/result`, { headers })
    }

    test.each(Object.entries(requests))(
      '%s is answered later as at once, for the same price',
      async (name, fields) => {
        const path = pathOf(name)
        const atOnce = await effectsOf(() => send(path, fields))
        expect({ ...atOnce, answer: typeof atOnce.answer }).toMatchObject({
          status: 200,
          calls: 1,
          charges: [{ state: 'settled', amount: expect.any(Number) }],
        })
        const byField = { ...fields, async: hasFile(fields) ? 'true' : true }
        expect(await effectsOf(async () => resultOf(await send(path, byField)))).toEqual(atOnce)
        const preferred = () => send(path, fields, { prefer: 'respond-async' })
        expect(await effectsOf(async () => resultOf(await preferred()))).toEqual(atOnce)
      },
    )

    test.each(Object.entries(refused))('%s is refused with `async`, and free', async (name, fields) => {
      const { status, answer, calls, charges } = await effectsOf(() =>
        send(pathOf(name), { ...fields, async: true }),
      )
      expect({ status, param: answer.error.param, calls, charges }).toEqual({
        status: 400,
        param: 'async',
        calls: 0,
        charges: [],
      })
    })
  })
}
