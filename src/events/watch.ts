// Checks the conditions for operators a few times a minute, and writes the events for their recipients. One of
// several nodes reads the books and reports; each reports the state of its own vendors. It must never send anything itself.

import { isBackupLate, lastBackup } from '../backup/schedule'
import { backupEveryMs } from '../config/backup'
import { type EventSettings, eventSettingsOf, wants } from '../config/events'
import type { Config } from '../config/schema'
import type { EventBody, EventItem, EventName } from '../contract/events'
import type { Model } from '../contract/family'
import type { Upstream } from '../contract/upstream'
import { apply, type Db, type Statement, tryApply } from '../db/db'
import { isoTime } from '../db/iso-time'
import { claimTurn } from '../db/job-locks'
import type { System } from '../lib/system'
import { insertEvent } from '../webhooks/rows'
import {
  type DueCondition,
  dueConditions,
  endCondition,
  forgetConditions,
  isNotified,
  markNotified,
  noteCondition,
  UNTIL_ENDED,
} from './conditions'
import { checkLedger, withEndFigures } from './ledger-conditions'
import type { Notices } from './notices'
import { watchRetirements } from './retirements'

interface WatchWorld extends Pick<System, 'now' | 'newId'> {
  db: Db
  readonly config: Config
  readonly catalogue: {
    upstreams: ReadonlyMap<string, Pick<Upstream, 'health'>>
    models: ReadonlyMap<string, readonly Model[]>
  }
  notices: Notices
}

/** Job locks for reporting, and for reading the books, which takes longer. */
const SEND_MS = 10_000
const BOOKS_MS = 50_000

/** Checks once: stores the conditions, and writes the events to send. */
export async function watchEvents(world: WatchWorld): Promise<void> {
  const { db, config, notices, now } = world
  const noted = notices.take()
  if (!config.events) return
  const settings = eventSettingsOf(config.events)
  const at = now()
  const seen = noted.map((notice) =>
    'isOver' in notice
      ? endCondition(notice.isOver, at)
      : noteCondition(notice.condition, at, notice.lastsMs),
  )
  try {
    await applySome(db, [...seen, ...upstreamsDown(world, at)])
  } catch (error) {
    notices.putBack(noted)
    throw error
  }
  if (!(await claimTurn(db, 'events', SEND_MS, at))) return
  if (await claimTurn(db, 'events of books', BOOKS_MS, at)) {
    await checkLedger(db, settings, at, config.plans)
    await checkBackupAge(world, at)
    await watchRetirements(db, world.catalogue.models.values(), at)
    await forgetConditions(db, at)
  }
  await notify(world, settings, at)
}

async function applySome(db: Db, statements: Statement[]): Promise<void> {
  if (statements.length > 0) await apply(db, statements)
}

/** Upstreams that did not answer this node when it last asked. Each condition ends by itself when no node sees it any more. */
function upstreamsDown({ catalogue }: WatchWorld, now: number): Statement[] {
  return [...catalogue.upstreams].flatMap(([name, upstream]) => {
    if (upstream.health().breaker === 'closed') return []
    return [noteCondition({ type: 'upstream.down', subject: name, account: null, details: {} }, now, 0)]
  })
}

/** Notes whether the newest backup is too old. */
async function checkBackupAge({ db, config }: WatchWorld, now: number): Promise<void> {
  const everyMs = backupEveryMs(config.backup)
  const { madeAt } = await lastBackup(db)
  const isLate = everyMs !== undefined && madeAt > 0 && isBackupLate(madeAt, everyMs, now)
  const details = { newest_at: madeAt === 0 ? null : isoTime(madeAt) }
  const condition = { type: 'backup.late', subject: 'backup', account: null, details } as const
  await apply(db, [isLate ? noteCondition(condition, now, UNTIL_ENDED) : endCondition(condition, now)])
}

/** Writes the events that are due, and marks them as reported, in one transaction: one of several nodes succeeds. */
async function notify(
  { db, config, newId }: WatchWorld,
  settings: EventSettings,
  now: number,
): Promise<void> {
  const found = await dueConditions(db, now, settings.repeatMs)
  if (found.length === 0) return
  const due = await withEndFigures(db, settings, now, config.plans ?? {}, found)
  const events = groupsOf(due.filter(isNotified)).flatMap((group) =>
    [...settings.to].flatMap(([recipient, entry]) => {
      const items = group.conditions.filter(({ account }) => wants(entry, group.type, account))
      if (items.length === 0) return []
      const id = newId('evt')
      const data = { state: group.state, items: items.map(itemOf) }
      const body: EventBody = { id, type: group.type, timestamp: isoTime(now), data }
      return [insertEvent(db, { id, recipient, body: JSON.stringify(body) }, now)]
    }),
  )
  await tryApply(db, [...due.map((condition) => markNotified(condition, now)), ...events])
}

interface Group {
  type: EventName
  state: DueCondition['state']
  conditions: DueCondition[]
}

/** Conditions of one type and state are one event: a hundred accounts with a low balance must not be a hundred messages. */
function groupsOf(due: readonly DueCondition[]): Group[] {
  const groups = new Map<string, Group>()
  for (const condition of due) {
    const { type, state } = condition
    const name = `${type} ${state}`
    const group = groups.get(name) ?? { type, state, conditions: [] }
    group.conditions.push(condition)
    groups.set(name, group)
  }
  return [...groups.values()]
}

function itemOf({ subject, account, beganAt, details }: DueCondition): EventItem {
  return { subject, ...(account !== null && { account }), since: isoTime(beganAt), ...details }
}
