// The rules of schemas as a table: what a process may do, by the state of the database and the kind of process, and the
// message of a refusal.

import { expect, test } from 'bun:test'
import { type DatabaseRole, SchemaRefused, verdictOn } from '../../src/db/schema/rules'

const own = { version: '1.2.0', commit: 'source', schema: 36 }
const OLDER =
  'The database has schema 35, and this gateway (1.2.0) needs schema 36 for that: run "gateway upgrade".'
const SERVED =
  'The running gateway (1.1.0) serves schema 35, which this one (1.2.0) brings to 36: stop the running one, then start this one without --take-over.'
const NEWER =
  'The database has schema 37, and this gateway (1.2.0) knows only 36: use version 1.3.0 or newer.'
const ANCIENT = expect.stringMatching(
  /^The database has schema 32, of a build before 1\.0: start the build of/,
)

const rows: [schema: number, version: string | null, Record<DatabaseRole, unknown>][] = [
  [0, null, { upgrade: 'make', succeed: 'make', change: 'make', read: 'pretend' }],
  [32, null, { upgrade: ANCIENT, succeed: ANCIENT, change: ANCIENT, read: ANCIENT }],
  [35, '1.1.0', { upgrade: 'upgrade', succeed: SERVED, change: OLDER, read: 'read' }],
  [36, '1.2.0', { upgrade: 'use', succeed: 'use', change: 'use', read: 'use' }],
  [37, '1.3.0', { upgrade: NEWER, succeed: NEWER, change: NEWER, read: NEWER }],
]

test.each(rows)('schema %i and a program with schema 36', (schema, version, expected) => {
  for (const role of Object.keys(expected) as DatabaseRole[])
    expect({ role, verdict: verdictOf(schema, version, role) }).toEqual({
      role,
      verdict: expected[role] as string,
    })
})

test('a newer schema is refused even if its program did not note its version', () => {
  expect(verdictOf(37, null, 'read')).toBe(
    'The database has schema 37, and this gateway (1.2.0) knows only 36: use a newer version.',
  )
})

/** The verdict, or the message of the refusal. */
function verdictOf(schema: number, version: string | null, role: DatabaseRole): string {
  try {
    return verdictOn({ schema, version }, role, own)
  } catch (error) {
    expect(error).toBeInstanceOf(SchemaRefused)
    return (error as Error).message
  }
}
