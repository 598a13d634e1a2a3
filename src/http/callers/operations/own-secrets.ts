// POST /v1/me/roll and /v1/me/roll-webhook: the holder of a key replaces its secret, or the one that signs its webhooks. Only the
// answer contains the new one; the old secret of a key is refused at once.

import { Type } from '@sinclair/typebox'
import { giveNewSecret, giveNewWebhookSecret } from '../../../accounts/key-changes'
import { SessionToken } from '../../../accounts/sessions'
import { text } from '../../../api-operation/schemas'
import { isoTime } from '../../../db/iso-time'
import { authorizationOf } from '../../authorization'
import { callerOperation } from '../operation'

const roll = callerOperation(Type.Object({ object: Type.Literal('key_secret'), name: text, key: text }))({
  id: 'rollOwnKey',
  endpoint: 'POST /v1/me/roll',
  tag: 'Keys',
  summary: 'Replace the secret of this key',
  description: 'The old one is refused at once.',
  isPrivate: true,
  async run({ world, key, request, requestId, recorded }) {
    const asking = authorizationOf(request, world.config, 'openai')
    const db = recorded(key, { action: 'key.roll' }, { requestId, request })
    const session = asking instanceof SessionToken ? asking : undefined
    const secret = await giveNewSecret(db, key, world, session)
    return { object: 'key_secret', name: key.name, key: secret }
  },
})

const rollWebhook = callerOperation(
  Type.Object({
    object: Type.Literal('webhook_secret'),
    name: text,
    webhook_secret: text,
    old_until: text,
  }),
)({
  id: 'rollOwnWebhookSecret',
  endpoint: 'POST /v1/me/roll-webhook',
  tag: 'Keys',
  summary: 'Replace the secret of webhooks',
  description: 'The secret that signs the webhooks of this key. For a day the old one signs too.',
  isPrivate: true,
  async run({ world, key, request, requestId, recorded }) {
    const db = recorded(key, { action: 'key.roll_webhook' }, { requestId, request })
    const { secret, oldUntil } = await giveNewWebhookSecret(db, key, world)
    return { object: 'webhook_secret', name: key.name, webhook_secret: secret, old_until: isoTime(oldUntil) }
  },
})

export const ownSecretOperations = [roll, rollWebhook]
