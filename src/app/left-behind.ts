// Takes over what processes leave: holds, leases and tasks in the making. On SQLite everything that belongs to no living
// process of the data directory; a shared database has leases and expiry for it. It must never touch what a living
// process works on.

import { releaseExpired } from '../billing/ledger'
import { forgetTaskLeases } from '../tasks/leases'
import type { Poller } from '../tasks/poller'
import { forgetWebhookLeases } from '../webhooks/rows'
import type { Processes, World } from './world'

type LeftWorld = Pick<World, 'db' | 'now' | 'followTime'>

/** Ends what earlier processes have left. With `alone`, every open hold and lease belongs to a process that died. */
export async function takeOver(
  world: LeftWorld,
  poller: Poller,
  { alone }: { alone: boolean },
): Promise<void> {
  if (alone) {
    await releaseExpired(world.db, world.now(), { all: true })
    await forgetTaskLeases(world.db)
    await forgetWebhookLeases(world.db)
  }
  await world.followTime()
  await poller.sweep({ alone })
}

/** Watches the other processes of the data directory, and takes over what each leaves when it ends. */
export class LeftBehind {
  /** The others that lived at the last look. */
  private living: readonly string[]

  constructor(
    private readonly world: LeftWorld,
    private readonly poller: Poller,
    private readonly processes: Processes | undefined,
  ) {
    this.living = processes?.others() ?? []
  }

  /** Whether no other process serves from this data directory. */
  get isAlone(): boolean {
    return this.living.length === 0
  }

  /** For the start: takes over what was left before. */
  async begin(): Promise<void> {
    const { world, poller } = this
    if (world.db.kind === 'sqlite' && !this.isAlone) await this.takeOver(this.living)
    await takeOver(world, poller, { alone: world.db.kind === 'sqlite' && this.isAlone })
  }

  /** Takes over what was left by processes that ended since the last look. */
  async look(): Promise<void> {
    const { processes, world, living } = this
    if (!processes || living.length === 0 || world.db.kind !== 'sqlite') return
    const others = processes.others()
    if (living.every((name) => others.includes(name))) return
    await this.takeOver([...others, processes.own])
    this.living = others
  }

  private async takeOver(living: readonly string[]): Promise<void> {
    const { db, now } = this.world
    await releaseExpired(db, now(), { all: true, living })
    await this.poller.sweep({ alone: true, living })
  }
}
