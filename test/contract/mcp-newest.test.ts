// The newest revision of MCP, in which each message is self-contained, with its official client: the same tools as in
// the previous revision, also with OAuth. The inspector, a common tool to test servers, connects in both.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  Client,
  type Progress,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { temporaryFolder } from '../support/databases/databases'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { connect, NEWEST_REVISION, toolModels } from '../support/mcp'
import { allow, fetchBehind, Program, PUBLIC_URL } from '../support/oauth'
import { freePort } from '../support/processes/free-port'
import { rejection } from '../support/rejection'

setDefaultTimeout(180_000)

let gateway: TestGateway

beforeAll(async () => {
  const config = { server: { publicUrl: PUBLIC_URL, mcpSignIn: true }, console: { allowRemote: true } }
  gateway = await startTestGateway({ models: toolModels, config })
})
afterAll(() => gateway.close())

/** A client that speaks the newest revision and no other. */
function newestClient(): Client {
  const info = { name: 'tests', version: '1' }
  return new Client(info, { versionNegotiation: { mode: { pin: NEWEST_REVISION } } })
}

describe(`a client of ${NEWEST_REVISION}`, () => {
  let client: Client
  beforeAll(async () => {
    client = newestClient()
    const headers = { authorization: `Bearer ${gateway.secret}` }
    const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), {
      requestInit: { headers },
    })
    await client.connect(transport)
  })
  afterAll(() => client.close())

  test('finds the tools that earlier ones find', async () => {
    const earlier = await connect(gateway.url, gateway.secret)
    const { tools } = await client.listTools()
    expect(tools.length).toBeGreaterThan(5)
    expect(tools).toEqual((await earlier.listTools()).tools as typeof tools)
    expect(client.getServerVersion()?.name).toBe('unified-model-gateway')
    await earlier.close()
  })

  test('calls them, with progress and exact costs', async () => {
    const progress: Progress[] = []
    const question = { model: 'test-chat', prompt: 'Hello!' }
    const result = await client.callTool(
      { name: 'chat', arguments: question },
      { onprogress: (each) => progress.push(each) },
    )
    expect(result.structuredContent).toMatchObject({ model: 'test-chat', cost_usd: '0.000042' })
    expect(progress[0]).toMatchObject({ progress: 0 })
    expect(await gateway.newestCharge()).toMatchObject({ state: 'settled', amount: 42_000 })
  })

  test('reads why a tool failed, and that another does not exist', async () => {
    const failed = await client.callTool({ name: 'chat', arguments: { model: 'none', prompt: 'Hello!' } })
    expect(failed.isError).toBe(true)
    expect(JSON.stringify(failed.content)).toContain('model_not_found')
    expect(String(await rejection(client.callTool({ name: 'cook', arguments: {} })))).toContain(
      'Unknown tool: cook',
    )
  })
})

test('it connects by OAuth from its first 401 on', async () => {
  const program = new Program()
  const transport = () =>
    new StreamableHTTPClientTransport(new URL(`${PUBLIC_URL}/mcp`), {
      authProvider: program,
      fetch: fetchBehind(gateway),
    })
  const first = transport()
  expect(await rejection(newestClient().connect(first))).toBeInstanceOf(UnauthorizedError)
  const led = await allow(gateway, program.authorizationUrl as URL)
  await first.finishAuth(led.searchParams)
  const client = newestClient()
  await client.connect(transport())
  expect(program.saved?.access_token).toStartWith('sk-tok-')
  expect((await client.callTool({ name: 'get_balance', arguments: {} })).isError).not.toBe(true)
  await client.close()
})

const INSPECTOR = join(
  import.meta.dir,
  '../..',
  'node_modules/@modelcontextprotocol/inspector/clients/cli/build/index.js',
)

test.each(['legacy', 'modern'])(
  'the inspector connects by OAuth unchanged, and lists tools (%s)',
  async (era) => {
    const [port, callback] = [await freePort(), await freePort()]
    const publicUrl = `http://127.0.0.1:${port}`
    const server = { port, publicUrl, mcpSignIn: true }
    const own = await startTestGateway({ models: toolModels, config: { server } })
    const home = temporaryFolder()
    const listed = join(home, 'tools.json')
    const flags = [
      ...['--server-url', `${publicUrl}/mcp`, '--transport', 'http', '--protocol-era', era],
      ...['--callback-url', `http://127.0.0.1:${callback}/oauth/callback`],
      ...['--method', 'tools/list', '--output', listed],
    ]
    let shown = ''
    // It asks a person, so it wants a terminal.
    const inspector = Bun.spawn([process.execPath, INSPECTOR, ...flags], {
      cwd: home,
      env: { PATH: process.env.PATH ?? '', HOME: home, MCP_AUTO_OPEN_ENABLED: 'false', NO_COLOR: '1' },
      terminal: {
        cols: 2_000,
        data(_, bytes) {
          shown += new TextDecoder().decode(bytes)
        },
      },
    })
    const address = () => /navigate to: .*?(http:[\x21-\x7e]+)/.exec(shown)?.[1]
    await waitFor(() => address() !== undefined || inspector.exitCode !== null)
    const back = await allow({ ...own, publicUrl }, new URL(address() ?? `not asked for: ${shown}`))
    expect((await fetch(back)).status).toBe(200)
    expect([await inspector.exited, shown]).toEqual([0, expect.any(String)])
    const { tools } = JSON.parse(readFileSync(listed, 'utf8'))
    expect(tools.map(({ name }: { name: string }) => name)).toContain('generate_video')
    await own.close()
  },
)
