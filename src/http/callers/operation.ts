// The form of a free operation of the callers' API, with which the holder of a key reads, stores and changes data, or which needs
// no key. Its routes, its checks, its document and the types of the console are made from the list of them (operations/index.ts).
//
// To add one: write its rules where they belong, as a function that throws a GatewayError; describe it with
// `callerOperation` in a file of operations/, where `run` answers JSON, or a whole response if it is invalid.

import { Type } from '@sinclair/typebox'
import type { Key } from '../../accounts/keys'
import type { ErrorGroup } from '../../api-document/error-pages'
import { type DescribedAnswer, type Parameter, schemaOf } from '../../api-document/schema'
import { type ApiOperation, exactOperationsFor } from '../../api-operation/operation'
import type { Artifacts } from '../../artifacts/artifacts'
import type { ReceiptKeys } from '../../billing/receipts/receipt-keys'
import type { Catalogue } from '../../catalogue/models'
import type { Config } from '../../config/schema'
import type { Db } from '../../db/db'
import type { BackgroundResponses } from '../../kept-responses/background'
import type { ConversationWorld } from '../../kept-responses/conversations'
import type { LateAppends } from '../../kept-responses/late-appends'
import type { Dialect, GatewayError } from '../../lib/errors'
import type { System } from '../../lib/system'
import type { AudioReader } from '../../media/audio'
import type { Gateway } from '../../request/line'
import type { Backlog } from '../../request/stream/backlog'
import type { CountTokens } from '../../request/token-count'
import type { RequestStore } from '../../request-log/request-log'
import type { DeleteWorld } from '../../tasks/delete'
import type { KeyedWorld } from '../authorization'
import type { Entrance } from '../body'
import type { Listener } from '../connection'

/** Everything in a running gateway that holders of keys see and change. */
export interface CallerWorld extends KeyedWorld, ConversationWorld, DeleteWorld, Omit<System, 'wall'> {
  db: Db
  readonly config: Pick<Config, 'server' | 'models' | 'receipts' | 'payments' | 'events'>
  readonly catalogue: Catalogue
  requestLog: Pick<RequestStore, 'list' | 'find' | 'scan'>
  /** Null if results are not stored. */
  artifacts: Artifacts | null
  audioReader: Pick<AudioReader, 'read'>
  backgroundResponses: BackgroundResponses
  receiptKeys: ReceiptKeys
  lateAppends: Pick<LateAppends, 'takeBack'>
  backlog: Backlog
  randomBytes(count: number): Uint8Array
}

/** The database for one change of a key by its holder, with the entry in the audit trail. */
export type Recorded = (
  key: Key,
  change: {
    action: 'key.roll' | 'key.roll_webhook' | 'token.create' | 'token.revoke'
    before?: object
    after?: object
  },
  from: { requestId: string; request: Request },
) => Db

export interface CallerContext {
  world: CallerWorld
  key: Key
  request: Request
  requestId: string
  params: Readonly<Record<string, string>>
  listener: Listener | null
  /** The form in which the caller reads answers. */
  dialect: Dialect
  recorded: Recorded
  /** Where requests to models would go. */
  gateway: Pick<Gateway, 'checkForQuote'>
  countTokens: CountTokens
  /** Reads the body of an operation with `isRaw`. `check` may get the model that a large body names, before the rest of it is read. */
  bytes(check?: (model: string) => void): Promise<Uint8Array>
  /** When this process began to serve, in milliseconds since 1970. */
  startedAt: number
}

export interface CallerOperation extends ApiOperation {
  /** Additional paths, for clients of other gateways. Default: one for clients that repeat /v1. */
  aliases?: readonly string[]
  /** Whether a request needs a key. Default: it does. */
  access?: 'optional key' | 'no key'
  /** Whether a token may call it in place of its key. */
  forTokens?: boolean
  /** Whether a paused key may call it, or one whose account is frozen. */
  mayRest?: boolean
  /** Whether caches must not store the answer. */
  isPrivate?: boolean
  /** Whether the answer has the headers of paid operations, such as the sandbox's. */
  isMarked?: boolean
  /** The limit of the body; if present, there is a body. */
  entrance?: Entrance
  /** Whether `run` reads the body itself, from its bytes: one that is signed, or checked like a paid request. */
  isRaw?: boolean
  /** Whether the body may be omitted. */
  isBodyOptional?: boolean
  /** Whether it counts toward the key's request limit. */
  isCounted?: boolean
  /** The forms of answers, depending on the client. Default: the common one. */
  dialects?: readonly Dialect[]
  dialectOf?(request: Request): Dialect
  /** Describes the successful answer, for the document. */
  answers?: string
  /** Successful answers in addition to JSON with 200, or instead of it, for the document. */
  furtherAnswers?: Readonly<Record<string, DescribedAnswer>>
  /** Parameters that never cause a refusal, for the document: headers, and what is ignored if unreadable. */
  parameters?: readonly Parameter[]
  /** Errors other than those implied by a key, a query and a body, for the document. */
  errors?: readonly ErrorGroup[]
  /** The error for a missing object, with an id as an example. */
  missing?: GatewayError
  run(context: CallerContext, query: Record<string, never>, body: Record<string, never>): Promise<object>
}

export const callerOperation = exactOperationsFor<CallerOperation, CallerContext>()

/** For operations that may have no key: `openOperation(Reply)({ access: 'no key', … })`. */
export const openOperation = exactOperationsFor<CallerOperation, OpenContext>()

export type OpenContext = Omit<CallerContext, 'key'> & { key: Key | undefined }

/** The answer of a paid operation, which the document names. */
export const shared = (name: 'ImageTask' | 'Response' | 'Video' | 'VideoTask') =>
  Type.Unsafe<object>(schemaOf(name))
