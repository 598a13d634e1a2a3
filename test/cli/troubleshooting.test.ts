// Runs every command on the pages about troubleshooting, error codes and events against a running gateway.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { createCommandLine } from '../support/processes/command-line'
import { startServing } from '../support/processes/serving'

setDefaultTimeout(180_000)

const PAGES = ['troubleshooting', 'error-codes', 'events']
/** Commands that replace the process, need a file, or change missing objects: only their flags are checked against their help. */
const HELP_ONLY =
  /^(restart|restore|reconcile|serve|tasks|events|keys (resume|roll)|accounts (un)?freeze|balance add|admins create)\b/

async function commandsOf(page: string): Promise<string[]> {
  const text = await Bun.file(`${import.meta.dir}/../../docs/operate/${page}.md`).text()
  const inline = [...text.matchAll(/`gateway ([^`]+)`/g)]
  const lines = [...text.matchAll(/^gateway ([^#\n]+)/gm)]
  return [...inline, ...lines].map(([, line = '']) => line.trim())
}

test('each command on the pages runs', async () => {
  const serving = await startServing()
  const { inShell } = createCommandLine(serving.folder, serving.dataDir)
  await fetch(`${serving.url}/v1/models`, { headers: { authorization: `Bearer ${serving.key}` } })
  const asked = await fetch(`${serving.url}/v1/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${serving.key}`, 'content-type': 'application/json' },
    body: '{"model":"text-embedding-3-small","input":"hello"}',
  })
  expect(asked.status).toBe(200)
  const values: Record<string, string> = {
    ID: asked.headers.get('x-request-id') ?? '',
    KEY: 'demo',
    ACCOUNT: 'demo',
    NAME: 'openai',
  }
  const lines = [...new Set((await Promise.all(PAGES.map(commandsOf))).flat())]
  expect(lines.length).toBeGreaterThan(25)
  const examine = async (line: string) => {
    const words = line.split(' ')
    if (HELP_ONLY.test(line) || /^\w+ update\b/.test(line)) {
      const { code, stdout } = await inShell.call([
        ...words.filter((word) => /^[a-z]/.test(word)).slice(0, 2),
        '--help',
      ])
      const missing = words.filter((word) => word.startsWith('--') && !stdout.includes(word))
      expect({ line, code, missing }).toEqual({ line, code: 0, missing: [] })
      return
    }
    const filled = line.replace(/\b[A-Z]{2,}\b/g, (word) => values[word] ?? word)
    const { code, stderr } = await inShell.run(`${filled} --sandbox`)
    // A page may name a command without its arguments, and `doctor` may find faults of the machine that runs the tests.
    const isNamed = /^(Missing required positional argument|--[\w-]+ needs a value)/.test(stderr)
    const isWell = code === 0 || isNamed || (line === 'doctor' && code === 1)
    expect({ line, isWell, stderr: isWell ? '' : stderr }).toEqual({ line, isWell: true, stderr: '' })
  }
  await Promise.all(lines.map(examine))
  await serving.stop()
})
