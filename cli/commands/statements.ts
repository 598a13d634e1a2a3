// gateway statements: issues, lists, shows and verifies the monthly statements of accounts. Issued statements never change.

import { defineCommand } from 'citty'
import type { ReplyOf } from '../../src/admin/client'
import { statementHtml } from '../../src/billing/reports/statement-page'
import type { StatementContent } from '../../src/billing/reports/statements'
import { CommandFailed, WrongUsage } from '../lib/errors'
import { gatewayCommand } from '../lib/gateway'
import { limitArg, parseCount, parseLimit, parseWord } from '../lib/values'
import { commandLineOf } from '../program'
import { print, printJson, printStream, say } from '../view/output'
import { printTable } from '../view/table'
import { shortTime } from '../view/times'

const FORMATS = ['html', 'csv', 'json'] as const
const DEFAULT_LIMIT = 100

type Summary = ReplyOf<'listStatements'>['data'][number]

const issue = gatewayCommand({
  name: 'issue',
  description: 'Issue the statements of a past month. Existing statements stay unchanged.',
  examples: [
    'gateway statements issue --month 2026-10',
    'gateway statements issue --month 2026-10 --account alice',
  ],
  args: {
    month: { type: 'string', valueHint: '2026-10', required: true, description: 'The month, in UTC' },
    account: { type: 'string', valueHint: 'A', description: 'Only the statement of this account' },
  },
  run(args) {
    const { month, account } = args
    return async (gateway) => {
      const { data } = await gateway.call('issueStatements', { body: { month, ...(account && { account }) } })
      if (args.json) return printJson(data)
      if (data.length === 0)
        return say(
          `Nothing to issue for ${month}: each account with a balance or a movement has its statement.`,
        )
      showTable(data)
      say(`\nAs a page: ${commandLineOf(`statements show ${data[0]?.number}`, args)} > statement.html`)
    }
  },
})

const list = gatewayCommand({
  name: 'list',
  description: 'List statements, newest first.',
  examples: ['gateway statements list --account alice', 'gateway statements list --month 2026-10 --json'],
  args: {
    account: { type: 'string', valueHint: 'A', description: 'Only those of this account' },
    month: { type: 'string', valueHint: '2026-10', description: 'Only those of this month' },
    limit: limitArg(DEFAULT_LIMIT),
  },
  run(args) {
    const { account, month } = args
    const limit = parseLimit(args, DEFAULT_LIMIT)
    return async (gateway) => {
      const query = { ...(account && { account }), ...(month && { month }) }
      const rows = await gateway.rows('listStatements', { query }, limit)
      if (args.json) return printJson(rows)
      if (rows.length === 0) return say('There are no such statements.')
      showTable(rows)
    }
  },
})

const show = gatewayCommand({
  name: 'show',
  description: 'Print a statement as an HTML page, CSV or JSON.',
  examples: [
    'gateway statements show 12 > statement.html',
    'gateway statements show 12 --format csv',
    'gateway statements show 12 --json | jq -r .content.closing_usd',
  ],
  args: {
    number: { type: 'positional', required: true, description: 'The number of the statement' },
    format: { type: 'string', valueHint: FORMATS.join('|'), description: 'The form (default html)' },
  },
  run(args) {
    if (args.json && args.format !== undefined && args.format !== 'json')
      throw new WrongUsage('--json is a form already: leave --format out.')
    const format = args.json ? 'json' : parseWord('format', args.format ?? 'html', FORMATS)
    const number = String(parseCount('number', args.number))
    return async (gateway) => {
      if (format === 'csv') return printStream(await gateway.csv('getStatement', { params: { number } }))
      const statement = await gateway.call('getStatement', { params: { number } })
      if (format === 'json') return printJson(statement)
      const content = statement.content as object as StatementContent
      process.stdout.write(
        statementHtml({ ...statement, content, issuedAt: Date.parse(statement.issued_at) }),
      )
    }
  },
})

const verify = gatewayCommand({
  name: 'verify',
  description: 'Check that all statements are unchanged and agree with the ledger.',
  examples: ['gateway statements verify'],
  run: (args) => async (gateway) => {
    const found = await gateway.call('verifyStatements')
    if (args.json) printJson(found)
    else if (found.faults.length === 0)
      print(
        found.checked === 1
          ? '1 statement is as it was issued.'
          : found.checked === 1
            ? 'The statement is as it was issued.'
            : `${found.checked} statements are as they were issued.`,
      )
    if (found.faults.length > 0) throw new CommandFailed('Statements are not right:', found.faults)
  },
})

export const statements = defineCommand({
  meta: { name: 'statements', description: 'Issue, show and verify monthly statements of accounts.' },
  subCommands: { issue, list, show, verify },
})

function showTable(rows: readonly Summary[]): void {
  printTable(rows, [
    ['NUMBER', (row) => String(row.number), { align: 'right' }],
    ['MONTH', (row) => row.month],
    ['ACCOUNT', (row) => row.account, { flexible: true }],
    ['BEFORE', (row) => row.opening_usd ?? '', { align: 'decimal' }],
    ['USED', (row) => row.used_usd ?? '', { align: 'decimal' }],
    ['BALANCE', (row) => row.closing_usd ?? '', { align: 'decimal' }],
    ['ISSUED (UTC)', (row) => shortTime(Date.parse(row.issued_at)), { optional: true }],
  ])
}
