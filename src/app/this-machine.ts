// Tells requests of programs on this machine from those of others: what is for this machine only is hidden from everybody
// else. A proxy on this machine asks for others, so it must never count as this machine.

import type { Listener } from '../http/connection'
import { GatewayError } from '../lib/errors'

const LOCAL_ADDRESS = /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/
/** A page of another site whose name was pointed at this machine sends that name. */
const LOCAL_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i
/** Headers by which a proxy says that somebody else asks. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip']

/** Whether a program of this machine asks, and no proxy for somebody else, nor a page of another site. */
export function isLocal(request: Request, listener: Listener | null): boolean {
  const { headers } = request
  return (
    LOCAL_ADDRESS.test(listener?.requestIP(request)?.address ?? '') &&
    LOCAL_HOST.test(headers.get('host') ?? '') &&
    FORWARDED.every((name) => !headers.has(name))
  )
}

/** The error for other machines, which tells them as little as for a path that is not there. */
export function notHere(): GatewayError {
  return new GatewayError(404, {
    code: 'unknown_route',
    message: 'There is nothing here for other machines. GET /openapi.json lists all that is served.',
  })
}
