// Settings of webhooks. Without one they must never go to a private network.

import { Type } from '@sinclair/typebox'
import { closed, optionalSetting } from '../lib/setting'

export const Webhooks = Type.Object(
  {
    allow: optionalSetting(
      'Private networks that webhooks may reach, as CIDR: `192.168.0.0/16`. Default: none.',
      Type.Array(Type.String()),
    ),
  },
  closed,
)
