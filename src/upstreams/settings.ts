// What an operator sets on an upstream: its part of the schema of the configuration file.
// Every setting but the kind has a default, which stands where it is used.

import { type Static, Type } from '@sinclair/typebox'

const closed = { additionalProperties: false }
const Milliseconds = Type.Integer({ minimum: 1, maximum: 86_400_000 })
const Count = Type.Integer({ minimum: 1, maximum: 1_000_000_000 })

export const UpstreamEntry = Type.Object(
  {
    kind: Type.String(),
    /** Absent: the vendor's own. A query is sent with every call. */
    baseUrl: Type.Optional(Type.String({ pattern: '^https?://' })),
    /**
     * One key or several, used in turn. `null` for a server that wants none. Undefined, as an unset environment
     * variable is, hides the models of this upstream.
     */
    apiKey: Type.Optional(
      Type.Union([
        Type.String({ minLength: 1 }),
        Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
        Type.Null(),
        Type.Undefined(),
      ]),
    ),
    /** Longest wait for the first byte of an answer. Default 10 minutes. */
    timeoutMs: Type.Optional(Milliseconds),
    /** Longest silence inside a stream. Default 2 minutes. */
    idleTimeoutMs: Type.Optional(Milliseconds),
    /** Longest duration of a whole request. Default 30 minutes. */
    maxDurationMs: Type.Optional(Milliseconds),
    /** Most requests running at a time. Default 4096. */
    concurrency: Type.Optional(Count),
    /** What to do when the caller leaves a stream: stop the vendor, or read on for its true usage. Default cancel. */
    onAbort: Type.Optional(Type.Union([Type.Literal('cancel'), Type.Literal('drain')])),
    /** Hosts that the vendor's results may lie on, beside those that are known: `files.example.com`, or `.example.com` for all below it. */
    fileHosts: Type.Optional(Type.Array(Type.String({ pattern: '^[a-z0-9.:-]+$' }))),
    /** Most questions a second after tasks that it works on. Default 20. */
    pollsPerSecond: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
    /** How long a task may take. Default 24 hours. */
    taskDeadlineMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 7 * 86_400_000 })),
    /**
     * False where one customer alone uses this account: fields that name what is kept in it, such as files and earlier
     * answers, are then taken. Default true: they are refused, for an id would reach what is another's.
     */
    sharedAccount: Type.Optional(Type.Boolean()),
    /** False for a server that refuses `stream_options`. */
    streamUsage: Type.Optional(Type.Boolean()),
  },
  closed,
)

export type UpstreamConfig = Static<typeof UpstreamEntry>
