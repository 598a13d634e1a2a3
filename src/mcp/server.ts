// The MCP server: carries the tools over the protocol, one message at a time and without sessions. Only this file knows
// the SDK. An error of a tool must reach the model that called it, with its status and code.

import {
  type CallToolResult,
  createMcpHandler,
  isLegacyRequest,
  type JSONObject,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { answerOfError } from '../contract/error-answer'
import type { Gateway } from '../request/line'
import { createProgress } from './progress'
import type { McpCall, McpResult, McpTool, ToolWorld } from './tool'
import { tools } from './tools'

/** A message and its sender. */
interface Message {
  request: Request
  /** The parsed body. */
  value: object
  caller: Omit<McpCall, 'arguments' | 'report'>
}

type AnswerMessage = (message: Message) => Promise<Response>

/** Interval of comments in a silent stream, in milliseconds: proxies and clients cut silent streams. */
const KEEP_ALIVE_MS = 10_000

const instructions = [
  'Models of many kinds behind one prepaid account.',
  'Call list_models first: it has the ids, what each model takes, and the prices.',
  'Tools that cost money take max_cost_usd and return their cost; get_price returns it beforehand.',
  'A video takes minutes: generate_video returns an id, get_video its result.',
].join(' ')

export function createMcp(world: ToolWorld, gateway: Gateway, version: string): AnswerMessage {
  return async ({ request, value, caller }) => {
    const server = serverFor(world, gateway, version, caller)
    // Only tools take long enough for a stream.
    const isCall = (value as { method?: unknown }).method === 'tools/call'
    if (!(await isLegacyRequest(request, value))) {
      const responseMode = isCall ? 'sse' : 'auto'
      // The tools never change while a gateway runs: nothing is there to subscribe to.
      const limits = { legacy: 'reject', maxSubscriptions: 0, keepAliveMs: KEEP_ALIVE_MS } as const
      return createMcpHandler(() => server, { ...limits, responseMode }).fetch(request, { parsedBody: value })
    }
    const transport = new WebStandardStreamableHTTPServerTransport({
      enableJsonResponse: !isCall,
      keepAliveMs: KEEP_ALIVE_MS,
    })
    await server.connect(transport)
    return transport.handleRequest(request, { parsedBody: value })
  }
}

/** A server for one message of a caller. */
function serverFor(world: ToolWorld, gateway: Gateway, version: string, caller: Message['caller']): Server {
  const info = { name: 'unified-model-gateway', title: 'Unified Model Gateway', version }
  const server = new Server(info, { capabilities: { tools: {} }, instructions })
  server.setRequestHandler('tools/list', () => ({ tools: listed }))
  server.setRequestHandler('tools/call', ({ params }, { mcpReq: { _meta, notify } }) => {
    const tool = tools.find(({ name }) => name === params.name)
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, unknownTool(params.name))
    const progressToken = _meta?.progressToken
    const send = (progress: number, message: string) => {
      if (progressToken === undefined) return
      const params = { progressToken, progress, message }
      // The caller may have left.
      notify({ method: 'notifications/progress', params }).catch(() => {})
    }
    return callTool(world, gateway, tool, send, { ...caller, arguments: params.arguments ?? {} })
  })
  return server
}

const listed = tools.map(({ name, title, description, input, output, isPaid }) => ({
  name,
  title,
  description,
  // A plain copy, without what the schema compiler keeps in the schema.
  inputSchema: { ...plain(input), additionalProperties: false, type: 'object' as const },
  outputSchema: { ...plain(output), type: 'object' as const },
  annotations: {
    title,
    readOnlyHint: !isPaid,
    destructiveHint: false,
    idempotentHint: !isPaid,
    openWorldHint: isPaid,
  },
}))

function plain(schema: object): { properties?: JSONObject } {
  return JSON.parse(JSON.stringify(schema))
}

async function callTool(
  world: ToolWorld,
  gateway: Gateway,
  tool: McpTool,
  send: (progress: number, message: string) => void,
  call: Omit<McpCall, 'report'>,
): Promise<CallToolResult> {
  const progress = createProgress(world, send)
  try {
    return resultOf(await tool.run(world, gateway, { ...call, report: progress.report }))
  } catch (error) {
    return failureOf(error, world, call.requestId)
  } finally {
    progress.stop()
  }
}

function resultOf({ structured, content = [], failed }: McpResult): CallToolResult {
  const text = { type: 'text' as const, text: JSON.stringify(structured) }
  return {
    content: [text, ...content.map((each) => ({ ...each }))],
    structuredContent: structured,
    ...(failed && { isError: true }),
  }
}

/** A failure as text only: a structured answer would need the tool's output form. */
function failureOf(thrown: unknown, { log }: ToolWorld, requestId: string): CallToolResult {
  const { body } = answerOfError(thrown, 'tool', requestId, log)
  return { content: [{ type: 'text', text: JSON.stringify(body) }], isError: true }
}

function unknownTool(name: string): string {
  return `Unknown tool: ${name.slice(0, 128)}. There are ${tools.map((tool) => tool.name).join(', ')}.`
}
