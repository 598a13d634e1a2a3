// The reasons of failed requests in the log: the error's text without keys, the field, the requested name, and who caused it. An
// operator finds each reason with one command, without bodies, on both databases.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { pauseKey } from '../../src/accounts/keys'
import { makeAdminToken } from '../support/browser/console-visit'
import { databaseKinds } from '../support/databases/databases'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { createCommandLine } from '../support/processes/command-line'
import type { Json } from '../support/scenario'
import { chunk, completion, eventStream, type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(120_000)

const KEY = 'sk-the-operators-key-000042'
const WORDS = "Unsupported parameter: 'house_rule' is not supported with this model."
const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '2' }

const vendorError = (status: number, message: string) =>
  Response.json({ error: { message: `${message} Key: ${KEY}`, type: 'x', param: null } }, { status })

interface Case {
  ask: (gateway: TestGateway) => Promise<unknown>
  answer?: OddVendor['answer']
  row: Json
  says: string
}

const cases: Record<string, Case> = {
  'a check of the gateway': {
    ask: (gateway) => gateway.chat({ model: 'smart', max_tokens: 'many' }),
    row: {
      status: 400,
      asked_model: 'smart',
      error_param: 'max_tokens',
      error_message: expect.stringContaining("'max_tokens'"),
      failed_by: 'caller',
      vendor_status: null,
    },
    says: 'The gateway refused the request with 400 (invalid_type) before anything was sent to a vendor: the caller must change the request, and a repeat cannot help before that.',
  },
  'an unknown model': {
    ask: (gateway) => gateway.chat({ model: 'smart\u0000\nstatus=200' }),
    row: { status: 400, model: null, asked_model: 'smartstatus=200', failed_by: 'caller' },
    says: 'the caller must change the request',
  },
  'too little money': {
    ask: async (gateway) => {
      const { secret } = await gateway.makeKey(`poor-${crypto.randomUUID()}`, '0.000001')
      return gateway.chat({ model: 'smart' }, { authorization: `Bearer ${secret}` })
    },
    row: {
      status: 402,
      asked_model: 'smart',
      model: 'odd',
      upstream: 'odd',
      error_code: 'insufficient_balance',
      error_message: expect.stringContaining('available'),
      failed_by: 'caller',
    },
    says: 'The gateway refused the request with 402 (insufficient_balance) before anything was sent to a vendor: the owner of the account must add money or ask for less, and a repeat cannot help before that.',
  },
  'a key that the operator has paused': {
    ask: async (gateway) => {
      const { secret, id } = await gateway.makeKey(`paused-${crypto.randomUUID()}`, '1')
      await pauseKey(gateway.server.world.db, id, 1)
      return gateway.chat({ model: 'smart' }, { authorization: `Bearer ${secret}` })
    },
    row: { status: 403, error_code: 'key_paused', failed_by: 'gateway', vendor_status: null },
    says: 'the operator of the gateway must act',
  },
  'a refusal of the vendor': {
    ask: (gateway) => gateway.chat({ model: 'smart' }),
    answer: () => vendorError(422, `${WORDS} ${'more '.repeat(200)}`),
    row: {
      status: 400,
      asked_model: 'smart',
      model: 'odd',
      error_message: expect.stringContaining(WORDS),
      error_param: 'house_rule',
      failed_by: 'vendor',
      vendor_status: 422,
    },
    says: 'The vendor of odd refused the request with 422, shown to the caller as 400 (upstream_refused): the caller must change the request, and a repeat cannot help before that.',
  },
  'a vendor that demands payment from the operator': {
    ask: (gateway) => gateway.chat({ model: 'odd' }),
    answer: () => vendorError(402, 'Your credit is used up.'),
    row: {
      status: 503,
      asked_model: null,
      error_message: 'Your credit is used up. Key: …',
      failed_by: 'vendor',
      vendor_status: 402,
    },
    says: 'The vendor of odd refused the request with 402, shown to the caller as 503 (upstream_unavailable): the operator of the gateway must act, and a repeat cannot help before that.',
  },
  'a vendor that is busy': {
    ask: (gateway) => gateway.chat({ model: 'odd' }),
    answer: () => vendorError(429, 'Slow down.'),
    row: { status: 429, error_message: 'Slow down. Key: …', failed_by: 'vendor', vendor_status: 429 },
    says: 'and a repeat can help',
  },
  'an error in a stream that had begun': {
    ask: async (gateway) => (await gateway.chat({ model: 'smart', stream: true })).text(),
    answer: () => eventStream(`${chunk('a')}data: {"error":{"message":"Overloaded. ${KEY}","code":503}}\n\n`),
    row: {
      status: 200,
      asked_model: 'smart',
      error_message: expect.stringContaining('Overloaded. …'),
      failed_by: 'vendor',
    },
    says: 'The vendor of odd stopped the answer early (upstream_error): the vendor must act, and a repeat can help.',
  },
  'a stream that breaks off': {
    ask: async (gateway) => (await gateway.chat({ model: 'odd', stream: true })).text(),
    answer: () => eventStream(chunk('a')),
    row: { status: 200, error_code: 'upstream_cut', failed_by: 'vendor', vendor_status: null },
    says: 'The vendor of odd stopped the answer early (upstream_cut)',
  },
  'a caller who disconnects': {
    ask: (gateway) => {
      const leave = new AbortController()
      setTimeout(() => leave.abort(), 100)
      return post(gateway, 'smart', leave.signal)
    },
    answer: () => new Promise(() => {}),
    row: { status: 499, asked_model: 'smart', failed_by: 'caller', vendor_status: null },
    says: 'The caller disconnected before the answer',
  },
}

for (const database of databaseKinds) {
  describe(database, () => {
    let gateway: TestGateway
    let vendor: OddVendor
    let read: (path: string) => Promise<Json>
    beforeAll(async () => {
      vendor = startVendor()
      gateway = await startTestGateway({
        database,
        upstreams: {
          odd: { ...vendor.upstream, apiKey: KEY },
          narrow: { ...vendor.upstream, concurrency: 1 },
        },
        models: {
          odd: { family: 'openai-chat', upstream: 'odd', upstreamModel: 'x', price },
          narrow: { family: 'openai-chat', upstream: 'narrow', upstreamModel: 'x', price },
          smart: { route: ['odd'] },
        },
      })
      const headers = { authorization: `Bearer ${await makeAdminToken(gateway, 'viewer')}` }
      read = async (path) => (await fetch(`${gateway.url}/admin/v1${path}`, { headers })).json()
    })
    afterAll(async () => {
      await gateway.close()
      await vendor.stop()
    })

    test.each(Object.keys(cases))('%s: its reason is in the log', async (title) => {
      const { ask, answer, row, says } = cases[title] as Case
      if (answer) vendor.answer = answer
      const before = (await gateway.newestLogged())?.number ?? 0
      await ask(gateway)
      const found = await waitForRow(gateway, Number(before))
      expect(found).toMatchObject(row)
      expect(String(found.error_message).length).toBeLessThanOrEqual(500)
      expect(JSON.stringify(found)).not.toContain(KEY)
      expect((await read(`/requests/${found.id}`)).explanation).toContain(says)
      const { data } = await read(`/requests?failed_by=${found.failed_by}&limit=1`)
      expect(data).toMatchObject([{ id: found.id, error_message: found.error_message }])
    })

    test('a call that was not sent because the upstream was at its limit is not counted as a failure of the vendor', async () => {
      const before = Number((await gateway.newestLogged())?.number)
      const arrived = vendor.requests
      vendor.answer = () => new Promise(() => {})
      const leave = new AbortController()
      const held = post(gateway, 'narrow', leave.signal)
      await waitFor(() => vendor.requests > arrived)
      expect((await gateway.chat({ model: 'narrow' })).status).toBe(429)
      leave.abort()
      await held
      await waitFor(async () => (await gateway.requestLog(before)).length === 2)
      const [refused] = await gateway.requestLog(before)
      expect(refused).toMatchObject({
        status: 429,
        failed_by: 'gateway',
        vendor_status: null,
        sent_ms: null,
      })
      expect((await read(`/requests/${refused?.id}`)).explanation).toBe(
        'The gateway refused the request with 429 (Throttling.ConcurrencyQuota) before anything was sent to a vendor: the caller must wait, and a repeat can help.',
      )
    })

    test('requests are found by the requested name and by the model that answered', async () => {
      vendor.answer = () => Response.json(completion('hi', 3, 2))
      const named = (await gateway.chat({ model: 'smart' })).headers.get('x-request-id')
      const plain = (await gateway.chat({ model: 'odd' })).headers.get('x-request-id')
      await gateway.server.world.requestLog.flush()
      const idsOf = async (query: string) => (await read(`/requests?${query}`)).data.map(({ id }: Json) => id)
      const smart = await idsOf('model=smart&status=2xx')
      expect(smart).toContain(named)
      expect(smart).not.toContain(plain)
      expect((await idsOf('model=odd')).slice(0, 2)).toEqual([plain, named])
      expect((await read(`/requests/${named}`)).explanation).toBeNull()
      expect((await read('/requests?failed_by=nobody')).error.param).toBe('failed_by')
    })

    test('the overview, usage, sums and lists count the same failures by cause', async () => {
      await gateway.server.world.requestLog.flush()
      const countsOf = (sums: Json) => [sums.failed_by_vendor, sums.failed_by_gateway, sums.failed_by_caller]
      const listed = async (party: string, filter = '') =>
        (await read(`/requests?failed_by=${party}&limit=1000${filter}`)).data.length as number
      const found = [await listed('vendor'), await listed('gateway'), await listed('caller')]
      expect(found.every((count) => count > 0)).toBe(true)
      expect(countsOf((await read('/overview')).total)).toEqual(found)
      const { failed, failed_by: by } = await read('/requests/summary')
      expect([by.vendor, by.gateway, by.caller]).toEqual(found)
      expect(failed).toBe(found.reduce((sum, count) => sum + count))
      for (const dimension of ['day', 'hour', 'model', 'key', 'account']) {
        const { rows, total } = await read(`/usage?by=${dimension}`)
        expect({ dimension, counts: countsOf(total) }).toEqual({ dimension, counts: found })
        const sums = rows
          .map(countsOf)
          .reduce((one: number[], other: number[]) => one.map((count, place) => count + (other[place] ?? 0)))
        expect({ dimension, sums }).toEqual({ dimension, sums: found })
      }
      const own = '&account=alice'
      const alices = [await listed('vendor', own), await listed('gateway', own), await listed('caller', own)]
      expect(countsOf((await read('/usage?by=day&account=alice')).total)).toEqual(alices)
      const ofAlice = (await read('/usage?by=account')).rows.find(({ account }: Json) => account === 'alice')
      expect(countsOf(ofAlice)).toEqual(alices)
    })

    if (database !== 'sqlite') return
    // The command reads either database by the same operations of the admin API.
    test('show begins with the explanation, and list filters by name and by cause', async () => {
      const { secret } = await gateway.makeKey(`poor-${database}`, '0.000001')
      const refused = await gateway.chat({ model: 'smart' }, { authorization: `Bearer ${secret}` })
      const id = refused.headers.get('x-request-id') as string
      await gateway.server.world.requestLog.flush()
      const { run } = createCommandLine(gateway.dataDir, gateway.dataDir)
      const shown = await run(`requests show ${id}`)
      expect(shown.stdout).toStartWith('The gateway refused the request with 402 (insufficient_balance)')
      expect(shown.stdout).toMatch(/^ *reason +.*available/m)
      expect(shown.stdout).toMatch(/^ *asked +chat, smart, served by odd$/m)
      const filter = '--model smart --failed-by caller --status 402 --limit 1'
      const listed = await run(`requests list ${filter} --json`)
      expect(JSON.parse(listed.stdout).rows).toMatchObject([{ id, asked_model: 'smart' }])
      const wrong = await run('requests list --failed-by me')
      expect(wrong.stderr).toContain('--failed-by takes caller, gateway or vendor')
    })
  })
}

/** A stream from which its caller may disconnect. */
function post(gateway: TestGateway, model: string, signal: AbortSignal): Promise<unknown> {
  const headers = { authorization: `Bearer ${gateway.secret}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model, stream: true, messages: say('a') })
  return fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body, signal }).catch(
    () => {},
  )
}

/** The first row after a number. */
async function waitForRow(gateway: TestGateway, after: number): Promise<Json> {
  for (;;) {
    await gateway.server.world.requestLog.flush()
    const [row] = await gateway.requestLog(after)
    if (row) return row
    await Bun.sleep(20)
  }
}
