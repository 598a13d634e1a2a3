// The type of an MCP tool: its schemas, its work and its answer. Types and the check of arguments only. Nothing here must know the
// protocol that carries a tool.

import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import type { Key } from '../accounts/keys'
import type { Artifacts } from '../artifacts/artifacts'
import type { Catalogue } from '../catalogue/models'
import { invalidRequest } from '../lib/errors'
import type { System } from '../lib/system'
import type { Ticker } from '../lib/ticker'
import type { CallerTrace } from '../lib/trace-context'
import { createValidator } from '../lib/validate'
import type { AudioReader } from '../media/audio'
import type { Gateway } from '../request/line'
import type { WaitWorld } from '../tasks/wait'

/** Everything that tools need in addition to the gateway. */
export interface ToolWorld extends WaitWorld, Pick<System, 'now' | 'random' | 'log'> {
  /** Null if results are not stored. */
  artifacts: Artifacts | null
  audioReader: Pick<AudioReader, 'read'>
  catalogue: Catalogue
  ticker: Ticker
}

/** The caller of a tool, and how to reach them. */
export interface McpCall {
  arguments: Record<string, unknown>
  key: Key
  authorization: string | null
  requestId: string
  /** Null if unknown. */
  clientAddress: string | null
  /** The trace that the call is part of. */
  trace(): CallerTrace
  /** Fires when the caller disconnects. */
  signal(): AbortSignal
  /** The origin at which callers reach this gateway. */
  gatewayUrl(): string
  /** Reports progress to a caller that requested it. */
  report(message: string): void
}

export interface McpResult {
  structured: Record<string, unknown>
  /** Content next to the structured answer as text. */
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

/** A tool that is free and changes nothing. */
export interface FreeTool extends ToolDescription {
  run(world: ToolWorld, call: McpCall, gateway: Pick<Gateway, 'checkForQuote'>): Promise<McpResult>
}

export interface McpTool extends ToolDescription {
  isPaid: boolean
  run(world: ToolWorld, gateway: Gateway, call: McpCall): Promise<McpResult>
}

/** An argument that may be absent or null, with the same meaning. */
export const optionalArgument = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]))

export const isPresent = <Value>(value: Value | null | undefined): value is Value =>
  value !== undefined && value !== null

/** The members whose value is neither absent nor null. */
export function presentMembers(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => isPresent(value)))
}

const MAX_SHOWN_LENGTH = 128
const validators = new WeakMap<TObject, (value: unknown) => void>()

/** Throws 400 for an unknown argument, or one that does not fit its schema. */
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
