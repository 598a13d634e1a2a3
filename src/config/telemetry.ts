// The part of the configuration that says where traces and logs are sent.

import { type Static, Type } from '@sinclair/typebox'
import { closed, optionalSetting, requiredSetting } from '../lib/setting'

export const TelemetryEntry = Type.Object(
  {
    endpoint: requiredSetting(
      'A collector of OpenTelemetry over HTTP, without `/v1/traces`: `http://127.0.0.1:4318`. JSON is sent.',
      Type.String({ pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$' }),
    ),
    headers: optionalSetting(
      'Headers for the collector, such as its key.',
      Type.Record(Type.String({ pattern: '^[\\w-]+$' }), Type.String()),
    ),
    serviceName: optionalSetting('What it calls itself. Default `gateway`.', Type.String({ minLength: 1 })),
    sampleRatio: optionalSetting(
      'The share of requests that are traced, where the caller has not decided: 0 to 1. Default 1.',
      Type.Number({ minimum: 0, maximum: 1 }),
    ),
  },
  closed,
)
export type TelemetryConfig = Static<typeof TelemetryEntry>
