// Reads the sizes of pictures as people write them: `1024x1536`, `1024*1536`. It must never guess: anything else is
// rejected.

export interface Size {
  width: number
  height: number
}

/**
 * Width and height. Undefined unless the text is two whole numbers of at most five digits with `separator` between
 * them.
 */
export function parseSize(text: string, separator: 'x' | '*' | ':'): Size | undefined {
  const parts = text.split(separator)
  if (parts.length !== 2 || !parts.every((part) => /^[1-9]\d{0,4}$/.test(part))) return undefined
  return { width: Number(parts[0]), height: Number(parts[1]) }
}
