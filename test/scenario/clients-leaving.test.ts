// Callers who disconnect: before their body is complete, before the vendor answers, in the middle of a stream, or while they do not
// read; by FIN, by reset, or by closing one half. The call to the vendor ends, the charge is exact, and no resource leaks.

import { heapStats } from 'bun:jsc'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import type { SandboxCall } from '../../sandbox'
import type { Row } from '../../src/db/db'
import { databaseKinds } from '../support/databases/databases'
import { say, startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import { chatRequest, type Leaving, RawCaller } from '../support/servers/raw-caller'
import { completion, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

// The prices of the test models, in nano-dollars.
const INPUT = 1_000
const OUTPUT = 2_000

const ways: readonly Leaving[] = ['fin', 'rst', 'half']

/** A gateway whose stop returns how many requests it had to cut: disconnected callers must not be among them. */
async function startWatched(options: Parameters<typeof startTestGateway>[0]): Promise<TestGateway> {
  const gateway = await startTestGateway(options)
  const stop = gateway.server.stop
  gateway.server.stop = async (graceMs) => {
    const cut = await stop(graceMs)
    expect(cut).toBe(0)
    return cut
  }
  return gateway
}

/** The content of the events received so far. */
function contentIn(received: string): string[] {
  const pieces: string[] = []
  for (const [, data] of received.matchAll(/data: (\{.*\})\n\n/g)) {
    const content = JSON.parse(data as string).choices[0]?.delta.content
    if (content) pieces.push(content)
  }
  return pieces
}

async function endedCharges(gateway: TestGateway, count: number): Promise<Row[]> {
  const read = async () => (await gateway.charges()).filter(({ state }) => state !== 'held')
  await waitFor(async () => (await read()).length >= count)
  return gateway.charges()
}

for (const database of databaseKinds) {
  describe(`a caller who disconnects, on ${database}`, () => {
    let gateway: TestGateway
    beforeAll(async () => {
      gateway = await startWatched({
        database,
        upstreams: { drained: { kind: 'openai' } },
        models: { 'test-drained': { ...testModels['test-chat'], upstream: 'drained' } },
      })
    })
    afterAll(() => gateway.close())

    /** Sends a request, disconnects at some moment, and returns the ended charge and the vendor's view of it. */
    async function leave(body: object, moment: (received: () => string) => Promise<unknown>, headers = {}) {
      const charges = (await gateway.charges()).length
      const calls = gateway.sandbox.calls.length
      const caller = await RawCaller.connect(gateway.url)
      caller.send(chatRequest(gateway.secret, body, headers))
      await waitFor(() => gateway.sandbox.calls.length > calls)
      await moment(() => caller.head())
      const received = caller.head()
      caller.leave('fin')
      const [charge] = (await endedCharges(gateway, charges + 1)).slice(charges)
      const [call] = gateway.sandbox.calls.slice(calls)
      await waitFor(async () => (await gateway.requestLog()).some(({ id }) => id === charge?.id))
      const [entry] = (await gateway.requestLog()).filter(({ id }) => id === charge?.id)
      return { received, charge, call: call as SandboxCall, entry }
    }

    test('in the middle of a stream pays for what was delivered', async () => {
      const content = '[sandbox tokens=200 token_delay_ms=20] Go on!'
      const body = { model: 'test-chat', stream: true, messages: say(content) }
      const whole = await gateway.chat({ ...body, messages: say(content.replace('=20]', '=0]')) })
      const answer = contentIn(await whole.text())
      const left = await leave(body, (received) => waitFor(() => contentIn(received()).length >= 12))
      expect(left.charge).toMatchObject({ state: 'settled', ended_by: 'client', usage_source: 'counted' })
      // What was already sent when the caller disconnected counts too, and nothing beyond it.
      const delivered = contentIn(left.received).length
      expect(delivered).toBeGreaterThanOrEqual(12)
      const input = countTokens(content) * INPUT
      const prices = answer.map(
        (_none, count) => input + countTokens(answer.slice(0, count).join('')) * OUTPUT,
      )
      expect(prices.slice(delivered, delivered + 20)).toContain(left.charge?.amount as number)
      expect(left.call.aborted).toBe(true)
      expect(left.entry).toMatchObject({ status: 200, ended_by: 'client', amount: left.charge?.amount })
    })

    test('when nothing has been delivered pays nothing', async () => {
      const before = { model: 'test-chat', stream: true, messages: say('[sandbox hang]') }
      const silent = await leave(before, () => Bun.sleep(20))
      expect(silent.charge).toMatchObject({ state: 'released', amount: 0, ended_by: 'client' })
      expect(silent.call.aborted).toBe(true)
      expect(silent.entry).toMatchObject({ status: 499, error_code: 'caller_left', ended_by: 'client' })
      // The first event of a stream only names the role.
      const messages = say('[sandbox tokens=9 token_delay_ms=60000]')
      const greeted = await leave({ model: 'test-chat', stream: true, messages }, (received) =>
        waitFor(() => received().includes('"role":"assistant"')),
      )
      expect(greeted.charge).toMatchObject({ state: 'released', amount: 0, ended_by: 'client' })
      expect(greeted.call.aborted).toBe(true)
    })

    test('while the model thinks pays for the reported thinking', async () => {
      const messages = say(
        '[sandbox usage=every_chunk prompt_tokens=50 reasoning=30 tokens=9 token_delay_ms=60000]',
      )
      const body = { model: 'test-reasoning', stream: true, messages }
      const left = await leave(body, (received) => waitFor(() => received().includes('data: ')))
      expect(left.charge).toMatchObject({ usage_source: 'upstream', amount: 50 * INPUT + 30 * OUTPUT })
    })

    test('without a stream pays for the answer: the vendor made it', async () => {
      const messages = say('[sandbox delay_ms=300 prompt_tokens=100 tokens=20]')
      const left = await leave({ model: 'test-chat', messages }, () => Bun.sleep(20))
      expect(left.charge).toMatchObject({ state: 'settled', ended_by: 'done', usage_source: 'upstream' })
      expect(left.charge?.amount).toBe(100 * INPUT + 20 * OUTPUT)
      expect(left.call.aborted).toBe(false)
    })

    test('with an idempotency key gets the whole stream with a repeat, paid once', async () => {
      const messages = say('[sandbox prompt_tokens=100 tokens=30 token_delay_ms=10]')
      const body = { model: 'test-chat', stream: true, messages }
      const headers = { 'idempotency-key': `leaving-${database}` }
      const left = await leave(body, (received) => waitFor(() => contentIn(received()).length > 2), headers)
      expect(left.charge).toMatchObject({ state: 'settled', usage_source: 'upstream' })
      expect(left.charge?.amount).toBe(100 * INPUT + 30 * OUTPUT)
      expect(left.call.aborted).toBe(false)
      const calls = gateway.sandbox.calls.length
      const again = await gateway.post('/v1/chat/completions', body, headers)
      const text = await again.text()
      expect(text).toEndWith('data: [DONE]\n\n')
      expect(contentIn(text)).toHaveLength(30)
      expect(again.headers.get('idempotent-replayed')).toBe('true')
      expect(gateway.sandbox.calls.length).toBe(calls)
    })

    test('just after the last event pays for a complete answer', async () => {
      const messages = say('[sandbox prompt_tokens=100 tokens=5]')
      const left = await leave({ model: 'test-chat', stream: true, messages }, (received) =>
        waitFor(() => received().includes('[DONE]')),
      )
      expect(left.charge).toMatchObject({ state: 'settled', ended_by: 'done' })
      expect(left.charge?.amount).toBe(100 * INPUT + 5 * OUTPUT)
    })
  })
}

describe('a vendor that bills the whole answer anyway', () => {
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startWatched({ upstreams: { openai: { onAbort: 'drain' } } })
  })
  afterAll(() => gateway.close())

  for (const moment of ['before its answer', 'in the middle of it']) {
    test(`is read to the end for its usage if the caller disconnects ${moment}`, async () => {
      const calls = gateway.sandbox.calls.length
      const caller = await RawCaller.connect(gateway.url)
      const words = 'delay_ms=100 prompt_tokens=100 tokens=40 token_delay_ms=10'
      const body = { model: 'test-chat', stream: true, messages: say(`[sandbox ${words}]`) }
      caller.send(chatRequest(gateway.secret, body))
      await waitFor(() => gateway.sandbox.calls.length > calls)
      if (moment !== 'before its answer') await waitFor(() => contentIn(caller.head()).length > 2)
      caller.leave('rst')
      const charge = (await endedCharges(gateway, calls + 1)).at(-1)
      expect(charge).toMatchObject({ state: 'settled', ended_by: 'done', usage_source: 'upstream' })
      expect(charge?.amount).toBe(100 * INPUT + 40 * OUTPUT)
      expect(gateway.sandbox.calls.at(-1)?.aborted).toBe(false)
    })
  }
})

describe('a non-streaming answer whose caller disconnects after the vendor was called', () => {
  const vendor = startVendor()
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startWatched({
      upstreams: { held: vendor.upstream },
      models: { 'test-held': { ...testModels['test-chat'], upstream: 'held' } },
    })
  })
  afterAll(async () => {
    await gateway.close()
    await vendor.stop()
  })

  test.each(ways)('by %s is paid, because the vendor made it, and is returned to a repeat', async (how) => {
    const gate = Promise.withResolvers<void>()
    vendor.answer = async () => {
      await gate.promise
      return Response.json(completion('Hello!', 100, 20))
    }
    const { charge: newest } = await gateway.newest()
    const { requests } = vendor
    const body = { model: 'test-held', messages: say('Hello!') }
    const headers = { 'idempotency-key': `whole-${how}` }
    const caller = await RawCaller.connect(gateway.url)
    caller.send(chatRequest(gateway.secret, body, headers))
    await waitFor(() => vendor.requests > requests)
    caller.leave(how)
    // Bun also closes the connection of a caller that has closed only its sending half.
    await waitFor(() => caller.closed)
    expect(caller.head()).toBe('')
    gate.resolve()
    const ended = async () => (await gateway.charges(newest)).filter(({ state }) => state !== 'held')
    await waitFor(async () => (await ended()).length > 0)
    expect(await ended()).toMatchObject([{ state: 'settled', amount: 100 * INPUT + 20 * OUTPUT }])
    const again = await gateway.post('/v1/chat/completions', body, headers)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(await again.json()).toMatchObject({ usage: { prompt_tokens: 100, completion_tokens: 20 } })
    expect(vendor.requests).toBe(requests + 1)
    expect(await ended()).toHaveLength(1)
  })
})

interface Moment {
  name: string
  words: string
  /** Bytes of the request that the caller withholds. */
  keepsBack?: number
  /** Does not read. */
  paused?: boolean
  callers: number
  leavesWhen(caller: RawCaller, called: () => boolean): Promise<unknown>
  /** Expected calls and rows of each caller. */
  vendorCalls: 0 | 1
  logRow: { status: number; error_code: string | null; ended_by: string | null }
  charge?: { state: string; usage_source: string | null }
}

const moments: readonly Moment[] = [
  {
    name: 'before the body is complete',
    words: 'tokens=5',
    keepsBack: 20,
    callers: 300,
    leavesWhen: () => Bun.sleep(20),
    vendorCalls: 0,
    logRow: { status: 499, error_code: 'caller_left', ended_by: null },
  },
  {
    name: 'before the vendor answers',
    words: 'hang',
    callers: 300,
    leavesWhen: (_caller, called) => waitFor(called),
    vendorCalls: 1,
    logRow: { status: 499, error_code: 'caller_left', ended_by: 'client' },
    charge: { state: 'released', usage_source: null },
  },
  {
    name: 'in the middle of a stream',
    words: 'tokens=5000 token_delay_ms=20',
    callers: 300,
    leavesWhen: (caller) => waitFor(() => contentIn(caller.head()).length > 2),
    vendorCalls: 1,
    logRow: { status: 200, error_code: null, ended_by: 'client' },
    charge: { state: 'settled', usage_source: 'counted' },
  },
  {
    name: 'while the stream waits for the caller',
    words: 'tokens=60000',
    paused: true,
    callers: 10,
    leavesWhen: async (_caller, called) => {
      await waitFor(called)
      // Long enough for every buffer on the way to be full, so that the vendor waits too.
      await Bun.sleep(600)
    },
    vendorCalls: 1,
    logRow: { status: 200, error_code: null, ended_by: 'client' },
    charge: { state: 'settled', usage_source: 'counted' },
  },
]

/** Callers at a time: the process that runs the tests may have 256 requests to vendors at once. */
const AT_A_TIME = 100

describe('hundreds of callers who disconnect', () => {
  let gateway: TestGateway
  const unhandled: unknown[] = []
  const note = (error: unknown) => unhandled.push(error)
  beforeAll(async () => {
    process.on('unhandledRejection', note)
    gateway = await startWatched({ balance: '10000' })
  })
  afterAll(async () => {
    await gateway.close()
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })

  async function leaveAll(moment: Moment, how: Leaving): Promise<void> {
    const before = { charges: (await gateway.charges()).length, logRows: (await gateway.requestLog()).length }
    gateway.sandbox.calls.length = 0
    const calls = new Map<string, SandboxCall>()
    const find = (name: string) => {
      for (const call of gateway.sandbox.calls.splice(0))
        calls.set(/caller-\d+/.exec(call.body)?.[0] ?? '', call)
      return calls.get(name)
    }
    const queue = Array.from({ length: moment.callers }, (_none, index) => `caller-${index}`)
    async function work(): Promise<void> {
      for (let name = queue.pop(); name; name = queue.pop()) {
        const caller = await RawCaller.connect(gateway.url)
        if (moment.paused) caller.pause()
        const messages = say(`[sandbox ${moment.words}] ${name}.`)
        const bytes = chatRequest(gateway.secret, { model: 'test-chat', stream: true, messages })
        caller.send(bytes.slice(0, bytes.length - (moment.keepsBack ?? 0)))
        await moment.leavesWhen(caller, () => find(name as string) !== undefined)
        caller.leave(how)
        // The other half stays open until the gateway has noticed; a caller that does not read cannot see it close.
        const understood = () => caller.closed || find(name as string)?.aborted === true
        if (how === 'half') await waitFor(understood)
        caller.socket.destroy()
      }
    }
    await Promise.all(Array.from({ length: AT_A_TIME }, work))
    const expectedRows = before.logRows + moment.callers
    await waitFor(async () => (await gateway.requestLog()).length >= expectedRows)
    find('')
    await expectTraces(moment, before, calls)
  }

  async function expectTraces(
    moment: Moment,
    before: { charges: number; logRows: number },
    calls: Map<string, SandboxCall>,
  ): Promise<void> {
    expect(calls.size).toBe(moment.vendorCalls * moment.callers)
    // None of these answers would have ended otherwise: the vendor saw the connection close.
    const goOn = () => [...calls].filter(([, { aborted }]) => !aborted).map(([name]) => name)
    await waitFor(() => goOn().length === 0)
    expect(goOn()).toEqual([])
    const charges = (await gateway.charges()).slice(before.charges)
    expect(charges).toHaveLength(moment.charge ? moment.callers : 0)
    for (const charge of charges) {
      expect(charge).toMatchObject({ ended_by: 'client', ...moment.charge })
      expect((charge.amount as number) > 0).toBe(charge.state === 'settled')
    }
    const entries = (await gateway.requestLog()).slice(before.logRows)
    expect(entries).toHaveLength(moment.callers)
    for (const entry of entries) expect(entry).toMatchObject(moment.logRow)
    expect((await gateway.balance()).heldNano).toBe(0)
    expect(gateway.log).toEqual([])
  }

  for (const moment of moments) {
    for (const how of ways) {
      test(`${moment.name}, by ${how}: the call ends, and so do the charges`, () => leaveAll(moment, how))
    }
  }

  const whole = { model: 'test-chat', messages: say('[sandbox tokens=5] Hello!') }
  const framed = (gateway: TestGateway, form: string) => {
    const request = chatRequest(gateway.secret, whole)
    if (form === 'a pipelined request') return request + request
    if (form === 'extra bytes that are not a request') return `${request}\x00\x01 no request\r\n\r\n`
    if (form !== 'a trailer after its chunks') return request
    const [head = '', text = ''] = request.split('\r\n\r\n')
    const length = text.length.toString(16)
    const chunks = `${length}\r\n${text}\r\n0\r\nX-Trailer: 1\r\n\r\n`
    return `${head.replace(/content-length: \d+/, 'transfer-encoding: chunked')}\r\n\r\n${chunks}`
  }
  // Bun ends the connection in each of these cases, and the handler of the request has begun.
  test.each([
    'a pipelined request',
    'extra bytes that are not a request',
    'a trailer after its chunks',
    'a closed sending half',
  ])('a request that cannot be answered because of %s is neither forwarded nor charged', async (form) => {
    const before = { charges: (await gateway.charges()).length, log: (await gateway.requestLog()).length }
    const count = 20
    gateway.sandbox.calls.length = 0
    const callers = await Promise.all(Array.from({ length: count }, () => RawCaller.connect(gateway.url)))
    for (const caller of callers) {
      caller.send(framed(gateway, form))
      if (form === 'a closed sending half') caller.leave('half')
    }
    await waitFor(() => callers.every(({ closed }) => closed))
    const rows = async () => (await gateway.requestLog()).slice(before.log)
    await waitFor(async () => (await rows()).length >= count)
    expect(callers.filter((caller) => caller.head().includes(' 200 '))).toEqual([])
    const paid = (await gateway.charges()).slice(before.charges).filter(({ state }) => state !== 'released')
    expect(paid).toEqual([])
    expect(gateway.sandbox.calls).toEqual([])
    for (const row of await rows()) expect(row).toMatchObject({ status: 499, error_code: 'caller_left' })
    for (const caller of callers) caller.socket.destroy()
  })

  test('disconnecting at any moment around the beginning of the answer leaves no charge open', async () => {
    const before = (await gateway.charges()).length
    const callers = 300
    let left = 0
    async function work(index: number): Promise<void> {
      for (let round = 0; round < 3; round++) {
        const caller = await RawCaller.connect(gateway.url)
        const messages = say('[sandbox delay_ms=20 tokens=3000 token_delay_ms=5]')
        caller.send(chatRequest(gateway.secret, { model: 'test-chat', stream: true, messages }))
        await Bun.sleep((index + round * 100) % 60)
        caller.leave(ways[index % 2] as Leaving)
        left++
      }
    }
    await Promise.all(Array.from({ length: callers / 3 }, (_none, index) => work(index)))
    expect(left).toBe(callers)
    const open = async () =>
      (await gateway.charges()).slice(before).filter(({ state }) => state === 'held').length
    await waitFor(async () => (await open()) === 0)
    expect(await open()).toBe(0)
    await waitFor(() => gateway.sandbox.calls.every(({ aborted }) => aborted))
    expect(gateway.sandbox.calls.filter(({ aborted }) => !aborted)).toEqual([])
  })

  test('leak no memory', async () => {
    gateway.sandbox.calls.length = 0
    const streams = () => {
      Bun.gc(true)
      const { Response = 0, ReadableStream = 0, AbortSignal = 0 } = heapStats().objectTypeCounts
      return Response + ReadableStream + AbortSignal
    }
    await waitFor(() => streams() < 200)
    // Of some 3,000 requests.
    expect(streams()).toBeLessThan(200)
  })
})
