// Files as texts inside JSON: those of a request as data URLs for the vendor, and those that a vendor's reply links to as base64
// for the caller. It must never fetch a URL that the upstream does not allow, or hold more than a limit.

import { garbage } from '../contract/failures'
import type { DataUrls, Model, Upload } from '../contract/family'
import { BodyTooLarge } from '../http-client/response'
import type { CancelSignal } from '../lib/cancel-token'
import { GatewayError } from '../lib/errors'
import { pictureOf } from '../lib/file-formats/picture'

/** Maximum size of a fetched file: more than a picture of 2048x2048 pixels without compression. */
const MAX_FILE_BYTES = 16 * 1024 * 1024
const NONE: ReadonlyMap<string, string> = new Map()

/** Uploads as data URLs, with the type that their bytes show. */
export async function dataUrlsOf(uploads: readonly Upload[]): Promise<DataUrls> {
  const read = async (upload: Upload): Promise<[Upload, string]> => {
    const { bytes, contentType, picture } = upload
    const type = picture ? `image/${picture.format}` : contentType
    return [upload, `data:${type};base64,${Buffer.from(await bytes.arrayBuffer()).toString('base64')}`]
  }
  return new Map(await Promise.all(uploads.map(read)))
}

/**
 * Pictures at URLs in a reply, as base64 by URL. Throws 502 for one that is unavailable, too large or not a picture.
 */
export async function filesAsBase64(
  addresses: readonly string[],
  model: Model,
  signal: CancelSignal,
): Promise<ReadonlyMap<string, string>> {
  if (addresses.length === 0) return NONE
  const read = async (address: string): Promise<[string, string]> => [
    address,
    await fetchPicture(address, model, signal),
  ]
  return new Map(await Promise.all([...new Set(addresses)].map(read)))
}

async function fetchPicture(address: string, model: Model, signal: CancelSignal): Promise<string> {
  const response = await model.upstream.fetchFile(address, signal)
  const announced = Number(response.header('content-length'))
  try {
    if (announced > MAX_FILE_BYTES) throw new BodyTooLarge()
    const bytes = Buffer.from(await response.body.bytes(MAX_FILE_BYTES))
    if (announced > 0 && bytes.byteLength !== announced) throw garbage(model, 'cut off')
    if (!(await pictureOf(new Blob([bytes])))) throw garbage(model, 'without a picture')
    return bytes.toString('base64')
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof GatewayError) throw error
    response.body.cancel()
    throw garbage(model, error instanceof BodyTooLarge ? 'too large' : 'cut off', error)
  }
}
