// Thirty days of life for an empty sandbox: customers with money, and requests that the request line itself answers and charges, by
// a clock that is set back. Each leaves the same records as any request, so the books are always correct. It must never run with
// real vendors, or after a request was made.

import { createKey, makeSecret, unlimited } from '../../src/accounts/keys'
import type { HistoryReport } from '../../src/admin/operation'
import { newId, randomBytes, type World } from '../../src/app/world'
import { addCredit } from '../../src/billing/ledger/ledger'
import { addToTotals, DAY_MS } from '../../src/billing/reports/usage-totals'
import type { Catalogue } from '../../src/catalogue/models'
import type { Model } from '../../src/contract/family'
import { type Operation, type OperationName, operationOf } from '../../src/contract/operations'
import { makeChargePartitions } from '../../src/db/charge-partitions'
import { conflict, GatewayError } from '../../src/lib/errors'
import { NANO_PER_USD } from '../../src/lib/money'
import { createGateway, type Gateway } from '../../src/request/line'
import { makeWebhookSecret } from '../../src/webhooks/secrets'

const DAYS = 30
const STEP_MS = DAY_MS / 8
/** Requests of the busiest step: about 1,300 in all. */
const BUSIEST = 10
/** After this time no further request is made, in milliseconds. */
const MAX_RUN_MS = 180_000
/** Factor by which requests take longer on the clock of the history: simulated vendors answer sooner than real ones. */
const SLOWNESS = 25
const VIDEOS = 3
/** Shares of requests that a vendor fails, and that name a model that does not exist. */
const FAILED_SHARE = 0.01
const MISTAKEN_SHARE = 0.015
/** Accounts with the dollars that they pay each week, those with most requests first. */
const CUSTOMERS = { search: 20, support: 8, research: 1 } as const
/** Operations with the number of their requests in a round, and of their models, each of another upstream. */
const OPERATIONS: readonly (readonly [name: OperationName, times: number, models: number])[] = [
  ['chat', 6, 4],
  ['messages', 5, 1],
  ['embeddings', 5, 1],
  ['image', 1, 2],
  ['speech', 1, 1],
]
const PROMPTS = ['Summarise this ticket', 'A red fox in the snow', 'Translate to French', 'Name three risks']

interface Customer {
  account: string
  secret: string
}

/** Sandboxes that are being filled. */
const filling = new WeakSet<World>()

/** Fills an empty sandbox. `busiest` is how many requests a busy step has. */
export async function makeHistory(world: World, busiest = BUSIEST): Promise<HistoryReport> {
  if (filling.has(world))
    throw conflict('history_exists', 'This sandbox is being filled: wait until it is done.')
  filling.add(world)
  try {
    return await fill(world, busiest)
  } finally {
    filling.delete(world)
  }
}

async function fill(world: World, busiest: number): Promise<HistoryReport> {
  const since = world.now() - DAYS * DAY_MS
  const begun = world.monotonic()
  let at = since
  const past = {
    ...world,
    now: () => at,
    newId: (prefix: string) => newId(prefix, at),
    monotonic: () => begun + (world.monotonic() - begun) * SLOWNESS,
  }
  for (let month = since; month < world.now() + DAY_MS; month += DAY_MS * 28)
    await makeChargePartitions(world.db, month)
  const { random } = world
  const gateway = createGateway(past)
  const customers = await makeCustomers(world, since)
  const models = modelsOf(world.catalogue)
  let requests = 0
  for (let step = since; step < world.now() && models.length > 0; step += STEP_MS) {
    if ((step - since) % (7 * DAY_MS) === 0) await pay(world, step)
    const count = Math.round(busiest * busyShare(new Date(step)) * (0.7 + 0.6 * random()))
    for (let each = 0; each < count && world.monotonic() - begun < MAX_RUN_MS; each++) {
      at = Math.min(Math.floor(step + ((each + random()) * STEP_MS) / count), world.now())
      await ask(
        gateway,
        past.newId('req'),
        pick(customers, random, 2),
        requestOf(pick(models, random), random),
      )
      requests++
    }
  }
  requests += await makeVideos(world, customers)
  await world.requestLog.flush()
  await addToTotals(world.db)
  return { accounts: customers.length, requests, since }
}

async function makeCustomers({ db }: World, createdAt: number): Promise<Customer[]> {
  const customers = Object.keys(CUSTOMERS).map((account) => ({ account, secret: makeSecret(randomBytes) }))
  for (const { account, secret } of customers) {
    const own = { id: newId('key', createdAt), account, secret, createdAt, ...unlimited }
    const webhookSecret = makeWebhookSecret(randomBytes)
    // The name may be taken: users of a sandbox may have created keys before.
    for (let number = 1; !(await createKey(db, { ...own, webhookSecret, name: nameOf(account, number) })); )
      number++
  }
  return customers
}

function nameOf(account: string, number: number): string {
  return number === 1 ? account : `${account}-${number}`
}

async function pay({ db }: World, now: number): Promise<void> {
  for (const [account, dollars] of Object.entries(CUSTOMERS))
    await addCredit(db, {
      id: newId('tr', now),
      account,
      amountNano: dollars * NANO_PER_USD,
      now,
      note: 'weekly payment',
    })
}

/** The share of the busiest step's requests: few at night, fewer at weekends. */
function busyShare(at: Date): number {
  const byHour = 0.15 + 0.85 * Math.max(0, Math.sin(((at.getUTCHours() - 5) / 16) * Math.PI))
  return at.getUTCDay() % 6 === 0 ? byHour * 0.45 : byHour
}

/** Models to request, each as often as its operation is used. */
function modelsOf(catalogue: Catalogue): Model[] {
  return OPERATIONS.flatMap(([name, times, most]) => {
    const usable = modelsFor(catalogue, name)
    const perUpstream = [...Map.groupBy(usable, ({ upstream }) => upstream.name).values()].flatMap((some) =>
      some.slice(0, 1),
    )
    return perUpstream.slice(0, most).flatMap((model) => Array<Model>(times).fill(model))
  })
}

/** Models that a plain request of an operation can use, without a picture, and that their vendors do not retire. */
function modelsFor({ models }: Catalogue, name: OperationName): Model[] {
  return [...models.values()].flatMap((forms) => {
    const [form, another] = forms.filter(({ family }) => family.operation === name)
    return form && !another && !form.retirement && !form.referenceImages?.min ? [form] : []
  })
}

interface PlainCall {
  operation: Operation
  body: object
}

function requestOf(model: Model, random: World['random']): PlainCall {
  const operation = operationOf(model.family.operation)
  const words = 20 + Math.floor(random() * 600)
  const tokens = 40 + Math.floor(random() ** 2 * 600)
  const fault = random() < FAILED_SHARE ? 'status=500' : `tokens=${tokens} token_delay_ms=0`
  const isText = operation.name === 'chat' || operation.name === 'messages'
  const text = `${pick(PROMPTS, random)}. ${isText ? 'word '.repeat(words) : ''}[sandbox ${fault}]`
  const id = random() < MISTAKEN_SHARE ? 'gpt-99' : model.id
  const stream = isText && random() < 0.7 ? { stream: true } : {}
  return { operation, body: { model: id, ...stream, ...model.family.plain.body({ text }, model) } }
}

/** Creates current videos, which the gateway follows to their ends like all others. */
async function makeVideos(world: World, customers: readonly Customer[]): Promise<number> {
  const [model] = modelsFor(world.catalogue, 'video')
  const [customer] = customers
  if (!model || !customer) return 0
  const gateway = createGateway(world)
  const body = { model: model.id, ...model.family.plain.body({ text: 'A paper boat on a river' }, model) }
  for (let each = 0; each < VIDEOS; each++)
    await ask(gateway, world.newId('req'), customer, { operation: operationOf('video'), body })
  return VIDEOS
}

/** Sends a request and reads its answer. A refusal is not a failure here. */
async function ask(
  gateway: Gateway,
  requestId: string,
  { secret }: Customer,
  { operation, body }: PlainCall,
): Promise<void> {
  const content = Buffer.from(JSON.stringify(body))
  try {
    const response = await gateway.handle({
      operation,
      requestId,
      clientAddress: '127.0.0.1',
      authorization: `Bearer ${secret}`,
      idempotencyKey: null,
      waitMs: 0,
      headers: {},
      body: async () => content,
      signal: () => new AbortController().signal,
      gatewayUrl: () => 'http://127.0.0.1',
    })
    await response.arrayBuffer()
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
  }
}

/** One of several at random; a `bend` above 1 favours the first ones. */
function pick<Each>(all: readonly Each[], random: World['random'], bend = 1): Each {
  return all[Math.floor(random() ** bend * all.length)] as Each
}
