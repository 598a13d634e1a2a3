// Retention over the admin API: the closed months and their archives, the months that would be closed, and closing them now. It
// must never close a month that neither the configuration nor the caller has named.

import { Type } from '@sinclair/typebox'
import { Nullable, open } from '../../api-operation/operation'
import { openPlace } from '../../backup/schedule'
import { type Closing, closedTotals, closingsOf } from '../../billing/proofs/closings'
import { MONTHS, parseMonths } from '../../config/retention'
import { isoTime } from '../../db/iso-time'
import { conflict } from '../../lib/errors'
import { formatUsd } from '../../lib/money'
import { placeOfArchives } from '../../retention/archive-place'
import { NotClosed } from '../../retention/close'
import { chargesToClose, monthsToClose } from '../../retention/months'
import { type AdminWorld, closedBody, operationsIn, recordOnly } from '../operation'

const operation = operationsIn('Retention')
const Charges = Type.Optional(
  Type.String({
    pattern: MONTHS.source,
    maxLength: 6,
    description:
      'How many months charges stay, such as `24mo`. Default: `retention.charges` of the configuration.',
  }),
)
const ClosingReply = Type.Object(
  { month: Type.String(), closed_at: Type.String(), charges: Type.Integer(), archive: Type.String() },
  open,
)

/** Lets requests continue between two pages of charges, in milliseconds. */
const PAUSE_MS = 5

function closingJson(closing: Closing) {
  return {
    month: closing.month,
    closed_at: isoTime(closing.at),
    charges: closing.charges,
    archive: closing.archive,
    bytes: closing.archiveBytes,
  }
}

/** How many months charges stay, by the caller or by the configuration. Throws 409 if neither sets it. */
function keptBy(
  { config }: AdminWorld,
  charges = config.retention?.charges,
): { kept: string; months: number } {
  const months = charges === undefined ? undefined : parseMonths(charges)
  if (charges !== undefined && months !== undefined) return { kept: charges, months }
  throw conflict(
    'retention_not_configured',
    'The configuration has no retention.charges, so charges are kept permanently. `charges` names a time for this request.',
  )
}

const show = operation({
  id: 'getRetention',
  endpoint: 'GET /retention',
  role: 'viewer',
  summary: 'Closed months',
  description: 'With where their archives are.',
  reply: Type.Object(
    { charges: Nullable(Type.String()), place: Type.String(), closed: Type.Array(ClosingReply) },
    open,
  ),
  async run({ world: { db, config, dataDir } }) {
    const [closings, totals] = [await closingsOf(db), await closedTotals(db)]
    return {
      charges: config.retention?.charges ?? null,
      place: openPlace(placeOfArchives(config, dataDir)).title,
      closed: closings.map((closing) => {
        const { amountNano = 0, shortfallNano = 0 } = totals.get(closing.position) ?? {}
        return {
          ...closingJson(closing),
          amount_usd: formatUsd(amountNano),
          shortfall_usd: formatUsd(shortfallNano),
        }
      }),
    }
  },
})

const preview = operation({
  id: 'listMonthsToClose',
  endpoint: 'GET /retention/months',
  role: 'viewer',
  summary: 'Months to close',
  description: 'Those that are old enough, oldest first. Changes nothing.',
  query: Type.Object({ charges: Charges }),
  reply: Type.Object(
    {
      charges: Type.String(),
      data: Type.Array(
        Type.Object(
          {
            month: Type.String(),
            charges: Type.Integer(),
            amount_usd: Type.String(),
            open: Type.Integer({ description: 'Charges that have not ended: the month waits for them.' }),
          },
          open,
        ),
      ),
    },
    open,
  ),
  async run({ world }, query) {
    const { kept, months } = keptBy(world, query.charges)
    const pause = () => new Promise<void>((resolve) => world.after(PAUSE_MS, resolve))
    const data = []
    for (const month of await monthsToClose(world.db, months, world.now())) {
      const { charges, amountNano } = await chargesToClose(world.db, month, pause)
      data.push({ month: month.month, charges, amount_usd: formatUsd(amountNano), open: month.open })
    }
    return { charges: kept, data }
  },
})

const close = operation({
  id: 'closeMonths',
  endpoint: 'POST /retention/closings',
  role: 'owner',
  summary: 'Close months',
  description: 'Those that are old enough now, as the server does by itself. Answers when it is done.',
  body: Type.Object({ charges: Charges }, closedBody),
  reply: Type.Object(
    {
      charges: Type.String(),
      place: Type.String(),
      closed: Type.Array(ClosingReply),
      waiting: Nullable(Type.Object({ month: Type.String(), open: Type.Integer() }, open)),
    },
    open,
  ),
  async run(context, _query, body) {
    const { config, dataDir } = context.world
    const { kept, months } = keptBy(context.world, body.charges)
    const { closed, waiting } = await context.control.closeMonths(months).catch((error) => {
      throw error instanceof NotClosed ? conflict('months_not_closed', error.message) : error
    })
    if (closed.length > 0)
      await recordOnly(context, {
        action: 'retention.close',
        target: 'retention',
        after: { charges: kept, closed: closed.map(closingJson) },
      })
    return {
      charges: kept,
      place: openPlace(placeOfArchives(config, dataDir)).title,
      closed: closed.map(closingJson),
      waiting: waiting ?? null,
    }
  },
})

export const retentionOperations = [show, preview, close]
