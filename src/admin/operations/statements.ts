// Statements over the admin API: issued, listed, and one as JSON, a page or a table. Issued statements must never change.

import { Type } from '@sinclair/typebox'
import { requireAccount } from '../../accounts/accounts'
import { OneOf, open } from '../../api-operation/operation'
import {
  draftStatements,
  faultsOfStatements,
  type IssuedStatement,
  isOver,
  issueStatement,
  listStatements,
  monthOf,
  requireStatement,
} from '../../billing/reports/statements'
import { statementFile, statementFormat, statementView } from '../../http/statements'
import { invalidRequest } from '../../lib/errors'
import {
  changing,
  closedBody,
  limitOf,
  operationsIn,
  optionalText,
  PageOf,
  pageOf,
  pageQuery,
  Text,
  unknownCursor,
} from '../operation'

const operation = operationsIn('Statements')
const Month = Text('A month in UTC, such as `2026-10`.')
const Summary = Type.Object({ account: Type.String(), ...statementView.schema.properties }, open)

const summaryJson = (statement: IssuedStatement) => ({
  account: statement.account,
  ...statementView.show(statement),
})

const list = operation({
  id: 'listStatements',
  endpoint: 'GET /statements',
  role: 'viewer',
  summary: 'Statements, newest first or by their numbers',
  query: Type.Object({
    ...pageQuery,
    account: optionalText('Only those of this account.'),
    month: Type.Optional(Month),
    order: Type.Optional(OneOf(['number', 'newest'], '`newest` first, or by `number`. Default `newest`.')),
  }),
  reply: PageOf(Summary),
  async run({ world }, query) {
    const limit = limitOf(query)
    const { account, month, order } = query
    const after = query.after === undefined ? undefined : Number(query.after)
    if (after !== undefined && (!Number.isSafeInteger(after) || after < 0)) throw unknownCursor()
    const isNewestFirst = order !== 'number'
    const filter = { account, month, isNewestFirst, after, limit: limit + 1 }
    const { db } = await world.reportSource()
    const rows = await listStatements(db, filter)
    return pageOf(rows, limit, summaryJson, ({ number }) => String(number))
  },
})

const issue = operation({
  id: 'issueStatements',
  endpoint: 'POST /statements',
  role: 'operator',
  summary: 'Issue statements',
  description:
    'Those of a month that is over: of one account, or of all with a balance or a movement. Existing ones stay.',
  body: Type.Object(
    { month: Month, account: optionalText('Only the statement of this account.') },
    closedBody,
  ),
  reply: Type.Object({ data: Type.Array(Summary) }, open),
  async run(context, _query, { month, account }) {
    const { db, config, now } = context.world
    const period = monthOf(month)
    if (!period) throw invalidRequest('month', "Invalid 'month': expected a month such as 2026-10.")
    if (!isOver(period, now()))
      throw invalidRequest(
        'month',
        `Invalid 'month': ${month} is not over. Statements can be issued from one hour after its end (UTC).`,
      )
    if (account !== undefined) await requireAccount(db, account)
    const issued: IssuedStatement[] = []
    for (const content of await draftStatements(db, month, config, account)) {
      const { opening_usd, used_usd, closing_usd } = content
      const recorded = changing(context, {
        action: 'statement.issue',
        target: `account:${content.account}`,
        before: null,
        after: { month, opening_usd, used_usd, closing_usd },
      })
      const statement = await issueStatement(recorded, content, now())
      if (statement) issued.push(statement)
    }
    return { data: issued.map(summaryJson) }
  },
})

const show = operation({
  id: 'getStatement',
  endpoint: 'GET /statements/{number}',
  role: 'viewer',
  summary: 'One statement, as issued',
  query: Type.Object(statementFormat),
  reply: Type.Intersect([Summary, Type.Object({ content: Type.Object({}, open) }, open)]),
  async run({ world, params: { number = '' } }, { format }) {
    const { db } = await world.reportSource()
    const found = await requireStatement(db, number)
    if (format === 'html' || format === 'csv') return statementFile(db, found, format)
    return { ...summaryJson(found), content: found.content }
  },
})

const verify = operation({
  id: 'verifyStatements',
  endpoint: 'GET /statements/verification',
  role: 'viewer',
  summary: 'Verify statements',
  description: 'Whether all are there as they were issued, and agree with the ledger.',
  reply: Type.Object({ checked: Type.Integer(), faults: Type.Array(Type.String()) }, open),
  run: async ({ world }) => faultsOfStatements((await world.reportSource()).db),
})

export const statementOperations = [list, issue, verify, show]
