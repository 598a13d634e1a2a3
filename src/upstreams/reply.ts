// Reads a vendor's whole reply, with limits on its size and depth. Lenient: of what is small enough, only what is no JSON
// object at all is refused.

import { garbage } from '../contract/failures'
import type { Model } from '../contract/family'
import { BodyTooLarge, type HttpResponse } from '../http-client/response'
import type { Cancellation } from '../lib/cancel-token'
import { GatewayError } from '../lib/errors'
import { editObject, parseForeign, scanObject, TooDeep } from '../lib/json'
import { objectIn } from '../lib/sse'
import { callerText } from './caller-view'

/** Of a result: ten large pictures as base64, or thousands of embeddings. */
const MAX_REPLY_BYTES = 256 * 1024 * 1024
/** Of a document about something else, as the state of a task or a number of tokens: a few kilobytes at most. */
export const MAX_DOCUMENT_BYTES = 1024 * 1024

/** Of a text, as many hours of speech have. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024

const decoder = new TextDecoder()
/** A mark before the text stays. */
const textDecoder = new TextDecoder('utf-8', { ignoreBOM: true })

interface VendorReply {
  text: string
  json: object
}

/** Throws the reason of the signal when it cuts the reply. An empty one reads as `{}` where that may be. */
export async function readReply(
  response: HttpResponse,
  model: Model,
  signal: Cancellation,
  options: { mayBeEmpty?: boolean; mostBytes?: number } = {},
): Promise<VendorReply> {
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

/** A reply that is a text, and the object that it is where it is JSON all the same. Throws as `readReply` does. */
export async function readText(
  response: HttpResponse,
  model: Model,
  signal: Cancellation,
): Promise<{ text: string; json: object | undefined }> {
  try {
    const text = textDecoder.decode(await bytesOf(response, MAX_TEXT_BYTES))
    return { text, json: text.startsWith('{') ? objectIn(text) : undefined }
  } catch (error) {
    throw faultOf(error, response, model, signal)
  }
}

function bytesOf(response: HttpResponse, mostBytes: number): Promise<Uint8Array> | Uint8Array {
  // Before it is read, where the vendor says so.
  if (Number(response.header('content-length')) > mostBytes) throw new BodyTooLarge()
  return response.body.bytes(mostBytes)
}

/** What went wrong with a reply, as its caller is told. */
function faultOf(error: unknown, { body }: HttpResponse, model: Model, signal: Cancellation): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof GatewayError) return error
  if (error instanceof BodyTooLarge) {
    body.cancel()
    return garbage(model, 'too large')
  }
  if (error instanceof TooDeep) return garbage(model, 'nested too deeply')
  if (!(error instanceof SyntaxError)) return garbage(model, 'cut off', error)
  // Only its name: the parser's message quotes the text, which may repeat the caller's, and the log shows it.
  return garbage(model, 'not JSON', error.name)
}

/** The reply's text for the caller, with the gateway's id in the place of the vendor's model name. */
export function withModel({ text: told, json }: VendorReply, model: Model): string {
  const text = callerText(told, json)
  const { model: named } = json as { model?: unknown }
  if (typeof named !== 'string' || named === model.id) return text
  // Nearly all vendors write it like this; inside a string the quotes would be escaped.
  const usual = `"model":${JSON.stringify(named)}`
  const at = text.indexOf(usual)
  if (at !== -1) return `${text.slice(0, at)}"model":"${model.id}"${text.slice(at + usual.length)}`
  const scanned = scanObject(text)
  return 'members' in scanned ? editObject(text, scanned, { set: { model: `"${model.id}"` } }) : text
}

/** The vendor's usage object as it came. */
export function usageJsonOf(json: object): string | null {
  const { usage } = json as { usage?: unknown }
  return usage === undefined ? null : JSON.stringify(usage)
}

export function isEventStream(response: HttpResponse): boolean {
  return response.header('content-type')?.includes('text/event-stream') === true
}
