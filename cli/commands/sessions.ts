// gateway sessions: lists who is signed in to the console, and ends sessions.

import { defineCommand } from 'citty'
import { gatewayCommand } from '../lib/gateway'
import { limitArg, parseLimit } from '../lib/values'
import { print, printJson, say } from '../view/output'
import { printTable } from '../view/table'
import { shortTime } from '../view/times'

const DEFAULT_LIMIT = 50

const list = gatewayCommand({
  name: 'list',
  description: 'List sessions of the console, newest first, including ended ones.',
  examples: ['gateway sessions list', 'gateway sessions list --json | jq .[0].client_address'],
  args: {
    limit: limitArg(DEFAULT_LIMIT),
  },
  run(args) {
    const limit = parseLimit(args, DEFAULT_LIMIT)
    return async (gateway) => {
      const rows = await gateway.rows('listSessions', {}, limit)
      if (args.json) return printJson(rows)
      if (rows.length === 0) return say('Nobody has signed in to the console.')
      printTable(rows, [
        ['SESSION', ({ id }) => id, { isId: true }],
        ['KIND', ({ kind }) => kind],
        ['NAME', ({ name }) => name, { flexible: true }],
        ['STATUS', ({ status }) => status],
        ['BEGUN (UTC)', ({ created_at }) => shortTime(Date.parse(created_at ?? ''))],
        ['USED (UTC)', ({ used_at }) => shortTime(Date.parse(used_at ?? ''))],
        ['FROM', ({ client_address }) => client_address ?? ''],
      ])
    }
  },
})

const revoke = gatewayCommand({
  name: 'revoke',
  description: 'End a session of the console.',
  examples: ['gateway sessions revoke ses_019a…'],
  args: {
    session: { type: 'positional', required: true, description: 'The id of the session' },
  },
  run: (args) => async (gateway) => {
    const session = await gateway.call('revokeSession', { params: { session: args.session } })
    if (args.json) return printJson(session)
    print(session.replayed ? 'It had ended before.' : `The session of ${session.name} has ended.`)
  },
})

export const sessions = defineCommand({
  meta: { name: 'sessions', description: 'List and end sessions of the web console.' },
  subCommands: { list, revoke },
})
