// The concepts of requests: fields of dialects mean them, and protocols can or cannot express them. The table of fields of a bridge
// is derived from both: none is written for a pair. Nothing here must know a dialect or a protocol.

import type { BridgedField } from '../../contract/family'

/** A concept that fields of several dialects mean, and that protocols treat differently. */
export type Concept =
  | 'model'
  | 'stream'
  | 'instructions'
  | 'later_instructions'
  | 'text'
  | 'speaker'
  | 'image'
  | 'image_detail'
  | 'document'
  | 'document_address'
  | 'audio'
  | 'video'
  | 'call'
  | 'result'
  | 'shown_reasoning'
  | 'sealed_reasoning'
  | 'cache_mark'
  | 'limit'
  | 'temperature'
  | 'top_p'
  | 'top_k'
  | 'stop'
  | 'candidates'
  | 'seed'
  | 'penalties'
  | 'functions'
  | 'strict_functions'
  | 'strict_functions_of_messages'
  | 'custom_tools'
  | 'choice'
  | 'allowed_tools'
  | 'parallel_calls'
  | 'format'
  | 'strict_format'
  | 'effort'
  | 'budget'
  | 'shows_thinking'
  | 'returns_thinking'
  | 'verbosity'
  | 'default_verbosity'
  | 'logprobs'
  | 'user'
  | 'cache_key'
  | 'cached_by_key'
  | 'service_tier'

/**
 * How a protocol expresses a concept. `as`: the form in which it is sent; single values may have none, and `write` refuses them.
 * `ignored`: why it is left out without harm. `refused`: why a request with it is refused, where the table of fields can decide.
 */
export type Expression = { as: string } | { ignored: string } | { refused: string }

/** All that a protocol can express. A new concept must be answered by each protocol. */
export type Expressions = Readonly<Record<Concept, Expression>>

/** A field of a dialect: its meaning, or its treatment on every bridge if only its own protocol knows it. */
export type DialectField =
  | {
      field: string
      means: Concept
      /** A note about the field itself, printed before the treatment by the protocol. */
      note?: string
      /** Values that change nothing, where the protocol refuses the concept. */
      plain?: BridgedField['plain']
      /** True if clients send it by default: if the protocol refuses the concept, it is ignored. */
      isClientDefault?: true
      code?: BridgedField['code']
    }
  | BridgedField

/** Rows of fields by their meaning. */
export function meanings(
  ...rows: readonly (readonly [field: string, means: Concept, plain?: BridgedField['plain'], note?: string])[]
): DialectField[] {
  return rows.map(([field, means, plain, note]) => ({
    field,
    means,
    ...(plain !== undefined && { plain }),
    ...(note !== undefined && { note }),
  }))
}

/** The table of fields of a dialect on a protocol. */
export function bridgedTable(fields: readonly DialectField[], can: Expressions): readonly BridgedField[] {
  return fields.map((row) => ('means' in row ? treated(row, can[row.means]) : row))
}

function treated(row: Extract<DialectField, { means: Concept }>, expression: Expression): BridgedField {
  const { field, note, plain, isClientDefault, code } = row
  const said = (words: string) => (note === undefined ? words : `${note}: ${words}`)
  if ('as' in expression) return { field, treatment: 'translated', note: said(expression.as) }
  if ('ignored' in expression) return { field, treatment: 'ignored', note: said(expression.ignored) }
  if (isClientDefault) return { field, treatment: 'ignored', note: said(expression.refused) }
  return {
    field,
    treatment: 'refused',
    // An error names the field and its value.
    note: expression.refused,
    ...(plain !== undefined && { plain }),
    ...(code !== undefined && { code }),
  }
}
