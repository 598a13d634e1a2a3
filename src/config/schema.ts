// The configuration file: its schema, and a check that lists every fault at once. Unknown keys must be faults: a typing
// error in a price must stop the start, not under-bill for a month.

import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { Errors, type ValueError } from '@sinclair/typebox/errors'
import { Check } from '@sinclair/typebox/value'
import type { Family } from '../contract/family'
import { largestBodies, type OperationName, operations } from '../contract/operations'
import { families } from '../families'
import { asObject, isObject } from '../lib/objects'
import { Count, closed, optionalSetting, requiredSetting } from '../lib/setting'
import { UpstreamEntry } from '../upstreams/settings'
import { AdminEntry, adminFaults } from './admin'
import { AffinityEntry, affinityFaults } from './affinity'
import { ArtifactsEntry, artifactFaults } from './artifacts'
import { BackupEntry, backupFaults } from './backup'
import { ConsoleEntry, consoleFaults, mcpSignInFaults } from './console'
import { EventsEntry, eventFaults, RecipientEntry, SmtpEntry } from './events'
import { networkFaults, TlsEntry, tlsFaults } from './listening'
import { BodiesEntry, LogEntry, logFaults, removedLogSetting } from './log'
import { MetricsEntry, metricsFaults } from './metrics'
import { costFaults } from './models/costs'
import { ModelEntry } from './models/model-entry'
import { ModelListEntry } from './models/model-lists'
import { AmountEntry, PlanEntry, planFaults } from './models/plans'
import { priceFaults } from './models/prices'
import { CacheEntry, cacheFaults } from './models/response-cache'
import {
  ConditionEntry,
  FallbackEntry,
  type RouteConfig,
  RouteEntry,
  routeFaults,
} from './models/route-entry'
import { TraitsEntry, traitFault } from './models/traits'
import { PaymentsEntry, paymentFaults, StripeEntry } from './payments'
import { ResponsesEntry, responseFaults } from './responses'
import { RetentionEntry, retentionFaults } from './retention'
import { SecretsEntry, secretFaults } from './secrets'
import { GroupEntry, SignInEntry, signInFaults, TokensEntry } from './sign-in'
import { SellerEntry, StatementsEntry, statementFaults, TaxEntry } from './statements'
import { TelemetryEntry } from './telemetry'
import { upstreamFaults } from './upstreams'
import { UsageEntry } from './usage'
import { Webhooks } from './webhooks'

/** Scheme, host and port of a web page: `https://app.example.com`. */
const Origin = Type.String({ pattern: '^https?://[a-z0-9.:[\\]-]+$' })

const BodyLimits = Type.Object(
  Object.fromEntries(
    [...operations.map(({ name }) => name), 'mcp' as const].map((name) => [name, Count]),
  ) as Record<OperationName | 'mcp', typeof Count>,
)

const Server = Type.Object(
  {
    host: optionalSetting('The address to listen on. Default 127.0.0.1.', Type.String({ minLength: 1 })),
    port: optionalSetting(
      'The port to listen on. Default 8080.',
      Type.Integer({ minimum: 0, maximum: 65535 }),
    ),
    unixSocket: optionalSetting(
      'Path of a unix socket to listen on instead of `host` and `port`, for a proxy on this machine (docs/operate/proxies.md).',
      Type.String({ minLength: 1, maxLength: 90 }),
    ),
    tls: optionalSetting(
      'Listens for HTTPS with a certificate from files, which are read again when they change.',
      TlsEntry,
    ),
    trustedProxies: optionalSetting(
      'Networks of proxies that send the address of their client, as CIDR: `10.0.0.0/8`. `x-forwarded-for` is read only from them and from `unixSocket`; their connections are not limited per address. Default: none.',
      Type.Array(Type.String()),
    ),
    drainSeconds: optionalSetting(
      'How long running answers may continue when this process stops or another one takes over, in seconds. Default 30, and 1,800 when another one takes over.',
      Type.Integer({ minimum: 0, maximum: 86_400 }),
    ),
    watchConfig: optionalSetting(
      'Whether the configuration is reloaded when its file changes, or a file that it imports or names: lists of models, keys and certificates of upstreams. Default false: it is reloaded with SIGHUP or `gateway config reload`.',
      Type.Boolean(),
    ),
    acceptXApiKey: optionalSetting(
      'Whether a key is also read from the header `x-api-key`. Default: only on the paths of messages.',
      Type.Boolean(),
    ),
    acceptKeyInAddress: optionalSetting(
      'Whether a key is also read from `?key=` of URLs below `/v1beta`, as sent by old clients of `generateContent`. The gateway logs no URLs, but proxies in front of it may. Default false.',
      Type.Boolean(),
    ),
    publicUrl: optionalSetting(
      'The URL at which callers reach this gateway behind a proxy: `https://ai.example.com`. Default: the host named in the request.',
      Type.String({ pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$' }),
    ),
    allowedOrigins: optionalSetting(
      'Origins of web pages that may use the tools of `/mcp` from a browser, in addition to the gateway and localhost: `https://app.example.com`.',
      Type.Array(Origin),
    ),
    mcpSignIn: optionalSetting(
      'Whether programs may connect to `/mcp` by OAuth: the holder of a key allows each on a page of the console, with a limit in dollars (docs/operate/connect-agents.md). Needs `publicUrl` and `console.allowRemote`. Default false.',
      Type.Boolean(),
    ),
    corsOrigins: optionalSetting(
      'Origins of web pages that may call `/v1` from a browser. Default: any. An empty list: none.',
      Type.Array(Origin),
    ),
    maxBodyBytes: optionalSetting(
      `The largest body of an operation in bytes, unpacked: \`{ chat: 8388608 }\`. \`mcp\` sets the limit of the tools. Default: ${largestBodies}.`,
      Type.Partial(BodyLimits, closed),
    ),
    headersTimeoutMs: optionalSetting(
      'The longest time from a new connection to the end of the headers of its first request, except on `unixSocket`. Default 20 s.',
      Type.Integer({ minimum: 10_000, maximum: 255_000 }),
    ),
    keepAliveTimeoutMs: optionalSetting(
      'The longest time without traffic on a connection between requests, or without the caller reading any byte of an answer, except on `unixSocket`. Default 2 minutes.',
      Type.Integer({ minimum: 1_000, maximum: 255_000 }),
    ),
    maxConnections: optionalSetting(
      "Maximum number of open connections and files, to callers and upstreams together. Beyond it idle connections are closed, then new ones refused. Linux only. Default 20,000; at most seven eighths of the system's limit (`ulimit -n`).",
      Count,
    ),
    maxConnectionsPerAddress: optionalSetting(
      'Maximum number of connections from one address, or one IPv6 /64. A proxy with a public address opens connections for all its clients: set a limit high enough for it. Linux only. Default 1,000 or a quarter of `maxConnections`; none for private addresses.',
      Count,
    ),
    maxRequestsPerKey: optionalSetting(
      "Maximum number of running requests of one key in one process. The key's own `--concurrency` may allow more. Default 2,000.",
      Count,
    ),
  },
  closed,
)

const ConfigSchema = Type.Object(
  {
    // Resolved before a configuration is checked.
    extends: optionalSetting(
      "`'builtin'`: `upstreams`, `models` and `aliases` add to the built-in catalogue. An entry replaces one of the same name, and `null` removes it. Default: the catalogue is not used.",
      Type.Literal('builtin'),
    ),
    server: optionalSetting('Addresses to listen on, and limits.', Server),
    webhooks: optionalSetting('Networks that webhooks may reach.', Webhooks),
    artifacts: optionalSetting(
      'Keeps results (pictures, videos) that vendors delete after a day. Default: off.',
      ArtifactsEntry,
    ),
    responses: optionalSetting('How long answers of `POST /v1/responses` are stored.', ResponsesEntry),
    database: optionalSetting(
      '`postgres://…`: nodes share keys, money, limits and tasks in this database. Several servers and poolers: docs/operate/scale.md. Default: SQLite in the data directory.',
      Type.Union([Type.String({ pattern: '^postgres(ql)?://' }), Type.Undefined()]),
    ),
    databaseReplica: optionalSetting(
      '`postgres://…`: a streaming replica of `database`, from which operators read usage, ledgers, statements and requests. Default: everything is read from `database`.',
      Type.Union([Type.String({ pattern: '^postgres(ql)?://' }), Type.Undefined()]),
    ),
    admin: optionalSetting(
      'Where the admin API is served. Default: at the port of `server`, for this machine only.',
      AdminEntry,
    ),
    console: optionalSetting(
      'Who signs in to the web console at `/console`, and for how long (docs/operate/console.md).',
      ConsoleEntry,
    ),
    signIn: optionalSetting(
      'Identity providers (OpenID Connect) for signing in, by names of your choice (docs/operate/sign-in.md). Default: none.',
      Type.Record(Type.String(), SignInEntry),
    ),
    metrics: optionalSetting('Where metrics are served. Default: nowhere.', MetricsEntry),
    backup: optionalSetting('When and where the server backs up the database.', BackupEntry),
    events: optionalSetting(
      'Notifications to operators, and their recipients: low balances, vendors that are down, failed backups (docs/operate/events.md). Default: none.',
      EventsEntry,
    ),
    retention: optionalSetting(
      'How long charges stay in the database, and where their archives go. Default: forever.',
      RetentionEntry,
    ),
    payments: optionalSetting('Payment services whose payments are credited. Default: none.', PaymentsEntry),
    telemetry: optionalSetting('Where traces and logs are sent. Default: nowhere.', TelemetryEntry),
    log: optionalSetting('What is logged, and where.', LogEntry),
    secrets: optionalSetting(
      'Encrypts secrets and contents in the database. Default: they are stored in clear text.',
      SecretsEntry,
    ),
    upstreams: requiredSetting(
      'Connections to vendors, each by a name of your choice.',
      Type.Record(Type.String(), UpstreamEntry),
    ),
    // Each entry is a model or a route, checked separately, so that a message names the intended kind.
    models: requiredSetting(
      'Models and routes that callers may request, by id.',
      Type.Record(Type.String(), Type.Unknown()),
    ),
    plans: optionalSetting(
      'Groups of accounts with their own prices, models and limits, by names of your choice (docs/operate/plans.md).',
      Type.Record(Type.String(), PlanEntry),
    ),
    statements: optionalSetting('Seller, logo, tax and note on statements.', StatementsEntry),
    receipts: optionalSetting(
      'Whether each answer has a signed receipt, and months are sealed so that customers can check their statements (docs/receipts.md). Default false.',
      Type.Boolean(),
    ),
    usage: optionalSetting('Metadata by which usage is counted.', UsageEntry),
    markup: optionalSetting(
      "Markup on the cost of models that have a `cost` and no price: `20%`. The prices of the built-in catalogue and of fetched lists then count as the vendors' prices. Default: each model needs a price.",
      Type.String(),
    ),
    limitToBalance: optionalSetting(
      'Whether a non-streaming request that the account cannot cover is sent with the output limit that it can pay for. Default: it is refused with 402.',
      Type.Boolean(),
    ),
    aliases: optionalSetting(
      "Other names of models, such as those that a client requests by default: `{ 'small-*': 'fast' }`. A star at the end matches all names with that prefix.",
      Type.Record(Type.String(), Type.String()),
    ),
    affinity: optionalSetting(
      'How conversations stay with one key and one of several equal upstreams, for their prompt caches (docs/operate/affinity.md). `false`: keys are used in turn, and equal upstreams are chosen at random. Default: by the session named in the request, otherwise by the beginning of its conversation.',
      Type.Union([Type.Literal(false), AffinityEntry]),
    ),
    realNames: optionalSetting(
      "Whether a model can also be requested by the vendor's own name for it. A name shared by two models cannot be used. Default true.",
      Type.Boolean(),
    ),
  },
  closed,
)

/** The parts of the schema that the reference of all settings shows, each with its place. */
export const settingTables = [
  { place: '', schema: ConfigSchema },
  { place: 'server', schema: Server },
  { place: 'server.tls', schema: TlsEntry },
  { place: 'affinity', schema: AffinityEntry },
  { place: 'webhooks', schema: Webhooks },
  { place: 'artifacts', schema: ArtifactsEntry },
  { place: 'responses', schema: ResponsesEntry },
  { place: 'admin', schema: AdminEntry },
  { place: 'console', schema: ConsoleEntry },
  { place: 'signIn.<name>', schema: SignInEntry },
  { place: 'signIn.<name>.groups.<group>', schema: GroupEntry },
  { place: 'signIn.<name>.tokens', schema: TokensEntry },
  { place: 'metrics', schema: MetricsEntry },
  { place: 'backup', schema: BackupEntry },
  { place: 'events', schema: EventsEntry },
  { place: 'events.to.<name>', schema: RecipientEntry },
  { place: 'events.smtp', schema: SmtpEntry },
  { place: 'retention', schema: RetentionEntry },
  { place: 'payments', schema: PaymentsEntry },
  { place: 'payments.stripe', schema: StripeEntry },
  { place: 'plans.<name>', schema: PlanEntry },
  { place: 'plans.<name>.budget, plans.<name>.allowance', schema: AmountEntry },
  { place: 'statements', schema: StatementsEntry },
  { place: 'statements.seller', schema: SellerEntry },
  { place: 'statements.tax', schema: TaxEntry },
  { place: 'usage', schema: UsageEntry },
  { place: 'telemetry', schema: TelemetryEntry },
  { place: 'log', schema: LogEntry },
  { place: 'log.bodies', schema: BodiesEntry },
  { place: 'secrets', schema: SecretsEntry },
  { place: 'upstreams.<name>', schema: UpstreamEntry },
  { place: 'models.<id>', schema: ModelEntry },
  { place: 'models.<id>.cache, plans.<name>.cache', schema: CacheEntry },
  { place: 'models.<id>.traits', schema: TraitsEntry },
  { place: 'models.<id> (a route)', schema: RouteEntry },
  { place: 'models.<id>.fallback (of a route)', schema: FallbackEntry },
  { place: 'models.<id>.when.<model> (of a route)', schema: ConditionEntry },
  { place: 'models.<prefix>* (a list)', schema: ModelListEntry },
] as const

export type Config = Omit<Static<typeof ConfigSchema>, 'models'> & {
  models: Record<string, ModelConfig | RouteConfig>
}
export type { RouteConfig } from './models/route-entry'
export type ModelConfig = Static<typeof ModelEntry>

/** A model id: lower case, with hyphens and no spaces; dots and slashes for families and owners, but no part `.` or `..`. */
const MODEL_ID = /^(?!.*\/\.\.?(\/|$))[a-z0-9][a-z0-9._:/-]{0,127}$/

/** Every fault of a configuration, one sentence each, without any secret; empty if there are none. */
export function faultsOf(value: unknown): string[] {
  const faults = new Map<string, string>()
  for (const { path, message } of errorsOf(ConfigSchema, value)) {
    const where = path.slice(1).replaceAll('/', '.') || 'the configuration'
    const removed = removedLogSetting(where)
    if (removed !== undefined) faults.set('log', removed)
    else if (!faults.has(where)) faults.set(where, `${where}: ${message}`)
  }
  // Parts of the right form are checked further even if others are not, so that one check shows everything.
  const {
    server,
    affinity,
    admin,
    console: consoleEntry,
    signIn,
    webhooks,
    artifacts,
    backup,
    retention,
    responses,
    metrics,
    events,
    payments,
    log,
    secrets,
    database,
    databaseReplica,
    upstreams,
    models,
    aliases,
    plans,
  } = asObject(value)
  const ids = new Map(Object.entries(asObject(models)))
  const names = new Set(Object.keys(asObject(upstreams)))
  const others = [
    ...(databaseReplica !== undefined && database === undefined
      ? ['databaseReplica: it is a copy of `database`, which is not set']
      : []),
    ...networkFaults('server.trustedProxies', asObject(server).trustedProxies),
    ...tlsFaults(asObject(server).tls),
    ...networkFaults('webhooks.allow', asObject(webhooks).allow),
    ...artifactFaults(artifacts, database),
    ...backupFaults(backup),
    ...eventFaults(events),
    ...retentionFaults(retention),
    ...paymentFaults(payments),
    ...responseFaults(responses),
    ...affinityFaults(affinity),
    ...adminFaults(admin),
    ...consoleFaults(consoleEntry),
    ...signInFaults(signIn, plans),
    ...mcpSignInFaults(asObject(server), asObject(consoleEntry)),
    ...metricsFaults(metrics),
    ...logFaults(log),
    ...secretFaults(secrets),
    ...Object.entries(asObject(upstreams)).flatMap(([name, entry]) => upstreamFaults(name, asObject(entry))),
    ...[...ids].flatMap(([id, entry]) =>
      entryFaults(id, entry, names, ids).map((fault) => `models.${id}${fault}`),
    ),
    ...aliasFaults(asObject(aliases), ids),
    ...planFaults(plans, ids),
    ...statementFaults(asObject(value).statements),
  ]
  return [...new Set([...faults.values(), ...others])]
}

/**
 * The errors of a value. Whether there are any is checked first, which takes a hundredth of the time; by interpreting the schema,
 * because code compiled from it would be used once, and compiling takes half of a start.
 */
function errorsOf(schema: TSchema, value: unknown): Iterable<ValueError> {
  return Check(schema, value) ? [] : Errors(schema, value)
}

function aliasFaults(aliases: Record<string, unknown>, models: ReadonlyMap<string, unknown>): string[] {
  return Object.entries(aliases).flatMap(([alias, target]) => {
    if (!/^[^*]+\*?$/.test(alias)) {
      return [`aliases.${alias}: a name, or the beginning of one with a star behind it`]
    }
    if (models.has(alias)) return [`aliases.${alias}: there is a model of this name`]
    if (typeof target !== 'string' || models.has(target)) return []
    return [`aliases.${alias}: there is no model "${target}"`]
  })
}

/** Faults of one entry of `models`, each with its place below the entry. */
function entryFaults(
  id: string,
  entry: unknown,
  upstreams: Set<string>,
  models: ReadonlyMap<string, unknown>,
): string[] {
  const faults = MODEL_ID.test(id)
    ? []
    : [': a model id is lower case, without spaces, at most 128 characters']
  const schema = isObject(entry) && 'route' in entry ? RouteEntry : ModelEntry
  const places = new Set<string>()
  for (const { path, message } of errorsOf(schema, entry)) {
    if (!places.has(path)) faults.push(`${path.replaceAll('/', '.')}: ${traitFault(path) ?? message}`)
    places.add(path)
  }
  if (places.size > 0) return faults
  if (isRoute(entry as ModelConfig | RouteConfig))
    return [...faults, ...routeFaults(entry as RouteConfig, models)]
  return [...faults, ...modelFaults(entry as ModelConfig, upstreams)]
}

export function isRoute(entry: ModelConfig | RouteConfig): entry is RouteConfig {
  return 'route' in entry
}

/** The connections of a model, each with its share. */
export function sharesOf({ upstream }: ModelConfig): [name: string, share: number][] {
  return typeof upstream === 'string' ? [[upstream, 1]] : Object.entries(upstream)
}

function modelFaults(model: ModelConfig, upstreams: Set<string>): string[] {
  const faults: string[] = []
  for (const name of [model.family].flat()) {
    if (!families.has(name))
      faults.push(`.family: unknown family "${name}"; known: ${[...families.keys()].join(', ')}`)
  }
  const operations = familiesOf(model).map(({ operation }) => operation)
  if (new Set(operations).size < operations.length) faults.push('.family: two families for one operation')
  for (const [name] of sharesOf(model)) {
    if (!upstreams.has(name)) faults.push(`.upstream: there is no upstream "${name}"`)
  }
  if (model.free && model.price) faults.push('.price: a free model has no price')
  if (!model.free && !model.price)
    faults.push(
      model.cost
        ? '.price: missing; a model with a cost needs a price too, or a markup'
        : '.price: missing; a model that costs nothing must say `free: true`',
    )
  if (model.cache) faults.push(...cacheFaults(model.cache, model.free === true, familiesOf(model)))
  const own = model.price ? priceFaults(model.price, familiesOf(model)) : []
  faults.push(...own.map((fault) => `.price${fault}`))
  if (own.length > 0) return faults
  const upstreamNames = sharesOf(model).map(([name]) => name)
  return [...faults, ...costFaults(model, upstreamNames, familiesOf(model))]
}

/** The known families of a model. */
export function familiesOf(model: ModelConfig): Family[] {
  return [model.family].flat().flatMap((name) => families.get(name) ?? [])
}
