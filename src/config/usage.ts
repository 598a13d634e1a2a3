// The part of the configuration about metadata that callers may send for reports of usage.

import { type Static, Type } from '@sinclair/typebox'
import { Count, closed, optionalSetting } from '../lib/setting'

/** The pattern of a metadata name. */
export const METADATA_NAME = '[a-z0-9][a-z0-9_-]{0,39}'

export const UsageEntry = Type.Object(
  {
    metadata: optionalSetting(
      'Names of metadata by which usage is counted, at most 8: `["team", "user"]`. They are read from the header `x-gateway-metadata`, then from `metadata` of the body; `user` from its `user` too. Default: none.',
      Type.Array(Type.String({ pattern: `^${METADATA_NAME}$` }), {
        minItems: 1,
        maxItems: 8,
        uniqueItems: true,
      }),
    ),
    maxMetadata: optionalSetting(
      'The number of different sets of values that are counted separately; further ones are counted as `(other)`. Default 1,000.',
      Count,
    ),
  },
  closed,
)
export type UsageEntry = Static<typeof UsageEntry>

export const DEFAULT_MAX_METADATA = 1_000
