// POST /v1/me/roll and /v1/me/roll-webhook: who holds a key replaces its secret, or the one that signs its webhooks. The new
// one is in the answer and nowhere else; the old secret of a key is refused at once.

import { Elysia } from 'elysia'
import { giveNewSecret, giveNewWebhookSecret } from '../../accounts/key-changes'
import type { Key } from '../../accounts/keys'
import { SessionToken } from '../../accounts/sessions'
import type { Db } from '../../db/db'
import { isoTime } from '../../db/iso-time'
import type { System } from '../../lib/system'
import { authorizationOf } from '../authorization'
import { tolerated } from '../paths'
import { answerKeyed, type KeyedWorld } from '../with-key'

interface OwnSecretsWorld extends KeyedWorld, Pick<System, 'now'> {
  db: Db
  randomBytes(count: number): Uint8Array
}

/** The database for one change, with its entry in the audit trail. */
export type Recorded = (
  key: Key,
  action: 'key.roll' | 'key.roll_webhook',
  from: { requestId: string; request: Request },
) => Db

export function ownSecretRoutes(world: OwnSecretsWorld, recorded: Recorded) {
  const roll = (request: Request) =>
    answerKeyed(world, request, 'openai', async (key, requestId) => {
      const asking = authorizationOf(request, world.config, 'openai')
      const db = recorded(key, 'key.roll', { requestId, request })
      const session = asking instanceof SessionToken ? asking : undefined
      const secret = await giveNewSecret(db, key, world, session)
      return answerWith(requestId, { object: 'key_secret', name: key.name, key: secret })
    })

  const rollWebhook = (request: Request) =>
    answerKeyed(world, request, 'openai', async (key, requestId) => {
      const db = recorded(key, 'key.roll_webhook', { requestId, request })
      const { secret, oldUntil } = await giveNewWebhookSecret(db, key, world)
      const body = {
        object: 'webhook_secret',
        name: key.name,
        webhook_secret: secret,
        old_until: isoTime(oldUntil),
      }
      return answerWith(requestId, body)
    })

  const app = new Elysia({ name: 'own-secrets' })
  for (const path of tolerated('/v1/me/roll'))
    app.post(path, ({ request }) => roll(request), { parse: 'none' })
  for (const path of tolerated('/v1/me/roll-webhook'))
    app.post(path, ({ request }) => rollWebhook(request), { parse: 'none' })
  return app
}

function answerWith(requestId: string, body: object): Response {
  return Response.json(body, { headers: { 'x-request-id': requestId, 'cache-control': 'no-store' } })
}
