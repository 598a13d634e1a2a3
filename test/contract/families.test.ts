// Rules that hold for every family, tested with recorded vendor answers, with invalid usage, and with the simulators. A
// family without a row or a record fails here.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { Glob } from 'bun'
import { picture } from '../../sandbox/pictures'
import type { ModelConfig } from '../../src/config/schema'
import {
  type Family,
  type Model,
  type Quantities,
  streamOf,
  type TaskOutcome,
  taskOf,
  type Upload,
} from '../../src/contract/family'
import { type Operation, operationOf, operations, pathForModel } from '../../src/contract/operations'
import { inputTokensOf, outputTokensOf } from '../../src/contract/units'
import type { Row } from '../../src/db/db'
import { families } from '../../src/families'
import { wavOf } from '../../src/lib/file-formats/wav'
import type { UpstreamConfig } from '../../src/upstreams/settings'
import { familyRows } from '../support/answers/family-rows'
import { type Fixture, fixtures } from '../support/answers/fixtures'
import { branchesOf, leavesOf, lostPaths, withUnknown, withValue } from '../support/answers/json-paths'
import { mutatedAnswer } from '../support/answers/mutated-answers'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { casesOf, createRandom, isQuickRun, isWholeRun, type Random, seedOf } from '../support/random'
import { expectSamePrices } from '../support/rehearsed-gateway'
import type { Json } from '../support/scenario'
import { type RecordedVendor, startRecordedVendor } from '../support/vendors/recorded'

setDefaultTimeout(180_000)

let vendor: RecordedVendor
let gateway: TestGateway
let poorKey: string

const CLOCK_SPEED = 20
const seed = seedOf('FAMILIES_SEED')

beforeAll(async () => {
  vendor = startRecordedVendor()
  const models: Record<string, ModelConfig> = {}
  const upstreams: Record<string, UpstreamConfig> = {}
  for (const [family, { kind, model }] of Object.entries(familyRows)) {
    // `recorded` is a vendor that answers with recordings, `simulated` is the simulator.
    models[`recorded-${family}`] = { ...model, family, upstream: `recorded-${kind}` }
    models[`simulated-${family}`] = { ...model, family, upstream: kind }
    upstreams[`recorded-${kind}`] = { kind, baseUrl: vendor.url, apiKey: 'none' }
  }
  // Tasks are polled seconds later: the clock of the gateway is faster, so that the tests do not wait for it.
  const startedAt = Date.now()
  const now = () => startedAt + CLOCK_SPEED * (Date.now() - startedAt)
  gateway = await startTestGateway({ models, upstreams, balance: '1000000', outside: { now } })
  poorKey = (await gateway.makeKey('poor', '0')).secret
  // Thousands of charges, of which the newest is read after each request.
  await gateway.server.world.db.batch([{ sql: 'create index ended_ids on ended_charges (id)' }])
})

afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})

test('exactly the existing families have a row and a record', () => {
  const names = [...families.keys()].sort()
  expect(Object.keys(familyRows).sort()).toEqual(names)
  expect([...new Set(fixtures.map(({ family }) => family))].sort()).toEqual(names)
})

for (const family of families.values()) {
  const row = familyRows[family.name]
  const records = fixtures.filter((fixture) => fixture.family === family.name)
  if (!row || records.length === 0) continue
  describe(`${family.name} (FAMILIES_SEED=${seed})`, () => {
    const counted = records.filter((record) => figuresIn(record).length > 0)
    const named = (list: readonly Fixture[]) => list.map((record) => [record.name, record] as const)
    test.each(named(records))('%s costs the recorded amount, and never more than was held', (_, record) =>
      costsAsRecorded(family, record),
    )
    test('loses only documented parts in both translations', () =>
      losesNothing(family, records, row.translated ?? [], row.answered ?? []))
    const worded = records.filter(({ sent, answer }) => sent || answer)
    if (worded.length > 0)
      test.each(named(worded))('%s is translated to the recorded request and answer', (_, record) =>
        matchesWords(family, record),
      )
    if (family.bridge)
      test.each(named(records))('%s is translated only once', (_, record) => translatesOnce(family, record))
    if (counted.length > 0) {
      test.each(named(counted))(
        '%s with absurd figures is not a credit, and never costs more than the hold',
        (_, record) => bearsAbsurdFigures(family, record),
      )
      if (family.kind !== 'task')
        test.each(named(counted))(
          '%s with usage of zero is charged, and the caller gets the charged usage',
          (_, record) => bearsZeros(family, record),
        )
    }
    test.each(named(records))('%s in any unusual form never causes an internal error', (_, record) =>
      family.kind === 'task' ? bearsOddTasks(family, record) : bearsOddForms(family, record),
    )
    if (family.kind !== 'task')
      test.each(named(records))(
        '%s with faults anywhere is accepted or rejected, and its charge ends',
        (_, record) => bearsFaults(family, record),
      )
    test('rejects wrong requests with the name of the field, in its dialect, for free', () =>
      refusesWrong(family, records, row.refused))
    test('accepts a plain request that the vendor accepts', () => takesPlainWords(family, row.model))
    test('reports every kind of failure in its dialect, for free', () => reportsFailures(family, row.model))
  })
}

test('all charges of these tests get the same price again', async () => {
  const { priced, settled } = await expectSamePrices(gateway)
  expect(settled).toBeGreaterThan(families.size)
  expect(priced).toBe(settled)
})

async function costsAsRecorded(family: Family, record: Fixture): Promise<void> {
  const answer = await replay(family, asNewTask(family, record))
  const isFree = record.usage !== undefined && Object.keys(record.usage).length === 0
  expect(answer).toMatchObject({ status: 200, charge: { state: isFree ? 'released' : 'settled' } })
  const { charge } = answer
  const [{ pico }] = JSON.parse(charge.prices as string) as [{ pico: Record<string, number> }]
  expect(Number(charge.held)).toBeGreaterThanOrEqual(Number(charge.amount))
  if (isFree) expect(charge.amount).toBe(0)
  else if (record.usage) {
    expect({ amount: charge.amount, source: charge.usage_source }).toEqual({
      amount: priceOf(record.usage, pico),
      source: record.source ?? 'upstream',
    })
    const shown = shownTokens(answer)
    if (shown) expect(shown).toEqual([inputTokensOf(record.usage), outputTokensOf(record.usage)])
  } else {
    expect(Number(charge.amount)).toBeGreaterThan(0)
    expect(charge.usage_source).not.toBe('upstream')
  }
}

/** Tokens in and out that the caller reads in the usage of an answer; undefined for other forms of it, and for none. */
function shownTokens({ json, events }: Pick<Answer, 'json' | 'events'>): [number, number] | undefined {
  const usages = [json, ...events].map((part) => part?.usage ?? part?.response?.usage)
  const usage = usages.findLast((each) => each !== undefined && each !== null)
  const { prompt_tokens: prompt, completion_tokens: completion = 0 } = usage ?? {}
  if (prompt !== undefined) return [prompt, completion]
  const { input_tokens: input, output_tokens: output, total_tokens: total } = usage ?? {}
  if (input === undefined || output === undefined) return undefined
  // Messages have no total: cached tokens are next to the input.
  const { cache_read_input_tokens: read = 0, cache_creation_input_tokens: written = 0 } = usage
  return total === undefined ? [input + read + written, output] : [input, output]
}

/** Compares the vendor's request, except the model, and the caller's answer, except parts that are new each time. */
async function matchesWords(family: Family, record: Fixture): Promise<void> {
  const { json, events, received } = await replay(family, asNewTask(family, record))
  const { model: _, ...sent } = received as Json
  if (record.sent) expect(sent).toEqual(record.sent)
  if (!record.answer) return
  const answer = json ?? events
  expect(withoutEstimate(answer)).toMatchObject(withoutEstimate(record.answer))
}

/** Events without the figures at the beginning of a message, which are of the model. */
function withoutEstimate(answer: Json): Json {
  if (!Array.isArray(answer)) return answer
  return answer.map(({ message, ...event }) => {
    const { usage: _, ...rest } = message ?? {}
    return message ? { ...event, message: rest } : event
  })
}

async function losesNothing(
  family: Family,
  records: readonly Fixture[],
  translated: readonly string[],
  answered: readonly string[],
): Promise<void> {
  const unused = new Set([...translated, ...answered])
  for (const original of records) {
    const record = asNewTask(family, original)
    // Behind another dialect an unknown field is rejected; nested unknown fields are left out.
    const { x_unknown: unknown, ...known } = withUnknown(record.request) as Record<string, unknown>
    const request = family.bridge ? known : { ...known, x_unknown: unknown }
    const answer = await replay(family, { ...record, request, ...unknownIn(record) })
    expect({ name: record.name, status: answer.status, text: answer.text.slice(0, 300) }).toMatchObject({
      status: 200,
    })
    const sent = answer.isForm ? { ...textsOf(request), ...filesNamed(record) } : request
    expect({
      name: record.name,
      lost: undocumented(lostPaths(sent, answer.received), translated, unused),
    }).toEqual({
      name: record.name,
      lost: [],
    })
    if (family.kind === 'speech') continue
    const came = record.events ? answer.events : answer.json
    const recorded = withUnknown(record.events ?? record.result ?? record.poll ?? record.reply)
    const lost = lostPaths(recorded, came).filter((path) => !/(^|\/)model$/.test(path))
    expect({ name: record.name, lost: undocumented(lost, answered, unused) }).toEqual({
      name: record.name,
      lost: [],
    })
  }
  // A documented change that no record shows would hide the next one.
  expect([...unused]).toEqual([])
}

/** Large conversations take long to translate: the checked request itself is quoted and sent. */
function translatesOnce(family: Family, record: Fixture): void {
  const model = modelOf(`recorded-${family.name}`)
  const body = { model: model.id, ...filesOf(record.files), ...record.request }
  const ask = { body, byteLength: 1_000, at: 0 }
  // Images are known only of files that were received.
  if (!record.files) family.check?.(body, model)
  let translations = 0
  Object.defineProperty(body, 'top_p', { get: () => void translations++ })
  family.call(ask, model)
  family.call(ask, model)
  expect(translations).toBe(0)
  // Another model has a different translation.
  const [sent, other] = [model, { ...model, upstreamModel: 'other' }].map((each) => family.call(ask, each))
  // One vendor expects the model only in the path.
  const isNamed = JSON.stringify(sent).includes('"model":')
  expect(JSON.stringify(other).includes('"model":"other"')).toBe(isNamed)
  expect(JSON.stringify(sent)).not.toContain('"model":"other"')
}

const ABSURD = [undefined, null, -1, 1.5, '7', 1e15, 1e300, true, [3], { tokens: 3 }]

async function bearsAbsurdFigures(family: Family, record: Fixture): Promise<void> {
  const figures = figuresIn(record)
  const wholes = new Set(figures.map((path) => path.replace(/^(.*?usage[^/]*)\/.*$/i, '$1')))
  for (const [turn, path] of [...figures, ...wholes].entries()) {
    for (const value of sampleOf(ABSURD, 3, turn)) {
      const { seen, status, charge } = await spoil(family, record, path, value)
      // A reply that cannot be read is the vendor's fault, and free.
      expect({ ...seen, fine: status === 200 || status === 502 }).toEqual({ ...seen, fine: true })
      const [amount, held] = [Number(charge.amount), Number(charge.held)]
      const due = status === 200 ? amount > 0 && amount <= held : amount === 0
      expect({ ...seen, amount, held, due }).toEqual({ ...seen, amount, held, due: true })
    }
  }
}

/** Usage of zero for real output is not used. Callers get the charged tokens. */
async function bearsZeros(family: Family, record: Fixture): Promise<void> {
  const part = record.events ?? record.reply
  const zeros = figuresIn(record).reduce((json: Json, path) => withValue(json, path, 0), part)
  const answer = await replay(family, { ...record, [record.events ? 'events' : 'reply']: zeros })
  const { charge, status, text } = answer
  expect({ status, text, state: charge.state }).toEqual({ status: 200, text, state: 'settled' })
  expect(Number(charge.amount)).toBeGreaterThan(0)
  const shown = shownTokens(answer)
  const [{ pico }] = JSON.parse(charge.prices as string) as [{ pico: Record<string, number> }]
  // Tokens of images and of sound have separate prices.
  if (!shown || pico.output_image_token || pico.input_audio_token || pico.output_audio_token) return
  const [input_token, output_token] = shown
  expect({ text, amount: charge.amount }).toEqual({
    text,
    amount: priceOf({ input_token, output_token }, pico),
  })
}

const ODD = [undefined, null, 7, 'x', [], [null], {}]

/** Values in place of one part of a reply: some by turns, others in each run, or all of them. */
function sampleOf(values: readonly unknown[], count: number, turn: number): readonly unknown[] {
  if (isWholeRun) return values
  return Array.from(
    { length: isQuickRun ? 1 : count },
    (_, index) => values[(seed + turn * count + index) % values.length],
  )
}

/** One part of a reply in four is changed, in a quick run one in twelve, in each run others, or all of them. */
const STEP = isWholeRun ? 1 : isQuickRun ? 12 : 4

/** Any part of a reply may be missing or of another type: the result is an answer or a vendor error, never a crash. */
async function bearsOddForms(family: Family, record: Fixture): Promise<void> {
  for (const [turn, path] of branchesOf(record.events ?? record.reply).entries()) {
    if ((seed + turn) % STEP !== 0) continue
    for (const value of sampleOf(ODD, 1, turn)) {
      const { seen, status, charge } = await spoil(family, record, path, value)
      // Sound that has begun can only end by breaking off.
      const fine = [200, 400, 502, ...(family.kind === 'speech' ? [BROKEN] : [])].includes(status)
      expect({ ...seen, fine }).toEqual({ ...seen, fine: true })
      const paid = Number(charge.amount)
      const hasBegun = status === 200 || status === BROKEN
      const due = hasBegun ? paid >= 0 && paid <= Number(charge.held) : paid === 0
      expect({ ...seen, paid, due }).toEqual({ ...seen, paid, due: true })
    }
  }
}

const FAULTS = casesOf(200)

/** Every answer of a vendor is read, or rejected before anything is delivered; a charge always ends, and no stream breaks off. */
async function bearsFaults(family: Family, record: Fixture): Promise<void> {
  const random = createRandom(seed)
  for (let turn = 0; turn < FAULTS; turn++) {
    const { events, reply } = record
    const mutated = events
      ? { events: asList(mutatedAnswer(events, random)) }
      : // A sound has no parts: JSON comes in its place.
        { reply: mutatedAnswer(reply ?? {}, random) }
    const logged = gateway.log.length
    const { fields, headers } = await wishOf(family, random)
    const request = { ...record.request, ...fields }
    const { status, text, charge } = await replay(family, { ...record, request, ...mutated }, headers)
    const seen = { name: record.name, turn, status, text: text.slice(0, 300) }
    const faults = gateway.log.slice(logged).filter(({ event }) => FAULTS_OF_OURS.has(event))
    const fine = [200, 400, 502, ...(family.kind === 'speech' ? [BROKEN] : [])].includes(status)
    const ended = ['settled', 'released'].includes(String(charge?.state))
    if (fine && ended && faults.length === 0) continue
    const said = JSON.stringify(mutated).slice(0, 2_000)
    expect({ ...seen, charge: charge?.state, faults, said }).toEqual({
      ...seen,
      charge: 'settled',
      faults: [],
      said: '',
    })
  }
}

const FAULTS_OF_OURS = new Set(['internal_error', 'charge_not_ended'])

function asList(value: Json): Json[] {
  return Array.isArray(value) ? value : [value]
}

/** Headers and fields that make the gateway keep an answer: for a repeat, by its id, or in a conversation. */
async function wishOf(
  { operation }: Family,
  random: Random,
): Promise<{ fields: Record<string, Json>; headers: Record<string, string> }> {
  const key = { 'idempotency-key': crypto.randomUUID() }
  if (operation !== 'responses') return { fields: {}, headers: random.chance(0.3) ? key : {} }
  const fields: Record<string, Json> = { store: true }
  if (random.chance(0.2)) {
    const created = await gateway.post('/v1/conversations', {})
    fields.conversation = ((await created.json()) as Json).id
  }
  return { fields, headers: random.chance(0.3) ? key : {} }
}

/** Whatever a vendor reports about a task, the task has ended or polling continues. */
function bearsOddTasks(family: Family, record: Fixture): void {
  const pollContext = taskOf(family)?.pollContext(record.request, modelOf(`recorded-${family.name}`)) ?? {}
  const contract = taskOf(family)
  bearsOddAnswers(record.poll, (odd) => contract?.outcome(odd, pollContext))
  if (record.result === undefined) return
  bearsOddAnswers(record.result, (odd) => contract?.result?.outcome({ reply: odd }, record.poll, pollContext))
}

function bearsOddAnswers(answer: Json, read: (odd: Json) => TaskOutcome | undefined): void {
  for (const path of branchesOf(answer)) {
    for (const value of ODD) {
      const outcome = read(withValue(answer, path, value))
      const seen = { path, value, status: outcome?.status ?? 'nothing said' }
      expect(seen).toEqual({
        ...seen,
        status: expect.stringMatching(/^(nothing said|submitted|succeeded|failed|missing)$/),
      })
      if (outcome?.status === 'succeeded') expect(outcome.videoUrl).toMatch(/./)
    }
  }
}

/** Where a record has figures of usage. */
function figuresIn({ reply, events }: Fixture): string[] {
  return leavesOf(events ?? reply).flatMap(([path, leaf]) =>
    /usage/i.test(path) && typeof leaf === 'number' ? [path] : [],
  )
}

/** A recorded request whose answer has another value at one place. */
async function spoil(family: Family, record: Fixture, path: string, value: unknown) {
  const { events, reply } = record
  const changed = events
    ? { events: withValue(events, path, value) }
    : { reply: withValue(reply, path, value) }
  const answer = await replay(family, { ...record, ...changed })
  const seen = { name: record.name, path, value, status: answer.status, text: answer.text.slice(0, 200) }
  expect({ ...seen, ended: ['settled', 'released'].includes(String(answer.charge.state)) }).toEqual({
    ...seen,
    ended: true,
  })
  return { ...answer, seen }
}

async function refusesWrong(
  family: Family,
  records: readonly Fixture[],
  refused: readonly [path: string, value: unknown, field?: string][],
): Promise<void> {
  expect(refused.length).toBeGreaterThan(0)
  for (const [path, value, field = path] of refused) {
    const around = path.split('/').slice(0, -1).join('/')
    const record = records.find(({ request }) => around === '' || branchesOf(request).includes(around))
    if (!record) throw new Error(`no recorded request has ${around}`)
    const [file] = path.split('/') as [string]
    const files = { ...record.files, ...(record.files?.[file] && { [file]: [] }) }
    const request = withValue(record.request, path, value)
    const answer = await replay(family, { ...record, request, ...(record.files && { files }) })
    const seen = { path, value, text: answer.text }
    expect({ ...seen, ...answer }).toMatchObject({
      ...seen,
      status: 400,
      charge: undefined,
      received: undefined,
    })
    expectDialect(family, answer.json, 400)
    // One dialect can have it only in the message.
    const { details = [], param = field } = answer.json.error
    for (const { fieldViolations: [violation] = [] } of details)
      if (violation) expect(violation.field).toBe(field)
    expect({ ...seen, param }).toEqual({ ...seen, param: field })
    expect(answer.json.error.message).toContain(field.split(/[.[]/)[0] as string)
  }
}

async function takesPlainWords(family: Family, model: FamilyModel): Promise<void> {
  const body = plainBody(family, 'A quiet harbour', model)
  const { status, text, charge } = await send(family, `simulated-${family.name}`, body)
  const { submittedStatus = 200 } = taskOf(family) ?? {}
  expect({ status, text: text.slice(0, 300) }).toMatchObject({ status: submittedStatus })
  expect(charge).toMatchObject({ state: family.kind === 'task' ? 'held' : 'settled' })
}

async function reportsFailures(family: Family, model: FamilyModel): Promise<void> {
  const rows: (readonly [prompt: string, status: number, word: string, key?: string])[] = [
    ['[sandbox status=400 error_text="An odd wish"]', 400, 'An odd wish'],
    ['[sandbox status=429]', 429, ''],
    // The caller does not get errors between the gateway and the vendor.
    ['[sandbox status=401]', 503, ''],
    ['[sandbox quota]', 503, ''],
    // It is then unknown whether a task has begun, so it continues.
    ...(family.kind === 'task' ? [] : ([['[sandbox status=500]', 502, '']] as const)),
    ['Nobody pays for this', 402, 'may cost up to', poorKey],
  ]
  for (const [prompt, status, word, key] of rows) {
    const answer = await send(family, `simulated-${family.name}`, plainBody(family, prompt, model), key)
    const seen = { prompt, text: answer.text.slice(0, 300) }
    expect({ ...seen, status: answer.status }).toEqual({ ...seen, status })
    expectDialect(family, answer.json, status)
    expect(answer.json.error.message).toContain(word)
    if (status === 402) expect(answer.charge).toBeUndefined()
    else expect(answer.charge).toMatchObject({ state: 'released', amount: 0 })
  }
}

/** The form of error bodies in each API. */
function expectDialect(family: Family, json: Json, status: number): void {
  const { dialect = 'openai' } = familyRows[family.name] ?? {}
  const { error, ...others } = json
  const requestId = expect.stringMatching(/^req_/)
  const words = { message: expect.stringMatching(/\S/), type: expect.any(String) }
  if (dialect === 'messages') {
    // If there was too much, the flat fields of the spec are next to it.
    const flat = status === 429 ? { code: expect.any(String), message: error.message } : {}
    expect(json).toEqual({ type: 'error', error: words, request_id: requestId, ...flat })
    return
  }
  if (dialect === 'gemini') {
    const details = expect.arrayContaining([expect.objectContaining({ metadata: { requestId } })])
    expect(error).toEqual({ code: status, message: words.message, status: words.type, details })
    return
  }
  const isFlat = dialect === 'flat' || status === 429
  expect(others).toEqual(
    isFlat ? { code: expect.any(String), message: error.message, request_id: requestId } : {},
  )
  const param = error.param === null ? null : expect.any(String)
  expect(error).toEqual({ ...words, param, code: expect.any(String), request_id: requestId })
}

type FamilyModel = Omit<ModelConfig, 'family' | 'upstream'>

interface Answer {
  status: number
  text: string
  json: Json
  events: Json[]
  charge: Row
  /** The body received by the recorded vendor; undefined if it was not called. */
  received: Json
  isForm: boolean
}

/** Sends a recorded request to the gateway while the vendor answers with the recording. */
async function replay(
  family: Family,
  record: Fixture,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { request, files, reply, events, sound, poll, result } = record
  vendor.poll = poll
  vendor.result = result
  const whole = sound !== undefined && reply === undefined ? { sound } : { reply }
  vendor.answer = events ? { events, end: streamOf(family)?.end ?? null } : whole
  const body = { ...filesOf(files), ...request }
  return send(family, `recorded-${family.name}`, body, gateway.secret, headers)
}

async function send(
  family: Family,
  model: string,
  body: Record<string, Json>,
  key = gateway.secret,
  more: Record<string, string> = {},
): Promise<Answer> {
  const operation = operations.find(({ name }) => name === family.operation)
  const isForm = operation?.body === 'form'
  const content = { model, ...body }
  vendor.received = undefined
  const { status, text } = await fetch(`${gateway.url}${operation && addressOf(operation, content)}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      ...(isForm ? {} : { 'content-type': 'application/json' }),
      ...more,
    },
    body: isForm ? formOf(content) : JSON.stringify(content),
  })
    .then(async (response) => ({ status: response.status, text: await response.text() }))
    .catch((error) => ({ status: BROKEN, text: String(error) }))
  return {
    status,
    text,
    json: jsonOf(text),
    events: text.split('\n').flatMap((line) => jsonOf(line.replace(/^data: /, '')) ?? []),
    charge: (await newCharge()) as Row,
    received: isForm && Array.isArray(vendor.received) ? fieldsOf(vendor.received) : vendor.received,
    isForm,
  }
}

/** The path of a request, which may name the model and say that the answer is a stream. */
function addressOf(operation: Operation, { model, stream }: Record<string, Json>): string {
  const path = pathForModel(operation, model)
  const isStreamed = operation.inAddress && stream
  return isStreamed ? path.replace(':generateContent', ':streamGenerateContent?alt=sse') : path
}

/** Instead of a status: the connection was closed before the answer was complete. */
const BROKEN = 0

let lastCharge = ''

/** The charge of the last request. Undefined if it has none. */
async function newCharge(): Promise<Row | undefined> {
  const [charge] = await gateway.charges(lastCharge)
  if (charge) lastCharge = charge.id as string
  return charge
}

function jsonOf(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function formOf(body: Record<string, Json>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) {
    if (!isUploads(value))
      form.append(name, typeof value === 'object' ? JSON.stringify(value) : String(value))
    else for (const file of value) form.append(value.length > 1 ? `${name}[]` : name, fileOf(file))
  }
  return form
}

/** A text unchanged, everything else as JSON. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function textsOf(body: Record<string, Json>): Record<string, string> {
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, textOf(value)]))
}

function isUploads(value: unknown): value is Upload[] {
  return (
    Array.isArray(value) &&
    value.every((item) => typeof item === 'object' && item !== null && 'bytes' in item)
  )
}

function fileOf({ bytes, filename, contentType }: Upload): File {
  return new File([bytes], filename, { type: contentType })
}

/** `png 64x48` and the like, as files. */
function filesOf(files: Fixture['files'] = {}): Record<string, Upload[]> {
  const upload = (words: string, name: string): Upload => {
    const seconds = /^wav (\d+)s$/.exec(words)?.[1]
    if (seconds) {
      const samples = new Uint8Array(16_000 * Number(seconds))
      const bytes = new Blob([new Uint8Array(wavOf({ sampleRate: 8_000, channels: 1 }, [samples]))])
      const audio = { format: 'wav', seconds: Number(seconds) } as const
      return { filename: `${name}.wav`, contentType: 'audio/wav', bytes, audio }
    }
    const [, format, width = 64, height = 48] = /^(\w+)(?: (\d+)x(\d+))?$/.exec(words) ?? []
    const { bytes, contentType } = picture(format as 'png', Number(width), Number(height))
    const blob = new Blob([new Uint8Array(bytes)], { type: contentType })
    return { filename: `${name}.${format}`, contentType, bytes: blob, picture: undefined }
  }
  return Object.fromEntries(
    Object.entries(files).map(([name, list]) => [
      name,
      list.map((words, index) => upload(words, `${name}-${index}`)),
    ]),
  )
}

/** A received form as texts by name, and files by what they are called. */
function fieldsOf(received: unknown): Json {
  if (received === undefined) return undefined
  const entries = received as [string, string | File][]
  return Object.fromEntries(
    entries.map(([name, value]) =>
      typeof value === 'string' ? [name, value] : [`file ${value.name}`, name],
    ),
  )
}

function filesNamed({ files = {} }: Fixture): Record<string, string> {
  return Object.fromEntries(
    Object.entries(files).flatMap(([name, list]) =>
      list.map((words, index) => [
        `file ${name}-${index}.${words.split(' ')[0]}`,
        list.length > 1 ? `${name}[]` : name,
      ]),
    ),
  )
}

/** A record with a new vendor's id, if it has one: no vendor gives one id to two tasks. */
function asNewTask(family: Family, record: Fixture): Fixture {
  const id = taskOf(family)?.id(record.reply)
  return id ? JSON.parse(JSON.stringify(record).replaceAll(id, crypto.randomUUID())) : record
}

function unknownIn({ reply, events, sound, poll, result }: Fixture): Partial<Fixture> {
  if (sound !== undefined) return {}
  if (events) return { events: withUnknown(events) }
  return {
    reply: withUnknown(reply),
    poll: withUnknown(poll),
    ...(result !== undefined && { result: withUnknown(result) }),
  }
}

/** Returns the paths that no glob documents, and removes the globs that document one. */
function undocumented(paths: readonly string[], globs: readonly string[], unused: Set<string>): string[] {
  return paths.filter((path) => {
    const documented = globs.filter((glob) => new Glob(glob).match(path))
    for (const glob of documented) unused.delete(glob)
    return documented.length === 0
  })
}

/** A model as the gateway knows it. */
function modelOf(id: string): Model {
  return gateway.server.world.catalogue.models.get(id)?.[0] as Model
}

function plainBody(family: Family, text: string, { referenceImages }: FamilyModel): Record<string, Json> {
  const { fields } = family.plain
  const takesAudio = operationOf(family.operation).modalities.input.includes('audio')
  const { image, file } = filesOf({ image: ['png 64x64'], file: ['wav 9s'] })
  const uploads = takesAudio ? file : fields.includes('uploads') ? image : undefined
  const count = fields.includes('images') ? (referenceImages?.min ?? 0) : 0
  const images = Array.from({ length: count }, (_, index) => `https://example.com/${index}.png`)
  const request = {
    text,
    ...(fields.includes('n') && { n: 1 }),
    ...(uploads && { uploads }),
    ...(count > 0 && { images }),
  }
  return family.plain.body(request, modelOf(`simulated-${family.name}`))
}

function priceOf(usage: Quantities, pico: Record<string, number>): number {
  const all = pico.request === undefined ? usage : { ...usage, request: 1 }
  const sum = Object.entries(all).reduce(
    // Cached input and cache writes cost as input where they have no price of their own.
    // So does a second of input.
    (sum, [unit, count]) =>
      sum + BigInt(count) * BigInt(pico[unit] ?? pico.input_token ?? pico.second ?? Number.NaN),
    0n,
  )
  return Number((sum + 999n) / 1000n)
}
