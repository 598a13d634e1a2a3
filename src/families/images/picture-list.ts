// Reads the list of pictures in a reply, in the form that the image APIs of several vendors share. It must never throw, whatever a
// reply contains; only real pictures count.

import { isObject } from '../../lib/objects'

interface Picture {
  url?: unknown
  b64_json?: unknown
  size?: unknown
  revised_prompt?: unknown
}

/** The items of a reply's list that are pictures. */
export function picturesIn(reply: unknown): Picture[] {
  const { data } = reply as { data?: unknown }
  return Array.isArray(data) ? data.filter(isPicture) : []
}

/** Whether an item holds a picture, or the address of one. */
export function isPicture(item: unknown): item is Picture {
  return isObject(item) && (isText(item.url) || isText(item.b64_json))
}

/** The addresses of pictures that are stored elsewhere. */
export function linksIn(reply: unknown): string[] {
  return picturesIn(reply).flatMap(({ url }) => (isText(url) ? [url] : []))
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
