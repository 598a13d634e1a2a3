// The root path, which some clients request before they begin. It must answer fast, and reveal nothing.

import { Elysia } from 'elysia'

export function rootRoutes() {
  const answer = () => new Response(null, { status: 200 })
  return new Elysia({ name: 'root' }).get('/', answer).head('/', answer)
}
