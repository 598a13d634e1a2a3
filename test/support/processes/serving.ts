// The gateway with its sandbox in a separate process, for tests that need more connections than one process can have.

import { expect } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { audit } from '../../../src/billing/proofs/audit'
import type { Config } from '../../../src/config/schema'
import type { Row } from '../../../src/db/db'
import { openSqlite } from '../../../src/db/drivers/sqlite'
import { temporaryFolder } from '../databases/databases'
import { whenTestsEnd } from '../ending'
import { PROGRAM } from './command-line'

export interface Serving {
  url: string
  /** The folder in which it and its commands find their configuration. */
  folder: string
  dataDir: string
  /** The demonstration key, which has ten dollars. */
  key: string
  /** Reads the database while the server runs. */
  rows(sql: string): Promise<Row[]>
  /** Stops it as an operator does, and fails unless it exits cleanly and leaves correct books and no open charge. */
  stop(): Promise<void>
}

/** Starts `serve --sandbox` on a free port and waits until it listens. */
export async function startServing(config?: Config): Promise<Serving> {
  const folder = temporaryFolder()
  const dataDir = join(folder, 'data')
  const words = ['serve', '--sandbox', '--port', '0', '--json', '--data-dir', dataDir]
  if (config) {
    const file = join(folder, 'gateway.config.ts')
    writeFileSync(file, `export default ${JSON.stringify(config)}\n`)
    words.push('--config', file)
  }
  const child = Bun.spawn([...PROGRAM, ...words], {
    cwd: folder,
    // Nothing from the tester's own environment: a key or a limit in it would change the test.
    env: { PATH: process.env.PATH ?? '', HOME: folder },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  whenTestsEnd(() => child.kill('SIGKILL'))
  const stderr = new Response(child.stderr).text()
  const line = await firstLine(child.stdout)
  if (line === undefined) throw new Error(`it did not start: ${await stderr}`)
  const { url, key } = JSON.parse(line) as { url: string; key: string }

  async function withDb<Result>(work: (db: ReturnType<typeof openSqlite>) => Promise<Result>) {
    const db = openSqlite(join(dataDir, 'gateway.sqlite'))
    try {
      return await work(db)
    } finally {
      await db.close()
    }
  }

  const rows = (sql: string) => withDb((db) => db.query({ sql }))
  return {
    url,
    folder,
    dataDir,
    key,
    rows,
    async stop() {
      child.kill('SIGTERM')
      const code = await child.exited
      expect({ code, stderr: code === 0 ? '' : await stderr }).toEqual({ code: 0, stderr: '' })
      expect(
        await rows(`select id from charges where state = 'held' and id not in (select charge from tasks)`),
      ).toEqual([])
      expect((await withDb((db) => audit(db, Date.now()))).problems).toEqual([])
    },
  }
}

/** Undefined when the output ends first. The rest of the output is discarded. */
async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const decoder = new TextDecoder()
  const reader = stream.getReader()
  let text = ''
  while (!text.includes('\n')) {
    const { done, value } = await reader.read()
    if (done) return undefined
    text += decoder.decode(value, { stream: true })
  }
  void (async () => {
    while (!(await reader.read()).done);
  })()
  return text.slice(0, text.indexOf('\n'))
}
