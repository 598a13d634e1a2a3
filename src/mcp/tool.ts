// What a tool of the MCP server is: its schemas, what it does, and what it answers.
// Types and the check of arguments only: nothing here may know the protocol that carries a tool.

import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import type { Key } from '../accounts/keys'
import type { Artifacts } from '../artifacts/artifacts'
import type { Catalogue } from '../catalogue/models'
import { invalidRequest } from '../lib/errors'
import type { System } from '../lib/system'
import type { Pulse } from '../lib/ticker'
import { createValidator } from '../lib/validate'
import type { Gateway } from '../request/line'
import type { WaitWorld } from '../tasks/wait'

/** What tools need beside the gateway. */
export interface ToolWorld extends WaitWorld, Pick<System, 'now' | 'random' | 'log'> {
  /** Null where results are not kept. */
  artifacts: Artifacts | null
  catalogue: Catalogue
  pulse: Pulse
}

/** Who calls, and how. */
export interface ToolCall {
  arguments: Record<string, unknown>
  key: Key
  authorization: string | null
  requestId: string
  /** Fires when the caller leaves. */
  signal(): AbortSignal
  /** Where callers reach this gateway. */
  gatewayUrl(): string
  /** Tells a caller who wants to know how far it is. */
  report(message: string): void
}

export interface ToolResult {
  structured: Record<string, unknown>
  /** Beside the same as text. */
  content?: readonly ToolContent[]
  failed?: boolean
}

export type ToolContent =
  | { type: 'image' | 'audio'; data: string; mimeType: string }
  | { type: 'resource_link'; uri: string; name: string; mimeType?: string }

export interface ToolDescription {
  name: string
  title: string
  description: string
  input: TObject
  output: TSchema
}

/** Costs nothing and changes nothing. */
export interface FreeTool extends ToolDescription {
  run(world: ToolWorld, call: ToolCall): Promise<ToolResult>
}

export interface Tool extends ToolDescription {
  isPaid: boolean
  run(world: ToolWorld, gateway: Gateway, call: ToolCall): Promise<ToolResult>
}

/** Absent and null mean the same. */
export const optionalArgument = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]))

export const given = <Value>(value: Value | null | undefined): value is Value =>
  value !== undefined && value !== null

/** Members whose value is absent or null are left out. */
export function onlyGiven(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => given(value)))
}

const MAX_SHOWN_LENGTH = 128
const validators = new WeakMap<TObject, (value: unknown) => void>()

/** Throws 400 for an argument that the tool does not know, or that is not of its form. */
export function checkArguments({ name, input }: ToolDescription, args: Record<string, unknown>): void {
  const known = Object.keys(input.properties)
  const unknown = Object.keys(args).find((argument) => !known.includes(argument))
  if (unknown !== undefined) {
    const shown = unknown.slice(0, MAX_SHOWN_LENGTH)
    const takes = known.length === 0 ? 'nothing' : known.join(', ')
    throw invalidRequest(
      shown,
      `Unknown argument: '${shown}'. The tool ${name} takes ${takes}.`,
      'unknown_parameter',
    )
  }
  const validate = validators.get(input) ?? createValidator(input)
  validators.set(input, validate)
  validate(args)
}
