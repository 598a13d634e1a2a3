// The short form of a vendor's usage object: its shape, which thousands of requests share, and its figures. The original text can
// be restored exactly. Nothing here must know what a figure means.

import type { Row } from '../../db/db'

/** A usage object as stored with a charge. */
interface ShortUsage {
  /** The text without its figures; null if `figures` is the whole text. */
  shape: string | null
  figures: string
}

/** Marks the place of a figure in a shape. JSON never contains this character: in strings it is escaped. */
const PLACE = '\u0001'
/** Longer shapes hold texts rather than figures, and would hardly occur twice. */
const MAX_SHAPE_LENGTH = 1_000
/** A string of this length in a usage object may differ per request, such as an id. */
const LONG_STRING = /"[^"]{41,}"/

export function shortUsageOf(usageJson: string): ShortUsage {
  const pieces = piecesOf(usageJson)
  const shape = pieces.join(PLACE)
  const isShared =
    pieces.length > 1 &&
    shape.length <= MAX_SHAPE_LENGTH &&
    !usageJson.includes(PLACE) &&
    !LONG_STRING.test(shape)
  const figures = isShared ? figuresIn(usageJson, pieces) : undefined
  return figures === undefined ? { shape: null, figures: usageJson } : { shape, figures }
}

/** The text around the numbers. A number in a string is extracted too, and restored unchanged. */
function piecesOf(json: string): string[] {
  const pieces: string[] = []
  let from = 0
  for (let at = 1; at < json.length; at++) {
    const before = json.charCodeAt(at - 1)
    const mayBegin = before === 0x3a || before === 0x2c || before === 0x5b
    const end = mayBegin ? endOfNumber(json, at) : at
    if (end === at) continue
    pieces.push(json.slice(from, at))
    from = at = end
  }
  pieces.push(json.slice(from))
  return pieces
}

/** The figures of a text with these pieces around them; undefined if its pieces differ. Zeros are stored as empty texts. */
export function figuresIn(json: string, pieces: readonly string[]): string | undefined {
  const first = pieces[0] as string
  if (!json.startsWith(first)) return undefined
  let at = first.length
  let figures = ''
  for (let index = 1; index < pieces.length; index++) {
    const piece = pieces[index] as string
    const end = endOfNumber(json, at)
    if (end === at || !json.startsWith(piece, end)) return undefined
    if (index > 1) figures += ','
    if (end - at > 1 || json.charCodeAt(at) !== 0x30) figures += json.slice(at, end)
    at = end + piece.length
  }
  return at === json.length ? figures : undefined
}

/** The end of a number that begins here; the same position if no number begins here. */
function endOfNumber(json: string, at: number): number {
  let end = at
  for (; end < json.length; end++) {
    const code = json.charCodeAt(end)
    const isDigit = code >= 0x30 && code <= 0x39
    // Decimal point, signs and exponents.
    if (!isDigit && code !== 0x2e && code !== 0x2d && code !== 0x2b && code !== 0x65 && code !== 0x45) break
  }
  return end
}

/** The pieces of a shape. */
export function piecesOfShape(shape: string): string[] {
  return shape.split(PLACE)
}

/** The usage as the vendor wrote it. */
export function wholeUsageOf({ shape, figures }: ShortUsage): string {
  if (shape === null) return figures
  const each = figures.split(',')
  let index = 0
  return shape.replaceAll(PLACE, () => each[index++] || '0')
}

/** A row of the view `charges` with the usage as the vendor wrote it. */
export function withWholeUsage({ usage_shape: shape, ...row }: Row): Row {
  if (row.usage === null) return row
  return { ...row, usage: wholeUsageOf({ shape: shape as string | null, figures: row.usage as string }) }
}
