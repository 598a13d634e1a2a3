// The parts of Settings, which are its tabs and entries of the palette.

import { hasRole } from '../api'

const PARTS = ['configuration', 'events', 'sessions', 'backups', 'retention', 'admins', 'audit'] as const

/** The parts that the signed-in user may see. */
export function settingsParts(): (typeof PARTS)[number][] {
  return PARTS.filter(
    (part) => (part !== 'admins' || hasRole('owner')) && (part !== 'sessions' || hasRole('operator')),
  )
}
