// Watches the files of the configuration while it says so (`server.watchConfig`), and reloads it when one has changed. The
// files are checked by path, because editors and mounted volumes replace them. A file that is still being written must not be read,
// and a change during a reload must not be lost.

import { statSync } from 'node:fs'
import type { Config } from '../../src/config/schema'
import { filesOfConfig } from '../configuration/config-file'

interface Reloadable {
  world: { readonly config: Pick<Config, 'server'> }
  reload(cause: string): Promise<unknown>
}

/** The inode, time of change and size of each file, by its path. */
type States = ReadonlyMap<string, string>

const CHECK_MS = 1_000

/** Watches for as long as the process lives. Nothing is watched for the built-in configuration. */
export function watchConfig(file: string | undefined, server: Reloadable): void {
  if (file !== undefined) void watch(file, server)
}

async function watch(file: string, server: Reloadable): Promise<never> {
  let known = statesOf(file)
  let seen = known
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, CHECK_MS).unref())
    const before = seen
    seen = statesOf(file)
    // Unchanged since the last check, so its writer has finished.
    if (Bun.deepEquals(seen, known) || !Bun.deepEquals(seen, before)) continue
    known = seen
    if (!server.world.config.server?.watchConfig) continue
    await server.reload('watchConfig')
    // Another file may be imported or named now. The earlier ones may have changed since they were read.
    seen = statesOf(file)
    known = new Map([...seen].map(([path, state]) => [path, known.get(path) ?? state]))
  }
}

function statesOf(file: string): States {
  return new Map(filesOfConfig(file).map((path) => [path, stateOf(path)]))
}

function stateOf(path: string): string {
  try {
    const { ino, mtimeMs, size } = statSync(path)
    return `${ino} ${mtimeMs} ${size}`
  } catch (error) {
    // Missing, or in an unreadable folder.
    return String((error as { code?: string }).code)
  }
}
