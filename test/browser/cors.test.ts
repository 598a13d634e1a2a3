// Web pages that call the API: a real browser enforces CORS, with the official SDKs on a page of another origin.

import { describe, expect, setDefaultTimeout } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { startTestGateway, type TestGateway } from '../support/gateway'

setDefaultTimeout(180_000)

/** Members that the test adds to a page's `window`. */
interface PageWindow {
  OpenAI: typeof import('openai').default
  Anthropic: typeof import('@anthropic-ai/sdk').default
}

let gateway: TestGateway
let limited: TestGateway
let pages: ReturnType<typeof servePages>
let browser: Browser

beforeAll(async () => {
  pages = servePages(await bundle())
  gateway = await startTestGateway()
  limited = await startTestGateway({ config: { server: { corsOrigins: [pages.origins[0] as string] } } })
  browser = await openBrowser()
})
afterAll(async () => {
  await browser?.close()
  pages?.close()
  await gateway?.close()
  await limited?.close()
})

async function bundle(): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [`${import.meta.dir}/../fixtures/browser/sdk.ts`],
    target: 'browser',
  })
  return (outputs[0] as Blob).text()
}

/** Two origins that serve the same page. */
function servePages(script: string) {
  const servers = [1, 2].map(() =>
    Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: ({ url }) =>
        new URL(url).pathname === '/sdk.js'
          ? new Response(script, { headers: { 'content-type': 'text/javascript' } })
          : new Response('<!doctype html><script src="/sdk.js"></script>', {
              headers: { 'content-type': 'text/html' },
            }),
    }),
  )
  return {
    origins: servers.map(({ port }) => `http://127.0.0.1:${port}`),
    close: () => servers.map((server) => server.stop(true)),
  }
}

async function open(origin = pages.origins[0]): Promise<Page> {
  const page = await browser.newPage()
  await page.goto(`${origin}/`)
  return page
}

/** The parts of a request that a test sets. */
interface Init {
  method?: string
  headers?: Record<string, string>
  body?: string
}

/** Sends one request from a page. Returns what the script sees, or that the browser blocked the answer. */
async function callFrom(page: Page, url: string, init: Init = {}) {
  return page.evaluate(
    async ([url, init]) => {
      try {
        const response = await fetch(url, init)
        const names = ['x-request-id', 'x-should-retry', 'retry-after', 'allow']
        const headers = Object.fromEntries(names.map((name) => [name, response.headers.get(name)]))
        return { status: response.status, text: await response.text(), headers }
      } catch {
        return 'kept from the page'
      }
    },
    [url, init] as const,
  )
}

describe('a page of any origin', () => {
  test('uses the OpenAI SDK for whole and streamed answers, a list, and an error with its id', async () => {
    const page = await open()
    const seen = await page.evaluate(
      async ([baseURL, apiKey]) => {
        const { OpenAI } = globalThis as unknown as PageWindow
        const client = new OpenAI({ baseURL: `${baseURL}/v1`, apiKey, dangerouslyAllowBrowser: true })
        const ask = { model: 'test-chat', messages: [{ role: 'user' as const, content: 'Hello!' }] }
        const { data, request_id } = await client.chat.completions.create(ask).withResponse()
        let streamed = ''
        for await (const { choices } of await client.chat.completions.create({ ...ask, stream: true }))
          streamed += choices[0]?.delta.content ?? ''
        const models = await client.models.list()
        const failure = await client.chat.completions
          .create({ ...ask, model: 'none' })
          .catch((error) => error)
        return {
          whole: data.choices[0]?.message.content,
          request_id,
          streamed,
          models: models.data.length,
          failure: { status: failure.status, code: failure.code, requestID: failure.requestID },
        }
      },
      [gateway.url, gateway.secret] as const,
    )
    expect(seen.whole).toBeString()
    expect(seen.streamed).toBe(seen.whole as string)
    expect(seen.request_id).toStartWith('req_')
    expect(seen.models).toBeGreaterThan(5)
    expect(seen.failure).toMatchObject({ status: 400, code: 'model_not_found' })
    expect(seen.failure.requestID).toStartWith('req_')
    await page.close()
  })

  test('uses the Anthropic SDK, which sends x-api-key and its own headers', async () => {
    const page = await open()
    const text = await page.evaluate(
      async ([baseURL, apiKey]) => {
        const { Anthropic } = globalThis as unknown as PageWindow
        const client = new Anthropic({ baseURL, apiKey, dangerouslyAllowBrowser: true })
        const ask = {
          model: 'test-messages',
          max_tokens: 50,
          messages: [{ role: 'user' as const, content: 'Hi' }],
        }
        const message = await client.messages.create(ask)
        return message.content[0]?.type === 'text' ? message.content[0].text : ''
      },
      [gateway.url, gateway.secret] as const,
    )
    expect(text.length).toBeGreaterThan(0)
    await page.close()
  })

  test('reads every kind of error below /v1', async () => {
    const page = await open()
    const key = { authorization: `Bearer ${gateway.secret}`, 'content-type': 'application/json' }
    const rows: [path: string, init: Init, status: number][] = [
      ['/v1/chat/completions', { method: 'POST', body: '{}', headers: key }, 400],
      ['/v1/chat/completions', { method: 'POST', body: '{}' }, 401],
      ['/v1/chat/completions', { method: 'GET' }, 405],
      ['/v1/nothing', { headers: key }, 404],
      ['/v1/models/none', { headers: key }, 404],
      ['/v1/videos/none', { headers: key }, 404],
      ['/v1/videos/generations/none', { headers: key }, 404],
      ['/v1/artifacts/none', {}, 404],
      ['/v1/messages/count_tokens', { method: 'POST', body: '{}', headers: key }, 400],
    ]
    for (const [path, init, status] of rows) {
      const seen = await callFrom(page, `${gateway.url}${path}`, init)
      expect({ path, seen }).toMatchObject({ path, seen: { status, headers: { 'x-should-retry': 'false' } } })
    }
    await page.close()
  })

  test('reads nothing outside /v1', async () => {
    const page = await open()
    expect(await callFrom(page, `${gateway.url}/health`)).toBe('kept from the page')
    expect(await callFrom(page, `${gateway.url}/openapi.json`)).toBe('kept from the page')
    await page.close()
  })
})

describe('server.corsOrigins', () => {
  test('admits only the origins that it lists', async () => {
    const init = { headers: { authorization: `Bearer ${limited.secret}` } }
    const [named, other] = [await open(pages.origins[0]), await open(pages.origins[1])]
    expect(await callFrom(named, `${limited.url}/v1/models`, init)).toMatchObject({ status: 200 })
    expect(await callFrom(other, `${limited.url}/v1/models`, init)).toBe('kept from the page')
    await Promise.all([named.close(), other.close()])
  })
})
