// A statement as a file: a page that prints well, or a table. What is in it must never run in a browser.

import { spenderNames } from '../accounts/spenders'
import { STATEMENT_TITLES, statementHtml, statementLines } from '../billing/reports/statement-page'
import type { IssuedStatement } from '../billing/reports/statements'
import type { Db } from '../db/db'
import { csvResponse } from './csv'

export async function statementFile(
  db: Db,
  statement: IssuedStatement,
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
