// The spenders of a key, in a real browser: an operator sees what each has spent, revokes a token and erases a name;
// the holder of the key sees tokens and connected programs, and revokes one. Names from strangers stay texts.

import { expect, setDefaultTimeout } from 'bun:test'
import type { Browser } from 'playwright-core'
import { listSpenders } from '../../src/accounts/spenders'
import { openBrowser } from '../support/browser/browser'
import { afterAll, beforeAll, test } from '../support/browser/browser-test'
import { visitConsole } from '../support/browser/console-visit'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { allow, authorizeUrl, exchange, PUBLIC_URL, register } from '../support/oauth'

setDefaultTimeout(180_000)

/** A text that would run as a script, break out of an attribute, or load a picture from another host. */
const SCRIPT = `"><img src=x onerror=alert(1)><script>alert(2)</script>'`

let gateway: TestGateway
let browser: Browser
let key: { secret: string; id: string }

beforeAll(async () => {
  gateway = await startTestGateway({
    config: { server: { publicUrl: PUBLIC_URL, mcpSignIn: true }, console: { allowRemote: true } },
  })
  browser = await openBrowser()
  const spenders = { from: ['user'], budget_usd: '1', budget_period: 'day' as const }
  key = await gateway.makeKey('company', '50', { spenders })
  const bearer = { authorization: `Bearer ${key.secret}` }
  expect((await gateway.chat({ user: SCRIPT }, bearer)).status).toBe(200)
  const token = { expires_in_minutes: 60, budget_usd: '0.50', name: 'checkout' }
  expect((await gateway.post('/v1/tokens', token, bearer)).status).toBe(200)
  const place = { url: gateway.url, secret: key.secret }
  const clientId = (await register(place, { client_name: SCRIPT })).body.client_id
  const code = (await allow(place, authorizeUrl(clientId))).searchParams.get('code') ?? ''
  expect((await exchange(place, { clientId, code })).status).toBe(200)
  await gateway.server.world.requestLog.flush()
})
afterAll(async () => {
  await browser.close()
  await gateway.close()
})

const found = () => listSpenders(gateway.server.world.db, { keyId: key.id, limit: 9 })

test('an operator sees the spenders of a key, revokes a token and erases a name', async () => {
  const visit = await visitConsole(browser, gateway, { role: 'operator' })
  const { page } = visit
  await visit.open(`keys/${key.id}`)
  const table = page.locator('.table-frame', { hasText: 'checkout' })
  const rowOf = (text: string) => page.locator('tr', { hasText: text })
  await table.waitFor()
  for (const text of [SCRIPT, 'end user', 'checkout', 'web page', 'program'])
    expect(await table.textContent()).toContain(text)
  await rowOf('checkout').getByRole('button', { name: 'Revoke…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await waitFor(async () =>
    (await found()).some(({ name, endedAt }) => name === 'checkout' && endedAt !== null),
  )
  await visit.settled()
  await rowOf('end user').getByRole('button', { name: 'Forget…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click()
  await waitFor(async () => (await found()).every(({ kind, name }) => kind !== 'user' || name === null))
  await visit.open(`requests?spender=${(await found()).find(({ kind }) => kind === 'user')?.id}`)
  expect(await page.locator('tbody tr').count()).toBeGreaterThan(0)
  expect(await visit.axe()).toEqual([])
  expect(visit.faults).toEqual([])
  await page.context().close()
})

test('the holder of the key sees its tokens and programs, and revokes one', async () => {
  const visit = await visitConsole(browser, gateway, { token: key.secret, width: 400 })
  const { page } = visit
  await visit.open('connect')
  const part = page.locator('section', { hasText: 'Tokens and connected programs' })
  expect(await part.textContent()).toContain('program')
  await part.getByRole('button', { name: 'Revoke…' }).first().click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await waitFor(async () => (await found()).every(({ kind, endedAt }) => kind !== 'mcp' || endedAt !== null))
  await visit.settled()
  expect(await visit.axe()).toEqual([])
  expect(await visit.tooWide()).toEqual([])
  expect(visit.faults).toEqual([])
  await page.context().close()
})
