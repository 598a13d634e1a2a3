// Admin API requests generated from its OpenAPI document, valid or with one fault, on both databases: none causes an
// internal error, and the money of all accounts equals the movements reported in answers.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { createAdminDocument } from '../../src/admin/document'
import { newId, randomBytes } from '../../src/app/world'
import { balances } from '../../src/billing/ledger/balances'
import { parseUsd } from '../../src/lib/money'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { createRandom, type Random, seedOf } from '../support/random'

setDefaultTimeout(180_000)

const ROUNDS = 12
/** The maximum number of requests until each operation that moves money was requested validly and invalidly. */
const MAX_MORE = 5_000
/** Operations that move money or create codes worth money. */
const MOVING = ['creditAccount', 'adjustAccount', 'createKey', 'createCustomer', 'createCodes']
const seed = seedOf('ADMIN_FUZZ_SEED')

interface Schema {
  type?: string
  const?: unknown
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
}

interface Parameter {
  name: string
  in: string
  schema: Schema
}

interface Described {
  operationId: string
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: Schema }> }
}

const { paths } = createAdminDocument('0.0.0')
/** These would end the test, call a vendor, fill the disk, or close the accounts that receive money. */
const APART = ['closeAccount', 'makeBackup', 'revokeAdmin', 'testUpstream', 'reloadConfiguration']
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods as Record<string, Described>)
    .filter(([, { operationId }]) => !APART.includes(operationId))
    .map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
)

/** Texts with a meaning in some field: names, amounts, times, ids, and attacks. */
const TEXTS = [
  'alice',
  'ann',
  'bob',
  '5',
  '0.25',
  '-1',
  '-0.000000001',
  '9007199.254740991',
  '9007199.254740992',
  '1e3',
  '0x10',
  ' 5',
  '٥',
  '2026-10-01',
  '2026-10-01T14:00Z',
  '2026-02-30',
  'test-chat',
  'found',
  'month',
  '<script>alert(1)</script>',
  "' or 1=1 --",
  '__proto__',
  '\u{1f600}',
  '\ud800',
]

const AMOUNTS = [
  '5',
  '0.25',
  '-1',
  '-0.000000001',
  '0.000000001',
  '9007199.25',
  '9007199.254740992',
  '1e3',
  '٥',
]

function valueFor(schema: Schema, random: Random, name = ''): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.anyOf) return valueFor(random.pick(schema.anyOf), random, name)
  switch (schema.type) {
    case 'null':
      return null
    case 'boolean':
      return random.chance(0.5)
    case 'integer':
    case 'number': {
      const { minimum = -1, maximum = 1_000 } = schema
      return random.chance(0.3) ? random.pick([minimum, maximum]) : minimum + random.below(20)
    }
    case 'array':
      return Array.from({ length: 1 + random.below(3) }, () => valueFor(schema.items ?? {}, random))
    case 'object':
      return objectFor(schema, random)
    default:
      return random.pick(name.endsWith('_usd') ? AMOUNTS : TEXTS)
  }
}

function objectFor({ properties = {}, required = [] }: Schema, random: Random): Record<string, unknown> {
  const names = Object.keys(properties).filter((name) => required.includes(name) || random.chance(0.5))
  return Object.fromEntries(names.map((name) => [name, valueFor(properties[name] ?? {}, random, name)]))
}

const WRONG: readonly unknown[] = [
  null,
  true,
  -1,
  2 ** 53,
  0.1,
  '',
  'x'.repeat(5_000),
  [],
  {},
  [[[]]],
  { a: { b: 1 } },
]

/** A body with one field wrong, missing or unknown. */
function spoiled(body: Record<string, unknown>, random: Random): unknown {
  if (random.chance(0.1)) return random.pick(WRONG)
  const names = [...Object.keys(body), 'unknown']
  const name = random.pick(names)
  if (random.chance(0.2)) return Object.fromEntries(Object.entries(body).filter(([each]) => each !== name))
  return { ...body, [name]: random.pick(WRONG) }
}

/** Nano-dollars that an answer reports as moved to accounts. */
function movedNano(operation: string, status: number, body: unknown, asked: unknown): number {
  if (status !== 200) return 0
  if (operation === 'creditAccount' || operation === 'adjustAccount') {
    const { amount_usd: amount, replayed } = body as { amount_usd: string; replayed: boolean }
    return replayed ? 0 : (parseUsd(amount) as number)
  }
  if (operation !== 'createKey' && operation !== 'createCustomer') return 0
  const { balance_usd: deposit = '0' } = asked as { balance_usd?: string }
  return parseUsd(deposit) as number
}

/** The money of all accounts. Each may have as much as a number represents exactly. */
async function totalOf({ server }: TestGateway): Promise<bigint> {
  return (await balances(server.world.db)).reduce((sum, { balanceNano }) => sum + BigInt(balanceNano), 0n)
}

for (const database of databaseKinds) {
  test(`requests generated from the document never cause an internal error or create money (${database}, ADMIN_FUZZ_SEED=${seed})`, async () => {
    const random = createRandom(seed)
    const gateway = await startTestGateway({ database, balance: '10' })
    const token = makeToken(randomBytes)
    const { db } = gateway.server.world
    await createAdmin(db, {
      id: newId('adm'),
      name: 'ada',
      role: 'owner',
      token,
      expiresAt: null,
      createdAt: 1,
    })
    let expected = await totalOf(gateway)
    const statuses = new Map<string, Set<number>>()
    const ask = async ({
      path,
      method,
      operationId,
      parameters = [],
      requestBody,
    }: (typeof operations)[number]) => {
      const inPath = path.replaceAll(/\{\w+\}/g, () =>
        encodeURIComponent(random.chance(0.7) ? 'alice' : random.pick(TEXTS).toWellFormed()),
      )
      const query = new URLSearchParams()
      for (const { name, in: place, schema } of parameters)
        if (place === 'query' && random.chance(0.4))
          query.append(name, String(random.chance(0.15) ? random.pick(WRONG) : valueFor(schema, random)))
      const schema = requestBody?.content['application/json']?.schema
      const right = schema && objectFor(schema, random)
      const body = right && random.chance(0.4) ? spoiled(right, random) : right
      const headers: Record<string, string> = { authorization: `Bearer ${token}` }
      if (schema) headers['content-type'] = 'application/json'
      if (random.chance(0.3)) headers['idempotency-key'] = random.pick(['one', 'two'])
      const response = await fetch(`${gateway.url}${inPath}?${query}`, {
        method,
        headers,
        ...(schema && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      const { status } = response
      expect({ method, inPath, query: String(query), body, isFault: status >= 500 }).toMatchObject({
        isFault: false,
      })
      statuses.set(operationId, (statuses.get(operationId) ?? new Set()).add(status))
      const isJson = response.headers.get('content-type')?.startsWith('application/json')
      expected += BigInt(movedNano(operationId, status, isJson ? JSON.parse(text) : null, body))
    }
    for (let round = 0; round < ROUNDS; round++) for (const operation of operations) await ask(operation)
    // Requests about money are more frequent, because they are the subject here.
    const moving = operations.filter(({ operationId }) => MOVING.includes(operationId))
    for (let round = 0; round < 20 * ROUNDS; round++) await ask(random.pick(moving))
    // With few requests a seed may produce no valid one.
    const lacking = () =>
      moving.filter(
        ({ operationId }) => ![200, 400].every((status) => statuses.get(operationId)?.has(status)),
      )
    for (let more = 0; more < MAX_MORE && lacking().length > 0; more++) await ask(random.pick(lacking()))
    expect(await totalOf(gateway)).toBe(expected)
    expect((await gateway.audit()).problems).toEqual([])
    // Some of them were valid.
    for (const id of MOVING)
      expect({ id, statuses: [...(statuses.get(id) ?? [])] }).toMatchObject({
        statuses: expect.arrayContaining([200, 400]),
      })
    await gateway.close()
  })
}
