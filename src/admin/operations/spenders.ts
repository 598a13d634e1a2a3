// Spenders over the admin API: the tokens that act for keys, listed and revoked. No answer has a secret.

import { Type } from '@sinclair/typebox'
import { requireKey } from '../../accounts/key-changes'
import { keyNames } from '../../accounts/keys'
import { spendersJson, spenderView } from '../../accounts/spender-json'
import { findSpender, listSpenders, revokeToken, type Spender } from '../../accounts/spenders'
import { open } from '../../api-operation/operation'
import { notFound } from '../../lib/errors'
import {
  changing,
  limitOf,
  type OperationContext,
  operationsIn,
  optionalText,
  PageOf,
  pageOf,
  pageQuery,
} from '../operation'

const operation = operationsIn('Spenders')
const SpenderReply = Type.Object(
  { key: Type.String({ description: 'The name of its key.' }), ...spenderView.schema.properties },
  open,
)

async function shown({ world: { db, now } }: OperationContext, spenders: readonly Spender[]) {
  const names = await keyNames(db, [...new Set(spenders.map(({ keyId }) => keyId))])
  const rows = await spendersJson(db, spenders, now())
  return rows.map((row, index) => ({ key: names.get(spenders[index]?.keyId ?? '') ?? '', ...row }))
}

async function spenderOf({ world, params }: OperationContext): Promise<Spender> {
  const found = await findSpender(world.db, params.spender ?? '')
  if (!found) throw notFound('token', params.spender)
  return found
}

const list = operation({
  id: 'listSpenders',
  endpoint: 'GET /spenders',
  role: 'viewer',
  summary: 'Tokens that act for keys, newest first, with what each has spent',
  query: Type.Object({ ...pageQuery, key: optionalText('Only those of this key, by its name or id.') }),
  reply: PageOf(SpenderReply),
  async run(asked, query) {
    const { db } = asked.world
    const limit = limitOf(query)
    const keyId = query.key === undefined ? undefined : (await requireKey(db, query.key)).id
    const found = await listSpenders(db, { keyId, after: query.after, limit: limit + 1 })
    return pageOf(
      await shown(asked, found),
      limit,
      (row) => row,
      ({ id }) => id,
    )
  },
})

const revoke = operation({
  id: 'revokeSpender',
  endpoint: 'POST /spenders/{spender}/revoke',
  role: 'operator',
  summary: 'Refuse a token permanently',
  reply: SpenderReply,
  async run(asked) {
    const before = await spenderOf(asked)
    const [row] = await shown(asked, [before])
    const { name, hint } = before
    const db = changing(asked, {
      action: 'token.revoke',
      target: `key:${row?.key}`,
      before: { id: before.id, name, hint },
    })
    await revokeToken(db, before.id, asked.world.now())
    const [after] = await shown(asked, [await spenderOf(asked)])
    if (!after) throw notFound('token', before.id)
    return after
  },
})

export const spenderOperations = [list, revoke]
