// The part of the configuration that says how answers of POST /v1/responses are stored: how long and how much. It must never make a
// request fail that does not ask for something stored.

import { type Static, Type } from '@sinclair/typebox'
import { Check } from '@sinclair/typebox/value'
import { parseBytes, parseDurationMs } from '../lib/durations'
import { closed, optionalSetting } from '../lib/setting'

export const ResponsesEntry = Type.Object(
  {
    keep: optionalSetting(
      'How long answers can be retrieved and continued: `30d`, or `off` to store nothing. A request with `store: false` is never stored. Default `30d`.',
      Type.String(),
    ),
    maxBytes: optionalSetting(
      "Maximum size of one account's answers, including results of requests that are answered later, such as `1GB`; the oldest are deleted first. Default 256MB.",
      Type.String(),
    ),
    maxResponseBytes: optionalSetting(
      'Maximum size of a stored answer with its input. Default 8MB.',
      Type.String(),
    ),
  },
  closed,
)
type ResponsesEntry = Static<typeof ResponsesEntry>

export interface ResponseLimits {
  /** Milliseconds that an answer is stored; undefined if nothing is stored. */
  keepMs: number | undefined
  maxBytes: number
  maxResponseBytes: number
}

const DEFAULT_KEEP = '30d'
const DEFAULT_MAX_BYTES = 256e6
const DEFAULT_MAX_RESPONSE_BYTES = 8e6
const OFF = 'off'

/** Faults that the schema cannot express; empty if the entry does not fit the schema. */
export function responseFaults(entry: unknown): string[] {
  if (!Check(ResponsesEntry, entry)) return []
  const { keep = DEFAULT_KEEP } = entry
  const faults: string[] = []
  if (keep !== OFF && parseDurationMs(keep) === undefined) {
    faults.push(`responses.keep: "${keep}" is neither a duration such as "30d" nor "off"`)
  }
  for (const name of ['maxBytes', 'maxResponseBytes'] as const) {
    const size = entry[name]
    if (size !== undefined && parseBytes(size) === undefined) {
      faults.push(`responses.${name}: "${size}" is not a size such as "256MB"`)
    }
  }
  return faults
}

/** The limits of a valid entry. */
export function responseLimitsOf({
  keep = DEFAULT_KEEP,
  maxBytes = '',
  maxResponseBytes = '',
}: ResponsesEntry = {}): ResponseLimits {
  return {
    keepMs: keep === OFF ? undefined : parseDurationMs(keep),
    maxBytes: parseBytes(maxBytes) ?? DEFAULT_MAX_BYTES,
    maxResponseBytes: parseBytes(maxResponseBytes) ?? DEFAULT_MAX_RESPONSE_BYTES,
  }
}
