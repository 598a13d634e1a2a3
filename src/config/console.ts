// The part of the configuration that says who signs in to the console, and for how long. It must never be open to other
// machines unless that is configured.

import { Type } from '@sinclair/typebox'
import { parseDurationMs } from '../lib/durations'
import { closed, optionalSetting } from '../lib/setting'
import { isLoopback } from '../lib/url-host'

export const ConsoleEntry = Type.Object(
  {
    enabled: optionalSetting('Whether the console is served. Default true.', Type.Boolean()),
    allowRemote: optionalSetting(
      'Whether key holders can sign in at the port of `server` from other machines, and through proxies. Default false: only from this machine. Admins sign in where the admin API answers, see `admin`.',
      Type.Boolean(),
    ),
    sessionIdle: optionalSetting(
      'How long a session lasts without use, such as `30m`. Default 1h.',
      Type.String(),
    ),
    sessionMax: optionalSetting(
      'The maximum duration of a session, such as `8h`. Default 12h.',
      Type.String(),
    ),
  },
  closed,
)

interface ConsoleSettings {
  enabled?: boolean
  allowRemote?: boolean
  sessionIdle?: string
  sessionMax?: string
}

const DEFAULT_IDLE = '1h'
const DEFAULT_MAX = '12h'
const MIN_SESSION_MS = 60_000
const MAX_SESSION_MS = 30 * 86_400_000

/** How long sessions last, in milliseconds. */
export function sessionTimesOf(entry: ConsoleSettings | undefined): { idleMs: number; maxMs: number } {
  const idleMs = parseDurationMs(entry?.sessionIdle ?? DEFAULT_IDLE)
  const maxMs = parseDurationMs(entry?.sessionMax ?? DEFAULT_MAX)
  if (idleMs === undefined || maxMs === undefined) throw new Error('the configuration was not checked')
  return { idleMs: Math.min(idleMs, maxMs), maxMs }
}

/** Faults that the schema cannot express. */
export function consoleFaults(entry: unknown): string[] {
  const settings = (entry ?? {}) as Record<string, unknown>
  return ['sessionIdle', 'sessionMax'].flatMap((name) => {
    const text = settings[name]
    if (typeof text !== 'string') return []
    const ms = parseDurationMs(text)
    return ms !== undefined && ms >= MIN_SESSION_MS && ms <= MAX_SESSION_MS
      ? []
      : [`console.${name}: expected a duration from 1m to 30d, such as 8h`]
  })
}

/** Faults of a configuration for OAuth programs: these read its URLs in the metadata. */
export function mcpSignInFaults(
  { mcpSignIn, publicUrl }: Record<string, unknown>,
  { allowRemote, enabled }: Record<string, unknown>,
): string[] {
  if (mcpSignIn !== true) return []
  const url = typeof publicUrl === 'string' ? URL.parse(publicUrl) : null
  const isHere = url !== null && isLoopback(url.hostname)
  const isSafe = url !== null && (url.protocol === 'https:' || isHere) && url.pathname === '/'
  return [
    ...(isSafe
      ? []
      : [
          'server.mcpSignIn: needs server.publicUrl with https:// and without a path, such as https://ai.example.com',
        ]),
    ...(enabled === false || (allowRemote !== true && !isHere)
      ? ['server.mcpSignIn: needs console.allowRemote: true, because holders of keys allow programs there']
      : []),
  ]
}
