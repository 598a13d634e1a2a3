// Values inside JSON by their paths, `data/0/index`: finds values that a conversion has lost, and makes copies with one value
// changed.

import type { Json } from '../scenario'

/** Every value that contains no others, by its path. */
export function leavesOf(value: Json, path = ''): [path: string, leaf: unknown][] {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return [[path, value]]
  return Object.entries(value).flatMap(([key, inner]) =>
    leavesOf(inner, path === '' ? key : `${path}/${key}`),
  )
}

/** The path of every value inside another one. */
export function branchesOf(value: Json, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const own = path === '' ? key : `${path}/${key}`
    return [own, ...branchesOf(inner, own)]
  })
}

/** Paths of values in `before` that `after` lacks at the same place. */
export function lostPaths(before: Json, after: Json): string[] {
  const kept = new Map(leavesOf(after))
  return leavesOf(before).flatMap(([path, leaf]) =>
    kept.has(path) && JSON.stringify(kept.get(path)) === JSON.stringify(leaf) ? [] : [path],
  )
}

/** A copy with another value at the path; undefined removes it. */
export function withValue(value: Json, path: string, other: unknown): Json {
  const copy = structuredClone(value)
  const keys = path.split('/')
  const last = keys.pop() as string
  const parent = keys.reduce((inner, key) => inner[key], copy)
  if (other === undefined && Array.isArray(parent)) parent.splice(Number(last), 1)
  else if (other === undefined) delete parent[last]
  else parent[last] = other
  return copy
}

/** A copy in which every object has one more, unknown member. */
export function withUnknown(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withUnknown)
  const members = Object.entries(value).map(([key, inner]) => [key, withUnknown(inner)])
  return { ...Object.fromEntries(members), x_unknown: { deep: [1, 'two', null] } }
}
