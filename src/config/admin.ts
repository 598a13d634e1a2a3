// The part of the configuration that says where the admin API is served. It must never be open to other machines unless
// that is configured.

import { Type } from '@sinclair/typebox'
import { closed, optionalSetting } from '../lib/setting'

export const AdminEntry = Type.Object(
  {
    host: optionalSetting(
      'The address of a separate listener, which uses the certificate of `server.tls` if there is one. Default 127.0.0.1.',
      Type.String({ minLength: 1 }),
    ),
    port: optionalSetting(
      'The port of that listener. Default: none; the API is at the port of `server`, for this machine only.',
      Type.Integer({ minimum: 0, maximum: 65535 }),
    ),
    allowRemote: optionalSetting(
      'Whether the API at the port of `server` also answers other machines, and requests forwarded by proxies on this one. Default false.',
      Type.Boolean(),
    ),
  },
  closed,
)

/** Faults that the schema cannot express. */
export function adminFaults(entry: unknown): string[] {
  const { host, port, allowRemote } = (entry ?? {}) as {
    host?: unknown
    port?: unknown
    allowRemote?: unknown
  }
  if (host !== undefined && port === undefined) return ['admin.host: needs a port']
  return port !== undefined && allowRemote === true
    ? ['admin.allowRemote: is for the port of `server`; a listener of its own answers who reaches its host']
    : []
}
