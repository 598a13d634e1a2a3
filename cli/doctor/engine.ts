// The finding of `gateway doctor` on the engine of the database, according to `select version()`. Only what was tested here is
// called tested: hosted services report plain PostgreSQL and are judged by its version.

import { type Finding, ok, warning } from './findings'

/** Major versions of PostgreSQL that were tested: the newest by every run of the tests, the oldest by measurements. */
const OLDEST_TESTED = 15
const NEWEST_TESTED = 18
const HINT = 'docs/operate/scale.md, "Engines", says what is known of it.'
/** Engines that speak PostgreSQL's protocol, by how they name themselves. */
const OTHER_ENGINES: readonly [pattern: RegExp, name: string][] = [
  [/^CockroachDB\b/, 'CockroachDB'],
  [/^PostgreSQL \S*-YB-/, 'YugabyteDB'],
  [/\bRedshift\b/, 'Amazon Redshift'],
]

/** Judges an engine by its `version()`. */
export function judgeEngine(version: string): Finding {
  const check = 'database engine'
  const other = OTHER_ENGINES.find(([pattern]) => pattern.test(version))
  if (other) return warning(check, `${other[1]}, which was not tested`, HINT)
  const [, number, major] = /^PostgreSQL ((\d+)\S*)/.exec(version) ?? []
  if (number === undefined) return warning(check, `unknown: ${version.slice(0, 80)}`, HINT)
  const tested = `${OLDEST_TESTED} to ${NEWEST_TESTED}`
  const isTested = Number(major) >= OLDEST_TESTED && Number(major) <= NEWEST_TESTED
  if (isTested) return ok(check, `PostgreSQL ${number}, within the tested versions ${tested}`)
  return warning(check, `PostgreSQL ${number}, outside the tested versions ${tested}`, HINT)
}
