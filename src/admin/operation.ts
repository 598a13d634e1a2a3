// The form of an operation of the admin API: its path, who may call it, its input, and its implementation. The API, its document
// and the client of the command line are made from the list of them (operations/index.ts).
//
// To add one: write its rules where they belong (src/accounts, src/billing, src/tasks …), as a function that throws a GatewayError;
// describe it with `operationsIn` in a file of operations/, where `run` reads, uses `changing(context, …)` as the database of a
// change, so that the audit trail has it, calls the rule, and answers JSON; add it to the journey of
// test/contract/admin-api.test.ts. A command calls it with `gateway.call('theOperation', …)` of cli/lib/gateway.ts, on the database
// of this machine or over HTTP, and prints the answer.

import { type TSchema, Type } from '@sinclair/typebox'
import { type ApiOperation, Nullable, open, operationsFor } from '../api-operation/operation'
import type { Artifacts } from '../artifacts/artifacts'
import type { BackupReport } from '../backup/backup'
import type { Catalogue } from '../catalogue/models'
import type { Change } from '../config/changes'
import type { Config } from '../config/schema'
import type { Role } from '../contract/roles'
import { type Db, notifyingDb } from '../db/db'
import { type GatewayError, invalidRequest } from '../lib/errors'
import type { System } from '../lib/system'
import type { Backlog } from '../request/stream/backlog'
import type { KeptBodies } from '../request-log/bodies'
import type { RequestStore } from '../request-log/request-log'
import type { RetentionReport } from '../retention/run'
import type { Admin } from './admins'
import { type Actor, type RecordedChange, record, recording } from './audit-trail'
import type { BearerTokens } from './bearer-tokens'

/** The rows of one report. They may be seconds behind: nothing is decided from them. */
export interface ReportSource {
  db: Db
  requestLog: Pick<RequestStore, 'list' | 'find' | 'scan'>
}

/** Everything in a running gateway that operators see and change. */
export interface AdminWorld extends Pick<System, 'now' | 'monotonic' | 'after' | 'newId' | 'log'> {
  db: Db
  /** Where a report reads, such as a replica: the whole report reads there. */
  reportSource(): Promise<ReportSource>
  dataDir: string
  readonly config: Config
  readonly catalogue: Catalogue
  artifacts: Artifacts | null
  backlog: Backlog
  requestLog: Pick<RequestStore, 'list' | 'find' | 'scan'> & {
    storeFigures(): Promise<void>
    lostRows(): number
    /**
     * Bodies of a request that `log.bodies` has stored; undefined if none are stored. Rejects with UnreadableText if its key is not
     * known.
     */
    bodiesOf(id: string): Promise<KeptBodies | undefined>
  }
  randomBytes(count: number): Uint8Array
  /** Accepts tokens of identity providers; absent for a database of this machine, which requires none. */
  bearerTokens?: Pick<BearerTokens, 'ownerOf'>
}

/** Actions on the process itself, which are passed in by whoever starts it. */
export interface ProcessControl {
  compare(): Promise<Reloading>
  reload(cause: string): Promise<Reloading>
  makeBackup(): Promise<BackupReport>
  /** Closes months that are older than this number. Rejects with NotClosed if the books or an archive are wrong. */
  closeMonths(keepMonths: number): Promise<RetentionReport>
  /** Fills an empty gateway with requests of the last days; absent unless its vendors are simulated. */
  makeHistory?: (() => Promise<HistoryReport>) | undefined
}

/** A history of simulated requests, by its size. */
export interface HistoryReport {
  accounts: number
  requests: number
  /** When the first request was made, in milliseconds since 1970. */
  since: number
}

type Reloading = { changes: Change[] } | { faults: string[] }

/** The header of answers of operations that have changed something. */
export const CHANGED_HEADER = 'x-gateway-changed'

export interface OperationContext {
  world: AdminWorld
  control: ProcessControl
  admin: Admin
  actor: Actor
  /** For operations that answer with a file; null if the request did not arrive over HTTP. */
  request: Request | null
  params: Readonly<Record<string, string>>
  /** The Idempotency-Key of the request. */
  idempotencyKey: string | null
  /** Called when something was changed, which is reported to callers. */
  onChange(): void
}

export interface AdminOperation extends ApiOperation {
  /** The path below /admin/v1. */
  path: string
  role: Role
  /** Whether an Idempotency-Key makes it happen only once. */
  isIdempotent?: boolean
  /** Whether it answers with the bytes of a file, whole or in part, instead of JSON. */
  isFile?: boolean
  /** Answers JSON, or a whole response if it is invalid. */
  run(context: OperationContext, query: Record<string, never>, body: Record<string, never>): Promise<object>
}

/** The function that describes the operations of one part of the document: `operationsIn('Keys')`. */
export const operationsIn = (tag: string) => operationsFor<AdminOperation, OperationContext>(tag)

/** The database for one change by the calling operator. */
export function changing({ world, actor, onChange }: OperationContext, change: RecordedChange): Db {
  return notifyingDb(recording(world, actor, change), onChange)
}

/** Records something that is not a change of the database. */
export async function recordOnly(
  { world, actor, onChange }: OperationContext,
  change: RecordedChange,
): Promise<void> {
  await record(world, actor, change)
  onChange()
}

export const Text = (description: string) => Type.String({ description, minLength: 1, maxLength: 256 })
/** Networks from which a secret may be used, as callers of the API write them. */
export const AddressList = Nullable(
  Type.Array(Text('An IP address, or a network such as `203.0.113.0/24`.'), {
    minItems: 1,
    maxItems: 100,
    description: 'Networks that it may be used from; null: anywhere.',
  }),
)
export const optionalText = (description: string) => Type.Optional(Text(description))
export const closedBody = { additionalProperties: false }

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1_000

/** The query of every list. */
export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_LIMIT,
      description: `Rows on a page. Default ${DEFAULT_LIMIT}.`,
    }),
  ),
  after: optionalText('Continues a list after its `next`.'),
}

/** The query of operations with a period. */
export const periodQuery = {
  since: optionalText('From this time in UTC, such as `2026-10-01` or `2026-10-01T14:00Z`.'),
  until: optionalText('Before this time.'),
}

export function limitOf({ limit = DEFAULT_LIMIT }: { limit?: number | undefined }): number {
  return limit
}

/** The answer of a list. */
export const PageOf = (row: TSchema) =>
  Type.Object(
    {
      data: Type.Array(row),
      next: Nullable(Type.String({ description: 'Asks for the next page; null at the end.' })),
    },
    open,
  )

export interface Page<Shown> {
  data: Shown[]
  next: string | null
}

/** A page of rows. One row more than the limit was read. */
export function pageOf<Row, Shown extends object>(
  rows: readonly Row[],
  limit: number,
  show: (row: Row) => Shown,
  cursorOf: (row: Row) => string,
): Page<Shown> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return {
    data: shown.map(show),
    next: rows.length > limit && last !== undefined ? cursorOf(last) : null,
  }
}

/** The cursor of a row that is identified by its time and its id. */
export function timedCursor(at: number, id: string): string {
  return `${at}.${id}`
}

/** The row that a cursor names. Throws 400 for a cursor that no page has returned. */
export function placeOfCursor(after: string | undefined): { at: number; id: string } | undefined {
  if (after === undefined) return undefined
  const [, at, id] = /^(\d{1,15})\.(.{1,200})$/s.exec(after) ?? []
  if (at === undefined || id === undefined) throw unknownCursor()
  return { at: Number(at), id }
}

export function unknownCursor(): GatewayError {
  return invalidRequest('after', "Invalid 'after': it is not the 'next' of a page. Start again without it.")
}
