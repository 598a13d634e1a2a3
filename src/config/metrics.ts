// The part of the configuration that says where metrics are read, and by whom. They show models, prices and volumes, so they must
// never be public unless that is configured.

import { type Static, Type } from '@sinclair/typebox'
import { Check } from '@sinclair/typebox/value'
import { closed, optionalSetting } from '../lib/setting'

export const MetricsEntry = Type.Object(
  {
    host: optionalSetting(
      'The address of a separate listener. A non-local one needs a `token`. Default 127.0.0.1.',
      Type.String({ minLength: 1 }),
    ),
    port: optionalSetting(
      'The port of that listener, such as 9464. Default: none; `/metrics` is at the port of the API, with the `token`.',
      Type.Integer({ minimum: 0, maximum: 65535 }),
    ),
    token: optionalSetting(
      'Readers must send it as `Authorization: Bearer …`. At least 16 characters.',
      Type.String({ minLength: 16 }),
    ),
  },
  closed,
)
type MetricsEntry = Static<typeof MetricsEntry>

const LOCAL = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/

/** Faults that the schema cannot express; empty if the entry does not fit the schema. */
export function metricsFaults(entry: unknown): string[] {
  if (!Check(MetricsEntry, entry)) return []
  const { host = '127.0.0.1', port, token } = entry as MetricsEntry
  if (token !== undefined) return []
  if (port === undefined) return ['metrics: set a port for a listener of their own, or a token']
  return LOCAL.test(host) ? [] : [`metrics.token: missing; ${host} can be reached by others`]
}
