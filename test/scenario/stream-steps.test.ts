// The steps of a stream's hold with random streams of vendors, cut at random places, on accounts with random balances: the
// delivered part never exceeds the hold, an account that can pay gets every byte, and one that cannot gets a well-formed end. The
// relay, the meters and the ledger are the real ones; the test has its own rules for what must be delivered.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { outside } from '../../src/app/world'
import { addCredit, hold, settle } from '../../src/billing/ledger/ledger'
import { billOf, measure, type Outcome, plausible, quoteNano } from '../../src/billing/ledger/metering'
import type { Family, Model, ParsedRequest } from '../../src/contract/family'
import { tableNano } from '../../src/contract/prices'
import { inputTokensOf } from '../../src/contract/units'
import type { Db } from '../../src/db/db'
import { families } from '../../src/families'
import type { Reservation } from '../../src/request/reservation'
import { createStreamHold, firstTokens, withOutput } from '../../src/request/stream/hold'
import { createStreamMeter, type StreamMeter } from '../../src/request/stream/meter'
import { createTranslatingMeter } from '../../src/request/stream/translation'
import { readChunks } from '../support/answers/chat-chunks'
import { chatStream } from '../support/answers/chat-streams'
import { readEvents } from '../support/answers/message-events'
import { messageStream } from '../support/answers/message-streams'
import { databaseKinds, openTestDatabase } from '../support/databases/databases'
import { makeCharge, makeKey, makeSettlement, START } from '../support/databases/ledger-rows'
import { say } from '../support/gateway'
import { createRandom, isWholeRun, type Random, seedOf } from '../support/random'
import { createHandClock, modelForRelay, readAll, sourceOf, startRelaying } from '../support/relaying'
import type { Json } from '../support/scenario'

setDefaultTimeout(180_000)

const seed = seedOf('STEPS_SEED')
/** Seeds with an event whose text was in a later one too, next to the text of another candidate. */
const FOUND = [1_641_736_204]
const STREAMS = isWholeRun ? 120 : 40
/** More streams than these must have been cut. */
const MIN_CUTS = STREAMS / 12
/** Nano-dollars of an input and an output token of the test models. */
const INPUT = 1_000
const OUTPUT = 2_000

interface Way {
  family: string
  model: string
  vendor(random: Random): string
  /** Throws if the answer has not the form of its dialect. Absent: the vendor's own form passes, whatever it is. */
  read?(answer: string): unknown
}
const ways: readonly Way[] = [
  { family: 'openai-chat', model: 'test-chat', vendor: chatText },
  { family: 'anthropic-messages', model: 'test-messages', vendor: messageText },
  {
    family: 'chat-on-messages',
    model: 'test-messages',
    vendor: messageText,
    read: (answer) => readChunks(answer, true),
  },
  {
    family: 'messages-on-chat',
    model: 'test-chat',
    vendor: chatText,
    read: readEvents,
  },
]

/** Streams whose vendors count nothing: their figures are random, and do not match their words. */
const uncounted = (text: string) =>
  text.replaceAll(/"(completion_tokens|total_tokens|output_tokens)": ?\d+/g, '"$1":0')

function chatText(random: Random): string {
  return uncounted(chatStream(random).text)
}

function messageText(random: Random): string {
  return uncounted(messageStream(random).text)
}

/** Where models write, in either dialect. */
const WRITTEN = new Set([
  ...['content', 'reasoning_content', 'reasoning', 'refusal', 'name', 'arguments'],
  ...['text', 'thinking', 'partial_json'],
])

/** The bytes of everything that a model has written in an answer. */
function writtenIn(answer: string): number {
  let bytes = 0
  const walk = (value: Json): void => {
    for (const [key, each] of Object.entries(value ?? {})) {
      if (typeof each === 'string') bytes += WRITTEN.has(key) ? Buffer.byteLength(each) : 0
      else if (typeof each === 'object') walk(each)
    }
  }
  for (const line of answer.split(/\r?\n/)) if (line.startsWith('data: {')) walk(JSON.parse(line.slice(6)))
  return bytes
}

interface Means {
  /** Output tokens beyond the first step that the account can pay for. */
  moreTokens: number
  /** Whether the tokenizer counts exactly. */
  counts?: boolean
  isStepped?: boolean
}

/** A request for a stream on an account of its own, with its first step held. */
async function open(
  db: Db,
  random: Random,
  way: Way,
  { moreTokens, counts = false, isStepped = true }: Means,
) {
  const step = 4 + random.below(40)
  const model: Model = {
    ...modelForRelay(way.model),
    family: families.get(way.family) as Family,
    reserveOutputTokens: step,
    maxOutputTokens: 1_000_000,
  }
  const limit = random.chance(0.3) ? 5 + random.below(2_000) : 500_000
  const options = { stream: true, stream_options: { include_usage: true } }
  const body = { model: way.model, messages: say('Hi'), max_tokens: limit, ...options }
  const parsed: ParsedRequest = { body, byteLength: 3_000, at: START }
  const first = firstTokens(parsed, model)
  const account = `account-${random.below(1e9)}-${random.below(1e9)}`
  const firstNano = quoteNano(withOutput(parsed, first), model)
  const charge = makeCharge(firstNano, { account, keyId: account })
  const amountNano = firstNano + moreTokens * OUTPUT
  await addCredit(db, { id: account, account, amountNano, now: START, note: null })
  expect(await hold(db, charge)).toEqual({ held: true })
  const tokenCounter = {
    count: async (words: string) => ({ tokens: Math.ceil(Buffer.byteLength(words) / 4), exact: counts }),
    close() {},
  }
  const key = makeKey({ id: account, account })
  const request = { parsed, model, family: model.family, key }
  const reservation = { request, charge } as unknown as Reservation
  const { now: monotonic } = createHandClock()
  const faults: unknown[] = []
  const log = (event: string, fields: object) => void faults.push({ event, ...fields })
  const world = { db, log, monotonic, after: outside.after, tokenCounter }
  const steps = isStepped ? createStreamHold(world, reservation) : undefined
  const inputNano = firstNano - (first ?? limit) * OUTPUT
  return { step, limit, parsed, model, charge, tokenCounter, steps, inputNano, amountNano, faults }
}

function meterOf({ model, parsed, steps }: Awaited<ReturnType<typeof open>>): StreamMeter {
  const { family } = model
  const options = {
    model,
    hold: steps,
    follower: family.kind === 'json' ? family.stream?.follow?.(parsed, model) : undefined,
    hideUsage: false,
    judge: (usage: Outcome['usage']) => plausible(usage, parsed, model),
    translateError: (json: object) => JSON.stringify(json),
  }
  if (family.kind !== 'made' || !family.stream) return createStreamMeter(options)
  return createTranslatingMeter(options, family.stream.translate(parsed, model))
}

/** A vendor's stream on its way to its caller, and by how much more was delivered than held at any moment. */
async function relay(db: Db, random: Random, way: Way, text: string, means: Means) {
  const opened = await open(db, random, way, means)
  const { model, parsed, charge, limit, inputNano, steps, tokenCounter, faults } = opened
  const meter = meterOf(opened)
  const pieces: Buffer[] = []
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += pieces.at(-1)?.length ?? 0) {
    pieces.push(bytes.subarray(at, at + 1 + random.below(random.pick([3, 60, 400, 4_000]))))
  }
  let answer = ''
  let mostOver = Number.NEGATIVE_INFINITY
  const relaying = startRelaying(sourceOf(pieces).body, {
    model,
    meter,
    hold: steps,
    capture(sent) {
      answer += Buffer.from(sent).toString('latin1')
      const delivered = writtenIn(Buffer.from(answer, 'latin1').toString())
      const heldTokens = (charge.heldNano - inputNano) / OUTPUT
      // If everything that can come is held, its number of bytes does not matter.
      if (heldTokens < limit) mostOver = Math.max(mostOver, delivered - heldTokens)
    },
    async finish(outcome) {
      relaying.outcomes.push(outcome)
      await steps?.whenNoted()
      const { quantities = {} } = (await measure(outcome, parsed, model, tokenCounter)) ?? {}
      return outcome.endedBy === 'balance' ? meter.cut(quantities) : meter.finish(quantities)
    },
  })
  const whole = (await readAll(relaying.reader)).toString()
  // A hold that succeeds without holding enough is named here.
  expect(faults).toEqual([])
  return { ...opened, whole, outcome: relaying.outcomes[0], mostOver, aborts: relaying.aborts() }
}

for (const kind of databaseKinds) {
  describe(`steps on ${kind} (STEPS_SEED=${seed})`, () => {
    test.each(ways)(
      '$family: a caller who can pay gets every byte, and never more than is held',
      async (way) => {
        const db = await openTestDatabase(kind)
        const random = createRandom(seed)
        const rich = { moreTokens: 1_000_000 }
        for (let count = 0; count < STREAMS; count++) {
          const text = way.vendor(random)
          const { whole, outcome, mostOver } = await relay(db, random, way, text, rich)
          const plain = await relay(db, random, way, text, { ...rich, isStepped: false })
          expect(whole).toBe(plain.whole)
          const { endedBy, usageJson } = plain.outcome as Outcome
          expect(outcome).toMatchObject({ endedBy, usageJson })
          expect({ count, over: Math.max(0, mostOver) }).toEqual({ count, over: 0 })
        }
        await db.close()
      },
    )

    const seeds = kind === 'sqlite' ? [seed, ...FOUND] : [seed]
    const waysOfSeeds = seeds.flatMap((from) => ways.map((way) => ({ ...way, from })))
    test.each(waysOfSeeds)(
      '$family from $from: a caller who cannot pay is cut when the money ends',
      async (way) => {
        const db = await openTestDatabase(kind)
        const random = createRandom(way.from + 1)
        let cuts = 0
        // If chance cuts only few streams, more are tried.
        for (let count = 0; count < STREAMS || (cuts <= MIN_CUTS && count < 5 * STREAMS); count++) {
          const [counts, moreTokens] = [random.chance(0.5), random.below(60)]
          const played = await relay(db, random, way, way.vendor(random), { moreTokens, counts })
          const { whole, outcome, mostOver, charge, amountNano, parsed, model, step, limit, aborts } = played
          const sql = 'select held from accounts where name = $1'
          expect((await db.query({ sql, parameters: [charge.account] }))[0]?.held).toBe(charge.heldNano)
          expect(charge.heldNano).toBeLessThanOrEqual(amountNano)
          // If a tokenizer was used, more bytes are delivered, with few counted tokens. Input counts too: one token here, or as many
          // as the vendor says.
          const usage = outcome?.usage === 'invalid' ? undefined : outcome?.usage
          const inputTokens = inputTokensOf(usage ?? {}) || 1
          if (!counts) expect(mostOver).toBeLessThanOrEqual(0)
          else if (limit > moreTokens + step && outcome?.endedBy === 'balance') {
            const outputNano = (Buffer.byteLength(outcome.text) / 4) * OUTPUT
            expect(inputTokens * INPUT + outputNano).toBeLessThanOrEqual(charge.heldNano)
          }
          if (outcome?.endedBy !== 'balance') continue
          cuts++
          expect(aborts).toBe(1)
          way.read?.(whole)
          const measured = await measure(outcome, parsed, model, played.tokenCounter)
          if (!measured) continue
          const priceNano = tableNano(
            measured.quantities,
            billOf(parsed, model, measured.quantities, outcome).table,
          )
          const settled = await settle(db, charge, makeSettlement(priceNano, { endedBy: 'balance' }))
          expect(settled).toEqual({ paidNano: priceNano, shortfallNano: 0 })
          expect(priceNano).toBeLessThanOrEqual(charge.heldNano)
        }
        expect(cuts).toBeGreaterThan(MIN_CUTS)
        await db.close()
      },
    )
  })
}
