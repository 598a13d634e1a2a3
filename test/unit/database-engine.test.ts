// What `doctor` reports about the database's engine, for version texts of real engines.

import { expect, test } from 'bun:test'
import { judgeEngine } from '../../cli/doctor/engine'

/** Results of `select version()`, with the state and text of the finding. */
const ENGINES: [version: string, state: 'ok' | 'warning', found: string][] = [
  [
    'PostgreSQL 18.4 on x86_64-pc-linux-gnu, compiled by gcc 12, 64-bit',
    'ok',
    'PostgreSQL 18.4, within the tested',
  ],
  ['PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu', 'ok', 'PostgreSQL 15.18, within'],
  ['PostgreSQL 14.2 on aarch64-unknown-linux-gnu', 'warning', 'PostgreSQL 14.2, outside the tested'],
  ['PostgreSQL 19beta1 on x86_64-pc-linux-gnu', 'warning', 'outside'],
  ['PostgreSQL 11.2-YB-2.25.1.0-b0 on x86_64-pc-linux-gnu, 64-bit', 'warning', 'YugabyteDB'],
  ['PostgreSQL 15.12-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu', 'warning', 'YugabyteDB'],
  ['CockroachDB CCL v24.3.1 (x86_64-pc-linux-gnu, built 2024/12/18)', 'warning', 'CockroachDB'],
  ['PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC, Redshift 1.0.75379', 'warning', 'Redshift'],
  ['EnterpriseDB 15', 'warning', 'unknown: EnterpriseDB 15'],
]

test('only tested engines are reported as tested, and others refer to the page about them', () => {
  for (const [version, state, found] of ENGINES) {
    const finding = judgeEngine(version)
    expect([version, finding.state]).toEqual([version, state])
    expect(finding.found).toContain(found)
    if (state === 'warning') expect(finding.cure).toContain('docs/operate/scale.md')
  }
})
