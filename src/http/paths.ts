// The paths under which a route is found: its own, and the one that a client asks for whose base URL ends with /v1 though
// the client adds that itself.

export function tolerated(path: string): string[] {
  return [path, `/v1${path}`]
}
