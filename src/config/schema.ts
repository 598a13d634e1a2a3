// The configuration file: its schema, and a check that lists every fault at once.
// Unknown keys are faults, because a typing error in a price must stop the start, not under-bill for a month.

import { type Static, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import ipaddr from 'ipaddr.js'
import type { Family } from '../contract/family'
import { type OperationName, operations } from '../contract/operations'
import { families } from '../families'
import { upstreamKinds } from '../upstreams/kinds'
import { UpstreamEntry } from '../upstreams/settings'
import { ArtifactsEntry, artifactFaults } from './artifacts'
import { type PriceConfig, priceFaults } from './prices'

const closed = { additionalProperties: false }
const Count = Type.Integer({ minimum: 1, maximum: 1_000_000_000 })
const Share = Type.Integer({ minimum: 1, maximum: 1_000_000 })

/** Scheme, host and port of a web page: `https://app.example.com`. */
const Origin = Type.String({ pattern: '^https?://[a-z0-9.:[\\]-]+$' })

const BodyLimits = Type.Object(
  Object.fromEntries(
    [...operations.map(({ name }) => name), 'mcp' as const].map((name) => [name, Count]),
  ) as Record<OperationName | 'mcp', typeof Count>,
)

const Server = Type.Object(
  {
    host: Type.Optional(Type.String({ minLength: 1 })),
    port: Type.Optional(Type.Integer({ minimum: 0, maximum: 65535 })),
    /** Whether a key is read from the header `x-api-key` too. Absent: on the paths of messages only. */
    acceptXApiKey: Type.Optional(Type.Boolean()),
    /** Where callers reach this gateway when it is not what they call it by, as behind a proxy: `https://ai.example.com`. */
    publicUrl: Type.Optional(Type.String({ pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$' })),
    /** Web pages that may use tools from a browser, beside those of the gateway itself and of localhost: `https://app.example.com`. */
    allowedOrigins: Type.Optional(Type.Array(Origin)),
    /** Web pages that may call the API below /v1 from a browser. Absent: any. None: an empty list. */
    corsOrigins: Type.Optional(Type.Array(Origin)),
    /** Bytes of the largest body of an operation, or of the messages of tools; unpacked, where it is packed. */
    maxBodyBytes: Type.Optional(Type.Partial(BodyLimits, closed)),
    /** Longest time from a new connection to the end of the headers of its first request. Default 20 seconds. */
    headersTimeoutMs: Type.Optional(Type.Integer({ minimum: 10_000, maximum: 255_000 })),
    /** Longest silence of a connection between requests, or of a caller who takes no byte of an answer. Default 2 minutes. */
    keepAliveTimeoutMs: Type.Optional(Type.Integer({ minimum: 1_000, maximum: 255_000 })),
    /**
     * Most open connections and files, to callers and to vendors together. Default 20,000; at most what the operating
     * system allows a process, less an eighth. Beyond it silent connections are closed, then new ones refused. Linux only.
     */
    maxConnections: Type.Optional(Count),
    /**
     * Most connections of one address, with IPv6 of one /64. Default 1,000 or a quarter of all, and none for private
     * addresses, from which proxies call for everybody; one that is set holds for these too. Linux only.
     */
    maxConnectionsPerAddress: Type.Optional(Count),
    /** Most requests of one key that run at a time in this process; a key's own concurrency may allow more. Default 2000. */
    maxRequestsPerKey: Type.Optional(Count),
  },
  closed,
)

const Webhooks = Type.Object(
  {
    /** Private networks that webhooks may go to all the same, as CIDR: `192.168.0.0/16`. */
    allow: Type.Optional(Type.Array(Type.String())),
  },
  closed,
)

const ModelEntry = Type.Object(
  {
    /** One payload contract, or one for each operation that the model serves. */
    family: Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1 })]),
    /** One connection, or several that are equal with the share that each gets: `{ east: 2, west: 1 }`. */
    upstream: Type.Union([Type.String(), Type.Record(Type.String(), Share, { minProperties: 1 })]),
    /** The vendor's name; absent: the same as ours. */
    upstreamModel: Type.Optional(Type.String({ minLength: 1 })),
    ownedBy: Type.Optional(Type.String({ minLength: 1 })),
    /** Judged apart, in words of its own. */
    price: Type.Optional(Type.Unsafe<PriceConfig>(Type.Object({}))),
    /** Costs nothing; a model without a price is refused unless it says so. */
    free: Type.Optional(Type.Literal(true)),
    /** Refuses requests with a field that the payload contract does not name. Default: such fields go to the vendor. */
    strictFields: Type.Optional(Type.Boolean()),
    reasoning: Type.Optional(Type.Boolean()),
    /** Output tokens that are held where the caller sets no limit. Default 4096. */
    reserveOutputTokens: Type.Optional(Count),
    /** Most tokens that the model writes at once, for a vendor that wants a limit. Default: as many as are held. */
    maxOutputTokens: Type.Optional(Count),
    contextTokens: Type.Optional(Count),
    dimensions: Type.Optional(
      Type.Union([Type.Array(Count, { minItems: 1 }), Type.Object({ min: Count, max: Count }, closed)]),
    ),
    batchSize: Type.Optional(Count),
    batchTokens: Type.Optional(Count),
    /** Sizes of images that callers may ask for; absent: what the family knows. */
    sizes: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })),
    /** How many reference images a request must and may have. */
    referenceImages: Type.Optional(
      Type.Object(
        { min: Type.Integer({ minimum: 0, maximum: 100 }), max: Type.Integer({ minimum: 0, maximum: 100 }) },
        closed,
      ),
    ),
    /** False for a model that edits whole images only. */
    mask: Type.Optional(Type.Boolean()),
    /** Seconds that a video may have; `vendorMayChoose` allows -1. */
    durations: Type.Optional(
      Type.Object(
        { min: Count, max: Count, default: Count, vendorMayChoose: Type.Optional(Type.Boolean()) },
        closed,
      ),
    ),
  },
  closed,
)

/** A list of models that are tried in order, until one answers. */
const RouteEntry = Type.Object(
  {
    route: Type.Array(Type.String(), { minItems: 1, maxItems: 16 }),
    ownedBy: Type.Optional(Type.String({ minLength: 1 })),
  },
  closed,
)

const ConfigSchema = Type.Object(
  {
    server: Type.Optional(Server),
    webhooks: Type.Optional(Webhooks),
    artifacts: Type.Optional(ArtifactsEntry),
    /** `postgres://…`; absent: SQLite in the data directory. */
    database: Type.Optional(Type.Union([Type.String({ pattern: '^postgres(ql)?://' }), Type.Undefined()])),
    upstreams: Type.Record(Type.String(), UpstreamEntry),
    /** Each a model or a route; judged one by one, so that a fault is told in the words of what it was meant to be. */
    models: Type.Record(Type.String(), Type.Unknown()),
    /** Other names of models, such as those that a client asks for by itself; `claude-haiku-*` stands for all that begin so. */
    aliases: Type.Optional(Type.Record(Type.String(), Type.String())),
    /** False: models are asked for by their ids and aliases only, not by the vendors' own names for them. Default true. */
    realNames: Type.Optional(Type.Boolean()),
  },
  closed,
)

export type Config = Omit<Static<typeof ConfigSchema>, 'models'> & {
  models: Record<string, ModelConfig | RouteConfig>
}
export type RouteConfig = Static<typeof RouteEntry>
export type ModelConfig = Static<typeof ModelEntry>

const compiled = TypeCompiler.Compile(ConfigSchema)
const compiledModel = TypeCompiler.Compile(ModelEntry)
const compiledRoute = TypeCompiler.Compile(RouteEntry)

/** A model id: lower case, hyphenated, no spaces (spec, chat completions). Dots and slashes for families and owners. */
const MODEL_ID = /^[a-z0-9][a-z0-9._:/-]{0,127}$/

/** Every fault of a configuration, one sentence each, without any secret; none when it is right. */
export function faultsOf(value: unknown): string[] {
  const faults = new Map<string, string>()
  for (const { path, message } of compiled.Errors(value)) {
    const where = path.slice(1).replaceAll('/', '.') || 'the configuration'
    if (!faults.has(where)) faults.set(where, `${where}: ${message}`)
  }
  // What has the right form is judged further even when its neighbour has not, so that one check shows all there is.
  const { webhooks, artifacts, database, upstreams, models, aliases } = recordOf(value)
  const ids = new Map(Object.entries(recordOf(models)))
  const names = new Set(Object.keys(recordOf(upstreams)))
  const others = [
    ...networkFaults(recordOf(webhooks).allow),
    ...artifactFaults(artifacts, database),
    ...upstreamFaults(recordOf(upstreams)),
    ...[...ids].flatMap(([id, entry]) =>
      entryFaults(id, entry, names, ids).map((fault) => `models.${id}${fault}`),
    ),
    ...aliasFaults(recordOf(aliases), ids),
  ]
  return [...new Set([...faults.values(), ...others])]
}

function networkFaults(allow: unknown): string[] {
  const networks = (Array.isArray(allow) ? allow : []).filter((network) => typeof network === 'string')
  return networks
    .filter((network) => !ipaddr.isValidCIDR(network))
    .map((network) => `webhooks.allow: "${network}" is not a network such as "192.168.0.0/16"`)
}

function upstreamFaults(upstreams: Record<string, unknown>): string[] {
  const known = [...upstreamKinds.keys()].join(', ')
  return Object.entries(upstreams).flatMap(([name, entry]) => {
    const { kind, baseUrl } = recordOf(entry)
    const address = typeof baseUrl === 'string' ? addressFault(baseUrl) : undefined
    return [
      ...(typeof kind !== 'string' || upstreamKinds.has(kind)
        ? []
        : [`upstreams.${name}.kind: unknown kind "${kind}"; known: ${known}`]),
      ...(address === undefined ? [] : [`upstreams.${name}.baseUrl: ${address}`]),
    ]
  })
}

/** What of an address would be lost or could not be called. It may hold a password, so it is not quoted. */
function addressFault(baseUrl: string): string | undefined {
  // The schema has said what is wrong.
  if (!/^https?:\/\//.test(baseUrl)) return undefined
  const url = URL.parse(baseUrl)
  if (!url) return 'not an address such as "https://api.example.com/v1"'
  if (url.username || url.password) return 'a user and a password in an address are not sent: use apiKey'
  return baseUrl.includes('#') ? 'what stands behind # is not sent: leave it out' : undefined
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

/** A record as it is, and nothing in the place of anything else. */
function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {}
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What is wrong with one entry of `models`, each with its place below the entry. */
function entryFaults(
  id: string,
  entry: unknown,
  upstreams: Set<string>,
  models: ReadonlyMap<string, unknown>,
): string[] {
  const faults = MODEL_ID.test(id)
    ? []
    : [': a model id is lower case, without spaces, at most 128 characters']
  const schema = isRecord(entry) && 'route' in entry ? compiledRoute : compiledModel
  const places = new Set<string>()
  for (const { path, message } of schema.Errors(entry)) {
    if (!places.has(path)) faults.push(`${path.replaceAll('/', '.')}: ${message}`)
    places.add(path)
  }
  if (places.size > 0) return faults
  if (isRoute(entry as ModelConfig | RouteConfig))
    return [...faults, ...routeFaults(entry as RouteConfig, models)]
  return [...faults, ...modelFaults(entry as ModelConfig, upstreams)]
}

function routeFaults({ route }: RouteConfig, models: ReadonlyMap<string, unknown>): string[] {
  return route.flatMap((id, index) => {
    if (route.indexOf(id) < index) return [`.route: "${id}" stands there twice`]
    const target = models.get(id)
    if (target === undefined) return [`.route: there is no model "${id}"`]
    return isRecord(target) && 'route' in target ? [`.route: "${id}" is a route itself`] : []
  })
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
    faults.push('.price: missing; a model that costs nothing must say `free: true`')
  if (!model.price) return faults
  return [...faults, ...priceFaults(model.price, familiesOf(model)).map((fault) => `.price${fault}`)]
}

/** The families of a model, as far as they are known. */
export function familiesOf(model: ModelConfig): Family[] {
  return [model.family].flat().flatMap((name) => families.get(name) ?? [])
}
