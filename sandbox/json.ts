// Reads values of unknown type and prints JSON, including the numbers that JSON forbids. It must never throw on any
// input.

export type JsonObject = Record<string, unknown>

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined
}

export function asArray(value: unknown): unknown[] | undefined {
  return Array.isArray(value) ? value : undefined
}

export function asString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

export function asObjects(value: unknown): JsonObject[] {
  return (asArray(value) ?? []).map(asObject).filter((item) => item !== undefined)
}

/** Whether a member was given; vendors read an explicit null as absent. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const rawMark = '\u0000raw:'
const printedMark = JSON.stringify(rawMark).slice(1, -1)
const printedRaw = new RegExp(`"${printedMark.replaceAll('\\', '\\\\')}([^"]*)"`, 'g')

/** A number written as given, for values such as NaN or 2^53+1 that JSON.stringify would change. */
export function rawNumber(digits: string): unknown {
  return rawMark + digits
}

export function printJson(value: unknown): string {
  const text = JSON.stringify(value)
  return text.includes(printedMark) ? text.replace(printedRaw, '$1') : text
}
