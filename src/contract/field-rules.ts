// Rules for fields of requests, as data: the fields that a request for a model must not contain, and how a model of another dialect
// treats a field. The check, the API documentation and the tests read the same rows. Nothing here must know a vendor.

import type { ErrorCode } from '../lib/error-codes'
import type { Model } from './family'
import type { Unit } from './units'

/**
 * A field, or some of its values, that a request must not contain: the vendor charges extra for it, or the model does not support
 * it. Data, so that the check, the API documentation and the tests agree.
 */
export interface FieldRule {
  /** Path of the field: `service_tier`, `tools[].type`, `messages[].content[].type`; for a header, its name. */
  field: string
  in?: 'header'
  /** Values with the same effect as no value; a pattern is for texts. Null is always one of them. */
  plain?: readonly unknown[] | RegExp
  /** Effect of the field, as the end of a sentence. */
  why: string
  /** Advice to the caller. Default: omit it, or choose another model. */
  instead?: string
  /** Price that a model needs to accept the field. */
  price?: Unit | 'service_tier'
  /** Another sufficient price, if vendors of the contract bill the same thing by either of two units. */
  orPrice?: Unit
  /** True for a rule that is about more than money: a free model does not accept the field either. */
  always?: true
  /**
   * True for a field that refers to stored data of the vendor's account, which all callers share: accepted only if the upstream's
   * account is not shared. A pattern in `plain` then applies to texts only; other values are judged by their members.
   */
  state?: true
  /**
   * True for a text that may be a URL that the upstream reads. One on this machine, in a private network or of a file is accepted
   * only if the upstream has `allowPrivateAddresses`.
   */
  address?: true
  /** Models that the rule does not apply to. */
  unless?(model: Model): boolean
  /** Code of the error. Default: `unsupported_value` if there are plain values, otherwise `unsupported_parameter`. */
  code?: ErrorCode
  /** Details in the error, by which clients of this dialect continue on their own. */
  details?: Readonly<Record<string, unknown>>
}

/** How a model that speaks another dialect treats a field. */
export interface BridgedField {
  field: string
  treatment: 'translated' | 'ignored' | 'refused'
  /** The field that is sent instead, or why there is none. */
  note: string
  /** Values of a refused field that have no effect. */
  plain?: readonly unknown[] | RegExp
  details?: Readonly<Record<string, unknown>>
  /** Models that ignore a refused field without an error. */
  unless?(model: Model): boolean
  /** Code of the error, as in a FieldRule. */
  code?: ErrorCode
}

type BridgedRow = readonly [field: string, note: string, plain?: BridgedField['plain']]

/** Rows of a bridge's table for fields with the same treatment. */
export function bridgedFields(
  treatment: BridgedField['treatment'],
  ...rows: readonly BridgedRow[]
): BridgedField[] {
  return rows.map(([field, note, plain]) => ({
    field,
    treatment,
    note,
    ...(plain !== undefined && { plain }),
  }))
}

/** A bridge's table, derived from another's by changing some rows. */
export function redefinedFields(
  rows: readonly BridgedField[],
  own: readonly BridgedField[],
): readonly BridgedField[] {
  const fields = new Set(own.map(({ field }) => field))
  return [...own, ...rows.filter(({ field }) => !fields.has(field))]
}
