// gateway codes as a shell sees it: what is printed once, what is listed, and what is refused.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { temporaryFolder } from '../support/databases/databases'
import { createCommandLine, WRITTEN } from '../support/processes/command-line'
import type { Json } from '../support/scenario'

setDefaultTimeout(120_000)

const { run, json, allFail } = createCommandLine(temporaryFolder())

test('codes are printed once, listed by state, and revoked once', async () => {
  const made = await run("codes create --amount 2.50 --count 3 --expires 30d --note 'spring 2026'")
  expect(made.code).toBe(0)
  const codes = made.stdout.trim().split('\n')
  expect(new Set(codes).size).toBe(3)
  for (const code of codes) expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{5}-){4}[0-9A-HJKMNP-TV-Z]{5}$/)
  expect(made.stderr).toContain('each worth $2.50, once, until 30 days from now')

  const [single] = (await json('codes create --amount 1')) as Json[]
  expect(single).toMatchObject({ status: 'open', amount_usd: '1.00', note: null, expires_at: null })

  const listed = (await json('codes list')) as Json[]
  expect(listed).toHaveLength(4)
  const shown = JSON.stringify(listed)
  for (const code of codes) {
    expect(shown).not.toContain(code)
    expect(shown).toContain(`…${code.slice(-5)}`)
  }
  expect((await json('codes list --limit 1')) as Json[]).toMatchObject([{ id: single?.id }])

  const [first = ''] = codes
  const revoked = await run(`codes revoke ${first.toLowerCase()}`)
  expect(revoked.stderr.replace(WRITTEN, '')).toContain('Revoked the code')
  await allFail(1, [
    [`codes revoke ${first}`, 'was revoked before'],
    ['codes revoke AAAAA', 'There is no code "AAAAA"'],
  ])
  const table = await run('codes list')
  expect(table.stdout).toContain('revoked')
  expect(table.stdout).toContain('spring 2026')
})

test('invalid values are usage errors', async () => {
  await allFail(2, [
    ['codes create', '--amount'],
    ['codes create --amount 0', '--amount must be more than 0'],
    ['codes create --amount 5 --count 10001', '--count takes 10000 at most'],
    ['codes create --amount 5 --expires soon', '--expires takes a duration'],
    ['codes list --limit 0', '--limit takes a whole number from 1'],
  ])
})
