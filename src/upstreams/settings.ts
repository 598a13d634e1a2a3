// The settings of an upstream in the configuration file. Every setting except the kind must have a default, at the place where it
// is used.

import { type Static, Type } from '@sinclair/typebox'
import { Count, closed, Milliseconds, optionalSetting, requiredSetting } from '../lib/setting'

/** The name of a header. */
const TOKEN = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
/** Undefined, like an unset environment variable. */
const Secret = Type.Optional(Type.Union([Type.String({ minLength: 1 }), Type.Undefined()]))
const Fields = Type.Record(Type.String({ minLength: 1 }), Type.Unknown())

export const UpstreamEntry = Type.Object(
  {
    kind: requiredSetting('The kind of its API (below).', Type.String()),
    baseUrl: optionalSetting(
      "Its base URL. A query such as `?api-version=1` is sent with every call. Default: the vendor's own.",
      Type.String({ pattern: '^https?://' }),
    ),
    apiKey: optionalSetting(
      'One key, or several: each conversation stays with one of them, other requests use them in turn, and a refused key rests (docs/operate/affinity.md). `null` (`false` in TOML) for a server that needs none. A key of fewer than 8 characters is masked in answers and logs only if it cannot be a word or a number. If absent, such as from an unset environment variable, the models of the upstream are hidden.',
      Type.Union([
        Type.String({ minLength: 1 }),
        Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
        Type.Null(),
        Type.Undefined(),
      ]),
    ),
    apiKeyFile: optionalSetting(
      'Instead of `apiKey`: a file with the key, such as a mounted secret. Read at the start.',
      Type.String({ minLength: 1 }),
    ),
    credentials: optionalSetting(
      'Instead of `apiKey`, for a vendor whose requests are signed: `accessKeyId`, `secretAccessKey`, and the `sessionToken` of temporary ones. If absent, such as from unset environment variables, the models of the upstream are hidden. `aws`: the credentials of this machine, found like AWS tools find them (docs/vendors.md).',
      Type.Union([
        Type.Literal('aws'),
        Type.Object({ accessKeyId: Secret, secretAccessKey: Secret, sessionToken: Secret }, closed),
      ]),
    ),
    region: optionalSetting(
      'The region, for a vendor with several: `eu-central-1`, `europe-west4`, `global`.',
      Type.String({ pattern: '^[a-z0-9-]+$' }),
    ),
    project: optionalSetting(
      "The vendor's project or workspace to bill. Default: that of the key, if the key names one.",
      Type.String({ pattern: '^[A-Za-z0-9:._-]+$' }),
    ),
    apiVersion: optionalSetting(
      "The version of the API, for a vendor with several versions: `2024-10-21`. Default: the vendor's newest API.",
      Type.String({ pattern: '^[A-Za-z0-9._-]+$' }),
    ),
    auth: optionalSetting(
      "How the key is sent, if it differs from the kind's own way: `{ header: 'x-api-key', scheme: '' }`. `header` is `authorization` by default, and `scheme`, the word before the key, is `Bearer`.",
      Type.Object(
        {
          header: Type.Optional(Type.String({ pattern: TOKEN })),
          scheme: Type.Optional(Type.String({ pattern: '^[!-~]*$' })),
        },
        closed,
      ),
    ),
    headers: optionalSetting(
      'Headers of every call, which override all others.',
      Type.Record(Type.String(), Type.String({ pattern: '^[\\t -~]*$' })),
    ),
    query: optionalSetting(
      'Query parameters of every call.',
      Type.Record(Type.String({ minLength: 1 }), Type.String()),
    ),
    defaultBody: optionalSetting(
      'Fields added to every body that lacks them: `{ temperature: 0.2 }`. They are checked, held and charged as if the caller had sent them.',
      Fields,
    ),
    forcedBody: optionalSetting(
      'Fields set in every body, whatever the request says: `{ max_tokens: 1000, store: false }`. They are checked, held and charged as if the caller had sent them. After a failure only models whose upstreams set the same fields are tried.',
      Fields,
    ),
    omittedFields: optionalSetting(
      "Top-level fields that are removed from JSON bodies because the vendor refuses them: `['verbosity']`. `gateway upstreams refusals` lists refused fields.",
      Type.Array(Type.String({ minLength: 1 })),
    ),
    proxy: optionalSetting(
      'The HTTP proxy for its calls: `http://user:password@proxy.example.com:3128`. `null`: none, whatever the environment says. Default: the proxy of the environment.',
      Type.Union([Type.String({ pattern: '^https?://' }), Type.Null()]),
    ),
    tls: optionalSetting(
      'PEM files, read at the start: `caFile`, the certificate authorities to trust instead of the usual ones; `certFile` and `keyFile`, the client certificate of this gateway.',
      Type.Object(
        {
          caFile: Type.Optional(Type.String({ minLength: 1 })),
          certFile: Type.Optional(Type.String({ minLength: 1 })),
          keyFile: Type.Optional(Type.String({ minLength: 1 })),
        },
        closed,
      ),
    ),
    timeoutMs: optionalSetting(
      'The longest wait for the first byte of an answer. Default 10 minutes.',
      Milliseconds,
    ),
    idleTimeoutMs: optionalSetting('The longest pause within a stream. Default 2 minutes.', Milliseconds),
    maxDurationMs: optionalSetting(
      'The longest duration of a whole request. Default 30 minutes.',
      Milliseconds,
    ),
    concurrency: optionalSetting('Maximum number of running requests. Default 4,096.', Count),
    onAbort: optionalSetting(
      'What happens when the caller disconnects from a stream: `cancel` the call, or `drain` it to learn its true usage. Default `cancel`.',
      Type.Union([Type.Literal('cancel'), Type.Literal('drain')]),
    ),
    fileHosts: optionalSetting(
      'Additional hosts of its results: `files.example.com`, or `.example.com` for all its subdomains.',
      Type.Array(Type.String({ pattern: '^[a-z0-9.:-]+$' })),
    ),
    pollsPerSecond: optionalSetting(
      'Maximum number of polls of its video tasks per second. Default 20.',
      Type.Integer({ minimum: 1, maximum: 10_000 }),
    ),
    taskDeadlineMs: optionalSetting(
      'The maximum duration of a task. Default 24 hours.',
      Type.Integer({ minimum: 1, maximum: 7 * 86_400_000 }),
    ),
    listed: optionalSetting(
      "`true` serves every model of the vendor's list that ships with the gateway (docs/catalogue.md), by the vendor's names and at its prices; `'fast/*'` adds a prefix to their names. Configured models take precedence. Default false.",
      Type.Union([Type.Boolean(), Type.String({ pattern: '^[^*]*[*]$' })]),
    ),
    discover: optionalSetting(
      "For a kind whose models are all free (docs/vendors.md): `true` serves all models of the server, as `NAME/model`, and checks for new ones every minute; `'local/*'` sets another prefix. Configured models take precedence. Default false.",
      Type.Union([Type.Boolean(), Type.String({ pattern: '^[^*]*[*]$' })]),
    ),
    markup: optionalSetting(
      'Markup on the cost of its models that have a `cost` and no price: `20%`. Default: the global `markup`.',
      Type.String(),
    ),
    sharedAccount: optionalSetting(
      "`false` if only one customer uses the vendor's account: fields that name its content, such as files and earlier answers, are then accepted. Default true: they are refused, because an id could name another customer's content.",
      Type.Boolean(),
    ),
    allowPrivateAddresses: optionalSetting(
      "`true` lets callers name pictures and files on the upstream's own machine and in private networks, which the upstream then reads: `http://192.168.1.5/cat.png`. Default false: such URLs are refused. Host names are not resolved.",
      Type.Boolean(),
    ),
    streamUsage: optionalSetting(
      '`false` for a server that refuses `stream_options`. Default true.',
      Type.Boolean(),
    ),
  },
  closed,
)

/** The environment variable from which the configuration file reads the missing key of an upstream. It is not a setting. */
export const KEY_VARIABLE = Symbol('key variable')

export type UpstreamConfig = Static<typeof UpstreamEntry> & { readonly [KEY_VARIABLE]?: string }
