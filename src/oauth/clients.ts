// Programs that connect by OAuth. Anybody may register one (RFC 7591), so a row is small, their number is limited, and one that
// nobody has allowed is deleted. A program has no secret: it proves by PKCE that a code is its own.

import { type Db, type Row, type Statement, tryApply } from '../db/db'
import { listOfColumn } from '../db/json-column'
import { isObject } from '../lib/objects'
import { printableValue } from '../lib/printable'
import { isLoopback } from '../lib/url-host'
import { OAuthError } from './error'

export type Client = ReturnType<typeof clientOfRow>

function clientOfRow(row: Row) {
  return {
    id: row.id as string,
    /** The name that the program chooses: it may be anything. */
    name: row.name as string,
    redirectUris: listOfColumn(row.redirect_uris) ?? [],
    createdAt: row.created_at as number,
  }
}

const MAX_NAME_LENGTH = 80
const MAX_URIS = 10
const MAX_URI_LENGTH = 1_000
/** Maximum number of registered programs that nobody has allowed yet. The oldest is deleted for a new one. */
const MAX_WAITING = 1_000
/** How long a program that nobody has allowed is kept, in milliseconds. */
const WAITING_MS = 86_400_000

/** Reads a registration. Throws `OAuthError` for an invalid one. */
export function readRegistration(body: unknown): Pick<Client, 'name' | 'redirectUris'> {
  if (!isObject(body)) throw new OAuthError('invalid_client_metadata', 'Send an object in JSON.')
  const { redirect_uris: uris, client_name: name } = body
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > MAX_URIS)
    throw new OAuthError('invalid_redirect_uri', `Send 1 to ${MAX_URIS} addresses in redirect_uris.`)
  const redirectUris = uris.map((uri) => {
    const fault = redirectFault(uri)
    if (fault !== undefined) throw new OAuthError('invalid_redirect_uri', fault)
    return uri as string
  })
  return { name: nameOf(name), redirectUris: [...new Set(redirectUris)] }
}

/** A name that fits in a line and cannot disturb a page. */
function nameOf(value: unknown): string {
  const text = typeof value === 'string' ? printableValue(value).trim().slice(0, MAX_NAME_LENGTH) : ''
  return text === '' ? 'A program without a name' : text
}

function redirectFault(uri: unknown): string | undefined {
  const url = typeof uri === 'string' && uri.length <= MAX_URI_LENGTH ? URL.parse(uri) : null
  if (!url) return `A redirect address has at most ${MAX_URI_LENGTH} characters and is absolute.`
  if (url.hash !== '' || url.username !== '' || url.password !== '' || String(uri).includes('#'))
    return 'A redirect address has no fragment, user or password.'
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))) return undefined
  return 'A redirect address begins with https://, or with http:// on this machine: http://127.0.0.1.'
}

/** The registered address that a request names: the same text, except for the port on this machine (RFC 8252, 7.3). */
export function matchesRedirect({ redirectUris }: Client, requested: string): boolean {
  if (redirectFault(requested) !== undefined) return false
  return redirectUris.some((known) => known === requested || withoutPort(known) === withoutPort(requested))
}

/** A loopback address without its port; any other text unchanged, so that it equals only itself. */
function withoutPort(uri: string): string {
  const url = new URL(uri)
  if (url.protocol !== 'http:') return uri
  return `${url.protocol}//${url.hostname}${url.pathname}${url.search}`
}

/** Stores a program, and deletes the oldest of those that nobody has allowed if there are too many. */
export async function storeClient(db: Db, client: Client): Promise<void> {
  const { id, name, redirectUris, createdAt } = client
  await tryApply(db, [
    {
      sql: `delete from oauth_clients where id in (select id from oauth_clients
          where not exists (select 1 from oauth_grants where client_id = oauth_clients.id)
          order by created_at desc limit 1000 offset ${MAX_WAITING - 1})`,
      parameters: [],
    },
    {
      sql: 'insert into oauth_clients (id, name, redirect_uris, created_at) values ($1, $2, $3, $4)',
      parameters: [id, name, JSON.stringify(redirectUris), createdAt],
    },
  ])
}

export async function findClient(db: Db, id: string): Promise<Client | undefined> {
  const [row] = await db.query({ sql: 'select * from oauth_clients where id = $1', parameters: [id] })
  return row && clientOfRow(row)
}

/** The statement that deletes programs without any grant. */
export function forgetClients(now: number): Statement {
  return {
    sql: `delete from oauth_clients where created_at < $1
      and not exists (select 1 from oauth_grants where client_id = oauth_clients.id)`,
    parameters: [now - WAITING_MS],
  }
}
