// The paths of a route: its own, and one for clients that add /v1 to a base URL that ends with /v1. Both must lead to
// the same handler.

export function tolerated(path: string): string[] {
  return [path, `/v1${path}`]
}
