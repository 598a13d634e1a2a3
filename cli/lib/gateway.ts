// Runs the operations of the admin API for a command: on the database of this machine, or on a remote gateway. Every change on the
// database is in the audit trail, with the user of the system who made it.

import type { ArgsDef, CommandDef, ParsedArgs } from 'citty'
import type { AdminClient, OperationCall, OperationId, ReplyOf } from '../../src/admin/client'
import { CallFailed, createLocalClient } from '../../src/admin/client'
import type { AdminWorld, ProcessControl } from '../../src/admin/operation'
import { gatewayTime } from '../../src/app/clock'
import { openReports } from '../../src/app/report-database'
import { openRequestReader, readBodies } from '../../src/app/request-store'
import { newId, outside, randomBytes } from '../../src/app/world'
import { openPlace } from '../../src/backup/schedule'
import { signingKey } from '../../src/billing/proofs/checkpoint'
import { buildCatalogue } from '../../src/catalogue/models'
import type { Config } from '../../src/config/schema'
import type { Db } from '../../src/db/db'
import { Backlog } from '../../src/request/stream/backlog'
import type { RequestReader } from '../../src/request-log/request-log'
import { placeOfArchives } from '../../src/retention/archive-place'
import { runRetention } from '../../src/retention/run'
import { openDataDir, withDatabase } from '../configuration/settings'
import { needServer } from '../process/control'
import { createStatus, say } from '../view/output'
import { commandLineActor } from './actor'
import type { Context } from './contexts'
import { CommandFailed } from './errors'
import { failureOf } from './failures'
import { clientOf, type GatewayFlags, gatewayArgs, remoteOf } from './remote'

/** A gateway that a command works on. */
export interface Gateway extends AdminClient {
  /** The database of this machine and its configuration; null for a remote gateway. */
  local: { db: Db; config: Config; dataDir: string } | null
  /** Rows of a list, up to a limit. */
  rows<Id extends ListId>(id: Id, call?: OperationCall<Id>, most?: number): Promise<RowOf<Id>[]>
  /** Rows of a list, page by page. */
  pages<Id extends ListId>(id: Id, call?: OperationCall<Id>): AsyncGenerator<RowOf<Id>[]>
}

type ListId = {
  [Id in OperationId]: ReplyOf<Id> extends { data: unknown[]; next: string | null } ? Id : never
}[OperationId]
type RowOf<Id extends ListId> = ReplyOf<Id> extends { data: (infer Row)[] } ? Row : never

const PAGE = 1_000

/** Runs a command on a gateway, and reports it if the command wrote to it, unless it is `silent`. */
export async function withGateway<Result>(
  flags: GatewayFlags,
  work: (gateway: Gateway) => Promise<Result>,
  { silent = false }: { silent?: boolean } = {},
): Promise<Result> {
  const remote = remoteOf(flags)
  if (!remote)
    return withDatabase(flags, (db, config) => onDatabase(flags, db, config, work), {
      silent,
      isChosen: true,
    })
  let hasChanged = false
  const noteChange = () => {
    hasChanged = true
  }
  try {
    return await work(remoteGateway(remote, flags, noteChange))
  } finally {
    if (hasChanged) say(`Written to ${remote.server}.`)
  }
}

type Work = (gateway: Gateway) => Promise<unknown>

interface GatewayCommand<Args extends ArgsDef> {
  name: string
  description: string
  examples: readonly string[]
  args?: Args
  /** Checks the flags, which fails before a gateway is opened, and returns what to do on it. */
  run(args: ParsedArgs<Args & typeof gatewayArgs>): Work | Promise<Work>
}

/** A command that works on a gateway: it also has the flags that choose one. */
export function gatewayCommand<const Args extends ArgsDef>({
  args,
  run,
  ...meta
}: GatewayCommand<Args>): CommandDef<Args & typeof gatewayArgs> {
  return {
    meta,
    args: { ...args, ...gatewayArgs } as Args & typeof gatewayArgs,
    run: async ({ args }) => withGateway(args as GatewayFlags, await run(args)),
  }
}

/** A remote gateway. `onChange` is called when something was changed there. */
export function remoteGateway(remote: Context, flags: GatewayFlags, onChange?: () => void): Gateway {
  return gatewayOf(clientOf(remote, onChange), null, flags)
}

async function onDatabase<Result>(
  flags: GatewayFlags,
  db: Db,
  config: Config,
  work: (gateway: Gateway) => Promise<Result>,
): Promise<Result> {
  const dataDir = openDataDir(flags)
  const aheadMs = (await gatewayTime(db, Date.now())) - Date.now()
  const now = () => Date.now() + aheadMs
  let opened: RequestReader | undefined
  const open = () => (opened ??= openRequestReader({ db, dataDir }))
  const requestLog: AdminWorld['requestLog'] = {
    list: (filter, wish) => open().list(filter, wish),
    find: (id) => open().find(id),
    scan: (filter, visitor) => open().scan(filter, visitor),
    // The process that serves has them.
    storeFigures: async () => {},
    // A command writes no rows, and loses none.
    lostRows: () => 0,
    bodiesOf: (id) => readBodies({ db, dataDir }, id),
  }
  const { after, log, monotonic } = { ...outside, log: () => {} }
  const reports = openReports(config, { db, requestLog, now, monotonic, after, log }, { patient: true })
  const world: AdminWorld = {
    db,
    reportSource: reports.source,
    dataDir,
    config,
    get catalogue() {
      return buildCatalogue(config, outside)
    },
    artifacts: null,
    backlog: new Backlog(log),
    requestLog,
    randomBytes,
    now,
    monotonic,
    after,
    newId,
    log,
  }
  const actor = commandLineActor()
  const { name } = actor
  const admin = {
    id: name,
    name,
    role: 'owner' as const,
    hint: '',
    addresses: null,
    expiresAt: null,
    revokedAt: null,
    createdAt: 0,
  }
  const client = createLocalClient({ world, control: controlOf(world), admin, actor, request: null })
  try {
    return await work(gatewayOf(client, { db, config, dataDir }, flags))
  } finally {
    await opened?.close()
    await reports.close()
  }
}

/** The process that serves from this data directory, if one does, and what a command does itself. */
function controlOf({ db, config, dataDir, now }: AdminWorld): ProcessControl {
  return {
    compare: () => needServer(dataDir, 'GET /config/changes'),
    reload: () => needServer(dataDir, 'POST /config/reload'),
    makeBackup: () => Promise.reject(new Error('a command makes backups itself')),
    async closeMonths(keepMonths) {
      const place = openPlace(placeOfArchives(config, dataDir))
      const key = await signingKey(db, randomBytes, now())
      const status = createStatus()
      const onProgress = (text: string) => {
        if (process.stderr.isTTY) status.show(text)
      }
      try {
        return await runRetention({ db, place, key, scratch: dataDir, now, onProgress }, keepMonths)
      } finally {
        status.clear()
      }
    },
  }
}

function gatewayOf(client: AdminClient, local: Gateway['local'], flags: GatewayFlags): Gateway {
  const explained = <Result>(work: Promise<Result>, params: Readonly<Record<string, string>> = {}) =>
    work.catch((error) => {
      throw error instanceof CallFailed ? failureOf(error, Object.values(params)[0] ?? '', flags) : error
    })
  const call: AdminClient['call'] = (id, given) => explained(client.call(id, given), given?.params)
  const pages: Gateway['pages'] = async function* (id, given) {
    for (let after: string | undefined; ; ) {
      const query = { limit: PAGE, ...given?.query, after }
      const page = (await call(id, { ...given, query } as never)) as { data: never[]; next: string | null }
      if (page.data.length > 0) yield page.data
      if (page.next === null) return
      after = page.next
    }
  }
  return {
    local,
    call,
    pages,
    csv: (id, given) => explained(client.csv(id, given), given?.params),
    async rows(id, given, most = Number.POSITIVE_INFINITY) {
      const rows: RowOf<typeof id>[] = []
      const query = { ...given?.query, limit: Math.min(PAGE, most) }
      for await (const page of pages(id, { ...given, query } as never)) {
        rows.push(...page)
        if (rows.length >= most) break
      }
      return rows.slice(0, most)
    },
  }
}

/** The database of this machine for operations that only work there. Fails for a remote gateway. */
export function needDatabase({ local }: Gateway, what: string): NonNullable<Gateway['local']> {
  if (local) return local
  throw new CommandFailed(
    `${what} works on the database only, not over the admin API: run it on the machine of the gateway.`,
  )
}
