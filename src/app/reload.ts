// Reloads the configuration: reads it again, checks it, builds everything from it, and only then applies it. A configuration with
// faults must change nothing.

import { type Change, changesBetween, keepingStart } from '../config/changes'
import type { Config } from '../config/schema'
import type { Log } from '../lib/system'

/** Reads the configuration as at the start. Rejects if it cannot be read. */
export type ReadConfig = () => Promise<{ config: Config } | { faults: string[] }>

/** The changes of a reload, or why it changes nothing. */
export type Reloaded = { changes: Change[] } | { faults: string[] }

interface ReloadParts {
  world: { readonly config: Config; log: Log }
  read: ReadConfig
  /** Applies a configuration. Throws, and leaves everything unchanged, if it cannot. */
  apply(config: Config): void
}

export class Reloads {
  private last: Promise<unknown> = Promise.resolve()

  constructor(private readonly parts: ReloadParts) {}

  /** Lists what a reload would change now. */
  async compare(): Promise<Reloaded> {
    const read = await this.readNow()
    return 'faults' in read ? read : { changes: changesBetween(this.parts.world.config, read.config) }
  }

  /** Reloads, after a running reload. `cause` is for the log. */
  reload(cause: string): Promise<Reloaded> {
    const next = this.last.then(() => this.reloadNow(cause))
    this.last = next
    return next
  }

  private async reloadNow(cause: string): Promise<Reloaded> {
    const { world, apply } = this.parts
    const reloaded = await this.tryReload(apply)
    if ('faults' in reloaded) {
      world.log('config_not_reloaded', { cause, faults: reloaded.faults })
      return reloaded
    }
    const { changes } = reloaded
    const settingsOf = (needsRestart: boolean) =>
      changes.filter((change) => change.needsRestart === needsRestart).map(({ setting }) => setting)
    world.log('config_reloaded', { cause, changed: settingsOf(false), needRestart: settingsOf(true) })
    return reloaded
  }

  private async tryReload(apply: ReloadParts['apply']): Promise<Reloaded> {
    const read = await this.readNow()
    if ('faults' in read) return read
    const before = this.parts.world.config
    try {
      apply(keepingStart(before, read.config))
    } catch (error) {
      return { faults: [messageOf(error)] }
    }
    return { changes: changesBetween(before, read.config) }
  }

  private async readNow(): ReturnType<ReadConfig> {
    try {
      return await this.parts.read()
    } catch (error) {
      return { faults: [messageOf(error)] }
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
