// The gateway itself over the admin API: its configuration, backups, operators, and the trail of their changes. A secret
// of the configuration must never be shown.

import { Type } from '@sinclair/typebox'
import { networksOf } from '../../accounts/key-changes'
import { NAME_RULE } from '../../accounts/names'
import { Nullable, OneOf, open } from '../../api-operation/operation'
import { StorageFailed } from '../../artifacts/s3-store'
import { timeOfBackup } from '../../backup/place'
import { openPlace, placeOf } from '../../backup/schedule'
import { type Change, visibleConfig } from '../../config/changes'
import { ROLES } from '../../contract/roles'
import { isoTime } from '../../db/iso-time'
import { timeOfQuery } from '../../http/query-time'
import { GatewayError } from '../../lib/errors'
import { adminView, draftAdmin, listAdmins, requireAdmin, revokeAdmin, storeAdmin } from '../admins'
import { auditView, listAudit } from '../audit-trail'
import {
  AddressList,
  changing,
  closedBody,
  limitOf,
  operationsIn,
  optionalText,
  PageOf,
  pageOf,
  pageQuery,
  periodQuery,
  recordOnly,
  Text,
} from '../operation'

const operation = operationsIn('Gateway')
const AdminReply = adminView.reply
const ChangesReply = Type.Object(
  { ok: Type.Boolean(), faults: Type.Array(Type.String()), changes: Type.Array(Type.Object({}, open)) },
  open,
)

function changesJson(result: { changes: Change[] } | { faults: string[] }) {
  const { faults, changes } = { faults: [], changes: [], ...result }
  const shown = changes.map(({ needsRestart, ...change }: Change) => ({
    ...change,
    needs_restart: needsRestart,
  }))
  return { ok: faults.length === 0, faults: faults as string[], changes: shown }
}

const whoami = operation({
  id: 'getMe',
  endpoint: 'GET /me',
  role: 'viewer',
  summary: 'The admin of this token',
  reply: AdminReply,
  run: async ({ admin, world }) => adminView.show({ admin, now: world.now() }),
})

const showConfiguration = operation({
  id: 'getConfiguration',
  endpoint: 'GET /configuration',
  role: 'viewer',
  summary: 'The current configuration, without secrets',
  reply: Type.Object({}, open),
  run: async ({ world }) => visibleConfig(world.config),
})

const compareConfiguration = operation({
  id: 'compareConfiguration',
  endpoint: 'GET /configuration/changes',
  role: 'viewer',
  summary: 'Check the configuration',
  description: 'Faults of its file, or what a reload would change.',
  reply: ChangesReply,
  run: async ({ control }) => changesJson(await control.compare()),
})

const reloadConfiguration = operation({
  id: 'reloadConfiguration',
  endpoint: 'POST /configuration/reload',
  role: 'owner',
  summary: 'Reload the configuration',
  description: 'One with faults changes nothing.',
  reply: ChangesReply,
  async run(context) {
    const result = changesJson(await context.control.reload(`admin ${context.admin.name}`))
    // A refused reload has changed nothing, and is in the log.
    if (result.ok)
      await recordOnly(context, {
        action: 'configuration.reload',
        target: 'configuration',
        after: { changes: result.changes },
      })
    return result
  },
})

const listBackups = operation({
  id: 'listBackups',
  endpoint: 'GET /backups',
  role: 'viewer',
  summary: 'Backups',
  description: 'Those in the place that the configuration names, newest first.',
  query: Type.Object(pageQuery),
  reply: PageOf(Type.Object({ name: Type.String(), made_at: Type.String() }, open)),
  async run({ world }, query) {
    const place = openPlace(placeOf(world.config, world.dataDir))
    const names = await place.names().catch((error) => {
      const reason = error instanceof StorageFailed ? ` ${error.message}` : ''
      throw new GatewayError(503, {
        code: 'backup_failed',
        message: `The place of backups cannot be read.${reason} Try again.`,
        cause: error,
      })
    })
    const { after } = query
    const rows = names.toReversed().filter((name) => after === undefined || name < after)
    return pageOf(
      rows,
      limitOf(query),
      (name) => ({ name, made_at: isoTime(timeOfBackup(name)), place: place.title }),
      (name) => name,
    )
  },
})

const makeBackup = operation({
  id: 'makeBackup',
  endpoint: 'POST /backups',
  role: 'owner',
  summary: 'Make a backup',
  description: 'Answers when it is checked and in place.',
  reply: Type.Object({ name: Type.String(), bytes: Type.Integer() }, open),
  async run(context) {
    const { databaseBytes, ...report } = await context.control.makeBackup().catch((error) => {
      throw new GatewayError(503, {
        code: 'backup_failed',
        message: 'The backup could not be made: the log of the gateway says why. Try again.',
        cause: error,
      })
    })
    await recordOnly(context, {
      action: 'backup.make',
      target: `backup:${report.name}`,
      after: { bytes: report.bytes },
    })
    const place = openPlace(placeOf(context.world.config, context.world.dataDir)).title
    return { ...report, database_bytes: databaseBytes, place }
  },
})

const admins = operation({
  id: 'listAdmins',
  endpoint: 'GET /admins',
  role: 'owner',
  summary: 'Operators, newest first',
  query: Type.Object(pageQuery),
  reply: PageOf(AdminReply),
  async run({ world }, query) {
    const { after } = query
    const rows = (await listAdmins(world.db)).filter(({ id }) => after === undefined || id < after)
    return pageOf(
      rows,
      limitOf(query),
      (admin) => adminView.show({ admin, now: world.now() }),
      ({ id }) => id,
    )
  },
})

/** The default lifetime of a token, in milliseconds. */
const TOKEN_MS = 90 * 86_400_000

const createOne = operation({
  id: 'createAdmin',
  endpoint: 'POST /admins',
  role: 'owner',
  summary: 'Make a token for the admin API',
  description: 'It is in this answer only.',
  body: Type.Object(
    {
      name: Text(`A unique name: ${NAME_RULE}. Names are not reused.`),
      role: OneOf(ROLES),
      expires_at: Type.Optional(
        Nullable(Text('Refused from this time in UTC; null: never. Default: in 90 days.')),
      ),
      addresses: Type.Optional(AddressList),
    },
    closedBody,
  ),
  reply: Type.Object({ token: Type.String(), id: Type.String(), name: Type.String() }, open),
  async run(context, _query, { name, role, expires_at: expires, addresses: texts = null }) {
    const { world } = context
    const expiresAt =
      expires === undefined
        ? world.now() + TOKEN_MS
        : (timeOfQuery('expires_at', expires ?? undefined) ?? null)
    const addresses = networksOf(texts)
    const drafted = draftAdmin(world, { name, role, expiresAt, addresses })
    const db = changing(context, {
      action: 'admin.create',
      target: `admin:${name}`,
      after: { role, expires_at: isoTime(expiresAt), addresses },
    })
    await storeAdmin(db, drafted)
    const { token, id } = drafted
    return { token, ...adminView.show({ admin: await requireAdmin(world.db, id), now: world.now() }) }
  },
})

const revoke = operation({
  id: 'revokeAdmin',
  endpoint: 'POST /admins/{admin}/revoke',
  role: 'owner',
  summary: 'Refuse the token of an operator from now on',
  reply: AdminReply,
  async run(context) {
    const { world, params } = context
    const admin = await requireAdmin(world.db, params.admin ?? '')
    const db = changing(context, {
      action: 'admin.revoke',
      target: `admin:${admin.name}`,
      before: { role: admin.role },
    })
    const replayed = !(await revokeAdmin(db, admin.id, world.now()))
    return {
      ...adminView.show({ admin: await requireAdmin(world.db, admin.id), now: world.now() }),
      replayed,
    }
  },
})

const trail = operation({
  id: 'listAudit',
  endpoint: 'GET /audit',
  role: 'viewer',
  summary: 'Audit trail',
  description: 'Changes by operators, newest first: who, what, as it was before and is after.',
  query: Type.Object({
    actor: optionalText('Only changes by this admin.'),
    action: optionalText('Only these, such as `key.update`.'),
    target: optionalText('Only of this, such as `key:alice`.'),
    since: periodQuery.since,
    ...pageQuery,
  }),
  reply: PageOf(auditView.reply),
  async run({ world }, query) {
    const limit = limitOf(query)
    const { actor, action, target, after: before } = query
    const since = timeOfQuery('since', query.since)
    const rows = await listAudit(world.db, { actor, action, target, since, before, limit: limit + 1 })
    return pageOf(rows, limit, auditView.show, ({ id }) => id)
  },
})

export const gatewayOperations = [
  whoami,
  showConfiguration,
  compareConfiguration,
  reloadConfiguration,
  listBackups,
  makeBackup,
  admins,
  createOne,
  revoke,
  trail,
]
