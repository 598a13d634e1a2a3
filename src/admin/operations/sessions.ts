// Sessions of the console over the admin API: who is signed in, and ending a session. A session must never be created here.

import { Type } from '@sinclair/typebox'
import { keyNames } from '../../accounts/keys'
import {
  findSession,
  listSessions,
  revokeSession,
  SESSION_KINDS,
  type Session,
  sessionView,
} from '../../accounts/sessions'
import { OneOf } from '../../api-operation/operation'
import type { Db } from '../../db/db'
import { notFound } from '../../lib/errors'
import { adminOfSubject, listAdmins } from '../admins'
import { changing, limitOf, operationsIn, optionalText, PageOf, pageOf, pageQuery } from '../operation'

const operation = operationsIn('Sessions')
const SessionReply = sessionView.reply

/** The names of the owners of sessions. */
async function ownerNames(
  db: Db,
  sessions: readonly Session[],
): Promise<(session: Session) => Promise<string>> {
  const ids = [...new Set(sessions.map(({ subject }) => subject))]
  const [keys, admins] = await Promise.all([keyNames(db, ids), listAdmins(db)])
  const names = new Map([...keys, ...admins.map(({ id, name }) => [id, name] as const)])
  return async ({ subject, createdAt }) =>
    names.get(subject) ?? (await adminOfSubject(db, subject, createdAt))?.name ?? subject
}

const list = operation({
  id: 'listSessions',
  endpoint: 'GET /sessions',
  role: 'operator',
  summary: 'Sessions of the console',
  description: 'Newest first, also those that have ended.',
  query: Type.Object({
    kind: Type.Optional(OneOf(SESSION_KINDS, 'Only those of admins, or of holders of keys.')),
    account: optionalText('Only those of holders of keys of this account.'),
    ...pageQuery,
  }),
  reply: PageOf(SessionReply),
  async run({ world }, query) {
    const limit = limitOf(query)
    const filter = { kind: query.kind, account: query.account, before: query.after, limit: limit + 1 }
    const rows = await listSessions(world.db, filter, world.now())
    const nameOf = await ownerNames(world.db, rows)
    const named = await Promise.all(rows.map(async (session) => ({ session, name: await nameOf(session) })))
    return pageOf(
      named,
      limit,
      ({ session, name }) => sessionView.show({ session, name, now: world.now() }),
      ({ session }) => session.id,
    )
  },
})

const revoke = operation({
  id: 'revokeSession',
  endpoint: 'POST /sessions/{session}/revoke',
  role: 'operator',
  summary: 'End a session of the console',
  reply: SessionReply,
  async run(context) {
    const { world, params } = context
    const found = await findSession(world.db, params.session ?? '', world.now())
    if (!found) throw notFound('session', params.session)
    const name = await (await ownerNames(world.db, [found]))(found)
    const db = changing(context, {
      action: 'session.revoke',
      target: `${found.kind}:${name}`,
      before: { id: found.id },
    })
    const replayed = !(await revokeSession(db, found.id, world.now()))
    const session = (await findSession(world.db, found.id, world.now())) ?? found
    return { ...sessionView.show({ session, name, now: world.now() }), replayed }
  },
})

export const sessionOperations = [list, revoke]
