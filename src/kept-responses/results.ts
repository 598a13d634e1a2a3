// The answers of deferred requests: stored with responses, for as long, and in the same space of the account. They must never be
// read as responses that a conversation continues.

import type { ResponseLimits } from '../config/responses'
import type { Db, Statement } from '../db/db'
import { deleteResponse, findChain, insertResponse, readContents } from './rows'

/** The answer of a deferred request: its body, or where its file is stored. */
export type KeptResult = { contentType: string } & (
  | { body: string | Uint8Array }
  /** The signed URL of the artifact. */
  | { url: string }
)

/** A result as JSON in a row. */
interface StoredResult {
  content_type: string
  text?: string
  base64?: string
  url?: string
}

interface ResultOwner {
  /** Id of the task. */
  id: string
  account: string
}

/** Ids of tasks, which no response has. */
const TASK_ID = /^task_/

export function isResultId(id: string): boolean {
  return TASK_ID.test(id)
}

/** The statements that store a result; they must be in the batch of the settlement. */
export function keepResult(
  { db, now, keptResponses: { keepMs = 0 } }: { db: Db; now(): number; keptResponses: ResponseLimits },
  { id, account }: ResultOwner,
  result: KeptResult,
): Statement[] {
  const createdAt = now()
  return insertResponse(db, {
    id,
    account,
    previousId: null,
    input: '[]',
    answer: JSON.stringify(storedOf(result)),
    itemCount: 0,
    itemIds: [],
    createdAt,
    expiresAt: createdAt + keepMs,
  })
}

function storedOf(result: KeptResult): StoredResult {
  const { contentType: content_type } = result
  if ('url' in result) return { content_type, url: result.url }
  const { body } = result
  if (typeof body === 'string') return { content_type, text: body }
  return { content_type, base64: Buffer.from(body).toString('base64') }
}

/** The result of a task; undefined if it has expired. */
export async function findResult(
  db: Db,
  { id, account }: ResultOwner,
  now: number,
): Promise<KeptResult | undefined> {
  const [head] = await findChain(db, account, id, now)
  const [content] = head ? await readContents(db, account, [id]) : []
  if (!content) return undefined
  const { content_type: contentType, text, base64, url } = JSON.parse(content.answer) as StoredResult
  if (url !== undefined) return { contentType, url }
  return { contentType, body: text ?? Buffer.from(base64 ?? '', 'base64') }
}

/** Deletes the result of a task, if it still exists. */
export async function deleteResult(db: Db, { id, account }: ResultOwner, now: number): Promise<void> {
  const [head] = await findChain(db, account, id, now)
  if (head) await deleteResponse(db, head)
}
