// Reads from the database the events since the last read, so that it does not matter which process did it: ended requests, tasks,
// and figures. Each read returns a limited number of rows. It must never write.

import { keyNames } from '../accounts/keys'
import { openNow } from '../admin/overview-figures'
import { balanceOf } from '../billing/ledger/balances'
import { totalUsage, usageBy, usageJson } from '../billing/reports/usage-report'
import type { Db } from '../db/db'
import { isoTime } from '../db/iso-time'
import { ownRequest } from '../http/callers/operations/own-records'
import { formatUsd } from '../lib/money'
import type { System } from '../lib/system'
import { requestJson } from '../request-log/request-json'
import type { RequestStore } from '../request-log/request-log'
import type { LoggedRequest } from '../request-log/row'
import { type Task, taskOfRow } from '../tasks/task'
import { progressOf } from '../tasks/task-json'

export interface LiveWorld extends Pick<System, 'now' | 'monotonic' | 'log'> {
  db: Db
  requestLog: Pick<RequestStore, 'list'>
}

/** An event, as an admin sees it, and as the holder of its key sees it. */
export interface LiveEvent {
  name: 'overview' | 'request' | 'task'
  keyId?: string | undefined
  all?: object
  own?: object
}

/** Who is watching: the keys whose holders watch, and whether an admin does. */
interface Watched {
  keys: ReadonlySet<string>
  hasAdmin: boolean
}

/** A task, and a text that changes when an event must report it. */
interface CurrentTask {
  task: Task
  state: string
}

/** Maximum number of rows per read. If there are more within a second, a row says so. */
const MAX_ROWS = 200
const MAX_OPEN_TASKS = 500
const DAY_MS = 86_400_000
/** Figures and tasks are read once per this many reads. */
const FIGURES = 5
const TASKS = 2

export class LiveBalances {
  private rounds = 0
  private seen: ReadonlySet<string> | undefined
  /** States of unfinished tasks, by id. */
  private tasks: Map<string, string> | undefined
  private names = new Map<string, string>()

  constructor(private readonly world: LiveWorld) {}

  /** Clears the known states: events from before anybody watched are not news. */
  begin(): void {
    this.rounds = 0
    this.seen = undefined
    this.tasks = undefined
  }

  /** Reads events since the last read, oldest first. */
  async read(watched: Watched): Promise<LiveEvent[]> {
    const round = this.rounds++
    const requests = await this.readRequests()
    const tasks = round % TASKS === 0 ? await this.readTasks() : []
    const figures = round % FIGURES === 0 ? await this.readFigures(watched) : []
    return [...requests, ...tasks, ...figures]
  }

  private async readRequests(): Promise<LiveEvent[]> {
    const { seen } = this
    const { rows } = await this.world.requestLog.list({}, { limit: MAX_ROWS })
    this.seen = new Set(rows.map(({ id }) => id))
    if (!seen) return []
    const fresh = rows.filter(({ id }) => !seen.has(id)).toReversed()
    const hasMore = fresh.length === MAX_ROWS
    await this.learnNames(fresh)
    const nameOf = (id: unknown) => this.names.get(String(id)) ?? null
    return fresh.map((row, index) => {
      const more = hasMore && index === 0 && { more: true }
      return {
        name: 'request',
        keyId: row.key_id as string | undefined,
        all: { ...requestJson(row, nameOf), ...more },
        own: { ...ownRequest.show(row), ...more },
      }
    })
  }

  private async learnNames(rows: readonly LoggedRequest[]): Promise<void> {
    if (rows.some(({ key_id: id }) => id !== null && !this.names.has(String(id))))
      this.names = await keyNames(this.world.db)
  }

  private async readTasks(): Promise<LiveEvent[]> {
    const { tasks: known } = this
    const open = [...(known ?? [])].filter(([, state]) => isOpenState(state)).map(([id]) => id)
    const tasks = await this.currentTasks(known ? open : undefined)
    this.tasks = new Map(tasks.map(({ task, state }) => [task.id, state]))
    if (!known) return []
    return tasks
      .filter(({ task, state }) => known.get(task.id) !== state)
      .toReversed()
      .map(({ task }) => ({
        name: 'task',
        keyId: task.keyId,
        all: { ...taskEvent(task), account: task.account, key_id: task.keyId, upstream: task.upstream },
        own: taskEvent(task),
      }))
  }

  /** The newest tasks, and those that were unfinished: at the last read, or all at the first. */
  private async currentTasks(open: readonly string[] | undefined): Promise<CurrentTask[]> {
    const { db } = this.world
    // The progress of a task is in its document, which is large once the task has ended.
    const columns = `id, model, account, key_id, upstream, state, upstream_id, error_code, error_message, cost,
      created_at, ended_at, case when state = 'submitted' then document end as document,
      (select state || attempts from webhooks where task = tasks.id order by created_at desc limit 1) as webhook`
    const ids = (open ?? []).slice(0, MAX_OPEN_TASKS)
    // An empty id matches nothing; databases refuse an empty list.
    const places = ["''", ...ids.map((_id, index) => `$${index + 1}`)].join(', ')
    const others = open ? `id in (${places})` : `state = 'submitted'`
    const rows = await db.query({
      sql: `select ${columns} from tasks where id in (select id from (
          select id from tasks order by created_at desc, id desc limit ${MAX_ROWS}) as newest)
        or id in (select id from (select id from tasks where ${others} limit ${MAX_OPEN_TASKS}) as running)
        order by created_at desc, id desc`,
      parameters: ids,
    })
    return rows.map((row) => {
      const task = taskOfRow(db, row)
      return { task, state: stateOf(task, row.webhook as string | null) }
    })
  }

  private async readFigures({ keys, hasAdmin }: Watched): Promise<LiveEvent[]> {
    const events: LiveEvent[] = []
    if (hasAdmin) events.push({ name: 'overview', all: await this.overview() })
    for (const keyId of keys) {
      const own = await this.overviewOf(keyId)
      if (own) events.push({ name: 'overview', keyId, own })
    }
    return events
  }

  private async overview(): Promise<object> {
    const { db, now } = this.world
    const at = now()
    const [used, open] = await Promise.all([usageBy(db, 'day', { since: at - (at % DAY_MS) }), openNow(db)])
    return {
      at: isoTime(at),
      today: usageJson(totalUsage(used)),
      held_usd: formatUsd(open.heldNano),
      open_tasks: open.tasks,
    }
  }

  private async overviewOf(keyId: string): Promise<object | undefined> {
    const { db, now } = this.world
    const at = now()
    const [key] = await db.query({ sql: 'select account from keys where id = $1', parameters: [keyId] })
    const balance = key && (await balanceOf(db, key.account as string))
    if (!balance) return undefined
    const used = await usageBy(db, 'day', { since: at - (at % DAY_MS), keyId })
    return {
      at: isoTime(at),
      today: usageJson(totalUsage(used)),
      balance_usd: formatUsd(balance.balanceNano),
      held_usd: formatUsd(balance.heldNano),
      available_usd: formatUsd(balance.availableNano),
    }
  }
}

/** A task as an event reports it. */
function taskEvent(task: Task) {
  const isOpen = task.state === 'submitted'
  return {
    id: task.id,
    model: task.model,
    state: task.state,
    progress: isOpen ? progressOf(task) : null,
    amount_usd: isOpen ? null : formatUsd(task.costNano),
    held_usd: isOpen ? formatUsd(task.costNano) : null,
    error:
      task.errorCode === null
        ? null
        : { code: task.errorCode, message: (task.errorMessage ?? '').slice(0, 500) },
    created_at: isoTime(task.createdAt),
    ended_at: isoTime(task.endedAt),
  }
}

/** The state of a task as a text that changes when an event must report it or its webhook, and not with each poll. */
function stateOf(task: Task, webhook: string | null): string {
  const { state, upstreamId, errorCode } = task
  const progress = state === 'submitted' ? (progressOf(task) ?? '') : ''
  return `${state} ${progress}${upstreamId === null ? '' : ' begun'}${errorCode === null ? '' : ' error'} ${webhook ?? ''}`
}

function isOpenState(state: string): boolean {
  return state.startsWith('submitted')
}
