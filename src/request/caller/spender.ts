// Finds the spender of a request: the user that it names, in a header or in the body, according to a rule of its key. A key without
// a rule must cost nothing here, and names must never create more spenders than the rule allows.

import { withSpender } from '../../accounts/authenticator'
import type { Key } from '../../accounts/keys'
import { mostNewPerDay, type SpenderRule, USER_FIELDS, withDefaults } from '../../accounts/spender-rule'
import { createNamedSpender, findSpenderByHash, type Spender } from '../../accounts/spenders'
import type { Db } from '../../db/db'
import { GatewayError } from '../../lib/errors'
import { asObject } from '../../lib/objects'
import { metadataValue, valuesOfHeader } from './metadata'

/** The parts of a request that may name a spender. */
interface Named {
  header?(name: string): string | null
  metadata?(): string | null
}

interface SpenderWorld {
  db: Db
  now(): number
  newId(prefix: string): string
}

type Name = Pick<Spender, 'kind' | 'name'> & { name: string }

/** The session at the end of Claude Code's user id, which differs in each conversation. */
const SESSION_OF_USER = /_session_[0-9a-f-]{36}$/

/** The key with the spender that a request names; the key itself if it names none. Throws 403 and 429. */
export async function spendingKey(
  world: SpenderWorld,
  key: Key,
  body: Readonly<Record<string, unknown>>,
  from: Named,
): Promise<Key> {
  const { spenders: rule, spender } = key
  if (!rule || spender) return key
  if (rule.from.length === 0) throw ruleUnreadable(key)
  const named = nameIn(rule, body, from)
  if (!named) return key
  const defaults = key.plan?.spenders
  const most = mostNewPerDay(rule, defaults)
  return withSpender(
    key,
    withDefaults(await spenderNamed(world, key, { ...rule, most }, named), rule, defaults),
  )
}

function ruleUnreadable({ name }: Key): GatewayError {
  return new GatewayError(403, {
    code: 'spender_unknown',
    message: `The rule for spenders of key ${name} cannot be read. Ask the operator of this gateway to set it again; a repeat does not help until then.`,
  })
}

/** The first name in a request. */
function nameIn(rule: SpenderRule, body: Readonly<Record<string, unknown>>, from: Named): Name | undefined {
  for (const source of rule.from) {
    const isTag = source.startsWith('tag.')
    const name = metadataValue(isTag ? tagIn(source.slice(4), from) : userIn(source, body, from))
    if (name !== undefined) return { kind: isTag ? 'tag' : 'user', name }
  }
  return undefined
}

function tagIn(name: string, from: Named): unknown {
  const header = from.metadata?.()
  return header ? valuesOfHeader(header)[name] : undefined
}

function userIn(source: string, body: Readonly<Record<string, unknown>>, from: Named): unknown {
  if (!(USER_FIELDS as readonly string[]).includes(source)) return from.header?.(source)
  if (source !== 'metadata.user_id') return body[source]
  const { user_id: user } = asObject(body.metadata)
  return typeof user === 'string' ? personOf(user) : user
}

/**
 * The user of a client of messages without the session: Claude Code puts a session into a text, or into JSON with its account and
 * its device (https://github.com/can1357/oh-my-pi/pull/971).
 */
function personOf(user: string): unknown {
  if (!user.startsWith('{')) return user.replace(SESSION_OF_USER, '')
  try {
    const { account_uuid: account, device_id: device } = asObject(JSON.parse(user))
    return account || device || user
  } catch {
    return user
  }
}

async function spenderNamed(
  world: SpenderWorld,
  key: Key,
  { create, most }: Pick<SpenderRule, 'create'> & { most: number },
  named: Name,
): Promise<Spender> {
  const hash = new Bun.CryptoHasher('sha256')
    .update(JSON.stringify([key.id, named.kind, named.name]))
    .digest('hex')
  const known = await findSpenderByHash(world.db, hash)
  if (known) return known
  if (create === false)
    throw new GatewayError(403, {
      code: 'spender_unknown',
      message: `This key has no ${named.kind} \`${named.name}\`, and cannot create one. Ask its operator; a repeat does not help until then.`,
    })
  const made = { ...named, id: world.newId('spn'), keyId: key.id, hash, createdAt: world.now() }
  await createNamedSpender(world.db, made, most)
  const found = await findSpenderByHash(world.db, hash)
  if (found) return found
  throw new GatewayError(429, {
    code: 'Throttling.RateQuota',
    message: `Requests of this key have named ${most} new spenders today, the daily limit.`,
    headers: { 'retry-after': '3600', 'x-should-retry': 'false' },
  })
}
