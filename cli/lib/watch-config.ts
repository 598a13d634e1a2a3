// Watches the files of the configuration while it says so (`server.watchConfig`), and reloads it when one has changed. The
// files are looked at by their paths, because editors and mounted volumes replace them. A file that is still being
// written must not be read.

import { statSync } from 'node:fs'
import type { Config } from '../../src/config/schema'
import { filesOfConfig } from './config-file'

interface Reloadable {
  world: { readonly config: Config }
  reload(cause: string): Promise<unknown>
}

const LOOK_MS = 1_000

/** Watches for as long as the process lives. Nothing is watched for the built-in configuration. */
export function watchConfig(file: string | undefined, server: Reloadable): void {
  if (file === undefined) return
  let known = stateOf(file)
  let seen = known
  setInterval(async () => {
    const before = seen
    seen = stateOf(file)
    // Unchanged since the last look, so that a writer has ended.
    if (seen === known || seen !== before) return
    known = seen
    if (!server.world.config.server?.watchConfig) return
    await server.reload('watchConfig')
    // Another file may be imported or named now.
    known = stateOf(file)
    seen = known
  }, LOOK_MS).unref()
}

/** The state of the files as a text, which differs from one state to another. */
function stateOf(file: string): string {
  return filesOfConfig(file)
    .map((path) => {
      const found = statSync(path, { throwIfNoEntry: false })
      return found ? `${path} ${found.ino} ${found.mtimeMs} ${found.size}` : `${path} is missing`
    })
    .join('\n')
}
