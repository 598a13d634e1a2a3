// From a caller's bytes to a checked request: what it is, which model it is for, and what is wrong with it.
// It must never alter what the caller sent: the text itself goes on to the vendor.

import { families } from './families'
import type { Ask, Family, Model } from './family'
import type { Key } from './keys'
import { type GatewayError, invalidRequest } from './lib/errors'
import { MAX_DEPTH, type ScannedObject, scanObject } from './lib/json'
import { createValidator } from './lib/validate'
import { type Catalogue, resolveModel } from './models'
import type { Operation } from './operations'

export interface CheckedRequest {
  operation: Operation
  key: Key
  model: Model
  family: Family
  ask: Ask
  /** The body as it came. */
  text: string
  /** Where its members stand. */
  scanned: ScannedObject
}

/** Most of a caller's own word that an error repeats. */
const MAX_SHOWN_LENGTH = 128

const decoder = new TextDecoder('utf-8', { fatal: true })
const validators = new Map([...families.values()].map((family) => [family, createValidator(family.body)]))

/** Throws a GatewayError that names the field at fault. */
export function checkRequest(
  catalogue: Catalogue,
  key: Key,
  operation: Operation,
  bytes: Uint8Array,
): CheckedRequest {
  const text = decode(bytes)
  const scanned = scan(text)
  const body = parse(text)
  const model = resolveModel(catalogue, key, body.model)
  const { family } = model
  if (family.operation !== operation.name) {
    throw invalidRequest(
      'model',
      `The model \`${model.id}\` does not serve ${operation.path}: it is a model for ${family.operation}.`,
      'endpoint_model_mismatch',
    )
  }
  validators.get(family)?.(body)
  family.check?.(body, model)
  return { operation, key, model, family, ask: { body, byteLength: bytes.byteLength }, text, scanned }
}

function decode(bytes: Uint8Array): string {
  if (bytes.byteLength === 0) throw notJson('The body is empty: send a JSON object.')
  try {
    return decoder.decode(bytes)
  } catch {
    throw notJson('The body is not valid UTF-8.')
  }
}

function scan(text: string): ScannedObject {
  const scanned = scanObject(text)
  if ('members' in scanned) return scanned
  const field = scanned.key?.slice(0, MAX_SHOWN_LENGTH) ?? null
  if (scanned.fault === 'too deep') {
    throw invalidRequest(field, `The field '${field}' nests more than ${MAX_DEPTH} levels deep.`, 'too_deep')
  }
  if (scanned.fault === 'duplicate key') {
    throw invalidRequest(field, `The body has the field '${field}' twice.`, 'duplicate_field')
  }
  throw notJson('The body is not a JSON object.')
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch {
    throw notJson('The body is not valid JSON.')
  }
}

function notJson(message: string): GatewayError {
  return invalidRequest(null, message, 'invalid_json')
}
