// Deposits and withdrawals of all accounts, over the admin API: payments, codes, credits, corrections and allowances. It must never
// write.

import { Type } from '@sinclair/typebox'
import { OneOf } from '../../api-operation/operation'
import {
  listTransfers,
  TRANSFER_KINDS,
  type TransferFilter,
  transferSums,
  transfersByPage,
  transferView,
} from '../../billing/ledger/transfer-list'
import { csvResponse } from '../../http/csv'
import { periodOfQuery } from '../../http/query-time'
import { formatUsd } from '../../lib/money'
import {
  limitOf,
  operationsIn,
  optionalText,
  PageOf,
  pageOf,
  pageQuery,
  periodQuery,
  placeOfCursor,
  timedCursor,
} from '../operation'

const operation = operationsIn('Transfers')
const Transfer = transferView.reply
const TITLES = transferView.titles

const list = operation({
  id: 'listTransfers',
  endpoint: 'GET /transfers',
  role: 'viewer',
  summary: 'Money in and out',
  description: 'What came to all accounts and left them, except for charges, newest first.',
  query: Type.Object({
    ...periodQuery,
    ...pageQuery,
    kind: Type.Optional(OneOf(TRANSFER_KINDS, 'Only those of this kind.')),
    account: optionalText('Only those of this account.'),
    format: Type.Optional(
      OneOf(['json', 'csv'], '`csv` returns the whole period as a file. Default `json`.'),
    ),
  }),
  reply: PageOf(Transfer),
  async run({ world }, query) {
    const { db } = await world.reportSource()
    const { kind, account, after, format } = query
    const filter: TransferFilter = { ...periodOfQuery(query, 0), kind, account }
    if (format === 'csv')
      return csvResponse('transfers.csv', TITLES, transfersByPage(db, filter), (row) =>
        Object.values(transferView.show(row)),
      )
    const limit = limitOf(query)
    const rows = await listTransfers(db, filter, { limit: limit + 1, before: placeOfCursor(after) })
    return pageOf(rows, limit, transferView.show, ({ at, id }) => timedCursor(at, id))
  },
})

const sums = operation({
  id: 'sumTransfers',
  endpoint: 'GET /transfers/sums',
  role: 'viewer',
  summary: 'Sums of money in and out',
  description: 'By kind, for all accounts in a period.',
  query: Type.Object({ ...periodQuery, account: optionalText('Only those of this account.') }),
  reply: Type.Object({
    data: Type.Array(
      Type.Object({ kind: Type.String(), transfers: Type.Integer(), amount_usd: Type.String() }),
    ),
  }),
  async run({ world }, query) {
    const { db } = await world.reportSource()
    const found = await transferSums(db, { ...periodOfQuery(query, 0), account: query.account })
    return {
      data: found.map(({ kind, count, amountNano }) => ({
        kind,
        transfers: count,
        amount_usd: formatUsd(amountNano),
      })),
    }
  },
})

export const transferOperations = [list, sums]
