// Event streams, however the network splits them: the splitter with random text, and the relay with real streams from
// the simulated vendors, split and ended at every byte.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Sandbox, startSandbox, type VendorName } from '../../sandbox'
import { measure, type Outcome } from '../../src/billing/ledger/metering'
import { createEventSplitter, dataOfEvent, eventsIn, MAX_EVENT_BYTES, splitEvents } from '../../src/lib/sse'
import type { TokenCounter } from '../../src/media/token-counter'
import { say } from '../support/gateway'
import { createRandom, isWholeRun, type Random, seedOf } from '../support/random'
import { earlyEnd, modelForRelay, readAll, type Source, sourceOf, startRelaying } from '../support/relaying'

setDefaultTimeout(180_000)

const encoder = new TextEncoder()

function cutInPieces(bytes: Uint8Array, random: Random, mean: number): Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + random.below(mean * 2)
    pieces.push(bytes.subarray(at, end))
    at = end
  }
  return pieces
}

/** The data of all events, parsed as the standard describes it, line by line. */
function dataByTheStandard(text: string): string[] {
  const events: string[] = []
  let data: string[] = []
  for (const line of text.split(/\r\n|\n|\r/).slice(0, -1)) {
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (line === '') {
      if (data.length > 0) events.push(data.join('\n'))
      data = []
    } else if (field === 'data') data.push(value)
  }
  return events
}

/** The splitter's result for pieces: the data of its events, and every byte that it returned. */
function splitPieces(pieces: readonly Uint8Array[]) {
  const splitter = createEventSplitter()
  const wholes = pieces.map((piece) => splitter.push(piece).toString('latin1'))
  const events = wholes.flatMap(splitEvents)
  expect(wholes.flatMap((whole) => [...eventsIn(Buffer.from(whole, 'latin1'), 0)])).toEqual(events)
  const data = events.map(dataOfEvent).filter((value) => value !== undefined)
  return { wholes, data, bytes: wholes.join('') + splitter.rest().toString('latin1') }
}

const words = ['Hello', 'Grüße', '世界', '👩‍👩‍👧‍👦', '{"a":"b"}', ':', 'data', ' ', 'x'.repeat(50)]
const fields = ['data: ', 'data:', ': ', ':', 'event: ', 'id: ', 'data', 'database: ', 'retry: ']

function randomStream(random: Random, lineEnd: () => string): string {
  let text = ''
  for (let events = random.below(6); events >= 0; events--) {
    for (let lines = random.below(3); lines >= 0; lines--) {
      text += random.pick(fields) + random.pick(words) + random.pick(words) + lineEnd()
    }
    text += lineEnd()
  }
  return text
}

describe('the event splitter', () => {
  for (const lineEnd of ['\n', '\r\n', '\r']) {
    test(`finds the same events in any pieces, with lines that end with ${JSON.stringify(lineEnd)}`, () => {
      for (let seed = 1; seed <= 400; seed++) {
        const random = createRandom(seed)
        const text = randomStream(random, () => lineEnd) + (random.chance(0.5) ? 'data: unfinished' : '')
        const bytes = encoder.encode(text)
        const expected = dataByTheStandard(
          `${text.slice(0, text.lastIndexOf(lineEnd + lineEnd))}${lineEnd}${lineEnd}`,
        )
        for (const mean of [1, 3, 40]) {
          const { wholes, data, bytes: given } = splitPieces(cutInPieces(bytes, random, mean))
          expect({ seed, data }).toEqual({ seed, data: expected })
          expect(given).toBe(Buffer.from(bytes).toString('latin1'))
          for (const whole of wholes) if (whole) expect(whole.endsWith(lineEnd + lineEnd)).toBe(true)
        }
      }
    })
  }

  test('finds the same events in any pieces with mixed line ends', () => {
    for (let seed = 1; seed <= 1_000; seed++) {
      const random = createRandom(seed)
      const bytes = encoder.encode(randomStream(random, () => random.pick(['\n', '\r\n', '\r'])))
      const whole = splitPieces([bytes])
      const cut = splitPieces(cutInPieces(bytes, random, 2))
      expect({ seed, data: cut.data }).toEqual({ seed, data: whole.data })
      expect(cut.bytes).toBe(Buffer.from(bytes).toString('latin1'))
    }
  })

  test.each(['\n', '\r\n'])(
    'takes as long for an event of a long text as of a short one, with %j',
    (lineEnd) => {
      // As Anthropic writes them. Searched from its beginning for each event, this text would take many minutes.
      const event = `event: ping${lineEnd}data: {"type":"ping"}${lineEnd}${lineEnd}`
      const events = Array.from({ length: 200_000 }, () => event)
      const whole = events.join('')
      expect(splitEvents(whole)).toEqual(events)
      expect([...eventsIn(Buffer.from(whole), 0)]).toEqual(events)
    },
  )

  test('accepts pieces that end within a character', () => {
    const bytes = encoder.encode('data: 世界 🎉\n\n')
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(splitPieces([bytes.subarray(0, cut), bytes.subarray(cut)]).data).toEqual(['世界 🎉'])
    }
  })

  test('joins events of megabytes from many pieces, and never changes what it has returned', () => {
    const random = createRandom(7)
    const events = [5_000_000, 20, 3_000_000, 1].map((length, index) => {
      return `data: ${String(index).repeat(length)}\n\n`
    })
    const bytes = encoder.encode(events.join(''))
    const splitter = createEventSplitter()
    const given: Buffer[] = []
    for (const piece of cutInPieces(bytes, random, 1_000)) given.push(splitter.push(piece))
    // Checked only at the end: later bytes must not have overwritten earlier ones.
    expect(Buffer.concat(given).equals(bytes)).toBe(true)
    for (const whole of given)
      expect(whole.length === 0 || whole.toString('latin1').endsWith('\n\n')).toBe(true)
    expect(splitter.rest()).toHaveLength(0)
  })

  test('refuses an event longer than any vendor sends, and accepts the longest permitted one', () => {
    const half = new Uint8Array(MAX_EVENT_BYTES / 2).fill(120)
    const splitter = createEventSplitter()
    expect(splitter.push(half)).toHaveLength(0)
    expect(splitter.push(half)).toHaveLength(0)
    expect(() => splitter.push(Uint8Array.of(120))).toThrow('too long')

    const patient = createEventSplitter()
    patient.push(half)
    expect(patient.push(encoder.encode('\n\n')).length).toBe(MAX_EVENT_BYTES / 2 + 2)
    // Many events together may be longer, because they need not be buffered.
    const many = encoder.encode(`data: ${'x'.repeat(1_000_000)}\n\n`.repeat(20))
    expect(createEventSplitter().push(many).length).toBe(many.length)
  })
})

test.each([
  ['data: a\n\n', 'a'],
  ['data:a\n\n', 'a'],
  ['data:  a\n\n', ' a'],
  ['data\n\n', ''],
  ['data:\n\n', ''],
  ['data: a\ndata: b\n\n', 'a\nb'],
  ['event: x\r\ndata: a\r\nid: 1\r\n\r\n', 'a'],
  ['data: a: b\n\n', 'a: b'],
  [': comment\n\n', undefined],
  ['event: ping\n\n', undefined],
  ['database: a\n\n', undefined],
  [' data: a\n\n', undefined],
  ['\n', undefined],
])('the data of %j is %j', (event, data) => {
  expect(dataOfEvent(event)).toBe(data as string)
})

// ---- The relay on real streams ----

/** A stream as written by a vendor, and its properties. */
interface Recorded {
  name: string
  bytes: Uint8Array
  blankLine: '\n\n' | '\r\n\r\n'
  hideUsage: boolean
  model: string
}

interface Recipe {
  name: string
  words: string
  vendor?: VendorName
  model?: string
  body?: object
  hideUsage?: boolean
}

const tools = [
  { type: 'function', function: { name: 'get_weather', parameters: { properties: { city: {} } } } },
]

const recipes: readonly Recipe[] = [
  { name: 'text, usage hidden', words: 'tokens=4' },
  { name: 'text, usage shown', words: 'tokens=4', hideUsage: false },
  { name: 'multi-byte letters', words: 'wide tokens=8', vendor: 'dashscope', model: 'qwen-plus' },
  { name: 'CR LF', words: 'crlf wide tokens=4', vendor: 'dashscope', model: 'qwen-plus' },
  { name: 'a tool call in pieces', words: 'tool', body: { tools } },
  { name: 'a tool call at once', words: 'tool', vendor: 'xai', model: 'grok-3', body: { tools } },
  { name: 'thinking', words: 'reasoning=3 tokens=3', vendor: 'xai', model: 'grok-3' },
  { name: 'two candidates', words: 'tokens=2', vendor: 'dashscope', model: 'qwen-plus', body: { n: 2 } },
  { name: 'no usage', words: 'usage=missing tokens=3', vendor: 'dashscope', model: 'qwen-plus' },
  { name: 'usage on every chunk', words: 'usage=every_chunk tokens=3', vendor: 'xai', model: 'grok-3' },
  { name: 'absurd usage', words: 'usage=negative tokens=3', vendor: 'dashscope', model: 'qwen-plus' },
  { name: 'no closing event', words: 'no_done tokens=3', vendor: 'dashscope', model: 'qwen-plus' },
  { name: 'an error after the beginning', words: 'error_after=3 tokens=9' },
  { name: 'an error at once', words: 'error_after=0', vendor: 'dashscope', model: 'qwen-plus' },
  { name: 'invalid data', words: 'garbage', vendor: 'dashscope', model: 'qwen-plus' },
  { name: 'no output', words: 'empty', vendor: 'dashscope', model: 'qwen-plus' },
]

const paths: Partial<Record<VendorName, string>> = { dashscope: '/compatible-mode/v1' }
const model = modelForRelay()
const recordings = new Map<string, Recorded>()
let sandbox: Sandbox

beforeAll(async () => {
  sandbox = startSandbox()
  for (const recipe of recipes) recordings.set(recipe.name, await record(recipe))
})
afterAll(() => sandbox.stop())

async function record(recipe: Recipe): Promise<Recorded> {
  const { vendor = 'openai', model: name = 'gpt-4o-mini', hideUsage = true } = recipe
  const response = await fetch(`${sandbox.baseUrls[vendor]}${paths[vendor] ?? ''}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sandbox.secrets[vendor]}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: name,
      messages: say(`[sandbox ${recipe.words}]`),
      stream: true,
      stream_options: { include_usage: true },
      ...recipe.body,
    }),
  })
  expect(response.status).toBe(200)
  const bytes = await response.bytes()
  const text = new TextDecoder().decode(bytes)
  return {
    name: recipe.name,
    bytes,
    blankLine: recipe.words.includes('crlf') ? '\r\n\r\n' : '\n\n',
    hideUsage,
    model: /"model":"([^"]+)"/.exec(text)?.[1] ?? '',
  }
}

function recorded(name: string): Recorded {
  const recording = recordings.get(name)
  if (!recording) throw new Error(`${name} was not recorded`)
  return recording
}

/** Counts tokens such that every difference in the text changes the count. */
const characterCounter: TokenCounter = {
  count: async (text) => ({ tokens: text.length, exact: true }),
  close() {},
}

async function relay({ hideUsage }: Recorded, source: Source) {
  const relaying = startRelaying(source.body, { model, hideUsage })
  const output = await readAll(relaying.reader)
  expect(relaying.outcomes.length).toBe(1)
  const outcome = relaying.outcomes[0] as Outcome
  const ask = { body: { messages: say('Hello') }, byteLength: 100, at: 0 }
  const { endedBy, failed, usageJson } = outcome
  return {
    output: output.toString(),
    captured: Buffer.from(relaying.captured(), 'latin1').toString(),
    // Text is kept only if it is counted, so its tokens are compared, not the text.
    metered: { endedBy, failed, usageJson, paid: await measure(outcome, ask, model, characterCounter) },
  }
}

type Json = Record<string, unknown> & {
  choices?: { delta: Delta; finish_reason: unknown }[]
  usage?: object | null
}

interface Delta {
  content?: string | null
  reasoning_content?: string
  tool_calls?: { function: { name?: string; arguments: string } }[]
}

function parsed(data: string): Json | undefined {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}

/** The vendor's events that a caller must get. */
function shown(events: readonly string[], { hideUsage, model: name }: Recorded): string[] {
  return (
    events
      .filter((data) => {
        const json = parsed(data)
        return !(hideUsage && json?.usage && json.choices?.length === 0)
      })
      .map((data) => (name ? data.replace(`"model":"${name}"`, `"model":"${model.id}"`) : data))
      // The operator's cost is not shown to the caller.
      .map((data) => data.replace(/,"cost_in_usd_ticks":\d+/, ''))
  )
}

function isWhole(events: readonly string[]): boolean {
  return events.some(
    (data) => data === '[DONE]' || parsed(data)?.choices?.some(({ finish_reason }) => finish_reason !== null),
  )
}

function hasError(events: readonly string[]): boolean {
  return events.some((data) => parsed(data)?.error !== undefined)
}

/** The caller can see how the stream ended: the answer is complete, or the vendor has reported an error. */
function isExplained(events: readonly string[]): boolean {
  return isWhole(events) || hasError(events)
}

/** The model's text in events, which is charged if no usage arrives. */
function textIn(events: readonly string[]): string {
  return events
    .flatMap((data) => parsed(data)?.choices ?? [])
    .map(({ delta }) => {
      const calls = delta.tool_calls?.map((call) => `${call.function.name ?? ''}${call.function.arguments}`)
      return `${delta.content ?? ''}${delta.reasoning_content ?? ''}${calls?.join('') ?? ''}`
    })
    .join('')
}

/** One in seven byte positions is tested, different ones in each run, or all of them. */
const STEP = isWholeRun ? 1 : 7
const seed = seedOf('CUTS_SEED')
const FIRST = seed % STEP

describe.each(recipes.map(({ name }) => name))(`a stream with %s (CUTS_SEED=${seed})`, (name) => {
  test('gives the caller the same bytes at the same price, split at every byte', async () => {
    const recording = recorded(name)
    const { bytes } = recording
    const whole = await relay(recording, sourceOf([bytes]))
    const events = dataByTheStandard(new TextDecoder().decode(bytes))
    const complete = isWhole(events)
    expect(dataByTheStandard(whole.output)).toEqual([
      ...shown(events, recording),
      ...(isExplained(events) ? [] : dataByTheStandard(earlyEnd('upstream'))),
    ])
    expect(whole.metered.endedBy).toBe(complete ? 'done' : 'upstream')
    for (let cut = 1 + FIRST; cut < bytes.length; cut += STEP) {
      const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)]
      expect({ cut, ...(await relay(recording, sourceOf(pieces))) }).toEqual({ cut, ...whole })
    }
    const random = createRandom(7)
    for (let round = 0; round < 60; round++) {
      const pieces = cutInPieces(bytes, random, 1 + random.below(100))
      const sizes = pieces.map(({ length }) => length)
      expect({ sizes, ...(await relay(recording, sourceOf(pieces))) }).toEqual({ sizes, ...whole })
    }
  })

  test('ends for the caller with whole events and one reason, at whatever byte the vendor closes', async () => {
    const recording = recorded(name)
    const { bytes, blankLine } = recording
    for (let length = FIRST; length < bytes.length; length += STEP) {
      const given = Buffer.from(bytes.subarray(0, length)).toString('latin1')
      const ends = given.lastIndexOf(blankLine)
      const beginning = ends === -1 ? '' : given.slice(0, ends + blankLine.length)
      const rest = dataByTheStandard(`${given.slice(beginning.length).trimEnd()}\n\n`)
      const usable = rest.filter((data) => data === '[DONE]' || parsed(data))
      const events = [...dataByTheStandard(beginning), ...usable].map((data) =>
        Buffer.from(data, 'latin1').toString(),
      )
      const complete = isWhole(events)
      const explained = isExplained(events)
      const pieces = length === 0 ? [] : [bytes.subarray(0, length)]
      const { output, metered, captured } = await relay(recording, sourceOf(pieces))
      const expected = shown(events, recording)
      expect({ length, events: dataByTheStandard(output), endedBy: metered.endedBy }).toEqual({
        length,
        events: explained ? expected : [...expected, ...dataByTheStandard(earlyEnd('upstream'))],
        endedBy: complete ? 'done' : 'upstream',
      })
      if (output) expect(output).toMatch(/(\r\n|\n)\1$/)
      expect(explained ? output : output.slice(0, -earlyEnd('upstream').length)).toBe(captured)
      if (metered.paid?.source === 'counted') {
        expect(metered.paid.quantities.output_token ?? 0).toBe(textIn(events).length)
      }
    }
  })

  test('ends for the caller with whole events and one reason, at whatever byte the connection breaks', async () => {
    const recording = recorded(name)
    const { bytes, blankLine } = recording
    for (let length = FIRST; length < bytes.length; length += STEP) {
      const given = Buffer.from(bytes.subarray(0, length)).toString('latin1')
      const ends = given.lastIndexOf(blankLine)
      const beginning = ends === -1 ? '' : given.slice(0, ends + blankLine.length)
      const events = dataByTheStandard(Buffer.from(beginning, 'latin1').toString())
      const closed = events.at(-1) === '[DONE]'
      const explained = closed || hasError(events)
      const pieces = length === 0 ? [] : [bytes.subarray(0, length)]
      const { output, metered } = await relay(recording, sourceOf(pieces, 'break'))
      const expected = shown(events, recording)
      expect({ length, events: dataByTheStandard(output), endedBy: metered.endedBy }).toEqual({
        length,
        events: explained ? expected : [...expected, ...dataByTheStandard(earlyEnd('upstream'))],
        endedBy: closed ? 'done' : 'upstream',
      })
      if (textIn(events) === '' && !closed) expect(metered.paid).toBeUndefined()
    }
  })
})
