// Addresses of pictures that a simulator has made, and the pictures behind them: the size and format stand in the name.
// Must never keep a file: the same address gives the same picture until its time is up.

import { type PictureFormat, picture } from './pictures'
import { hexId } from './replies'

/** How long vendors keep a result. */
export const keptSeconds = 86_400

export interface Dimensions {
  width: number
  height: number
}

/** `query` is what this vendor signs its addresses with. */
export function pictureUrl(
  filesUrl: string,
  format: PictureFormat,
  { width, height }: Dimensions,
  query: Record<string, string>,
): string {
  return `${filesUrl}/${hexId()}-${width}x${height}.${format}?${new URLSearchParams(query)}`
}

/** Undefined for an address that was never given out, or whose time is up. */
export function pictureFile(path: string, expiresAtSeconds: number) {
  const [, width, height, format] = /^\/[0-9a-f]{32}-(\d{1,5})x(\d{1,5})\.(png|jpeg)$/.exec(path) ?? []
  if (format === undefined || !(expiresAtSeconds * 1000 > Date.now())) return undefined
  return picture(format as PictureFormat, Number(width), Number(height))
}
