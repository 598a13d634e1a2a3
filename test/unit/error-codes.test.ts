// The table of error codes compared with the source. The compiler finds a code that is missing in the table; these
// tests find an unused code, a wrong status, and names in its texts that do not exist.

import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import { pages } from '../../src/api-document/pages'
import { errorCodes } from '../../src/lib/error-codes'
import { logEvents } from '../../src/lib/log-events'

const root = `${import.meta.dir}/../..`

async function sources(): Promise<string> {
  const texts: string[] = []
  for await (const path of new Glob('src/**/*.ts').scan(root)) {
    if (/^src\/api-document\/|error-codes\.ts$/.test(path)) continue
    texts.push(await Bun.file(`${root}/${path}`).text())
  }
  return texts.join('\n')
}

test('each error code is thrown somewhere', async () => {
  const text = await sources()
  const made = [...text.matchAll(/`\$\{\w+\}(_\w+)`/g)].map(([, end = '']) => end)
  const named = [...text.matchAll(/notFound\('(\w+)'/g)].map(([, what]) => `${what}_not_found`)
  const unknown = Object.keys(errorCodes).filter((code) => {
    if (text.includes(`'${code}'`) || named.includes(code)) return false
    return code.endsWith('_not_found') || !made.some((end) => code.endsWith(end))
  })
  expect(unknown).toEqual([])
})

test('each error is thrown with a status from its row in the table', async () => {
  const found = (await sources()).matchAll(/new GatewayError\((\d+), \{\s*code: '([\w.]+)'/g)
  const pairs = [...found].map(([, status, code]) => ({ code: code ?? '', status: Number(status) }))
  expect(pairs.length).toBeGreaterThan(60)
  const rows: Readonly<Record<string, { statuses: readonly number[] }>> = errorCodes
  expect(pairs.filter(({ code, status }) => !rows[code]?.statuses.includes(status))).toEqual([])
  const bad = [...(await sources()).matchAll(/invalidRequest\([^;]*?'([a-z]+_[a-z_]+)',?\s*\)/g)]
    .map(([, code]) => code ?? '')
    .filter((code) => code in errorCodes)
  expect(bad.length).toBeGreaterThan(30)
  expect(bad.filter((code) => !rows[code]?.statuses.includes(400))).toEqual([])
})

test('remedies name only existing settings, metrics, events and codes', async () => {
  const settings = pages['docs/configuration.md']?.() ?? ''
  const metrics = await Promise.all(
    [...new Glob('src/telemetry/*.ts').scanSync(root)].map((path) => Bun.file(`${root}/${path}`).text()),
  )
  const texts = [
    ...Object.values(errorCodes).flatMap(({ meaning, cure }) => [meaning, cure]),
    ...Object.values(logEvents).map(({ cure = '' }) => cure),
    await Bun.file(`${root}/docs/operate/troubleshooting.md`).text(),
  ]
  const words = texts.flatMap((text) => [...text.matchAll(/`([\w.]+)`/g)].map(([, word = '']) => word))
  const missing = words.filter((word) => {
    if (word.startsWith('gateway_')) return !metrics.join('\n').includes(`'${word}`)
    if (word in logEvents || word in errorCodes || word.endsWith('.sqlite')) return false
    const names = word.split('.')
    if (names.length > 1) return !names.every((name) => settings.includes(name))
    return /[a-z][A-Z]/.test(word) && !settings.includes(`\`${word}\``)
  })
  expect(words.length).toBeGreaterThan(50)
  expect(missing).toEqual([])
})
