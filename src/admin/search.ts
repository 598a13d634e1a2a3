// Finds things by the beginning of their name, or by their id. It must never write, or search without an index.

import type { Config } from '../config/schema'
import type { Db } from '../db/db'
import { findRequest } from '../request-log/look-up'
import type { RequestStore } from '../request-log/request-log'
import { findTask } from '../tasks/find'

interface Hit {
  kind: 'account' | 'key' | 'model' | 'upstream' | 'request' | 'task'
  name: string
}

interface Searched {
  db: Db
  requestLog: Pick<RequestStore, 'find' | 'list'>
  readonly config: Config
}

const MAX_HITS = 5

export async function search({ db, requestLog, config }: Searched, text: string): Promise<Hit[]> {
  if (text === '') return []
  const beginsLike = (name: string) => name.toLowerCase().startsWith(text.toLowerCase())
  const named = (kind: Hit['kind'], names: readonly string[]): Hit[] =>
    names
      .filter(beginsLike)
      .slice(0, MAX_HITS)
      .map((name) => ({ kind, name }))
  const [accounts, keys, request, task] = await Promise.all([
    namesFrom(db, 'accounts', text),
    namesFrom(db, 'keys', text),
    /^req_\w{32}$/.test(text) ? findRequest({ db, requests: requestLog }, text) : undefined,
    /^[\w-]{16,}$/.test(text) ? findTask(db, null, text) : undefined,
  ])
  return [
    ...(request ? [{ kind: 'request' as const, name: text }] : []),
    ...(task ? [{ kind: 'task' as const, name: task.id }] : []),
    ...named('account', accounts),
    ...named('key', keys),
    ...named('model', Object.keys(config.models)),
    ...named('upstream', Object.keys(config.upstreams)),
  ]
}

/** Names that begin with a text, by their index. */
async function namesFrom(db: Db, table: 'accounts' | 'keys', text: string): Promise<string[]> {
  const rows = await db.query({
    sql: `select name from ${table} where name >= $1 order by name limit ${MAX_HITS}`,
    parameters: [text],
  })
  return rows.map(({ name }) => name as string)
}
