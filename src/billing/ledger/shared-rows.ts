// The rows that charges share, written once and referenced by small numbers: who bought what (a series), price lists, and the forms
// of vendors' usage. A row must be durable before a charge refers to it, and must never change or be deleted.

import { createHash } from 'node:crypto'
import { apply, type Db, type Value } from '../../db/db'
import { figuresIn, piecesOfShape, shortUsageOf } from '../reports/usage-form'

/** The owner of a charge, and what it was for. Reports sum by it. */
export interface Series {
  account: string
  keyId: string
  model: string
  operation: string
  /** The set of metadata that it counts under; absent or 0 if it has none. */
  metadataId?: number
}

/** Usage as a charge stores it: figures with the number of their shape, or the whole text. */
export interface StoredUsage {
  usageShape: number | null
  usage: string | null
}

interface Shape {
  id: number
  pieces: readonly string[]
}

/** The number for all sets of metadata beyond the maximum. */
export const OTHER_METADATA = -1
/** Usage shapes that are tried first, per series. */
const MAX_RECENT = 4
/** Numbers that are cached per table, so that most charges do not query the database. */
const MAX_KNOWN = 20_000
/** Maximum number of usage shapes. Usage of vendors that keep inventing shapes is stored as text. */
const MAX_SHAPES = 1_000
/** How often the next number is tried while other nodes take numbers too. */
const TRIES = 100

export class References {
  private readonly db: Db
  private readonly series = new Map<string, number>()
  private readonly priceLists = new Map<string, number>()
  private readonly metadata = new Map<string, number>()
  private readonly usageShapes = new Map<string, number | null>()
  private readonly recentShapes = new Map<number, readonly Shape[]>()
  /** Numbers that are being requested: many requests of one kind begin together. */
  private readonly reads = new Map<string, Promise<unknown>>()
  /** Number of lost connections, after each of which the cache is cleared. */
  private losses = 0

  constructor(db: Db) {
    this.db = db
  }

  /** The number of a series; a promise only if it is not cached yet. */
  seriesId({ account, keyId, model, operation, metadataId = 0 }: Series): number | Promise<number> {
    this.forgetWhatWasLost()
    const plain = `${keyId}\n${model}\n${operation}\n${account}`
    const name = metadataId === 0 ? plain : `${plain}\n${metadataId}`
    return (
      this.series.get(name) ??
      this.remember(this.series, name, {
        insert: `insert into charge_series (id, account, key_id, model, operation, metadata_id)
          select coalesce(max(id), 0) + 1, cast($1 as text), cast($2 as text), cast($3 as text), cast($4 as text),
            cast($5 as bigint)
          from charge_series where 1 = 1 on conflict do nothing`,
        find: `select id from charge_series where account = $1 and key_id = $2 and model = $3 and operation = $4
          and metadata_id = $5`,
        parameters: [account, keyId, model, operation, metadataId],
      })
    )
  }

  /** The number of a price list; a promise only if it is not cached yet. */
  priceListId(pricesJson: string): number | Promise<number> {
    this.forgetWhatWasLost()
    return (
      this.priceLists.get(pricesJson) ??
      this.remember(this.priceLists, pricesJson, textReference('price_lists', 'prices', pricesJson))
    )
  }

  /**
   * A usage object of a series in its short form: it nearly always has the shape of a recent one. It is a promise only if a shape
   * is not cached yet.
   */
  usage(series: number, usageJson: string): StoredUsage | Promise<StoredUsage> {
    this.forgetWhatWasLost()
    const recent = this.recentShapes.get(series) ?? []
    for (const { id, pieces } of recent) {
      const figures = figuresIn(usageJson, pieces)
      if (figures !== undefined) return { usageShape: id, usage: figures }
    }
    const { shape, figures } = shortUsageOf(usageJson)
    if (shape === null) return { usageShape: null, usage: usageJson }
    const id = this.usageShapes.get(shape)
    if (id === undefined)
      return this.once(shape, () => this.rememberShape(shape)).then(() => this.usage(series, usageJson))
    // There are too many shapes already.
    if (id === null) return { usageShape: null, usage: usageJson }
    note(this.recentShapes, series, [{ id, pieces: piecesOfShape(shape) }, ...recent].slice(0, MAX_RECENT))
    return { usageShape: id, usage: figures }
  }

  /**
   * The number of a set of metadata; a promise only if it is not cached yet. Beyond the maximum, all sets share one.
   */
  metadataId(content: string, most: number): number | Promise<number> {
    this.forgetWhatWasLost()
    return this.metadata.get(content) ?? this.once(content, () => this.rememberMetadata(content, most))
  }

  /** A promoted replica may lack the last rows, and reuse their numbers. */
  private forgetWhatWasLost(): void {
    const losses = this.db.losses?.() ?? 0
    if (losses === this.losses) return
    this.losses = losses
    for (const known of [this.series, this.priceLists, this.metadata, this.usageShapes, this.recentShapes])
      known.clear()
  }

  private async rememberMetadata(content: string, most: number): Promise<number> {
    const reference = textReference('usage_metadata', 'content', content)
    const [counted] = await this.db.query({ sql: 'select count(*) as count from usage_metadata' })
    const isFull = (counted?.count as number) >= most
    const id = isFull ? await findNumber(this.db, reference) : await numberOf(this.db, reference)
    note(this.metadata, content, id ?? OTHER_METADATA)
    return id ?? OTHER_METADATA
  }

  private async rememberShape(shape: string): Promise<void> {
    const reference = textReference('usage_shapes', 'shape', shape)
    const [counted] = await this.db.query({ sql: 'select count(*) as count from usage_shapes' })
    const isFull = (counted?.count as number) >= MAX_SHAPES
    const id = isFull ? await findNumber(this.db, reference) : await numberOf(this.db, reference)
    note(this.usageShapes, shape, id ?? null)
  }

  private remember(known: Map<string, number>, content: string, reference: Reference): Promise<number> {
    return this.once(content, async () => {
      const id = await numberOf(this.db, reference)
      note(known, content, id)
      return id
    })
  }

  private once<Result>(content: string, work: () => Promise<Result>): Promise<Result> {
    const running = this.reads.get(content) as Promise<Result> | undefined
    if (running) return running
    const begun = work().finally(() => this.reads.delete(content))
    this.reads.set(content, begun)
    return begun
  }
}

function note<Content, Id>(known: Map<Content, Id>, content: Content, id: Id): void {
  if (known.size >= MAX_KNOWN) known.clear()
  known.set(content, id)
}

interface Reference {
  insert: string
  find: string
  parameters: Value[]
}

function textReference(
  table: 'price_lists' | 'usage_shapes' | 'usage_metadata',
  column: string,
  text: string,
): Reference {
  return {
    // Texts may be too long for an index. Without the `where`, SQLite would parse the conflict clause as a join condition.
    insert: `insert into ${table} (id, hash, ${column})
      select coalesce(max(id), 0) + 1, cast($1 as text), cast($2 as text) from ${table} where 1 = 1
      on conflict do nothing`,
    find: `select id from ${table} where hash = $1`,
    parameters: [createHash('sha256').update(text).digest('hex'), text],
  }
}

/** The number of an existing row, or of a new one that is written with the next number. */
async function numberOf(db: Db, reference: Reference): Promise<number> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const id = await findNumber(db, reference)
    if (id !== undefined) return id
    // Another node may take the same number at the same time: then nothing is written, and the next attempt finds its row.
    await apply(db, [{ sql: reference.insert, parameters: reference.parameters }], { mayBeLate: true })
  }
  throw new Error(`no number was free after ${TRIES} tries`)
}

async function findNumber(db: Db, { find, parameters }: Reference): Promise<number | undefined> {
  const used = find.match(/\$\d/g)?.length ?? 0
  const [row] = await db.query({ sql: find, parameters: parameters.slice(0, used) })
  return row?.id as number | undefined
}

const ofDatabases = new WeakMap<Db, References>()

/** The shared rows of a database that this process knows. */
export function referencesOf(db: Db): References {
  let references = ofDatabases.get(db)
  if (!references) {
    references = new References(db)
    ofDatabases.set(db, references)
  }
  return references
}
