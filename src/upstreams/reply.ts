// Reads a vendor's whole reply, with limits on its size and depth. It must refuse only replies that are too large, too deeply
// nested or not a JSON object.

import { garbage } from '../contract/failures'
import type { Model } from '../contract/family'
import { BodyTooLarge, type HttpResponse } from '../http-client/response'
import type { CancelSignal } from '../lib/cancel-token'
import { GatewayError } from '../lib/errors'
import { editObject, parseForeign, scanObject, TooDeep } from '../lib/json/json'
import { objectIn } from '../lib/sse'
import { callerText } from './caller-view'

/** Maximum size of a result, in bytes: ten large pictures as base64, or thousands of embeddings. */
const MAX_REPLY_BYTES = 256 * 1024 * 1024
/** Maximum size of any other document, such as the state of a task or a token count, in bytes. */
export const MAX_DOCUMENT_BYTES = 1024 * 1024

/** Maximum size of a text, in bytes: enough for many hours of speech. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024

const decoder = new TextDecoder()
/** A byte order mark before the text stays. */
const textDecoder = new TextDecoder('utf-8', { ignoreBOM: true })

interface UpstreamReply {
  text: string
  json: object
}

/** Reads a reply. Throws the signal's reason when that fires. If allowed, an empty one is read as `{}`. */
export async function readReply(
  response: HttpResponse,
  model: Model,
  signal: CancelSignal,
  options: { mayBeEmpty?: boolean; mostBytes?: number } = {},
): Promise<UpstreamReply> {
  const { mayBeEmpty = false, mostBytes = MAX_REPLY_BYTES } = options
  try {
    const text = decoder.decode(await bytesOf(response, mostBytes)) || (mayBeEmpty ? '{}' : '')
    const json = parseForeign(text)
    if (typeof json !== 'object' || json === null || Array.isArray(json))
      throw garbage(model, 'not a JSON object')
    return { text, json }
  } catch (error) {
    throw faultOf(error, response, model, signal)
  }
}

/** Reads a reply that is a text, and its object if it is JSON after all. Throws as `readReply` does. */
export async function readText(
  response: HttpResponse,
  model: Model,
  signal: CancelSignal,
): Promise<{ text: string; json: object | undefined }> {
  try {
    const text = textDecoder.decode(await bytesOf(response, MAX_TEXT_BYTES))
    return { text, json: text.startsWith('{') ? objectIn(text) : undefined }
  } catch (error) {
    throw faultOf(error, response, model, signal)
  }
}

function bytesOf(response: HttpResponse, mostBytes: number): Promise<Uint8Array> | Uint8Array {
  // Refused before reading, if the vendor states the length.
  if (Number(response.header('content-length')) > mostBytes) throw new BodyTooLarge()
  return response.body.bytes(mostBytes)
}

/** The error of a reply, for its caller. */
function faultOf(error: unknown, { body }: HttpResponse, model: Model, signal: CancelSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof GatewayError) return error
  if (error instanceof BodyTooLarge) {
    body.cancel()
    return garbage(model, 'too large')
  }
  if (error instanceof TooDeep) return garbage(model, 'nested too deeply')
  if (!(error instanceof SyntaxError)) return garbage(model, 'cut off', error)
  // Only the error's name: the parser's message quotes the text, which may repeat the caller's, and the log shows it.
  return garbage(model, 'not JSON', error.name)
}

/**
 * The reply's text for the caller, with the gateway's id instead of the vendor's model name. `plain` is the reply in the form of
 * the contract; `usage` replaces the vendor's, if given.
 */
export function withModel(
  { text: answered, json }: UpstreamReply,
  model: Model,
  plain: object = json,
  usage?: object,
): string {
  const text = callerText(answered, json, usage && usageOf(plain) !== usage ? { ...plain, usage } : plain)
  const { model: named } = json as { model?: unknown }
  if (typeof named !== 'string' || named === model.id) return text
  // Nearly all vendors write it this way; inside a string the quotes would be escaped.
  const usual = `"model":${JSON.stringify(named)}`
  const at = text.indexOf(usual)
  if (at !== -1) return `${text.slice(0, at)}"model":"${model.id}"${text.slice(at + usual.length)}`
  const scanned = scanObject(text)
  return 'members' in scanned ? editObject(text, scanned, { set: { model: `"${model.id}"` } }) : text
}

/** The vendor's usage object, unchanged, as JSON. `reported` is the one that the family found in another place. */
export function usageJsonOf(json: object, reported: unknown = usageOf(json)): string | null {
  return reported === undefined ? null : JSON.stringify(reported)
}

function usageOf(json: object): unknown {
  return (json as { usage?: unknown }).usage
}

export function isEventStream(response: HttpResponse): boolean {
  return response.header('content-type')?.includes('text/event-stream') === true
}
