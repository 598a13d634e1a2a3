// gateway spenders: lists the tokens that act for keys, with what each has spent, and revokes them.

import { defineCommand } from 'citty'
import type { ReplyOf } from '../../src/admin/client'
import { gatewayCommand } from '../lib/gateway'
import { limitArg, parseLimit } from '../lib/values'
import { dollarsOf } from '../view/balance'
import { print, printJson, say } from '../view/output'
import { renderTable } from '../view/table'
import { shortTime } from '../view/times'

const DEFAULT_LIMIT = 50
const TITLES = ['SPENDER', 'KEY', 'KIND', 'NAME', 'STATUS', 'USED', 'BUDGET', 'EXPIRES (UTC)']

const list = gatewayCommand({
  name: 'list',
  description: 'List the tokens that act for keys, newest first.',
  examples: ['gateway spenders list', 'gateway spenders list --key alice --json | jq .[0].budget_used_usd'],
  args: {
    key: { type: 'string', valueHint: 'KEY', description: 'Only those of this key' },
    limit: limitArg(DEFAULT_LIMIT),
  },
  run(args) {
    const limit = parseLimit(args, DEFAULT_LIMIT)
    return async (gateway) => {
      const rows = await gateway.rows('listSpenders', { query: { key: args.key } }, limit)
      if (args.json) return printJson(rows)
      if (rows.length === 0) return say('There are no tokens. A key makes them with POST /v1/tokens.')
      const columns = TITLES.map((title) => ({
        title,
        flexible: title === 'NAME',
        isId: title === 'SPENDER',
      }))
      print(renderTable(columns, rows.map(rowOf)))
    }
  },
})

function rowOf(row: ReplyOf<'revokeSpender'>): string[] {
  return [
    row.id,
    row.key,
    row.kind,
    row.name ?? '',
    row.status,
    row.budget_used_usd === null ? '' : dollarsOf(row.budget_used_usd),
    row.budget_usd === null ? 'none' : dollarsOf(row.budget_usd),
    row.expires_at === null ? 'never' : shortTime(Date.parse(row.expires_at)),
  ]
}

const revoke = gatewayCommand({
  name: 'revoke',
  description: 'Refuse a token permanently, within a second.',
  examples: ['gateway spenders revoke tok_019a…'],
  args: {
    spender: { type: 'positional', required: true, description: 'The id of the token' },
  },
  run: (args) => async (gateway) => {
    const token = await gateway.call('revokeSpender', { params: { spender: args.spender } })
    if (args.json) return printJson(token)
    print(`The token of key ${token.key} is revoked: it is refused within a second.`)
  },
})

export const spenders = defineCommand({
  meta: { name: 'spenders', description: 'Tokens that act for keys, and what each has spent.' },
  subCommands: { list, revoke },
})
