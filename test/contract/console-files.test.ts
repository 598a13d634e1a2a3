// The files of the console as sent: their size, content security policy and caching.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readConsoleFiles } from '../../src/console-server/files'
import { temporaryFolder } from '../support/databases/databases'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { modulesLoaded } from '../support/processes/modules-loaded'

setDefaultTimeout(120_000)

const MAX_PACKED_BYTES = 200 * 1024

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({ balance: '1' })
})
afterAll(async () => {
  await gateway.close()
})

test('the whole console, in all languages, is at most 200 KB compressed', async () => {
  const files = [...(await readConsoleFiles()).values()]
  // The second language is a separate file, loaded only when it is used.
  const german = files.filter(({ body }) => Buffer.from(body).includes('Wird geladen'))
  expect(german).toHaveLength(1)
  expect(files.length).toBeGreaterThan(10)
  expect(files.reduce((sum, { packed }) => sum + packed.length, 0)).toBeLessThan(MAX_PACKED_BYTES)
})

test('the console is not loaded before its first request', async () => {
  const { whileServing, byConsole } = await modulesLoaded(temporaryFolder())
  const ofConsole = (paths: readonly string[]) =>
    paths.filter((path) => /src\/(console|console-server)\/|node_modules\/(@?preact|uplot)/.test(path))
  expect(whileServing.length).toBeGreaterThan(100)
  expect(ofConsole(whileServing)).toEqual([])
  // The text is loaded with the first request.
  for (const name of ['src/console/index.html', 'src/console-server/files.ts', 'console-server.ts'])
    expect(ofConsole(byConsole)).toContainEqual(expect.stringContaining(name))
})

test('the page runs no inline script, and contains no other host', async () => {
  const response = await fetch(`${gateway.url}/console`)
  const html = await response.text()
  expect(response.headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; script-src 'self'; style-src 'self';/,
  )
  expect(response.headers.get('content-security-policy')).not.toContain('unsafe')
  expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\son\w+=|https?:/)
  for (const [, address = ''] of html.matchAll(/(?:src|href)="([^"]+)"/g))
    expect(address).toMatch(/^console\/[\w.-]+$/)
})

test('files are cached permanently by name, the page is revalidated, and other paths are not found', async () => {
  const page = await fetch(`${gateway.url}/console`)
  expect(page.headers.get('cache-control')).toBe('no-cache')
  const etag = page.headers.get('etag') ?? ''
  expect((await fetch(`${gateway.url}/console`, { headers: { 'if-none-match': etag } })).status).toBe(304)
  const [, script = ''] = /src="([^"]+)"/.exec(await page.text()) ?? []
  const file = await fetch(`${gateway.url}/${script}`)
  expect(file.headers.get('cache-control')).toContain('immutable')
  expect(file.headers.get('content-encoding')).toBe('gzip')
  const plain = await fetch(`${gateway.url}/${script}`, { headers: { 'accept-encoding': 'identity' } })
  expect(plain.headers.get('content-encoding')).toBeNull()
  expect(await plain.text()).toBe(await file.text())
  const moved = await fetch(`${gateway.url}/console/`, { redirect: 'manual' })
  expect([moved.status, moved.headers.get('location')]).toEqual([308, '../console'])
  for (const path of ['/console/..%2f..%2fpackage.json', '/console/index.html', '/console/constructor'])
    expect((await fetch(gateway.url + path)).status).toBe(404)
  expect((await fetch(`${gateway.url}/console`, { method: 'PUT' })).status).toBe(404)
})
