// Everything from outside in one object: the database, the clock, ids, the network, the log. Created once at start. No
// other code may create these; tests create their own.

import { lookup } from 'node:dns/promises'
import { existsSync, mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { type Authenticator, createAuthenticator } from '../accounts/authenticator'
import { BearerTokens, type BearerWorld } from '../admin/bearer-tokens'
import type { Artifacts } from '../artifacts/artifacts'
import { openArtifacts } from '../artifacts/open'
import { ReceiptKeys } from '../billing/receipts/receipt-keys'
import type { Config } from '../config/schema'
import { masterKeysOf } from '../config/secrets'
import { DatabaseUnavailable, type Db, writableOnDemand } from '../db/db'
import { openPostgres } from '../db/drivers/postgres'
import { openSqlite } from '../db/drivers/sqlite'
import { requireWholeLog } from '../db/drivers/sqlite-file'
import { createCodec } from '../db/encryption/codec'
import { type Encryption, readEncryption, registerKey, requireKeys } from '../db/encryption/keys'
import { secretOf } from '../db/encryption/secrets'
import { migrate } from '../db/migrations'
import { PendingFile, type PendingRecords } from '../db/pending-file'
import { type DatabaseRole, type FoundSchema, findSchema, olderReader, verdictOn } from '../db/schema/rules'
import { requireWholeCopy } from '../db/table-copy'
import { sendEventsBy } from '../events/send'
import { directTransport } from '../http-client/origin'
import type { Transport } from '../http-client/transport'
import { BackgroundResponses } from '../kept-responses/background'
import { LateAppends } from '../kept-responses/late-appends'
import { levelOf } from '../lib/log-events'
import { createSealer, KEY_BYTES, type Sealer } from '../lib/sealing'
import type { After, Log, System } from '../lib/system'
import { createTicker, type Ticker } from '../lib/ticker'
import { AudioReader } from '../media/audio'
import { createMp3Encoder, type Mp3Encoder } from '../media/mp3-encoder'
import { createTokenCounter, type TokenCounter } from '../media/token-counter'
import { openUploads, type Uploads } from '../media/uploads'
import { RunningDrills } from '../request/answer/drills'
import { Backlog } from '../request/stream/backlog'
import type { ReadRows } from '../request-log/request-log'
import type { IssuerWorld } from '../sign-in/issuer'
import { Issuers } from '../sign-in/issuers'
import type { UpstreamWorld } from '../upstreams/connection'
import type { Lookup } from '../webhooks/address'
import type { WebhookWorld } from '../webhooks/sender'
import { followDatabase, openClock, type Reference, timeOf } from './clock'
import { type InForce, putInForce } from './in-force'
import { formatLine } from './log-lines'
import { nodeRow } from './nodes'
import { type Observation, type ObservedRequests, observe, openRequests } from './observation'
import { openReports, type Reports } from './report-database'
import { type UpgradeParts, upgradeSchema } from './schema-upgrade'

/** The parts of the current configuration are read again for each request. */
export interface World extends System, InForce, Observation, MediaWorkers {
  dataDir: string
  db: Db
  /** The file for ends of charges that the database refuses. */
  pendingEnds: PendingRecords
  /** Where an operator's report reads: a replica, if there is one. */
  reportSource: Reports['source']
  /** The name of this process among those that serve from its data directory; null if it is the only one. */
  process: string | null
  requestLog: ObservedRequests
  authenticator: Authenticator
  ticker: Ticker
  /** Limits the bytes that wait for slow callers. */
  backlog: Backlog
  uploads: Uploads
  /** Null if results are not stored. */
  artifacts: Artifacts | null
  /** Seals texts that callers keep for the gateway. */
  sealer: Sealer
  backgroundResponses: BackgroundResponses
  /** Signs receipts. */
  receiptKeys: ReceiptKeys
  drills: RunningDrills

  /** Identity providers for signing in. */
  issuers: Issuers
  bearerTokens: BearerTokens
  lateAppends: LateAppends
  sendEvent: WebhookWorld['sendEvent']
  randomBytes: (count: number) => Uint8Array
  /** Reads the database's clock, if that is the reference, and records the time for later processes. */
  followTime(): Promise<void>
  transport: Transport
  close(): Promise<void>
}

/** Threads that start when they are first needed. */
export interface MediaWorkers {
  tokenCounter: TokenCounter
  audioReader: Pick<AudioReader, 'read' | 'close'>
  mp3Encoder: Mp3Encoder
}

export interface Outside extends UpstreamWorld {
  after: After
  /** The clock of a database that several machines share, in milliseconds since 1970. */
  databaseTime: (db: Db) => Promise<number>
  lookup: Lookup
  openWorkers: () => MediaWorkers
  /** Writes lines of ended requests; absent if none are wanted. */
  logRequests?: ReadRows | undefined
}

const standardError = Bun.stderr.writer()

/** The real clock, network, and a log of JSON lines on standard error. */
export const outside: Outside = {
  wall: Date.now,
  monotonic: () => performance.now(),
  after(milliseconds, run) {
    const timer = setTimeout(run, milliseconds)
    return () => clearTimeout(timer)
  },
  databaseTime: timeOf,
  transport: directTransport,
  lookup: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  openWorkers: () => ({
    tokenCounter: createTokenCounter(),
    audioReader: new AudioReader(),
    mp3Encoder: createMp3Encoder(),
  }),
  log: (event, fields) => {
    writeLog(formatLine({ at: Date.now(), level: levelOf(event), event, fields }, 'json'))
  },
}

/** Writes lines to standard error. Not with console.error, which colours every line red on a terminal. */
export function writeLog(lines: string): void {
  standardError.write(lines)
  standardError.flush()
}

/** A time-ordered id, unique on any number of nodes. `at` is its time, in milliseconds since 1970. */
export function newId(prefix: string, at = Date.now()): string {
  return `${prefix}_${Bun.randomUUIDv7('buffer', at).toString('hex')}`
}

export function randomBytes(count: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(count))
}

interface OpenOptions {
  /** Which role the process has in the rules of schemas. */
  role: DatabaseRole
  /** For commands, whose reports may read for minutes; a serving process must not delay others. */
  patient?: boolean
  /** For the roles that may upgrade the database to another schema. */
  upgrade?: UpgradeParts
}

/** Opens the database of a configuration: PostgreSQL, or SQLite in the data directory. Throws `SchemaRefused`. */
export async function openDatabase(config: Config, dataDir: string, options: OpenOptions): Promise<Db> {
  const db = connect(config, dataDir, options)
  try {
    await requireWholeCopy(db)
    const found = await findSchema(db)
    const verdict = verdictOn(found, options.role)
    if (verdict === 'make') await migrate(db)
    if (verdict === 'upgrade' && options.upgrade)
      await upgradeSchema(db, found, { file: databaseFile(dataDir), dataDir, ...options.upgrade })
    await registerKey(db)
  } catch (error) {
    await db.close()
    throw error
  }
  return db
}

/**
 * Opens the database of a configuration for a command, only to be read until the command changes something. None is created before
 * that, and one with an older schema is read unchanged.
 */
export async function openForCommand(config: Config, dataDir: string): Promise<Db> {
  const openToWrite = () => openDatabase(config, dataDir, { role: 'change', patient: true })
  return writableOnDemand(await openReader(config, dataDir), openToWrite)
}

async function openReader(config: Config, dataDir: string): Promise<Db> {
  if (!config.database) requireUnmoved(dataDir)
  if (!config.database && !existsSync(databaseFile(dataDir))) {
    requireWholeLog(databaseFile(dataDir))
    return openEmpty(config)
  }
  const reader = connect(config, dataDir, { patient: true, readonly: true })
  try {
    await requireWholeCopy(reader)
    const found = await findSchema(reader)
    const verdict = verdictOn(found, 'read')
    if (verdict === 'pretend') {
      await reader.close()
      return await openEmpty(config)
    }
    await requireKeys(reader)
    return verdict === 'read' ? olderReader(reader, found) : reader
  } catch (error) {
    await reader.close()
    throw error
  }
}

async function openEmpty(config: Config): Promise<Db> {
  const empty = openSqlite(':memory:', { codec: codecOf(config) })
  await migrate(empty)
  return empty
}

function connect(
  config: Config,
  dataDir: string,
  options: { patient?: boolean; readonly?: boolean } = {},
): Db {
  const codec = codecOf(config)
  if (config.database) return openPostgres(config.database, { ...options, codec })
  requireUnmoved(dataDir)
  return openSqlite(databaseFile(dataDir), { ...options, codec })
}

/** Fails for a data directory whose database was moved to PostgreSQL: otherwise an empty one would be created in its place. */
function requireUnmoved(dataDir: string): void {
  const moved = movedFile(dataDir)
  if (!existsSync(moved)) return
  throw new DatabaseUnavailable(
    `the database was moved to PostgreSQL, and the configuration does not name that: set database, or GATEWAY_DATABASE_URL. To begin with an empty one, move ${moved} away`,
  )
}

function codecOf({ secrets }: Config) {
  return createCodec(masterKeysOf(secrets), randomBytes)
}

/** How the database of a configuration is encrypted, without changing it; undefined if the database does not exist. */
export async function encryptionOf(config: Config, dataDir: string): Promise<Encryption | undefined> {
  if (!config.database && !existsSync(databaseFile(dataDir))) return undefined
  const db = connect(config, dataDir, { readonly: true })
  try {
    return await readEncryption(db)
  } finally {
    await db.close()
  }
}

interface DatabaseState extends FoundSchema {
  kind: Db['kind']
  /** Time of the server in milliseconds since 1970; undefined for a file. */
  timeMs: number | undefined
  /** `version()` of the server, such as `PostgreSQL 18.1 on x86_64 …`; undefined for a file. */
  engine: string | undefined
}

/** The state of the database of a configuration, without changing it; undefined if the database does not exist. */
export function inspectDatabase(config: Config, dataDir: string): Promise<DatabaseState | undefined> {
  return readDatabase(config, dataDir, async (db) => {
    const found = await findSchema(db)
    const isServer = db.kind === 'postgres'
    const timeMs = isServer ? await outside.databaseTime(db) : undefined
    const engine = isServer ? await engineOf(db) : undefined
    await requireWholeCopy(db)
    return { kind: db.kind, ...found, timeMs, engine }
  })
}

async function engineOf(db: Db): Promise<string> {
  const [row] = await db.query({ sql: 'select version() as version' })
  return String(row?.version)
}

/** Reads a database that may be in use, and never changes it. Undefined if the database does not exist. Throws if it cannot be opened. */
export async function readDatabase<Result>(
  config: Config,
  dataDir: string,
  read: (db: Db) => Promise<Result>,
): Promise<Result | undefined> {
  if (!config.database) requireUnmoved(dataDir)
  if (!config.database && !existsSync(databaseFile(dataDir))) return undefined
  const db = connect(config, dataDir, { readonly: true })
  try {
    return await read(db)
  } finally {
    await db.close()
  }
}

export function databaseFile(dataDir: string): string {
  return join(dataDir, 'gateway.sqlite')
}

/** The name of a database that was moved to PostgreSQL. */
export function movedFile(dataDir: string): string {
  return `${databaseFile(dataDir)}.moved`
}

/**
 * The sealer of texts that callers keep for the gateway, with the operator's key, otherwise with one that all nodes of the database
 * share.
 */
async function openSealer({ secrets }: Config, db: Db, now: number): Promise<Sealer> {
  const makeKey = () => Buffer.from(randomBytes(KEY_BYTES)).toString('base64url')
  const shared = Buffer.from(await secretOf(db, 'sealing', makeKey, now), 'base64url')
  const { current, older } = masterKeysOf(secrets)
  const [first, ...rest] = current ? [current, ...older, shared] : [shared, ...older]
  return createSealer([first, ...rest], 'callers', randomBytes)
}

/** Creates the data directory, readable only by its owner. */
export function makeDataDir(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
}

/** The clock that ours follows: that of a shared database, otherwise the machine's own. */
async function referenceOf(db: Db, { wall, databaseTime, monotonic }: Outside): Promise<Reference> {
  if (db.kind !== 'postgres') return { at: wall, refresh: async () => {} }
  return followDatabase(() => databaseTime(db), monotonic)
}

/** The clock of this process. Whenever it records the time, it records that it serves, until it leaves. */
async function openTime(db: Db, processes: Processes | undefined, from: Outside) {
  const clock = await openClock(db, await referenceOf(db, from), from)
  const node = nodeRow(db, `${hostname()}/${processes?.own ?? newId('process')}`)
  return {
    now: clock.now,
    async followTime() {
      await clock.followTime()
      await node.note()
    },
    leave: () => node.forget(),
  }
}

/** The file of this process. Without space for it, an answer whose charge the database refuses is not sent completely. */
function openPendingEnds(dataDir: string, processes: Processes | undefined, log: Log): PendingFile {
  const file = new PendingFile(dataDir, processes?.own ?? newId('process'))
  if (!file.hasRoom) log('pending_ends_no_room', { folder: dataDir })
  return file
}

/** The processes that serve from one data directory: more than one while a newer one takes over. */
export interface Processes {
  /** The name of this one. */
  own: string
  /** The names of the other live processes. */
  others(): string[]
}

/** Identity providers, and their tokens in place of those of this gateway. */
function openSignIn(inForce: InForce, from: Omit<BearerWorld & IssuerWorld, 'issuers'>) {
  const issuers = new Issuers(inForce, from)
  return { issuers, bearerTokens: new BearerTokens({ ...from, issuers }) }
}

function authenticatorOf(
  inForce: InForce,
  { db, now, monotonic, bearerTokens }: Pick<World, 'db' | 'now' | 'monotonic' | 'bearerTokens'>,
): Authenticator {
  return createAuthenticator(db, {
    now,
    monotonic,
    plan: (name) => inForce.plans.get(name),
    keyOfToken: (token) => bearerTokens.ownerOf(token, 'calls'),
  })
}

export async function openWorld(
  config: Config,
  dataDir: string,
  from: Outside = outside,
  processes?: Processes,
): Promise<World> {
  makeDataDir(dataDir)
  const uploads = openUploads(join(dataDir, 'uploads'), newId, processes)
  const observation = observe(config, { ...from, randomBytes })
  const { monotonic, wall, after, transport, log } = { ...from, ...observation }
  const others = () => processes?.others() ?? []
  const upgrade = { log, wall, others, makesCopy: true }
  const db = await openDatabase(config, dataDir, { role: 'upgrade', upgrade })
  const pendingEnds = openPendingEnds(dataDir, processes, log)
  const { now, followTime, leave } = await openTime(db, processes, { ...from, log })
  const requestLog = await openRequests(config, observation, { ...from, db, dataDir, now, newId })
  const reports = openReports(config, { ...from, db, requestLog, now, log })
  const workers = from.openWorkers()
  const ticker = createTicker(from)
  const results = { ...from, ...observation, db, dataDir, uploads, ticker, newId, randomBytes, now }
  const artifacts = await openArtifacts(config, results)
  const inForce = putInForce(config, { ...from, log })
  const signIn = openSignIn(inForce, { db, now, monotonic, newId, randomBytes, transport })
  return Object.assign(inForce, {
    ...observation,
    dataDir,
    db,
    pendingEnds,
    reportSource: reports.source,
    process: processes?.own ?? null,
    requestLog,
    authenticator: authenticatorOf(inForce, { db, now, monotonic, ...signIn }),
    ...workers,
    ticker,
    backlog: new Backlog(log),
    uploads,
    artifacts,
    sealer: await openSealer(config, db, now()),
    backgroundResponses: new BackgroundResponses({ db, now, after, log }),
    drills: new RunningDrills({ db, now, random: Math.random }),
    receiptKeys: new ReceiptKeys({ db, now, monotonic, randomBytes }),

    ...signIn,
    lateAppends: new LateAppends(db),
    sendEvent: sendEventsBy(inForce),
    randomBytes,
    now,
    monotonic,
    wall,
    after,
    followTime,
    newId,
    random: Math.random,
    transport,
    async close() {
      ticker.stop()
      for (const upstream of inForce.catalogue.upstreams.values()) upstream.close()
      for (const worker of Object.values(workers)) worker.close()
      await requestLog.close()
      await reports.close()
      await leave()
      await db.close()
      // Last: the database may refuse an end until it is closed.
      pendingEnds.close()
    },
  })
}
