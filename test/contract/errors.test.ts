// Whatever is thrown at any entry point, the caller gets it in the form of that entry point with the request's id, and
// it is logged once.

import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { answerOfError, type ErrorForm } from '../../src/contract/error-answer'
import { DatabaseUnavailable } from '../../src/db/db'
import { GatewayError } from '../../src/lib/errors'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { postMessage, toolMessage } from '../support/mcp'

setDefaultTimeout(180_000)

// biome-ignore lint/suspicious/noExplicitAny: bodies of any form
type Json = any

/** An entry point: how to call it, and the place of the error in its answer. */
interface Entrance {
  name: string
  ask(gateway: TestGateway): Promise<Response>
  read(text: string): { status?: number; code: unknown; message: string; requestId: string }
}

const authorized = ({ secret }: TestGateway) => ({ headers: { authorization: `Bearer ${secret}` } })
const readOpenai = (text: string) => {
  const { error } = JSON.parse(text) as Json
  return { code: error.code, message: error.message, requestId: error.request_id }
}
const count = { model: 'test-messages', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }

const entrances: readonly Entrance[] = [
  { name: 'an operation', ask: (gateway) => gateway.chat({}), read: readOpenai },
  {
    name: 'the list of models',
    ask: (gateway) => fetch(`${gateway.url}/v1/models`, authorized(gateway)),
    read: readOpenai,
  },
  {
    name: 'a task',
    ask: (gateway) => fetch(`${gateway.url}/v1/videos/generations/video_1`, authorized(gateway)),
    read: readOpenai,
  },
  {
    name: 'a count of tokens',
    ask: (gateway) => gateway.post('/v1/messages/count_tokens', count),
    read: (text) => {
      const { error, request_id: requestId } = JSON.parse(text) as Json
      return { code: undefined, message: error.message, requestId }
    },
  },
  {
    name: 'a message to the tools',
    ask: (gateway) => postMessage(gateway.url, gateway.secret, { jsonrpc: '2.0', id: 1, method: 'ping' }),
    read: (text) => {
      const { error } = JSON.parse(text) as Json
      return { code: error.data.code, message: error.message, requestId: error.data.request_id }
    },
  },
]

const gateways: TestGateway[] = []
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.close().catch(() => {})
})

async function started(): Promise<TestGateway> {
  const gateway = await startTestGateway({})
  gateways.push(gateway)
  return gateway
}

describe('an unreachable database is the same error on every path', () => {
  for (const { name, ask, read } of entrances) {
    test(name, async () => {
      const gateway = await started()
      await gateway.server.world.db.close()
      const response = await ask(gateway)
      const { code, message, requestId } = read(await response.text())
      expect(response.status).toBe(503)
      expect(['database_unavailable', undefined]).toContain(code as string | undefined)
      expect(message).toContain('Try again in a moment')
      expect(response.headers.get('retry-after')).toBe('1')
      expect(response.headers.get('x-request-id')).toBe(requestId)
      expect(loggedAbout(gateway, requestId)).toEqual(['request_failed'])
    })
  }
})

describe('an internal error reveals only the id by which the operator finds it', () => {
  for (const { name, ask, read } of entrances) {
    test(name, async () => {
      const gateway = await started()
      await gateway.server.world.db.batch([{ sql: 'alter table keys rename to hidden_keys' }])
      const response = await ask(gateway)
      const { message, requestId } = read(await response.text())
      expect(response.status).toBe(500)
      expect(message).toBe(
        `The gateway failed. Its operator can find the reason in the log under ${requestId}.`,
      )
      expect(response.headers.get('x-request-id')).toBe(requestId)
      expect(loggedAbout(gateway, requestId)).toEqual(['internal_error'])
    })
  }
})

test('a tool’s result has the error and the id', async () => {
  const gateway = await started()
  const { db } = gateway.server.world
  expect(
    (await postMessage(gateway.url, gateway.secret, { jsonrpc: '2.0', id: 1, method: 'ping' })).status,
  ).toBe(200)
  await db.batch([{ sql: 'alter table accounts rename to hidden_accounts' }])
  const fault = await resultOfTool(gateway)
  expect(fault).toMatchObject({ status: 500, error: { code: 'internal_error', type: 'server_error' } })
  expect(fault.error.message).toContain(`in the log under ${fault.request_id}.`)
  expect(loggedAbout(gateway, fault.request_id)).toEqual(['internal_error'])
})

/** The result of the balance tool, as a model reads it. */
async function resultOfTool(gateway: TestGateway): Promise<Json> {
  const text = await (await postMessage(gateway.url, gateway.secret, toolMessage('get_balance', {}))).text()
  const message = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) as Json
  expect(message.result.isError).toBe(true)
  return JSON.parse(message.result.content[0].text)
}

function loggedAbout({ log }: TestGateway, requestId: string): string[] {
  return log.filter(({ fields }) => fields.request === requestId).map(({ event }) => event)
}

describe('the error handler', () => {
  const forms: readonly ErrorForm[] = ['openai', 'flat', 'messages', 'json-rpc', 'tool']
  const cause = 'why'
  const thrown: Record<string, { error: unknown; status: number; words: string; events: string[] }> = {
    'a refusal': {
      error: new GatewayError(400, { code: 'invalid_value', message: 'Bad.', cause }),
      status: 400,
      words: 'Bad.',
      events: [],
    },
    'a failure with a cause': {
      error: new GatewayError(502, { code: 'upstream_error', message: 'Worse.', cause }),
      status: 502,
      words: 'Worse.',
      events: ['request_failed'],
    },
    'a failure without one': {
      error: new GatewayError(502, { code: 'upstream_error', message: 'Worse.' }),
      status: 502,
      words: 'Worse.',
      events: [],
    },
    'a database that is away': {
      error: new DatabaseUnavailable('ours'),
      status: 503,
      words: 'Try again in a moment.',
      events: ['request_failed'],
    },
    'a fault': {
      error: new Error('ours'),
      status: 500,
      words: 'in the log under req_1.',
      events: ['internal_error'],
    },
    'no error at all': {
      error: undefined,
      status: 500,
      words: 'in the log under req_1.',
      events: ['internal_error'],
    },
  }

  for (const form of forms) {
    for (const [name, { error, status, words, events }] of Object.entries(thrown)) {
      test(`answers ${name} as ${form}, and logs it at most once`, () => {
        const logged: string[] = []
        const {
          status: shown,
          headers,
          body,
        } = answerOfError(error, form, 'req_1', (event) => {
          logged.push(event)
        })
        expect(shown).toBe(status)
        expect(headers).toMatchObject({ 'x-request-id': 'req_1', 'x-should-retry': String(status >= 500) })
        const text = JSON.stringify(body)
        expect(text).toContain(words)
        expect(text).toContain('req_1')
        expect(text).not.toContain('ours')
        expect(text).not.toContain(cause)
        expect(logged).toEqual(events)
      })
    }
  }

  test('uses the dialect of the operation if it is known', () => {
    const error = new GatewayError(400, { code: 'invalid_value', message: 'Bad.' })
    error.dialect = 'messages'
    const { body, headers } = answerOfError(error, 'openai', 'req_1', () => {})
    expect(body).toMatchObject({ type: 'error', request_id: 'req_1' })
    expect(headers).toMatchObject({ 'request-id': 'req_1' })
  })
})
