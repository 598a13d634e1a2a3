// Recognises objects and texts among external values. It must never throw, whatever the value.

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Members that describe an object and are not content. */
const LABELS = new Set(['type', 'role', 'id', 'index'])

/**
 * Whether a value holds any text, at any depth. Members that only describe an object, and its member `label`, do not
 * count.
 */
export function holdsText(value: unknown, label?: string): boolean {
  if (typeof value === 'string') return value !== ''
  if (Array.isArray(value)) return value.some((item) => holdsText(item))
  if (!isObject(value)) return false
  for (const key in value) if (key !== label && !LABELS.has(key) && holdsText(value[key])) return true
  return false
}

/** The value if it is an object, otherwise an empty object. */
export function asObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}

/** The value if it is a text, otherwise an empty text. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
