// Tools that cost money. Each call is a request like those over HTTP, with the same holds and limits. Nothing must ever reach a
// vendor if the quote exceeds what the caller allows.

import { type TSchema, Type } from '@sinclair/typebox'
import { TOOL_TOKENS } from '../accounts/authenticator'
import type { Form } from '../contract/form'
import type { Operation } from '../contract/operations'
import { invalidRequest } from '../lib/errors'
import { NANO_PER_USD, parseUsd } from '../lib/money'
import type { Reword } from '../request/check'
import type { Gateway } from '../request/line'
import { paidFields } from './fields'
import {
  checkArguments,
  isPresent,
  type McpCall,
  type McpResult,
  type McpTool,
  presentMembers,
  type ToolDescription,
  type ToolWorld,
} from './tool'

/** A tool's request, ready to run. */
export interface Prepared {
  operation: Operation
  content: Uint8Array | Form
  reword?: Reword
}

/** The answer to a tool's request. */
export interface Answer {
  response: Response
  /** The requested model, the cost, and the request's id. */
  facts: Record<string, unknown>
}

export interface PaidTool extends ToolDescription {
  /** The request for the tool's own arguments, without those that every paid tool has. */
  prepare(args: Record<string, unknown>, world: ToolWorld, call: McpCall): Promise<Prepared> | Prepared
  answer(answer: Answer, world: ToolWorld, call: McpCall): Promise<McpResult>
}

/** Output fields of every paid tool. */
export const costOutput: Record<string, TSchema> = {
  model: Type.String(),
  cost_usd: Type.String({ description: 'Dollars that were paid.' }),
  request_id: Type.String(),
  replayed: Type.Optional(
    Type.Boolean({ description: 'It is the answer to an earlier call, and was not paid again.' }),
  ),
}

export function paidTool(tool: PaidTool): McpTool {
  return {
    ...tool,
    isPaid: true,
    async run(world, gateway, call) {
      const maxCostNano = limitOf(call.arguments.max_cost_usd)
      const prepared = await prepare(tool, world, call)
      const response = await send(gateway, prepared, call, maxCostNano)
      const replayed = response.headers.has('idempotent-replayed')
      const facts = {
        model: call.arguments.model,
        cost_usd: response.headers.get('x-gateway-cost-usd') ?? '0.00',
        request_id: call.requestId,
        ...(replayed && { replayed }),
      }
      return tool.answer({ response, facts }, world, call)
    },
  }
}

/** Prepares the request for a tool call; nothing is sent yet. */
export async function prepare(tool: PaidTool, world: ToolWorld, call: McpCall): Promise<Prepared> {
  checkArguments(tool, call.arguments)
  const own = Object.entries(presentMembers(call.arguments)).filter(([name]) => !(name in paidFields))
  return tool.prepare(Object.fromEntries(own), world, call)
}

function send(
  gateway: Gateway,
  { operation, content, reword }: Prepared,
  { requestId, authorization, clientAddress, trace, signal, gatewayUrl, arguments: args }: McpCall,
  maxCostNano: number | undefined,
): Promise<Response> {
  return gateway.handle({
    operation,
    requestId,
    authorization,
    tokens: TOOL_TOKENS,
    clientAddress,
    trace,
    idempotencyKey: (args.idempotency_key as string | null | undefined) ?? null,
    waitMs: 0,
    headers: {},
    body: async () => content,
    signal,
    gatewayUrl,
    ...(reword && { reword }),
    ...(maxCostNano !== undefined && { maxCostNano }),
  })
}

function limitOf(value: unknown): number | undefined {
  if (!isPresent(value)) return undefined
  // Money has nine decimals. A finer number is rounded down, in the caller's favour.
  const nano = typeof value === 'number' ? Math.floor(value * NANO_PER_USD + 1e-6) : parseUsd(String(value))
  if (nano !== undefined && nano >= 0 && Number.isSafeInteger(nano)) return nano
  throw invalidRequest(
    'max_cost_usd',
    "Invalid 'max_cost_usd': expected dollars such as 0.05, with at most nine decimals.",
  )
}
