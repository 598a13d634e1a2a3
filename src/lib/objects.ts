// Tells objects among values that come from outside. Lenient: it never throws, whatever the value is.

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What an object says about itself in place of holding anything. */
const LABELS = new Set(['type', 'role', 'id', 'index'])

/** Whether there is any text in a value, at any depth, beside words that only say what it is, and the member `label` of it. */
export function holdsText(value: unknown, label?: string): boolean {
  if (typeof value === 'string') return value !== ''
  if (Array.isArray(value)) return value.some((item) => holdsText(item))
  if (!isObject(value)) return false
  for (const key in value) if (key !== label && !LABELS.has(key) && holdsText(value[key])) return true
  return false
}

/** The value if it is an object, else an empty one. */
export function asObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}
