// The MCP server: carries the tools over the protocol, one message at a time and without sessions, by the SDK of the
// message's revision. An error of a tool must reach the model that called it, with its status and code.

import { type CallToolResult, isLegacyRequest, type JSONObject } from '@modelcontextprotocol/server'
import { answerOfError } from '../contract/error-answer'
import type { Gateway } from '../request/line'
import { createProgress } from './progress'
import { answerIn2025 } from './revision-2025'
import { answerIn2026 } from './revision-2026'
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

type SendProgress = (progress: number, message: string) => void

/** The tools for one caller, and how they are served, in every revision of the protocol. */
export interface Served {
  info: { name: string; title: string; version: string }
  instructions: string
  tools: typeof listed
  /** Throws an error with the invalid-params code for an unknown tool. */
  call(
    params: { name: string; arguments?: McpCall['arguments'] | undefined },
    send: SendProgress,
  ): Promise<CallToolResult>
  /** True for a call of a tool: only tools take long enough for a stream. */
  isCall: boolean
  keepAliveMs: number
}

/** Interval of comments in a silent stream, in milliseconds: proxies and clients cut silent streams. */
const KEEP_ALIVE_MS = 10_000
/** The invalid-params code of JSON-RPC 2.0. */
const INVALID_PARAMS = -32602

const instructions = [
  'Models of many kinds behind one prepaid account.',
  'Call list_models first: it lists the ids, inputs and prices of all models.',
  'Tools that cost money take max_cost_usd and return their cost; get_price returns it beforehand.',
  'A video takes minutes: generate_video returns an id, get_video its result.',
].join(' ')

export function createMcp(world: ToolWorld, gateway: Gateway, version: string): AnswerMessage {
  const info = { name: 'unified-model-gateway', title: 'Unified Model Gateway', version }
  return async ({ request, value, caller }) => {
    const served: Served = {
      info,
      instructions,
      tools: listed,
      async call(params, send) {
        const tool = tools.find(({ name }) => name === params.name)
        if (!tool) throw Object.assign(new Error(unknownTool(params.name)), { code: INVALID_PARAMS })
        return await callTool(world, gateway, tool, send, { ...caller, arguments: params.arguments ?? {} })
      },
      isCall: (value as { method?: unknown }).method === 'tools/call',
      keepAliveMs: KEEP_ALIVE_MS,
    }
    const isEarlier = await isLegacyRequest(request, value)
    return isEarlier ? answerIn2025(request, value, served) : answerIn2026(request, value, served)
  }
}

const listed = tools.map(({ name, title, description, input, output, isPaid }) => ({
  name,
  title,
  description,
  // A plain copy, without the data that the schema compiler stores in the schema.
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
  send: SendProgress,
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
