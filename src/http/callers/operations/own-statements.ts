// Statements of the account of a key, for its holder: listed, and one as JSON, a page or a table. It must never show a statement of
// another account.

import { Type } from '@sinclair/typebox'
import { CursorPage, limitParameter } from '../../../api-operation/schemas'
import { listStatements, requireStatement, type StatementContent } from '../../../billing/reports/statements'
import { invalidRequest, notFound } from '../../../lib/errors'
import { statementFile, statementFormat, statementView } from '../../statements'
import { callerOperation } from '../operation'
import { ownKey } from './own-key'

const NUMBER = /^[1-9]\d{0,14}$/
const closed = { additionalProperties: false }

const statements = callerOperation(CursorPage(statementView.schema))({
  ...ownKey,
  id: 'listOwnStatements',
  endpoint: 'GET /v1/statements',
  summary: 'Statements of this account',
  description: 'Newest first.',
  query: Type.Object(
    {
      limit: limitParameter(50, 200),
      after: Type.Optional(Type.String({ description: 'Continues a list after its `next`.' })),
    },
    closed,
  ),
  async run({ world: { db }, key: { account } }, { limit, after }) {
    if (after !== undefined && !NUMBER.test(after))
      throw invalidRequest(
        'after',
        "Invalid 'after': it is not the 'next' of a page. Start again without it.",
      )
    const filter = { account, isNewestFirst: true, limit: limit + 1 }
    const rows = await listStatements(db, { ...filter, ...(after !== undefined && { after: Number(after) }) })
    const shown = rows.slice(0, limit)
    const next = rows.length > limit ? String(shown.at(-1)?.number) : null
    return { object: 'list', data: shown.map(statementView.show), next }
  },
})

const statement = callerOperation(
  Type.Object({
    object: Type.Literal('statement'),
    ...statementView.schema.properties,
    content: Type.Unsafe<StatementContent>({
      type: 'object',
      description: 'The balance before and after, payments and corrections, and usage by model.',
    }),
  }),
)({
  ...ownKey,
  id: 'getOwnStatement',
  endpoint: 'GET /v1/statements/{number}',
  params: { number: 'The number of the statement.' },
  summary: 'One statement',
  description: 'As it was issued.',
  query: Type.Object(statementFormat, closed),
  missing: notFound('statement', '1'),
  async run({ world: { db }, key, params: { number = '' } }, { format }) {
    const found = await requireStatement(db, number, key.account)
    if (format === 'html' || format === 'csv') return statementFile(db, found, format)
    return { object: 'statement', ...statementView.show(found), content: found.content }
  },
})

export const ownStatementOperations = [statements, statement]
