// The result of a family for a request. It runs the check of the request line itself.

import type { Key } from '../../../src/accounts/keys'
import type { AnswerContext, Model, ParsedRequest } from '../../../src/contract/family'
import { operationOf } from '../../../src/contract/operations'
import { GatewayError } from '../../../src/lib/errors'
import { checkRequest } from '../../../src/request/check'
import type { Json } from '../scenario'
import { openContext } from './sealed'

const AT = 1_770_000_000_000

/** The request as a model's family checks it. Throws the caller's error. */
export function checked(model: Model, text: string): ParsedRequest {
  const body = JSON.parse(text) as Record<string, unknown>
  const given = { body, byteLength: Buffer.byteLength(text), source: undefined, fingerprint: text }
  const { operation } = model.family
  const answer = contextFor(model)
  const read = { operation: operationOf(operation), key: {} as Key, given, form: undefined }
  return checkRequest({ ...read, candidates: [model], ...(answer && { answer }) }, { headers: {} }, AT).parsed
}

/** The context of the answer, for operations that store answers and for families that seal reasoning. */
function contextFor({ family }: Model): AnswerContext | undefined {
  return family.operation === 'responses' || family.seals ? openContext : undefined
}

/** The result of a function, or what it throws. */
export function attempt(make: () => unknown): Json {
  try {
    return make()
  } catch (error) {
    return reported(error)
  }
}

function reported(error: unknown): Json {
  if (!(error instanceof GatewayError)) return { thrown: String(error) }
  const { status, code, param, message, details, dialect } = error
  return { refused: { status, code, param, message, details, dialect } }
}
