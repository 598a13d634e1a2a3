// On a machine where no browser starts, the names of tests that need one say that they were skipped, and why.

import { expect, test } from 'bun:test'
import { join } from 'node:path'

test('if no browser starts, tests that need one are skipped, and their names say why', async () => {
  const { TEST_BROWSER_FAULT: _, ...environment } = process.env
  const child = Bun.spawn([process.execPath, 'test', './test/browser/cors.test.ts'], {
    cwd: join(import.meta.dir, '../..'),
    env: { ...environment, TEST_BROWSER: '/nowhere/chromium' },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const written = await child.stderr.text()
  expect(await child.exited).toBe(0)
  expect(written).toMatch(/^ 0 pass\n [1-9]\d* skip\n 0 fail$/m)
  const lines = written.split('\n').filter((line) => line.startsWith('(skip)'))
  expect(lines.length).toBeGreaterThan(3)
  for (const line of lines)
    expect(line).toMatch(/\(not tested: no browser starts here: .*exist at \/nowhere\/chromium\)$/)
})
