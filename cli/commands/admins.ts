// gateway admins: makes, lists and revokes the tokens of operators for the admin API. A token is printed when it is created, and
// must never be printed again.

import { defineCommand } from 'citty'
import { ROLES } from '../../src/contract/roles'
import { isoTime } from '../../src/db/iso-time'
import { gatewayCommand } from '../lib/gateway'
import { parseName, parseNetworks, parseWord, unlessNone } from '../lib/values'
import { commandLineOf } from '../program'
import { print, printJson, say } from '../view/output'
import { printTable } from '../view/table'
import { parseDurationMs, utcTime } from '../view/times'

const nameArg = { type: 'positional', required: true, description: 'The name of the admin' } as const

const create = gatewayCommand({
  name: 'create',
  description: 'Create a token for the admin API and print it. It is shown only once.',
  examples: [
    'gateway admins create ada --role owner',
    'gateway admins create grafana --role viewer --expires none --from 10.0.0.0/8',
  ],
  args: {
    name: nameArg,
    role: {
      type: 'string',
      valueHint: ROLES.join('|'),
      required: true,
      description: 'viewer reads; operator manages keys, money and tasks; owner also the gateway',
    },
    expires: {
      type: 'string',
      valueHint: '90d',
      description: 'It expires after this time, such as 12h, 30d or 2w (default 90d; none: never)',
    },
    from: {
      type: 'string',
      valueHint: 'NET,NET',
      description: 'The only addresses and networks that may use it (default: all)',
    },
  },
  run(args) {
    const name = parseName(args.name)
    const role = parseWord('role', args.role, ROLES)
    const now = Date.now()
    const expiresAt = unlessNone(args.expires ?? '90d', (text) => now + parseDurationMs('expires', text))
    const addresses = args.from === undefined ? undefined : parseNetworks(args.from)
    return async (gateway) => {
      const body = { name, role, expires_at: isoTime(expiresAt), addresses }
      const made = await gateway.call('createAdmin', { body })
      if (args.json) return printJson(made)
      print(made.token)
      say(`\nThis is the token of ${name} (${role}). Keep it: it is shown only this once.`)
      say(expiresAt === null ? 'It does not expire.' : `It expires at ${utcTime(expiresAt)}.`)
    }
  },
})

const list = gatewayCommand({
  name: 'list',
  description: 'List all admins, newest first.',
  examples: ['gateway admins list'],
  run: (args) => async (gateway) => {
    const admins = await gateway.rows('listAdmins')
    if (args.json) return printJson(admins)
    if (admins.length === 0)
      return say(
        `There are no admins. Create one: ${commandLineOf('admins create NAME --role viewer', args)}`,
      )
    printTable(admins, [
      ['NAME', ({ name }) => name],
      ['ROLE', ({ role }) => role],
      ['TOKEN', ({ hint }) => hint],
      ['STATUS', ({ status }) => status],
      ['EXPIRES', ({ expires_at }) => expires_at?.slice(0, 10) ?? 'never'],
    ])
  },
})

const revoke = gatewayCommand({
  name: 'revoke',
  description: 'Revoke the token of an admin.',
  examples: ['gateway admins revoke ada'],
  args: { name: nameArg },
  run: (args) => async (gateway) => {
    const admin = await gateway.call('revokeAdmin', { params: { admin: args.name } })
    if (args.json) return printJson(admin)
    print(
      admin.replayed
        ? `It was already revoked, at ${utcTime(Date.parse(admin.revoked_at ?? ''))}.`
        : `The token of ${admin.name} is refused from now on.`,
    )
  },
})

export const admins = defineCommand({
  meta: { name: 'admins', description: 'Manage operators of the admin API and their tokens.' },
  subCommands: { create, list, revoke },
})
