// The part of the configuration that says where traces and logs are sent.

import { type Static, Type } from '@sinclair/typebox'
import { closed, optionalSetting, requiredSetting } from '../lib/setting'

export const TelemetryEntry = Type.Object(
  {
    endpoint: requiredSetting(
      'The URL of an OpenTelemetry collector over HTTP, without `/v1/traces`: `http://127.0.0.1:4318`. It receives JSON.',
      Type.String({ pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$' }),
    ),
    headers: optionalSetting(
      'Headers for the collector, such as its key.',
      Type.Record(Type.String({ pattern: '^[\\w-]+$' }), Type.String()),
    ),
    serviceName: optionalSetting(
      'The service name in traces. Default `gateway`.',
      Type.String({ minLength: 1 }),
    ),
    sampleRatio: optionalSetting(
      'The share of traced requests, from 0 to 1, if the caller has not decided. Default 1.',
      Type.Number({ minimum: 0, maximum: 1 }),
    ),
  },
  closed,
)
export type TelemetryConfig = Static<typeof TelemetryEntry>
