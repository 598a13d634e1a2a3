// Distinguishes the data directory of a sandbox from one with real money. Simulated requests must never be charged to customers,
// and the demonstration key must never spend at a real vendor.

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CommandFailed } from '../lib/errors'

/** Marks the data directory of a sandbox. */
const MARK = 'is-sandbox'
/** Files of a data directory. A gateway that has run has at least one of them, even on PostgreSQL. */
const DATA = ['gateway.sqlite', 'gateway.sqlite.moved', 'requests.sqlite', 'journal.sqlite']

/** Fails for a directory with data of the other kind. `usual` is the one of sandboxes that were created before there was a mark. */
export function requireKind(dataDir: string, isSandbox: boolean, usual: string): void {
  const isMarked = dataDir === usual || existsSync(join(dataDir, MARK))
  if (isMarked && !isSandbox) {
    throw new CommandFailed(
      `${dataDir} is the data directory of a sandbox. Add --sandbox, or name another one with --data-dir.`,
    )
  }
  if (!isMarked && isSandbox && DATA.some((name) => existsSync(join(dataDir, name)))) {
    throw new CommandFailed(
      `${dataDir} has the data of a gateway with real vendors, which a sandbox never uses. Name an empty directory with --data-dir, or leave --sandbox out. If it is the sandbox of an older version, create an empty file ${join(dataDir, MARK)}.`,
    )
  }
}

/** Marks a directory as that of a sandbox. */
export function markSandbox(dataDir: string): void {
  writeFileSync(join(dataDir, MARK), '', { mode: 0o600 })
}
