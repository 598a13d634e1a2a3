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
    kind: requiredSetting('What it speaks (below).', Type.String()),
    baseUrl: optionalSetting(
      "Where it is. A query such as `?api-version=1` goes with every call. Default: the vendor's own.",
      Type.String({ pattern: '^https?://' }),
    ),
    apiKey: optionalSetting(
      'One key, or several: each conversation keeps to one of them, other requests use them in turn, and one that is refused rests (docs/operate/affinity.md). `null` for a server that needs none; TOML writes `false`. A key of fewer than 8 characters is masked in answers and logs only if it cannot be a word or a number. Absent, as an unset environment variable is: its models are hidden.',
      Type.Union([
        Type.String({ minLength: 1 }),
        Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
        Type.Null(),
        Type.Undefined(),
      ]),
    ),
    apiKeyFile: optionalSetting(
      'Instead of `apiKey`: a file that holds the key, such as a mounted secret. Read at the start.',
      Type.String({ minLength: 1 }),
    ),
    credentials: optionalSetting(
      'Instead of `apiKey`, for a vendor whose requests are signed: `accessKeyId`, `secretAccessKey`, and the `sessionToken` of temporary ones. Absent, as unset environment variables are: its models are hidden. `aws`: those that this machine has, looked for where the tools of AWS do (docs/vendors.md).',
      Type.Union([
        Type.Literal('aws'),
        Type.Object({ accessKeyId: Secret, secretAccessKey: Secret, sessionToken: Secret }, closed),
      ]),
    ),
    region: optionalSetting(
      'The region of a vendor that has several: `eu-central-1`, `europe-west4`, `global`.',
      Type.String({ pattern: '^[a-z0-9-]+$' }),
    ),
    project: optionalSetting(
      "The vendor's project, or workspace, that pays. Default: that of the key, if the key names one.",
      Type.String({ pattern: '^[A-Za-z0-9:._-]+$' }),
    ),
    apiVersion: optionalSetting(
      "The version of the API, for a vendor that has several: `2024-10-21`. Default: the vendor's newest way.",
      Type.String({ pattern: '^[A-Za-z0-9._-]+$' }),
    ),
    auth: optionalSetting(
      "How the key is sent, where that is not the kind's own way: `{ header: 'x-api-key', scheme: '' }`. Default of `header`: `authorization`; of `scheme`, the word before the key: `Bearer`.",
      Type.Object(
        {
          header: Type.Optional(Type.String({ pattern: TOKEN })),
          scheme: Type.Optional(Type.String({ pattern: '^[!-~]*$' })),
        },
        closed,
      ),
    ),
    headers: optionalSetting(
      'Headers of every call to it, which win over all others.',
      Type.Record(Type.String(), Type.String({ pattern: '^[\\t -~]*$' })),
    ),
    query: optionalSetting(
      'Parameters in the address of every call to it.',
      Type.Record(Type.String({ minLength: 1 }), Type.String()),
    ),
    defaultBody: optionalSetting(
      'Fields of every body that a request does not set itself: `{ temperature: 0.2 }`. They are checked, held and charged as if the caller had sent them.',
      Fields,
    ),
    forcedBody: optionalSetting(
      'Fields of every body, whatever a request says: `{ max_tokens: 1000, store: false }`. They are checked, held and charged as if the caller had sent them. After a failure only models whose upstreams set the same fields are tried.',
      Fields,
    ),
    omittedFields: optionalSetting(
      "Top-level fields of JSON bodies that it does not get, because it refuses them and they can be left out: `['verbosity']`. `gateway upstreams refusals` lists what vendors refuse.",
      Type.Array(Type.String({ minLength: 1 })),
    ),
    proxy: optionalSetting(
      'The proxy that it is called through, which speaks HTTP itself: `http://user:password@proxy.example.com:3128`. `null`: none, whatever the environment says. Default: that of the environment.',
      Type.Union([Type.String({ pattern: '^https?://' }), Type.Null()]),
    ),
    tls: optionalSetting(
      'Files in PEM form, read at the start: `caFile`, the authorities that vouch for it instead of the usual ones; `certFile` and `keyFile`, the certificate that it knows this gateway by.',
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
    idleTimeoutMs: optionalSetting('The longest silence inside a stream. Default 2 minutes.', Milliseconds),
    maxDurationMs: optionalSetting(
      'The longest duration of a whole request. Default 30 minutes.',
      Milliseconds,
    ),
    concurrency: optionalSetting('The most requests that run at a time. Default 4,096.', Count),
    onAbort: optionalSetting(
      'What to do when the caller leaves a stream: `cancel` the vendor, or `drain` it for its true usage. Default `cancel`.',
      Type.Union([Type.Literal('cancel'), Type.Literal('drain')]),
    ),
    fileHosts: optionalSetting(
      'Further hosts that its results may be on, besides those that are known: `files.example.com`, or `.example.com` for all below it.',
      Type.Array(Type.String({ pattern: '^[a-z0-9.:-]+$' })),
    ),
    pollsPerSecond: optionalSetting(
      'The most polls of its video tasks a second. Default 20.',
      Type.Integer({ minimum: 1, maximum: 10_000 }),
    ),
    taskDeadlineMs: optionalSetting(
      'How long a task may take. Default 24 hours.',
      Type.Integer({ minimum: 1, maximum: 7 * 86_400_000 }),
    ),
    listed: optionalSetting(
      "`true` serves every model of the vendor's list that ships with the gateway (docs/catalogue.md), by the vendor's names and at its prices; `'fast/*'` names them otherwise. Models of the configuration win. Default false.",
      Type.Union([Type.Boolean(), Type.String({ pattern: '^[^*]*[*]$' })]),
    ),
    discover: optionalSetting(
      "For a kind whose models are all free (docs/vendors.md): `true` serves all models that the server has, as `NAME/model`, free, and looks every minute for new ones; `'local/*'` names them otherwise. Models of the configuration win. Default false.",
      Type.Union([Type.Boolean(), Type.String({ pattern: '^[^*]*[*]$' })]),
    ),
    markup: optionalSetting(
      'What callers pay above the cost of its models that have a `cost` and no price: `20%`. Default: the `markup` of all.',
      Type.String(),
    ),
    sharedAccount: optionalSetting(
      "`false` where one customer alone uses the vendor's account: fields that name what is kept in it, such as files and earlier answers, are then taken. Default true: they are refused, because an id would reach what is another's.",
      Type.Boolean(),
    ),
    allowPrivateAddresses: optionalSetting(
      '`true` lets callers name pictures and files on its own machine and in private networks, which it then reads: `http://192.168.1.5/cat.png`. Default false: such addresses are refused. Names are not looked up.',
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
