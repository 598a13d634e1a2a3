// Shared by tests of the tools: the official client on a gateway, one call with all its records, and raw messages.

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { CallToolResult, Progress } from '@modelcontextprotocol/sdk/types.js'
import shipped from '../../gateway.config'
import { picture } from '../../sandbox/pictures'
import type { ModelConfig } from '../../src/config/schema'
import type { Row } from '../../src/db/db'
import { parseUsd } from '../../src/lib/money'
import type { TestGateway } from './gateway'
import type { Json } from './scenario'
import { speechModels } from './speech'

const { 'odd-flash': _, ...spoken } = speechModels
const catalogue: Record<string, ModelConfig> = shipped.models

/** A model for each way to make, edit and return pictures. */
const pictured = [
  'qnx-image-2.0',
  'qnx-image-edit',
  'seedream-4.0',
  'pgt-image-2',
  'dle-2',
  'gkx-imagine-image',
]
/** Models that transcribe and rank. */
const others = ['whisper-1', 'rerank-v4.0-fast']
const entries = [...pictured, ...others, 'gmx-3-pro-image'].map((id) => [id, catalogue[id] as ModelConfig])

const moderation: ModelConfig = {
  family: 'openai-moderation',
  upstream: 'openai',
  upstreamModel: 'local-guard',
  price: { per_request: '0.001' },
}

export const toolModels: Record<string, ModelConfig> = {
  ...spoken,
  ...Object.fromEntries(entries),
  'test-moderation': moderation,
}

export async function connect(url: string, secret: string): Promise<Client> {
  const client = new Client({ name: 'tests', version: '1' })
  const headers = { authorization: `Bearer ${secret}` }
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } })
  await client.connect(transport as unknown as Transport)
  return client
}

export interface Called {
  result: CallToolResult
  /** The first text of the answer, which is always JSON. */
  json: Json
  /** Calls to vendors. */
  calls: number
  charges: Row[]
  logRows: Row[]
  progress: Progress[]
}

/** Calls a tool, and collects the records as soon as it has answered. Nothing else may use the gateway meanwhile. */
export async function callTool(
  gateway: TestGateway,
  client: Client,
  name: string,
  args: Record<string, unknown>,
): Promise<Called> {
  const calls = gateway.sandbox.calls.length
  const before = await gateway.newest()
  const progress: Progress[] = []
  const onprogress = (each: Progress) => progress.push(each)
  const result = (await client.callTool({ name, arguments: args }, undefined, {
    onprogress,
  })) as CallToolResult
  const [text] = result.content
  return {
    result,
    json: text?.type === 'text' ? JSON.parse(text.text) : undefined,
    calls: gateway.sandbox.calls.length - calls,
    charges: await gateway.charges(before.charge),
    logRows: await gateway.requestLog(before.logRow),
    progress,
  }
}

/** A message that no client would send. */
export function postMessage(
  url: string,
  secret: string | null,
  message: unknown,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
): Promise<Response> {
  return fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(secret !== null && { authorization: `Bearer ${secret}` }),
      ...headers,
    },
    body: typeof message === 'string' ? message : JSON.stringify(message),
    ...(signal && { signal }),
  })
}

export function toolMessage(name: string, args: Record<string, unknown>, meta?: object): object {
  return {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: args, ...(meta && { _meta: meta }) },
  }
}

export const NEWEST_REVISION = '2026-07-28'

/** A message of the newest revision, which is complete by itself, or of a later one. */
export function newestMessage(method: string, params: object = {}, revision = NEWEST_REVISION): object {
  const of = (name: string) => `io.modelcontextprotocol/${name}`
  const meta = {
    [of('protocolVersion')]: revision,
    [of('clientInfo')]: { name: 'tests', version: '1' },
    [of('clientCapabilities')]: {},
  }
  return { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }
}

export function newestHeaders(method: string): Record<string, string> {
  return { 'mcp-protocol-version': NEWEST_REVISION, 'mcp-method': method }
}

export function dataUrl(format: 'png' | 'jpeg', width = 64, height = 64): string {
  const { bytes, contentType } = picture(format, width, height)
  return `data:${contentType};base64,${Buffer.from(bytes).toString('base64')}`
}

export function nano(usd: string): number {
  const amountNano = parseUsd(usd)
  if (amountNano === undefined) throw new Error(`not dollars: ${usd}`)
  return amountNano
}
