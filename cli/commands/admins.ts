// gateway admins: makes, lists and revokes the tokens of operators for the admin API. A token is printed when it is made,
// and must never be printed again.

import { defineCommand } from 'citty'
import {
  adminJson,
  createAdmin,
  findAdmin,
  listAdmins,
  makeToken,
  ROLES,
  revokeAdmin,
} from '../../src/admin/admins'
import { COMMAND_LINE, recording } from '../../src/admin/audit-trail'
import { newId, randomBytes } from '../../src/app/world'
import type { Db } from '../../src/db/db'
import { isoTime } from '../../src/db/iso-time'
import { CommandFailed } from '../lib/errors'
import { commandArgs, withDatabase } from '../lib/settings'
import { parseName, parseWord, unlessNone } from '../lib/values'
import { commandLineOf } from '../program'
import { print, printJson, say } from '../view/output'
import { renderTable } from '../view/table'
import { parseDurationMs, utcTime } from '../view/times'

const nameArg = { type: 'positional', required: true, description: 'The name of the admin' } as const

const trailOf = (db: Db) => ({ db, now: Date.now, newId })

const create = defineCommand({
  meta: {
    name: 'create',
    description: 'Make a token for the admin API and print it, which is shown only this once.',
    examples: [
      'gateway admins create ada --role owner',
      'gateway admins create grafana --role viewer --expires none',
    ],
  },
  args: {
    name: nameArg,
    role: {
      type: 'string',
      valueHint: ROLES.join('|'),
      required: true,
      description: 'viewer looks, operator manages keys, money and tasks, owner also the gateway',
    },
    expires: {
      type: 'string',
      valueHint: '90d',
      description: 'Refuse it after 12h, 30d or 2w (default 90d; none: never)',
    },
    ...commandArgs,
  },
  async run({ args }) {
    const name = parseName('A name', args.name)
    const role = parseWord('role', args.role, ROLES)
    const now = Date.now()
    const expiresAt = unlessNone(args.expires ?? '90d', (text) => now + parseDurationMs('expires', text))
    const token = makeToken(randomBytes)
    await withDatabase(args, async (db) => {
      const admin = { id: newId('adm'), name, role, token, expiresAt, createdAt: now }
      const change = {
        action: 'admin.create',
        target: `admin:${name}`,
        after: { role, expires_at: isoTime(expiresAt) },
      }
      if (!(await createAdmin(recording(trailOf(db), COMMAND_LINE, change), admin)))
        throw new CommandFailed(`There is or was an admin named ${name}, and names are not reused.`)
      const made = await findAdmin(db, admin.id)
      if (args.json) return printJson({ token, ...(made && adminJson(made, now)) })
      print(token)
      say(`\nThis is the token of ${name} (${role}). Keep it: it is shown only this once.`)
      say(expiresAt === null ? 'It does not expire.' : `It expires at ${utcTime(expiresAt)}.`)
    })
  },
})

const list = defineCommand({
  meta: { name: 'list', description: 'List all admins, oldest first.', examples: ['gateway admins list'] },
  args: commandArgs,
  async run({ args }) {
    const now = Date.now()
    await withDatabase(args, async (db) => {
      const admins = (await listAdmins(db)).map((admin) => adminJson(admin, now))
      if (args.json) return printJson(admins)
      if (admins.length === 0)
        return say(
          `There are no admins. Make one: ${commandLineOf('admins create NAME --role viewer', args)}`,
        )
      const columns = ['NAME', 'ROLE', 'TOKEN', 'STATUS', 'EXPIRES'].map((title) => ({ title }))
      print(
        renderTable(
          columns,
          admins.map(({ name, role, hint, status, expires_at: expires }) => [
            name,
            role,
            hint,
            status,
            expires?.slice(0, 10) ?? 'never',
          ]),
        ),
      )
    })
  },
})

const revoke = defineCommand({
  meta: {
    name: 'revoke',
    description: 'Refuse the token of an admin from now on.',
    examples: ['gateway admins revoke ada'],
  },
  args: { name: nameArg, ...commandArgs },
  async run({ args }) {
    const now = Date.now()
    await withDatabase(args, async (db) => {
      const admin = await findAdmin(db, args.name)
      if (!admin) throw new CommandFailed(`There is no admin "${args.name}"; \`admins list\` shows all.`)
      const change = {
        action: 'admin.revoke',
        target: `admin:${admin.name}`,
        before: { role: admin.role },
      }
      const isFirst = await revokeAdmin(recording(trailOf(db), COMMAND_LINE, change), admin.id, now)
      const revoked = (await findAdmin(db, admin.id)) ?? admin
      if (args.json) return printJson(adminJson(revoked, now))
      print(
        isFirst
          ? `The token of ${admin.name} is refused from now on.`
          : `It was revoked before, at ${utcTime(revoked.revokedAt ?? now)}.`,
      )
    })
  },
})

export const admins = defineCommand({
  meta: { name: 'admins', description: 'Operators of the admin API, and their tokens.' },
  subCommands: { create, list, revoke },
})
