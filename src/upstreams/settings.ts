// The settings of an upstream in the configuration file. Every setting except the kind must have a default, which
// stands where it is used.

import { type Static, Type } from '@sinclair/typebox'
import { Count, closed, Milliseconds, optionalSetting, requiredSetting } from '../lib/setting'

export const UpstreamEntry = Type.Object(
  {
    kind: requiredSetting('What it speaks (below).', Type.String()),
    baseUrl: optionalSetting(
      "Where it is. A query such as `?api-version=1` goes with every call. Default: the vendor's own.",
      Type.String({ pattern: '^https?://' }),
    ),
    apiKey: optionalSetting(
      'One key, or several that are used in turn (one that is refused rests). `null` for a server that wants none; TOML writes `false`. Absent, as an unset environment variable is: its models are hidden.',
      Type.Union([
        Type.String({ minLength: 1 }),
        Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
        Type.Null(),
        Type.Undefined(),
      ]),
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
      'Hosts that its results may lie on, beside those that are known: `files.example.com`, or `.example.com` for all below it.',
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
    sharedAccount: optionalSetting(
      "`false` where one customer alone uses the vendor's account: fields that name what is kept in it, such as files and earlier answers, are then taken. Default true: they are refused, because an id would reach what is another's.",
      Type.Boolean(),
    ),
    streamUsage: optionalSetting(
      '`false` for a server that refuses `stream_options`. Default true.',
      Type.Boolean(),
    ),
  },
  closed,
)

export type UpstreamConfig = Static<typeof UpstreamEntry>
