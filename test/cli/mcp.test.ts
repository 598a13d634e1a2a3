// The tools of the compiled executable, called by the official client.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { version } from '../../package.json'
import { tools } from '../../src/mcp/tools'
import { connect, nano, toolModels } from '../support/mcp'
import { emptyFolder, install, stopWell } from '../support/processes/executable'

setDefaultTimeout(180_000)

test('the executable serves tools, with its version and exact costs', async () => {
  const installation = await install({ models: toolModels })
  const secret = await installation.makeKey('alice', '1')
  const server = await installation.serve({ cwd: emptyFolder() })
  const client = await connect(server.url, secret)
  expect(client.getServerVersion()).toMatchObject({ name: 'unified-model-gateway', version })
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name))
  const chat = { name: 'chat', arguments: { model: 'test-chat', prompt: 'Hello!' } }
  const { structuredContent } = await client.callTool(chat)
  expect(structuredContent).toMatchObject({ text: expect.stringContaining('You said'), cost_usd: '0.000042' })
  const speak = { name: 'speak', arguments: { model: 'qnx3-tts-flash', input: 'Hello' } }
  const { content } = (await client.callTool(speak)) as { content: { type: string }[] }
  expect(content.map(({ type }) => type)).toEqual(['text', 'audio'])
  const balance = await client.callTool({ name: 'get_balance', arguments: {} })
  const { available_usd: available } = balance.structuredContent as { available_usd: string }
  expect(nano(available)).toBe(nano('1') - nano('0.000042') - nano('0.000005'))
  await client.close()
  await stopWell(installation, server)
})
