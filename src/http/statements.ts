// Statements as the admin API and that of callers show them: in lists, and one as a file, a page that prints well or a table. The
// content of a file must never run in a browser.

import { Type } from '@sinclair/typebox'
import { spenderNames } from '../accounts/spenders'
import { Nullable, OneOf } from '../api-operation/operation'
import { text } from '../api-operation/schemas'
import { viewOf } from '../api-operation/view'
import { STATEMENT_TITLES, statementHtml, statementLines } from '../billing/reports/statement-page'
import type { IssuedStatement, ReadableStatement } from '../billing/reports/statements'
import type { Db } from '../db/db'
import { isoTime } from '../db/iso-time'
import { csvResponse } from './csv'

const Sum = Nullable(Type.String(), { description: 'Dollars; null if the statement cannot be read.' })

/** A statement in a list of those of one account. */
export const statementView = viewOf<IssuedStatement>()({
  number: [Type.Integer(), ({ number }) => number],
  month: [text, ({ month }) => month],
  issued_at: [text, ({ issuedAt }) => isoTime(issuedAt)],
  opening_usd: [Sum, ({ content }) => content?.opening_usd ?? null],
  used_usd: [Sum, ({ content }) => content?.used_usd ?? null],
  closing_usd: [Sum, ({ content }) => content?.closing_usd ?? null],
  hash: [text, ({ hash }) => hash],
})

/** The query of one statement. */
export const statementFormat = {
  format: Type.Optional(OneOf(['json', 'html', 'csv'], '`html` is a page for printing. Default `json`.')),
}

export async function statementFile(
  db: Db,
  statement: ReadableStatement,
  format: 'html' | 'csv',
): Promise<Response> {
  if (format === 'csv')
    return csvResponse(
      `statement-${statement.number}.csv`,
      STATEMENT_TITLES,
      [statementLines(statement)],
      (line) => line,
    )
  const spenders = statement.content.spenders ?? []
  const names = await spenderNames(
    db,
    spenders.flatMap(({ spender }) => (spender === null ? [] : [spender])),
  )
  return new Response(statementHtml(statement, names), {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    },
  })
}
