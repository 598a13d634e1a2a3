// The numbered steps that make the schema: each runs once, in order. A step that was released must never change: append one.

import { ON_POSTGRES, TABLES } from '../schema'
import type { Step } from './step'

/** The steps of builds before 1.0, of which nothing is left: `TABLES` is what they came to with the last one. */
const EARLIER_STEPS = 32
/** A commit with all of them. */
const EARLIER_COMMIT = '89af6918'

/** The steps; each has its number by its place, from 1. Those of builds before 1.0 are empty, and are not recorded. */
export const migrations: readonly Step[] = [...Array<Step>(EARLIER_STEPS).fill([]), TABLES, ON_POSTGRES]

/** Why a database cannot be brought to the newest schema from the one that it has; undefined if it can. */
export function earlierFault(version: number, steps = migrations): string | undefined {
  if (steps[version - 1]?.length !== 0) return undefined
  return `The database has schema version ${version}, of a build before 1.0: start the build of commit ${EARLIER_COMMIT} on it once, then this one. Nothing was changed.`
}
