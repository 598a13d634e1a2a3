// Tells objects among values that come from outside. Lenient: it never throws, whatever the value is.

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value if it is an object, else an empty one. */
export function asObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}
