// Reads ended charges as they are stored, page by page in the order of their positions, for code that must see each of
// them: verifications and archives. It must never write.

import { createHash } from 'node:crypto'
import type { Db, Row } from '../../db/db'
import { wholeUsageOf } from '../reports/usage-form'
import { describeCodes } from './ended-charges'
import type { Series } from './shared-rows'

/** Number of charges per read. */
const PAGE = 5_000

/** Pages of the rows between two positions, each with the position of its last row. */
export async function* pagesOfCharges(
  db: Db,
  after: number,
  to: number,
): AsyncGenerator<{ rows: Row[]; position: number }> {
  for (let from = after; from < to; from += PAGE) {
    const position = Math.min(from + PAGE, to)
    const rows = await db.query({
      sql: `select position, id, series, price_list, state, held, amount, shortfall, usage_shape, usage, usage_source,
          ended_by, created_at, ended_at, cost
        from ended_charges where position > $1 and position <= $2 order by position`,
      parameters: [from, position],
    })
    yield { rows, position }
  }
}

/** A running hash of rows. */
export class RowsHash {
  private readonly hash = createHash('sha256')

  add({ cost, ...row }: Row): void {
    // Charges from before costs existed keep their old hash.
    this.hash.update(
      JSON.stringify(cost === null ? Object.values(row) : [...Object.values(row), cost as number]),
    )
  }

  digest(): string {
    return this.hash.digest('hex')
  }
}

/** A charge in full, with everything that it shares with others, for readers who have only its line in an archive. */
export type ArchivedCharge = ReturnType<typeof archivedCharge>

export function archivedCharge(row: Row, references: ReferencedTexts) {
  const series = references.series.get(row.series as number)
  if (!series) throw new Error(`charge ${row.id} has no owner: series ${row.series} is missing`)
  const shape = row.usage_shape === null ? null : references.usageShapes.get(row.usage_shape as number)
  if (shape === undefined)
    throw new Error(`charge ${row.id}: the form ${row.usage_shape} of its usage is missing`)
  return {
    position: row.position as number,
    id: row.id as string,
    /** The number of all charges with the same account, key, model, operation and metadata. */
    series: row.series as number,
    account: series.account,
    key_id: series.keyId,
    model: series.model,
    operation: series.operation,
    /** The metadata that it counts under, as text; null if it has none. */
    metadata: references.metadata.get(series.metadataId ?? 0) ?? null,
    ...describeCodes(row),
    held: row.held as number,
    amount: row.amount as number,
    shortfall: row.shortfall as number,
    /** The cost at the vendor; null if unknown. */
    cost: row.cost as number | null,
    /** The vendor's usage object and the price list, as texts. */
    usage: row.usage === null ? null : wholeUsageOf({ shape, figures: row.usage as string }),
    prices: references.priceLists.get(row.price_list as number) ?? null,
    created_at: row.created_at as number,
    ended_at: row.ended_at as number,
  }
}

/** Texts and names that charges refer to by numbers. */
interface ReferencedTexts {
  series: ReadonlyMap<number, Series>
  priceLists: ReadonlyMap<number, string>
  usageShapes: ReadonlyMap<number, string>
  metadata: ReadonlyMap<number, string>
}

/** Everything that charges refer to. It grows with the offer of the gateway, not with the number of requests. */
export async function readReferences(db: Db): Promise<ReferencedTexts> {
  const texts = async (table: string, column: string) => {
    const rows = await db.query({ sql: `select id, ${column} as content from ${table}` })
    return new Map(rows.map(({ id, content }) => [id as number, content as string]))
  }
  const series = await db.query({
    sql: 'select id, account, key_id, model, operation, metadata_id from charge_series',
  })
  return {
    series: new Map(
      series.map((row) => [
        row.id as number,
        {
          account: row.account as string,
          keyId: row.key_id as string,
          model: row.model as string,
          operation: row.operation as string,
          metadataId: row.metadata_id as number,
        },
      ]),
    ),
    priceLists: await texts('price_lists', 'prices'),
    usageShapes: await texts('usage_shapes', 'shape'),
    metadata: await texts('usage_metadata', 'content'),
  }
}
