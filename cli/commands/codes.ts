// gateway codes: makes, lists and revokes codes that holders of keys redeem for money. A code is printed when it is created, and
// must never be printed again.

import { defineCommand } from 'citty'
import { MAX_NEW_CODES } from '../../src/billing/selling/codes'
import { isoTime } from '../../src/db/iso-time'
import { formatUsd } from '../../src/lib/money'
import { WrongUsage } from '../lib/errors'
import { gatewayCommand } from '../lib/gateway'
import { parseCount, parseLimit, parsePositiveNano } from '../lib/values'
import { commandLineOf } from '../program'
import { dollars, dollarsOf } from '../view/balance'
import { codesTable } from '../view/code'
import { print, printJson, say } from '../view/output'
import { distance, parseDurationMs } from '../view/times'

/** Maximum number of codes in a table, unless more are requested. */
const DEFAULT_LIMIT = 1_000

const create = gatewayCommand({
  name: 'create',
  description: 'Create codes and print them. They are never shown again. Each can be redeemed once.',
  examples: [
    'gateway codes create --amount 5',
    'gateway codes create --amount 20 --count 100 --expires 90d --note "spring 2026" > codes.txt',
  ],
  args: {
    amount: {
      type: 'string',
      required: true,
      valueHint: 'USD',
      description: 'The value of each code in dollars',
    },
    count: { type: 'string', valueHint: 'N', description: 'How many (default: 1)' },
    expires: {
      type: 'string',
      valueHint: '30d',
      description: 'They expire after this time, such as 12h, 30d or 2w',
    },
    note: { type: 'string', valueHint: 'TEXT', description: 'The purpose; kept in the ledger' },
  },
  run(args) {
    const amountNano = parsePositiveNano('--amount', args.amount)
    const count = args.count === undefined ? 1 : parseCount('count', args.count)
    if (count > MAX_NEW_CODES)
      throw new WrongUsage(`--count takes ${MAX_NEW_CODES} at most, not ${args.count}.`)
    const createdAt = Date.now()
    const expiresAt = args.expires === undefined ? null : createdAt + parseDurationMs('expires', args.expires)
    const body = {
      amount_usd: formatUsd(amountNano),
      count,
      expires_at: isoTime(expiresAt),
      note: args.note || null,
    }
    return async (gateway) => {
      const { data: made } = await gateway.call('createCodes', { body })
      if (args.json) return printJson(made)
      print(made.map(({ code }) => code).join('\n'))
      const [what, them] = count === 1 ? ['This code is', 'it'] : [`These ${count} codes are each`, 'them']
      const until =
        expiresAt === null ? '' : `, until ${distance(expiresAt, createdAt).replace('in ', '')} from now`
      say(`\n${what} worth ${dollars(amountNano)}, once${until}. Keep ${them}: no list shows ${them}.`)
      say('A holder of a key redeems one with POST /v1/codes/redeem.')
    }
  },
})

const list = gatewayCommand({
  name: 'list',
  description: 'List codes, newest first, with their values and states.',
  examples: [
    'gateway codes list --limit 20',
    `gateway codes list --json | jq -r '.[] | select(.status == "open") | .id'`,
  ],
  args: {
    limit: {
      type: 'string',
      valueHint: 'N',
      description: `Only the newest N (default: ${DEFAULT_LIMIT} in a table, else all)`,
    },
  },
  run(args) {
    const now = Date.now()
    const limit = parseLimit(args, args.json ? undefined : DEFAULT_LIMIT)
    return async (gateway) => {
      const found = await gateway.rows('listCodes', {}, limit)
      if (args.json) return printJson(found)
      if (found.length === 0)
        return say(`There are no codes. Create one: ${commandLineOf('codes create --amount 5', args)}`)
      print(codesTable(found, now))
      if (args.limit === undefined && found.length === DEFAULT_LIMIT)
        say(`\nThese are the newest ${DEFAULT_LIMIT}. --limit shows more, --json all of them.`)
    }
  },
})

const revoke = gatewayCommand({
  name: 'revoke',
  description: 'Revoke a code permanently. A redeemed amount stays on its account.',
  examples: ['gateway codes revoke AAAAA-BBBBB-CCCCC-DDDDD-EEEEE'],
  args: {
    code: { type: 'positional', required: true, description: 'The code, or its id of `codes list --json`' },
  },
  run: (args) => async (gateway) => {
    const code = await gateway.call('revokeCode', { params: { code: args.code } })
    if (args.json) return printJson(code)
    say(`Revoked the code ${code.hint}, which was worth ${dollarsOf(code.amount_usd)}.`)
  },
})

export const codes = defineCommand({
  meta: { name: 'codes', description: 'Manage codes that key holders redeem for money.' },
  subCommands: { create, list, revoke },
})
