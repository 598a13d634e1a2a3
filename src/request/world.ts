// The outside world of the request line, listed part by part: the composition root has more, and tests may have less. Types only;
// nothing here must hold code.

import type { Authenticator } from '../accounts/authenticator'
import type { Artifacts } from '../artifacts/artifacts'
import type { ReceiptKeys } from '../billing/receipts/receipt-keys'
import type { Catalogue } from '../catalogue/models'
import type { ResponseLimits } from '../config/responses'
import type { Config } from '../config/schema'
import type { Db } from '../db/db'
import type { PendingRecords } from '../db/pending-file'
import type { BackgroundResponses } from '../kept-responses/background'
import type { Sealer } from '../lib/sealing'
import type { System } from '../lib/system'
import type { Ticker } from '../lib/ticker'
import type { CallerTrace, TraceContext } from '../lib/trace-context'
import type { Mp3Encoder } from '../media/mp3-encoder'
import type { TokenCounter } from '../media/token-counter'
import type { RequestLog } from '../request-log/request-log'
import type { AddressRules } from '../webhooks/address'
import type { RunningDrills } from './answer/drills'
import type { Backlog } from './stream/backlog'

export interface RequestWorld
  extends Pick<System, 'now' | 'monotonic' | 'after' | 'newId' | 'random' | 'log'> {
  config: Pick<Config, 'server' | 'limitToBalance' | 'usage' | 'affinity' | 'receipts'>
  db: Db
  /** The disk, for ends of charges that the database refuses. */
  pendingEnds: PendingRecords
  /** The name of this process among those that serve from its data directory; null if it is the only one. */
  process: string | null
  requestLog: Pick<RequestLog, 'write' | 'bodies' | 'list'>
  /** Begins the trace of a request; null without tracing. */
  tracer: { begin(caller: CallerTrace): TraceContext } | null
  catalogue: Catalogue
  authenticator: Authenticator
  tokenCounter: TokenCounter
  mp3Encoder: Mp3Encoder
  ticker: Ticker
  /** Limits the bytes that wait for slow callers. */
  backlog: Backlog
  /** Null if results are not stored. */
  artifacts: Artifacts | null
  /** Seals what a caller keeps and sends back, such as reasoning. Its `associated` text is the caller's account. */
  sealer: Sealer
  /** How answers of responses are stored. */
  keptResponses: ResponseLimits
  receiptKeys: ReceiptKeys
  /** Faults of drills in front of upstreams. */
  drills: Pick<RunningDrills, 'faultFor'>
  backgroundResponses: BackgroundResponses
  /** Random bytes that cannot be guessed. */
  randomBytes(count: number): Uint8Array
  /** The addresses that webhooks may use. */
  addressRules: AddressRules
}
