// Addresses of simulated pictures, and the pictures behind them: the size and format are part of the name. It must never store a
// file: the same URL gives the same picture until it expires.

import { type PictureFormat, picture } from './pictures'
import { hexId } from './replies'

/** How long vendors store a result, in seconds. */
export const keptSeconds = 86_400

export interface Dimensions {
  width: number
  height: number
}

/** The URL of a picture. `query` is this vendor's signature. */
export function pictureUrl(
  filesUrl: string,
  format: PictureFormat,
  { width, height }: Dimensions,
  query: Record<string, string>,
): string {
  return `${filesUrl}/${hexId()}-${width}x${height}.${format}?${new URLSearchParams(query)}`
}

/** The picture at a URL; undefined if it was never issued, or has expired. */
export function pictureFile(path: string, expiresAtSeconds: number) {
  const [, width, height, format] = /^\/[0-9a-f]{32}-(\d{1,5})x(\d{1,5})\.(png|jpeg)$/.exec(path) ?? []
  if (format === undefined || !(expiresAtSeconds * 1000 > Date.now())) return undefined
  return picture(format as PictureFormat, Number(width), Number(height))
}
