// Shared by tests of encryption: keys, every text that a gateway stores, and all bytes of its database, which must not contain
// these texts.

import { expect } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook as Verifier } from 'standardwebhooks'
import { encodedTables } from '../../../src/app/encoded-tables'
import type { Db } from '../../../src/db/db'
import { storedBy } from '../../../src/db/encryption/codec'
import { Reencryption } from '../../../src/db/encryption/reencryption'
import { sealingKeyId } from '../../../src/lib/sealing'
import { webhookSecretsOf } from '../../../src/webhooks/secrets'
import { type TestGateway, type TestGatewayOptions, waitFor } from '../gateway'
import { HERE, openSite } from '../servers/webhook-sending'

/** Master keys as an operator sets them. */
export const masterKeys = Array.from({ length: 3 }, () =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64'),
) as [string, string, string]

/** The id by which logs and errors name a key. */
export const idOf = (key: string) => sealingKeyId(Buffer.from(key, 'base64'))

type Secrets = NonNullable<NonNullable<TestGatewayOptions['config']>['secrets']>

const MINUTE_MS = 60_000

/** A gateway that keeps results and sends webhooks here; its vendor works in the past, so that tasks end at once. */
export function encryptedOptions(secrets: Secrets | undefined): TestGatewayOptions {
  return {
    config: { webhooks: { allow: [HERE] }, ...(secrets && { secrets }) },
    models: {
      'test-responses': {
        family: 'openai-responses',
        upstream: 'openai',
        upstreamModel: 'gpt-5-mini',
        reasoning: true,
        price: { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' },
      },
    },
    outside: { now: () => Date.now() + MINUTE_MS },
  }
}

/** Contents that a gateway has stored, and whether they can still be read. */
interface Stored {
  /** Texts that a copy of the database must not reveal. */
  texts: string[]
  taskId: string
  /** Fails unless the gateway answers and signs as before. */
  check(gateway: TestGateway): Promise<void>
}

/** Stores a text in every encoded column, by ordinary requests. Texts of callers contain `mark`. */
export async function storeTexts(gateway: TestGateway, mark: string): Promise<Stored> {
  using site = openSite()
  const { db, now } = gateway.server.world
  const headers = { 'idempotency-key': `once-${Bun.hash(mark)}` }
  const ask = (at: TestGateway) =>
    at.chat({ messages: [{ role: 'user', content: mark }] }, { ...headers, authorization: bearer(gateway) })
  const answer = await (await ask(gateway)).text()
  const submitted = await gateway.post('/v1/videos/generations', {
    model: 'vidw2.6-t2v',
    input: { prompt: `${mark} [sandbox task_ms=0]` },
    parameters: { size: '1280*720', duration: 5 },
    webhook_url: `http://127.0.0.1:${site.port}/`,
  })
  const { id } = (await submitted.json()) as { id: string }
  await waitFor(() => site.received.length > 0)
  const [delivered] = site.received
  const task = await readTask(gateway, gateway.secret, id)
  const kept = await keepResponse(gateway, { input: mark })
  const inBackground = await keepResponse(gateway, { input: mark, background: true })
  const conversation = await makeConversation(gateway, mark)
  const hash = new Bun.CryptoHasher('sha256').update(gateway.secret).digest('hex')
  const [key] = await db.query({ sql: 'select id from keys where hash = $1', parameters: [hash] })
  const keyId = key?.id as string
  const signing = await webhookSecretsOf(db, keyId, now())
  expect(delivered?.body).toContain(mark)
  expect(task).toContain(mark)
  return {
    taskId: id,
    texts: [...signing, mark, JSON.parse(task).video_url],
    async check(at) {
      expect(await (await ask(at)).text()).toBe(answer)
      expect(await readTask(at, gateway.secret, id)).toBe(task)
      for (const response of [kept, inBackground]) {
        expect(await read(at, gateway.secret, `/v1/responses/${response.id}`)).toEqual(response.text)
      }
      expect(await read(at, gateway.secret, `/v1/responses/${kept.id}/input_items`)).toContain(mark)
      expect(await read(at, gateway.secret, `/v1/responses/${inBackground.id}?stream=true`)).toContain(mark)
      for (const path of ['', '/items']) {
        expect(await read(at, gateway.secret, `/v1/conversations/${conversation}${path}`)).toContain(mark)
      }
      const secrets = await webhookSecretsOf(at.server.world.db, keyId, at.server.world.now())
      expect(secrets).toEqual(signing)
      for (const secret of secrets)
        new Verifier(secret).verify(delivered?.body ?? '', delivered?.headers ?? {})
    },
  }
}

const bearer = ({ secret }: TestGateway) => `Bearer ${secret}`

async function read({ url }: TestGateway, secret: string, path: string): Promise<string> {
  return (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${secret}` } })).text()
}

const readTask = (gateway: TestGateway, secret: string, id: string) =>
  read(gateway, secret, `/v1/videos/generations/${id}`)

/** Id of a conversation with the mark in its metadata and in an item. */
async function makeConversation(gateway: TestGateway, mark: string): Promise<string> {
  const items = [{ role: 'user', content: mark }]
  const made = await gateway.post('/v1/conversations', { metadata: { mark }, items })
  expect(made.status).toBe(200)
  return ((await made.json()) as { id: string }).id
}

/** A kept response, as read after its end. */
async function keepResponse(gateway: TestGateway, body: object): Promise<{ id: string; text: string }> {
  const made = await gateway.post('/v1/responses', { model: 'test-responses', ...body })
  expect(made.status).toBe(200)
  const { id } = (await made.json()) as { id: string }
  let text = ''
  await waitFor(async () => {
    text = await read(gateway, gateway.secret, `/v1/responses/${id}`)
    return JSON.parse(text).status === 'completed'
  })
  return { id, text }
}

/** Every byte of the database: the files of SQLite, the rows of PostgreSQL. */
export async function bytesOf({ server, dataDir }: TestGateway): Promise<Buffer> {
  const { db } = server.world
  if (db.kind === 'postgres') return Buffer.from(await rowsOf(db))
  const files = readdirSync(dataDir).filter((name) => /sqlite/.test(name))
  return Buffer.concat(files.map((name) => readFileSync(join(dataDir, name))))
}

/** Every byte in a PostgreSQL server's files of the database, with deleted and replaced rows. */
export async function filesOf({ server }: TestGateway): Promise<Buffer> {
  const { db } = server.world
  await db.query({ sql: 'checkpoint' })
  const [place] = await db.query({
    sql: `select current_setting('data_directory') as folder, cast(oid as bigint) as id from pg_database
      where datname = current_database()`,
  })
  const folder = join(String(place?.folder), 'base', String(place?.id))
  return Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))))
}

async function rowsOf(db: Db): Promise<string> {
  const tables = await db.query({ sql: `select tablename from pg_tables where schemaname = 'public'` })
  const dumps = tables.map(({ tablename }) => db.query({ sql: `select t::text as line from ${tablename} t` }))
  return (await Promise.all(dumps))
    .flat()
    .map(({ line }) => line)
    .join('\n')
}

/** The texts that occur in the bytes. */
export function foundIn(bytes: Buffer, texts: readonly string[]): string[] {
  return texts.filter((text) => bytes.includes(text))
}

/** A key in every spelling. */
export function spellingsOf(key: string): (string | Buffer)[] {
  const bytes = Buffer.from(key, 'base64')
  return [bytes, bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex')]
}

/** Events in the log of a re-encryption. */
type ReencryptionLog = { event: string; fields: Record<string, unknown> }[]

function openJob(db: Db): { job: Reencryption; log: ReencryptionLog } {
  const log: ReencryptionLog = []
  const parts = { db, tables: encodedTables }
  return { job: new Reencryption({ ...parts, log: (event, fields) => log.push({ event, fields }) }), log }
}

/** Runs the beats of one node, by default as many as another node must have missed. Returns the log. */
export async function reencrypt(db: Db, beats = 7): Promise<ReencryptionLog> {
  const { job, log } = openJob(db)
  for (let beat = 0; beat < beats; beat++) await job.beat()
  return log
}

/** Runs the beats of nodes in turn. Returns the log of each. */
export async function reencryptInTurn(...dbs: Db[]): Promise<ReencryptionLog[]> {
  const jobs = dbs.map(openJob)
  for (let beat = 0; beat < 14; beat++) for (const { job } of jobs) await job.beat()
  return jobs.map(({ log }) => log)
}

/** Runs the start of a single node. */
export async function reencryptAlone(db: Db): Promise<ReencryptionLog> {
  const { job, log } = openJob(db)
  await job.runAlone()
  return log
}

/** The keys of the encoded texts of a database, with the number of texts. */
export async function keysOfTexts(db: Db): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { table, columns } of encodedTables) {
    for (const row of await db.query({ sql: `select ${columns.join(', ')} from ${table}` })) {
      for (const stored of Object.values(row)) {
        if (stored !== null) counts[storedBy(String(stored))] = (counts[storedBy(String(stored))] ?? 0) + 1
      }
    }
  }
  return counts
}
