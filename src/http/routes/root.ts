// The root: clients look there whether anybody is at home before they begin. It must answer fast, and tell nothing.

import { Elysia } from 'elysia'

export function rootRoutes() {
  const answer = () => new Response(null, { status: 200 })
  return new Elysia({ name: 'root' }).get('/', answer).head('/', answer)
}
