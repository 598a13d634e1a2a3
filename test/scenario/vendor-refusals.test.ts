// A vendor that refuses a request because of a rule unknown to the gateway: its words reach the caller, the request costs nothing,
// and it is counted by model and field for the operator, on both databases.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { listRefusals, RefusalKeeper } from '../../src/request-log/refusals'
import { newLogRow } from '../../src/request-log/row'
import { makeAdminToken } from '../support/browser/console-visit'
import { databaseKinds } from '../support/databases/databases'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import { type OddVendor, startVendor } from '../support/vendors/vendor'

const KEY = 'sk-the-operators-key-000042'
const WORDS = "Unsupported parameter: 'house_rule' is not supported with this model."

// biome-ignore lint/suspicious/noExplicitAny: answers of three dialects
type Json = any

let vendor: OddVendor
beforeAll(() => {
  vendor = startVendor({
    answer: () =>
      Response.json(
        { error: { message: `${WORDS} Your key: ${KEY}`, type: 'invalid_request_error', param: null } },
        { status: 400 },
      ),
  })
})
afterAll(() => vendor.stop())

const requests: Record<string, (more: object) => [path: string, body: object]> = {
  chat: (more) => ['/v1/chat/completions', { model: 'ruled', messages: say('secret words'), ...more }],
  messages: (more) => [
    '/v1/messages',
    { model: 'ruled', max_tokens: 9, messages: say('secret words'), ...more },
  ],
  responses: (more) => ['/v1/responses', { model: 'ruled', input: 'secret words', ...more }],
}

for (const database of databaseKinds) {
  describe(database, () => {
    let gateway: TestGateway
    let token: string
    beforeAll(async () => {
      const upstreams = { ruled: { ...vendor.upstream, apiKey: KEY } }
      const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '2' }
      const models = { ruled: { family: 'openai-chat', upstream: 'ruled', upstreamModel: 'x', price } }
      gateway = await startTestGateway({ database, upstreams, models })
      token = await makeAdminToken(gateway, 'viewer')
    })
    afterAll(() => gateway.close())

    async function listed(): Promise<Json[]> {
      const response = await fetch(`${gateway.url}/admin/v1/upstreams/refusals`, {
        headers: { authorization: `Bearer ${token}` },
      })
      expect(response.status).toBe(200)
      return ((await response.json()) as Json).data
    }

    test.each(
      Object.keys(requests).flatMap((dialect) => [false, true].map((stream) => [dialect, stream] as const)),
    )('in %s, stream %p: the words of the vendor, for nothing', async (dialect, stream) => {
      const [path, body] = requests[dialect]?.({ stream }) ?? []
      const response = await gateway.post(path as string, body as object)
      expect(response.status).toBe(400)
      const { error } = (await response.json()) as Json
      expect(error.message).toStartWith(WORDS)
      expect(error.message).not.toContain(KEY)
      expect(await gateway.newestCharge()).toMatchObject({ state: 'released', amount: 0 })
    })

    test('are counted once per model and field, without data of callers', async () => {
      const rows = await listed()
      expect(rows).toEqual([
        {
          upstream: 'ruled',
          model: 'ruled',
          field: 'house_rule',
          status: 400,
          message: expect.stringContaining(WORDS),
          count: 6,
          first_at: expect.any(String),
          last_at: expect.any(String),
        },
      ])
      expect(JSON.stringify(rows)).not.toMatch(/secret words|000042/)
    })

    test('are summed over processes, and bounded in number and in length', async () => {
      const { db } = gateway.server.world
      const refused = (field: string, at: number) => {
        const row = newLogRow(
          { requestId: 'req_1', operation: { name: 'chat' } },
          { now: () => at, monotonic: () => 0 },
        )
        const refusals = [{ upstream: 'u', model: 'm', field, status: 400, message: 'x'.repeat(10_000) }]
        return { ...row, refusals }
      }
      const [one, other] = [new RefusalKeeper(db), new RefusalKeeper(db)]
      one.fold([refused('same', 1_000)])
      other.fold([refused('same', 2_000), refused('same', 3_000)])
      await one.store()
      await other.store()
      await other.store()
      const [same] = (await listRefusals(db)).filter(({ field }) => field === 'same')
      expect(same).toMatchObject({ count: 3, firstAt: 1_000, lastAt: 3_000 })
      expect(same?.message.length).toBeLessThanOrEqual(500)
      for (let batch = 0; batch < 3; batch++) {
        one.fold(Array.from({ length: 400 }, (_, index) => refused(`f${batch}_${index}`, 10_000 + batch)))
        await one.store()
      }
      const all = await listRefusals(db)
      expect(all.length).toBe(500)
      expect(all.filter(({ field }) => field.startsWith('f2_')).length).toBe(400)
    })
  })
}

test.each([
  [{ message: 'Invalid JSON payload received. Unknown name "store": Cannot find field.' }, 'store'],
  [{ message: 'body.top_k: Extra inputs are not permitted' }, 'top_k'],
  [{ message: '`metadata` is not supported with this model' }, 'metadata'],
  [{ message: 'Argument not supported on this model: presencePenalty' }, 'presencePenalty'],
  [{ message: 'Model grok-4 does not support parameter reasoningEffort.' }, 'reasoningEffort'],
  [{ message: "unknown field: parameter 'top_k' is not a valid field." }, 'top_k'],
  [{ message: 'messages.3.content.0.thinking: Field required' }, 'messages[].content[].thinking'],
  [{ message: 'Field required: input.media' }, 'input.media'],
  [{ message: "Unsupported parameter: 'x.y' is not supported." }, 'x.y'],
  [{ message: 'Bad.', param: 'messages[12].content[3].type' }, 'messages[].content[].type'],
  [{ message: 'Something is wrong.' }, ''],
])(
  '%j names the field %s',
  async ({ message, param = null }: { message: string; param?: string | null }, field) => {
    const { refusedField } = await import('../../src/upstreams/refused-field')
    expect(refusedField(message, param)).toBe(field)
  },
)
