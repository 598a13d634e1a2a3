// The rows of stored responses: an answer, its input items, and the response that it continues. Every function takes the account: a
// row of another account must look exactly like a missing one.

import { type Db, type Row, type Statement, tryApply } from '../db/db'
import type { EncodedTable } from '../db/encryption/reencryption'

/** A response to store, as text. */
interface NewResponse {
  id: string
  account: string
  previousId: string | null
  /** JSON array of the items of this request only, without those that it continues. */
  input: string
  /** JSON of the response object. */
  answer: string
  /** Items of input and output together. */
  itemCount: number
  /** Ids by which later requests may name single items. */
  itemIds: readonly string[]
  createdAt: number
  expiresAt: number
}

/** The size of a kept response, before its content is read. */
export type KeptHead = ReturnType<typeof headOf>

function headOf({ id, account, previous, bytes, items }: Row) {
  return {
    id: id as string,
    account: account as string,
    previousId: previous as string | null,
    bytes: bytes as number,
    itemCount: items as number,
  }
}

interface ResponseContent {
  id: string
  input: string
  answer: string
}

/** Maximum number of responses in a chain. */
export const MAX_CHAIN_LENGTH = 1_000
/** Number of ids per query: it never changes, so that the statement is prepared once. */
const IDS_PER_QUERY = 32
const ID_LIST = Array.from({ length: IDS_PER_QUERY }, (_, index) => `$${index + 2}`).join(', ')

/** The statements that store a response; they must be in the batch of the settlement. */
export function insertResponse({ codec }: Pick<Db, 'codec'>, response: NewResponse): Statement[] {
  const { id, account, previousId, input, answer, itemCount, itemIds, createdAt, expiresAt } = response
  // The bytes of the stored texts, which are longer if they are encrypted.
  const bytes = Buffer.byteLength(input) + Buffer.byteLength(answer)
  return [
    {
      sql: `insert into responses (id, account, previous, input, answer, items, bytes, created_at, expires_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      parameters: [
        id,
        account,
        previousId,
        codec.encode(input, placeOf(id, 'input')),
        codec.encode(answer, placeOf(id, 'answer')),
        itemCount,
        bytes,
        createdAt,
        expiresAt,
      ],
    },
    ...itemIds.map((itemId) => ({
      // The same item may be sent again with its id: the first occurrence is used.
      sql: `insert into response_items (account, id, response) values ($1, $2, $3)
        on conflict (account, id) do nothing`,
      parameters: [account, itemId, id],
    })),
    addBytes(account, bytes),
  ]
}

/** Adds to the bytes that an account keeps, and locks their row until the end of the transaction. */
export function addBytes(account: string, bytes: number): Statement {
  return {
    sql: `insert into response_totals (account, bytes) values ($1, $2)
      on conflict (account) do update set bytes = response_totals.bytes + excluded.bytes`,
    parameters: [account, bytes],
  }
}

/** Subtracts from the bytes that an account keeps. */
export function subtractBytes(account: string, bytes: number): Statement {
  return {
    sql: 'update response_totals set bytes = bytes - $2 where account = $1',
    parameters: [account, bytes],
  }
}

function placeOf(id: string, column: string): string {
  return `responses.${column} ${id}`
}

export const responseTexts: EncodedTable = {
  table: 'responses',
  primaryKey: ['id'],
  columns: ['input', 'answer'],
  id: 'id',
  placeOf,
}

/** The response and everything that it continues, the oldest first; empty if it does not exist. */
export async function findChain(db: Db, account: string, id: string, now: number): Promise<KeptHead[]> {
  const rows = await db.query({
    sql: `with recursive chain (id, account, previous, bytes, items, depth) as (
        select id, account, previous, bytes, items, 1 from responses
        where id = $1 and account = $2 and expires_at > $3
        union all
        select one.id, one.account, one.previous, one.bytes, one.items, chain.depth + 1
        from responses one join chain on one.id = chain.previous
        where one.account = $2 and one.expires_at > $3 and chain.depth <= $4
      )
      select id, account, previous, bytes, items from chain order by depth desc`,
    parameters: [id, account, now, MAX_CHAIN_LENGTH],
  })
  return rows.map(headOf)
}

/** The contents of responses, in any order; missing ones are absent. */
export async function readContents(
  db: Db,
  account: string,
  ids: readonly string[],
): Promise<ResponseContent[]> {
  const sql = `select id, input, answer from responses where account = $1 and id in (${ID_LIST})`
  const rows = await queryByIds(db, sql, account, ids)
  const textOf = (row: Row, column: 'input' | 'answer') =>
    db.codec.decode(row[column] as string, placeOf(row.id as string, column))
  return rows.map((row) => ({
    id: row.id as string,
    input: textOf(row, 'input'),
    answer: textOf(row, 'answer'),
  }))
}

/** The ids of the responses that hold items, by the ids of the items. */
export async function findItems(
  db: Db,
  account: string,
  itemIds: readonly string[],
): Promise<Map<string, string>> {
  const sql = `select id, response from response_items where account = $1 and id in (${ID_LIST})`
  const rows = await queryByIds(db, sql, account, itemIds)
  return new Map(rows.map(({ id, response }) => [id as string, response as string]))
}

/** Deletes a response. False if it was gone. */
export function deleteResponse(db: Db, { id, account, bytes }: KeptHead): Promise<boolean> {
  return tryApply(db, [
    // This comes first, so that one of two concurrent deletions finds nothing, and the bytes are subtracted once.
    {
      sql: 'delete from responses where id = $1 and account = $2',
      parameters: [id, account],
      guard: true,
    },
    { sql: 'delete from response_items where response = $1', parameters: [id] },
    subtractBytes(account, bytes),
  ])
}

/** Bytes of all responses of an account. */
export async function keptBytes(db: Db, account: string): Promise<number> {
  const [row] = await db.query({
    sql: 'select bytes from response_totals where account = $1',
    parameters: [account],
  })
  return (row?.bytes as number | undefined) ?? 0
}

/** The oldest responses of an account. */
export async function oldestResponses(db: Db, account: string, count: number): Promise<KeptHead[]> {
  const rows = await db.query({
    sql: `select id, account, previous, bytes, items from responses where account = $1
      order by created_at, id limit $2`,
    parameters: [account, count],
  })
  return rows.map(headOf)
}

export async function expiredResponses(db: Db, now: number, count: number): Promise<KeptHead[]> {
  const rows = await db.query({
    sql: `select id, account, previous, bytes, items from responses where expires_at <= $1
      order by expires_at limit $2`,
    parameters: [now, count],
  })
  return rows.map(headOf)
}

/** Accounts that store more than a number of bytes. */
export async function accountsAbove(db: Db, bytes: number): Promise<string[]> {
  const rows = await db.query({
    sql: 'select account from response_totals where bytes > $1',
    parameters: [bytes],
  })
  return rows.map(({ account }) => account as string)
}

/** Runs a query for every page of a list of ids; the last page is filled with its last id. */
async function queryByIds(db: Db, sql: string, account: string, ids: readonly string[]): Promise<Row[]> {
  const rows: Row[] = []
  for (let from = 0; from < ids.length; from += IDS_PER_QUERY) {
    const page = ids.slice(from, from + IDS_PER_QUERY)
    const rest = new Array<string>(IDS_PER_QUERY - page.length).fill(page.at(-1) as string)
    rows.push(...(await db.query({ sql, parameters: [account, ...page, ...rest] })))
  }
  return rows
}
