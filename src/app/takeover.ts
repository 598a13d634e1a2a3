// Takes over the work of ended processes: ends of charges that the database had refused, holds, leases and unfinished tasks. On
// SQLite that is everything that belongs to no live process of the data directory; a shared database uses leases and expiry
// instead. It must never touch anything that a live process works on.

import { type ChargeEnd, endCharge, lateFields } from '../billing/ledger/charge-ends'
import { releaseExpired } from '../billing/ledger/ledger'
import { DatabaseUnavailable } from '../db/db'
import { deletePending, markPending, pendingFiles, readPending } from '../db/pending-file'
import { forgetTaskLeases } from '../tasks/leases'
import type { Poller } from '../tasks/poller'
import { forgetWebhookLeases } from '../webhooks/rows'
import type { Processes, World } from './world'

type LeftWorld = Pick<World, 'db' | 'now' | 'followTime' | 'log'>
type DiskWorld = LeftWorld & Pick<World, 'dataDir' | 'pendingEnds'>

/** Ends the work that earlier processes have left. With `alone`, every open hold and lease belongs to a dead process. */
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

/**
 * Applies the ends that processes of this data directory have left on disk: first, while their holds exist. An end that fails for a
 * reason other than the database stays there, for an operator and the next start.
 */
async function makePendingEnds(world: DiskWorld, liveProcesses: readonly string[]): Promise<void> {
  const { dataDir, log, pendingEnds } = world
  for (const name of pendingFiles(dataDir)) {
    if (name === pendingEnds.name || liveProcesses.includes(name)) continue
    const records = readPending(dataDir, name)
    let failed = 0
    for (const { place, text } of records) {
      const isMade = await makePendingEnd(world, text)
      if (!isMade) failed++
      markPending(dataDir, name, place, isMade ? 'done' : 'failed')
    }
    if (failed === 0) deletePending(dataDir, name)
    if (records.length > 0) log('pending_ends_made', { made: records.length - failed, failed })
  }
}

/** Applies an end that was stored on disk. False if it cannot be applied; throws if the database cannot accept it now. */
export async function makePendingEnd({ db, now, log }: LeftWorld, text: string): Promise<boolean> {
  let charge: string | null = null
  try {
    const end = JSON.parse(text) as ChargeEnd
    charge = end.charge.id
    const ended = await endCharge(db, end, now())
    if (ended.isLate) log('charge_late', lateFields(end.charge, ended))
    return true
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error
    log('charge_not_ended', { request: charge, error: String(error) })
    return false
  }
}

/** Watches the other processes of the data directory, and takes over the work of each when it ends. */
export class Takeover {
  /** The others that were alive at the last check. */
  private liveProcesses: readonly string[]

  constructor(
    private readonly world: DiskWorld,
    private readonly poller: Poller,
    private readonly processes: Processes | undefined,
  ) {
    this.liveProcesses = processes?.others() ?? []
  }

  /** Whether no other process serves from this data directory. */
  get isAlone(): boolean {
    return this.liveProcesses.length === 0
  }

  /** Takes over, at the start, everything that was left before. */
  async begin(): Promise<void> {
    const { world, poller } = this
    await makePendingEnds(world, this.liveProcesses)
    if (world.db.kind === 'sqlite' && !this.isAlone) await this.takeOver(this.liveProcesses)
    await takeOver(world, poller, { alone: world.db.kind === 'sqlite' && this.isAlone })
  }

  /** Takes over from processes that ended since the last check. */
  async check(): Promise<void> {
    const { processes, world, liveProcesses } = this
    if (!processes || liveProcesses.length === 0) return
    const others = processes.others()
    if (liveProcesses.every((name) => others.includes(name))) return
    await makePendingEnds(world, others)
    if (world.db.kind === 'sqlite') await this.takeOver([...others, processes.own])
    this.liveProcesses = others
  }

  private async takeOver(liveProcesses: readonly string[]): Promise<void> {
    const { db, now } = this.world
    await releaseExpired(db, now(), { all: true, liveProcesses })
    await this.poller.sweep({ alone: true, liveProcesses })
  }
}
