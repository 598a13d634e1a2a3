// The paths of a route: its own, those of its aliases, and one additional path for each, for clients that add /v1 to a base URL
// that ends with /v1. All must lead to the same handler.

import type { Operation } from '../contract/operations'

export function toleratedPaths(path: string): string[] {
  return [path, `/v1${path}`]
}

/** The paths of an operation, or of something `below` it, without duplicates. */
export function servedPaths(
  { path, aliases = [] }: Pick<Operation, 'path' | 'aliases'>,
  below = '',
): string[] {
  return [...new Set([path, ...aliases].flatMap((each) => toleratedPaths(each + below)))]
}
