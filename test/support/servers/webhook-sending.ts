// The sender of webhooks in isolation: a real database, real HTTP to local receivers, and a clock that tests set. The receivers
// record everything that a real one could check; a simulated name lookup leads to them.

import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { createSecureContext, createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { createKey, unlimited } from '../../../src/accounts/keys'
import { outside } from '../../../src/app/world'
import type { Db } from '../../../src/db/db'
import type { Transport } from '../../../src/http-client/transport'
import { createTicker } from '../../../src/lib/ticker'
import type { Lookup } from '../../../src/webhooks/address'
import { insertWebhook, webhookOf } from '../../../src/webhooks/rows'
import { createWebhookSender, type WebhookSender, type WebhookWorld } from '../../../src/webhooks/sender'
import { type DatabaseKind, openTestDatabase } from '../databases/databases'
import { waitFor } from '../gateway'

export const SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='
export const HERE = '127.0.0.0/8'
export const START = Date.parse('2026-01-02T03:04:05Z')

export interface SendingOptions {
  allow?: string[]
  lookup?: Lookup
  lookupTimeoutMs?: number
  /** The value of every random number. */
  random?: number
  /** A database that another sender has already used. */
  db?: Db
  transport?: Transport
  sendEvent?: WebhookWorld['sendEvent']
}

export interface Sending {
  db: Db
  sender: WebhookSender
  /** Sets the time. */
  clock: { now: number }
  /** The connected addresses, in order. */
  fetched: string[]
  log: Record<string, unknown>[]
  /** Adds a webhook that is due now; returns the id of its task. */
  add(url: string, more?: { account?: string; keyId?: string; document?: string }): Promise<string>
  /** Starts the due deliveries, and waits until all have been answered. */
  deliver(): Promise<void>
  of(task: string): Promise<NonNullable<Awaited<ReturnType<typeof webhookOf>>>>
  /** The number of running deliveries. */
  claimed(): Promise<number>
  close(): Promise<void>
}

let made = 0

export async function openSending(kind: DatabaseKind, options: SendingOptions = {}): Promise<Sending> {
  const db = options.db ?? (await openTestDatabase(kind))
  const clock = { now: START }
  const now = () => clock.now
  const ticker = createTicker({ monotonic: now, after: outside.after })
  const fetched: string[] = []
  const log: Sending['log'] = []
  const { allow = [HERE], lookup = async () => [], lookupTimeoutMs, random = 0 } = options
  const sender = createWebhookSender({
    db,
    ticker,
    now,
    monotonic: now,
    wall: now,
    after: outside.after,
    random: () => random,
    log: (event, fields) => log.push({ event, ...fields }),
    addressRules: { allow, lookup, ...(lookupTimeoutMs !== undefined && { lookupTimeoutMs }) },
    sendEvent: options.sendEvent ?? (async () => ({ status: 200, text: '', retryAfterMs: 0 })),
    transport: noting(options.transport ?? outside.transport, fetched),
  })
  if (!options.db) await makeKey(db, 'key_1', SECRET)
  const claimed = async () => {
    const rows = await db.query({
      sql: `select count(*) as claimed from webhooks where state = 'pending' and lease_until > 0`,
    })
    return Number(rows[0]?.claimed)
  }
  return {
    db,
    sender,
    clock,
    fetched,
    log,
    async add(webhookUrl, { account = 'alice', keyId = 'key_1', document } = {}) {
      const id = `video_${++made}`
      const text = document ?? `{"id":"${id}","status":"succeeded"}`
      await db.batch([
        insertWebhook(db, `msg_${id}`, { id, account, keyId, webhookUrl }, 'succeeded', text, now()),
      ])
      return id
    },
    async deliver() {
      await sender.beat()
      await waitFor(async () => (await claimed()) === 0)
    },
    async of(task) {
      const found = await webhookOf(db, task)
      if (!found) throw new Error(`${task} has no webhook`)
      return found
    },
    claimed,
    async close() {
      await sender.stop()
      ticker.stop()
      await db.close()
    },
  }
}

/** Records the connected address of each request, not its host. */
function noting(transport: Transport, fetched: string[]): Transport {
  return {
    open(url, options) {
      const origin = transport.open(url, options)
      const at = new URL(url)
      if (options?.address)
        at.hostname = options.address.includes(':') ? `[${options.address}]` : options.address
      return {
        close: () => origin.close(),
        send(request) {
          fetched.push(at.origin + request.path)
          return origin.send(request)
        },
      }
    },
  }
}

export async function makeKey(db: Db, id: string, webhookSecret: string): Promise<void> {
  await createKey(db, {
    id,
    name: id,
    account: 'alice',
    secret: `sk-${id}`,
    webhookSecret,
    createdAt: START,
    ...unlimited,
  })
}

export interface Delivered {
  method: string
  path: string
  headers: Record<string, string>
  body: string
}

export interface Site extends Disposable {
  port: number
  received: Delivered[]
  /** The highest number of requests at the same time. */
  most: number
}

/** A receiver. Without `answer` it accepts every delivery. */
export function openSite(
  answer: (delivered: Delivered, count: number) => Response | Promise<Response> = () => new Response('ok'),
): Site {
  let present = 0
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const delivered: Delivered = {
        method: request.method,
        path: new URL(request.url).pathname,
        headers: Object.fromEntries(request.headers),
        body: await request.text(),
      }
      site.received.push(delivered)
      site.most = Math.max(site.most, ++present)
      try {
        return await answer(delivered, site.received.length)
      } finally {
        present--
      }
    },
  })
  const site: Site = {
    port: server.port as number,
    received: [],
    most: 0,
    [Symbol.dispose]: () => void server.stop(true),
  }
  return site
}

/** An answer that never comes. */
export const never = () => new Promise<Response>(() => {})

const TLS_FOLDER = join(import.meta.dir, '../../fixtures/tls')
const pem = (name: string) => readFileSync(join(TLS_FOLDER, `${name}.pem`), 'utf8')
/** Signed for one.example, two.example and the addresses of this machine; trusted by tests only. */
export const AUTHORITY = pem('authority')

interface SecureSite extends Disposable {
  port: number
  received: { connection: number; serverName: string | false; host: string }[]
}

/** A receiver with a certificate for each requested name, or for one name only. */
export async function openSecureSite(certificate: string, others: string[] = []): Promise<SecureSite> {
  const contextOf = (name: string) => ({ key: pem('key'), cert: pem(name) })
  const sockets = new Set<TLSSocket>()
  let connections = 0
  const server = createTlsServer({
    ...contextOf(certificate),
    SNICallback: (name, done) =>
      done(null, createSecureContext(contextOf(others.includes(name) ? name : certificate))),
  })
  server.on('tlsClientError', () => {})
  server.on('secureConnection', (socket: TLSSocket & { servername?: string | false }) => {
    const connection = ++connections
    sockets.add(socket)
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (piece: Buffer) => {
      text += piece
      const [head = '', body] = text.split('\r\n\r\n')
      if (body === undefined || body.length < Number(/content-length: (\d+)/i.exec(head)?.[1])) return
      const host = /^host: (.*)$/im.exec(head)?.[1]?.trim() ?? ''
      site.received.push({ connection, serverName: socket.servername ?? false, host })
      text = ''
      socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const site: SecureSite = {
    port: (server.address() as AddressInfo).port,
    received: [],
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
  return site
}

interface Watch extends Disposable {
  port: number
  /** The number of connections made, whatever was sent on them. */
  connections: number
}

/** Notices every packet sent to an address that must not get any. */
export async function watchAddress(address: string, port = 0): Promise<Watch> {
  const server = createServer((socket) => {
    watch.connections++
    socket.on('error', () => {})
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, address, resolve)
  })
  const watch: Watch = {
    port: (server.address() as AddressInfo).port,
    connections: 0,
    [Symbol.dispose]: () => void server.close(),
  }
  return watch
}
