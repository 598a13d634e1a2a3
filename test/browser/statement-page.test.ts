// The page of a statement in a real browser.

import { expect, setDefaultTimeout } from 'bun:test'
import { statementHtml } from '../../src/billing/reports/statement-page'
import { openBrowser } from '../support/browser/browser'
import { test } from '../support/browser/browser-test'

setDefaultTimeout(120_000)

/** Texts that look like markup or a script, in every field that anyone can enter. */
const XSS = `"><script>document.title='owned'</script><img src=x onerror="document.title='owned'">`

test('a statement shows texts as texts, sends no requests, and is readable on a narrow screen', async () => {
  const page = statementHtml({
    number: 12,
    account: XSS,
    month: '2026-10',
    issuedAt: Date.UTC(2026, 10, 1, 2),
    hash: 'a'.repeat(64),
    content: {
      account: XSS,
      display_name: XSS,
      month: '2026-10',
      from: '2026-10-01',
      to: '2026-10-31',
      currency: 'USD',
      seller: { name: XSS, address: [XSS], tax_id: XSS, contact: XSS },
      logo: XSS,
      note: XSS,
      opening_usd: '10.00',
      earlier_usd: '0.00',
      transfers: [{ at: '2026-10-03T10:00:00.000Z', kind: 'payment', amount_usd: '5.00', note: XSS }],
      usage: [{ model: XSS, requests: 3, amount_usd: '1.000000001' }],
      used_usd: '1.000000001',
      tax: { name: XSS, percent: '20', included: true, net_usd: '0.80', tax_usd: '0.20', total_usd: '1.00' },
      closing_usd: '13.999999999',
    },
  })
  const browser = await openBrowser()
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => new Response(page, { headers: { 'content-type': 'text/html' } }),
  })
  try {
    const tab = await browser.newPage({ viewport: { width: 400, height: 800 } })
    const asked: string[] = []
    tab.on('request', (request) => asked.push(request.url()))
    await tab.goto(`http://127.0.0.1:${server.port}/`)
    expect(await tab.title()).toContain('Statement 12')
    expect(await tab.locator('script, img').count()).toBe(0)
    expect(asked).toHaveLength(1)
    const [wide, shown] = (await tab.evaluate('[document.documentElement.scrollWidth, innerWidth]')) as [
      number,
      number,
    ]
    expect(wide).toBeLessThanOrEqual(shown)
  } finally {
    await browser.close()
    await server.stop(true)
  }
})
