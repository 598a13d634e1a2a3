// Crashes and stops of the compiled executable: kill -9 at any moment, a full disk, a second process, SIGTERM. Whatever happens, a
// delivered answer is charged, all other holds are released, and the books are correct.

import { Database } from 'bun:sqlite'
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, connect as openSocket, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Row } from '../../src/db/db'
import { say, startTestGateway, waitFor } from '../support/gateway'
import { inTime } from '../support/in-time'
import {
  ask,
  type Finished,
  type Installation,
  install,
  type Running,
  stopWell,
} from '../support/processes/executable'
import { isWholeRun } from '../support/random'

setDefaultTimeout(180_000)

/** Increase it for a long run: CRASH_ROUNDS=100 bun test test/scenario/crash.test.ts */
const ROUNDS = Number(process.env.CRASH_ROUNDS ?? (isWholeRun ? 8 : 4))
const STREAMS = isWholeRun ? 200 : 80
/** Streams of these that run until the server is killed, and the length that does it. */
const LONG_STREAMS = 8
const LONG_TOKENS = 20_000
/** Answers of a round that are complete when the server is killed. */
const MIN_ANSWERS = 20
const CLOSING_EVENT = 'data: [DONE]'
/** How long callers have for their last bytes once the gateway has stopped. */
const LAST_BYTES_MS = 3_000
/** How long a second signal leaves for the same. */
const STOP_NOW_MS = 2_500

describe('kill -9', () => {
  test(
    `under ${STREAMS} running streams, ${ROUNDS} times`,
    async () => {
      const installation = await install()
      const secret = await installation.makeKey('alice', '1000000')
      const callsSince = (before: { calls: number }) => installation.sandbox.calls.length - before.calls
      for (let round = 1; round <= ROUNDS; round++) {
        const before = { calls: installation.sandbox.calls.length, charges: await countCharges(installation) }
        const server = await installation.serve()
        expect(await installation.rows(`select id from charges where state = 'held'`)).toEqual([])
        const answered: string[] = []
        const callers = Array.from({ length: STREAMS }, (_, index) =>
          keepAsking(server, secret, answered, index < LONG_STREAMS ? LONG_TOKENS : undefined),
        )
        const long = () =>
          installation.sandbox.calls
            .slice(before.calls)
            .filter(({ body }) => body.includes(`tokens=${LONG_TOKENS}`))
        const isUnderWay = () => callsSince(before) >= STREAMS && long().length === LONG_STREAMS
        await waitFor(() => isUnderWay() && answered.length >= MIN_ANSWERS)
        await Bun.sleep(Math.random() * 800)
        server.kill('SIGKILL')
        expect((await server.ended).signal).toBe('SIGKILL')
        await Promise.all(callers)

        const held = await installation.rows(`select id from charges where state = 'held'`)
        const charges = (await countCharges(installation)) - before.charges
        // No request goes to a vendor before its hold is on the disk.
        expect(callsSince(before)).toBeLessThanOrEqual(charges)
        expect(await unpaid(installation, answered)).toEqual([])
        expect(await installation.problems()).toEqual([])
        expect(answered.length).toBeGreaterThanOrEqual(MIN_ANSWERS)
        expect(held.length).toBeGreaterThanOrEqual(LONG_STREAMS)
      }
      const last = await installation.serve()
      expect(await installation.json('balance', 'verify')).toMatchObject({ ok: true })
      await stopWell(installation, last)
      expect(
        await installation.rows(`select id from charges where ended_by = 'expired' and amount > 0`),
      ).toEqual([])
    },
    120_000 + ROUNDS * 30_000,
  )
})

/**
 * Sends streams one after the other until the server is gone; records the id of each that reached its closing event. Lengths are
 * random by default.
 */
async function keepAsking(
  server: Running,
  secret: string,
  answered: string[],
  length?: number,
): Promise<void> {
  try {
    for (;;) {
      const tokens = length ?? 2 + Math.floor(Math.random() * 25)
      const reply = await ask(server, secret, {
        stream: true,
        messages: say(`[sandbox tokens=${tokens} token_delay_ms=25]`),
      })
      let text = ''
      for await (const piece of reply.body ?? []) {
        text += Buffer.from(piece).toString('latin1')
        // At once: the connection may not live until its regular end.
        if (text.endsWith(`${CLOSING_EVENT}\n\n`)) answered.push(reply.headers.get('x-request-id') ?? '')
      }
    }
  } catch {
    // It was killed.
  }
}

/** Those of the requests that have no settled charge. */
async function unpaid(installation: Installation, ids: readonly string[]): Promise<string[]> {
  const paid = await installation.rows(`select id from charges where state = 'settled' and amount > 0`)
  const known = new Set(paid.map(({ id }) => id))
  return ids.filter((id) => !known.has(id))
}

async function countCharges(installation: Installation): Promise<number> {
  const [row] = await installation.rows('select count(*) as count from charges')
  return row?.count as number
}

describe('kill -9 at a point of a request', () => {
  interface Point {
    title: string
    body: Record<string, unknown>
    /** True when the request has reached the point. */
    reached(installation: Installation, received: () => string): Promise<boolean> | boolean
    /** The charge after the restart. */
    charge: Partial<Row>
    calls: number
  }

  const points: Point[] = [
    {
      title: 'after the hold and before sending: the vendor does not finish its handshake',
      body: { model: 'test-deaf' },
      reached: () => deaf.connections > 0,
      charge: { state: 'released', amount: 0, ended_by: 'expired' },
      calls: 0,
    },
    {
      title: 'after sending, while the vendor is silent',
      body: { messages: say('[sandbox hang]') },
      reached: ({ sandbox }) => sandbox.calls.length > 0,
      charge: { state: 'released', amount: 0, ended_by: 'expired' },
      calls: 1,
    },
    {
      title: 'in the middle of a stream',
      body: { stream: true, messages: say('[sandbox tokens=1000 token_delay_ms=10]') },
      reached: (_installation, received) => received().split('data: ').length > 10,
      charge: { state: 'released', amount: 0, ended_by: 'expired' },
      calls: 1,
    },
    {
      title: 'after the settlement, before the last byte: the caller reads too slowly',
      body: { model: 'test-large' },
      reached: async (installation, received) =>
        received().includes(' 200 OK') && (await stateOfOnly(installation)) === 'settled',
      // 10 input tokens at 1,000 nano-dollars and 1,000 output tokens at 2,000.
      charge: { state: 'settled', amount: 2_010_000, ended_by: 'done', usage_source: 'upstream' },
      calls: 0,
    },
    {
      // 8,192,000 nano-dollars of output a step.
      title: 'while a stream continues after the hold of its second step',
      body: { stream: true, messages: say('[sandbox tokens=50000 token_delay_ms=1]') },
      reached: async ({ rows }) => ((await rows('select held from open_charges'))[0]?.held as number) > 12e6,
      charge: { state: 'released', amount: 0, ended_by: 'expired' },
      calls: 1,
    },
  ]
  const deaf = { connections: 0 }

  for (const { title, body, reached, charge, calls } of points) {
    test(title, async () => {
      deaf.connections = 0
      using vendors = await oddVendors(() => deaf.connections++)
      const installation = await install(vendors.options)
      const secret = await installation.makeKey('alice', '100')
      const server = await installation.serve()
      const caller = rawCaller(server, secret, body)
      await waitFor(() => reached(installation, caller.received))
      expect(await reached(installation, caller.received)).toBe(true)
      server.kill('SIGKILL')
      await server.ended
      await caller.readRest()
      // The whole answer is longer than the part read, or is missing.
      expect(caller.received().length).toBeLessThan(LARGE_ANSWER_BYTES)

      const again = await installation.serve()
      const [row, ...others] = await installation.rows('select * from charges')
      expect(row).toMatchObject(charge)
      expect(others).toEqual([])
      const [account] = await installation.rows('select balance, held from accounts')
      expect(account).toEqual({ balance: 100_000_000_000 - (charge.amount as number), held: 0 })
      // No request is repeated automatically, and the next request is served.
      expect(installation.sandbox.calls).toHaveLength(calls)
      expect((await ask(again, secret)).status).toBe(200)
      await stopWell(installation, again)
    })
  }
})

describe('the same Idempotency-Key after kill -9', () => {
  const headers = { 'idempotency-key': 'order-1' }

  test('repeats an answered request without calling the vendor', async () => {
    const installation = await install()
    const secret = await installation.makeKey('alice', '100')
    const server = await installation.serve()
    const first = await ask(server, secret, {}, { headers })
    server.kill('SIGKILL')
    await server.ended
    const again = await installation.serve()
    const second = await ask(again, secret, {}, { headers })
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(await second.text()).toBe(await first.text())
    expect(installation.sandbox.calls).toHaveLength(1)
    expect(await countCharges(installation)).toBe(1)
    await stopWell(installation, again)
  })

  test('sends an interrupted request again, and charges it once', async () => {
    const installation = await install()
    const secret = await installation.makeKey('alice', '100')
    const server = await installation.serve()
    const body = { messages: say('[sandbox hang times=1]') }
    const first = ask(server, secret, body, { headers }).catch(() => undefined)
    await waitFor(() => installation.sandbox.calls.length === 1)
    server.kill('SIGKILL')
    await server.ended
    expect(await first).toBeUndefined()
    const again = await installation.serve()
    const second = await ask(again, secret, body, { headers })
    expect(second.status).toBe(200)
    expect(second.headers.get('idempotent-replayed')).toBeNull()
    expect(installation.sandbox.calls).toHaveLength(2)
    const charges = await installation.rows('select state from charges order by created_at, id')
    expect(charges).toEqual([{ state: 'released' }, { state: 'settled' }])
    await stopWell(installation, again)
  })
})

const LARGE_ANSWER_BYTES = 32 * 1024 * 1024

/** A vendor that accepts connections and says nothing, and one whose answer is larger than what a network holds. */
async function oddVendors(onConnection: () => void) {
  const sockets = new Set<Socket>()
  const deaf = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    onConnection()
  })
  const port = await new Promise<number>((resolve) => {
    deaf.listen(0, '127.0.0.1', () => resolve((deaf.address() as { port: number }).port))
  })
  const message = { role: 'assistant', content: 'x'.repeat(LARGE_ANSWER_BYTES) }
  const usage = { prompt_tokens: 10, completion_tokens: 1_000, total_tokens: 1_010 }
  const answer = { id: '1', model: 'large', choices: [{ index: 0, message, finish_reason: 'stop' }], usage }
  const large = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.json(answer) })
  const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }
  return {
    options: {
      upstreams: {
        deaf: { kind: 'openai', baseUrl: `https://127.0.0.1:${port}/v1`, apiKey: null },
        large: { kind: 'openai', baseUrl: `http://127.0.0.1:${large.port}/v1`, apiKey: null },
      },
      models: {
        'test-deaf': { family: 'openai-chat', upstream: 'deaf', price },
        'test-large': { family: 'openai-chat', upstream: 'large', price },
      },
    },
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
      deaf.close()
      void large.stop(true)
    },
  }
}

/** A connection that is used repeatedly; returns the raw replies, and nothing once it is closed. */
function keepConnection(server: Running, secret: string) {
  const { hostname, port } = new URL(server.url)
  const socket = openSocket(Number(port), hostname)
  let received = ''
  let open = true
  socket.on('error', () => {})
  socket.on('close', () => {
    open = false
  })
  socket.on('data', (piece) => {
    received += piece.toString()
  })
  const isComplete = () => {
    const [head = '', body] = received.split('\r\n\r\n', 2)
    return body !== undefined && body.length >= Number(/content-length: (\d+)/i.exec(head)?.[1])
  }
  return {
    async ask(): Promise<string> {
      received = ''
      socket.write(rawRequest(server, secret, {}))
      await waitFor(() => isComplete() || !open)
      return received
    },
  }
}

function rawRequest({ url }: Running, secret: string, body: Record<string, unknown>): string {
  const text = JSON.stringify({ model: 'test-chat', messages: say('Hello!'), ...body })
  return (
    `POST /v1/chat/completions HTTP/1.1\r\nHost: ${new URL(url).host}\r\nAuthorization: Bearer ${secret}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  )
}

/** A caller that stops reading after the first pieces of a large answer. */
function rawCaller(server: Running, secret: string, body: Record<string, unknown>) {
  const { hostname, port } = new URL(server.url)
  let received = ''
  let hasPaused = false
  const socket = openSocket(Number(port), hostname)
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  socket.on('error', () => {})
  socket.on('data', (piece) => {
    received += piece.toString('latin1')
    if (received.length < 65_536) return
    if (!hasPaused) socket.pause()
    hasPaused = true
  })
  socket.write(rawRequest(server, secret, body))
  /** Reads the bytes still on their way from a dead server. */
  const readRest = () => {
    socket.resume()
    return closed
  }
  return { received: () => received, readRest }
}

async function stateOfOnly(installation: Installation): Promise<unknown> {
  const [row] = await installation.rows('select state from charges')
  return row?.state
}

describe('one server per data directory', () => {
  test('a second one refuses, and commands work while the first serves', async () => {
    const installation = await install()
    const server = await installation.serve()
    const { code, stdout, stderr } = await installation.serveUntilRefused()
    expect(code).toBe(1)
    expect(stderr).toContain(`Another gateway is serving from ${installation.dataDir}. Stop it first`)
    expect(stderr.trim().split('\n')).toHaveLength(1)
    expect(stdout).toBe('')
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    expect(await installation.makeKey('aside', '1')).toStartWith('sk-')
    await stopWell(installation, server)
  })

  test('the directory is free after kill -9 and after a stop', async () => {
    const installation = await install()
    const killed = await installation.serve()
    killed.kill('SIGKILL')
    await killed.ended
    const stopped = await installation.serve()
    await stopWell(installation, stopped)
    await stopWell(installation, await installation.serve())
  })
})

describe('SIGTERM', () => {
  const callers = 150

  test('lets running streams end, accepts no new requests, and exits with 0', async () => {
    const installation = await install()
    const secret = await installation.makeKey('alice', '100')
    const server = await installation.serve()
    const body = { stream: true, messages: say('[sandbox tokens=30 token_delay_ms=50]') }
    const replies = await Promise.all(Array.from({ length: callers }, () => ask(server, secret, body)))
    server.kill('SIGTERM')
    await waitFor(() => server.stderr().includes('Stopping'))
    const late = await ask(server, secret).catch(() => undefined)
    // Refused at the connection, or with an answer that asks the caller to retry.
    expect([undefined, 503]).toContain(late?.status)
    const texts = await Promise.all(replies.map((reply) => reply.text()))
    expect(texts.filter((text) => text.endsWith(`${CLOSING_EVENT}\n\n`))).toHaveLength(callers)
    expect(await server.ended).toMatchObject({ code: 0, signal: null })
    expect(installation.sandbox.calls).toHaveLength(callers)
    expect(
      await installation.rows('select state, ended_by, count(*) as count from charges group by 1, 2'),
    ).toEqual([{ state: 'settled', ended_by: 'done', count: callers }])
    expect(await installation.problems()).toEqual([])
  })

  test('an earlier connection is closed, or told when to retry', async () => {
    const installation = await install()
    const secret = await installation.makeKey('alice', '100')
    const server = await installation.serve()
    const running = await ask(server, secret, {
      stream: true,
      messages: say('[sandbox tokens=20 token_delay_ms=50]'),
    })
    const connection = keepConnection(server, secret)
    expect(await connection.ask()).toContain('HTTP/1.1 200 OK')
    server.kill('SIGTERM')
    await waitFor(() => server.stderr().includes('Stopping'))
    const reply = await connection.ask()
    // Closed, or answered.
    if (reply !== '') {
      expect(reply).toContain('HTTP/1.1 503')
      expect(reply).toContain('shutting_down')
      expect(reply.toLowerCase()).toContain('retry-after: 1')
    }
    expect(await running.text()).toContain(CLOSING_EVENT)
    expect(await server.ended).toMatchObject({ code: 0 })
  })

  test('a caller who does not read the answer does not delay the stop, and pays', async () => {
    using vendors = await oddVendors(() => {})
    const installation = await install(vendors.options)
    const secret = await installation.makeKey('alice', '100')
    const server = await installation.serve()
    const caller = rawCaller(server, secret, { model: 'test-large' })
    await waitFor(async () => (await stateOfOnly(installation)) === 'settled')
    await stopWell(installation, server)
    await caller.readRest()
    expect(caller.received().length).toBeLessThan(LARGE_ANSWER_BYTES)
    expect(await stateOfOnly(installation)).toBe('settled')
  })

  test('a later second signal cuts running requests, with the reason, and pays for the delivered parts', () =>
    inTime(STOP_NOW_MS, async (part) => {
      const installation = await install()
      const secret = await installation.makeKey('alice', '100')
      const server = await installation.serve()
      const silent = ask(server, secret, { messages: say('[sandbox hang]') })
      const stream = await ask(server, secret, {
        stream: true,
        messages: say('[sandbox tokens=5000 token_delay_ms=5]'),
      })
      const streamed = stream.text()
      await waitFor(() => installation.sandbox.calls.length === 2)
      server.kill('SIGTERM')
      await waitFor(() => server.stderr().includes('Stopping'))
      // Within a second it would count as the same signal.
      await Bun.sleep(1_100)
      part.begin()
      server.kill('SIGTERM')
      expect((await silent).status).toBe(503)
      expect(await streamed).toContain('shutting_down')
      expect(await server.ended).toMatchObject({ code: 1, signal: null })
      part.end()
      const charges = await installation.rows('select state, ended_by, amount from charges order by amount')
      const paidNano = Number(charges[1]?.amount)
      expect(charges).toEqual([
        { state: 'released', ended_by: 'shutdown', amount: 0 },
        { state: 'settled', ended_by: 'shutdown', amount: paidNano },
      ])
      // Two thousand nano-dollars for each of the words.
      expect(paidNano).toBeGreaterThan(10 * 2_000)
      expect(await installation.rows('select balance, held from accounts')).toEqual([
        { balance: 100_000_000_000 - paidNano, held: 0 },
      ])
      await stopWell(installation, await installation.serve())
    }))

  test('when the grace period is over, running requests are cut with the reason, and settled', () =>
    inTime(LAST_BYTES_MS, async (part) => {
      const gateway = await startTestGateway()
      const stream = await gateway.chat({
        stream: true,
        messages: say('[sandbox tokens=5000 token_delay_ms=20]'),
      })
      const silent = gateway.chat({ messages: say('[sandbox hang]') })
      const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
      let text = ''
      const read = async () => {
        for (let next = await reader.read(); !next.done; next = await reader.read()) {
          text += Buffer.from(next.value).toString()
        }
      }
      const reading = read()
      await waitFor(() => text.split('data: ').length > 10 && gateway.sandbox.calls.length === 2)
      part.begin()
      expect(await gateway.server.stop(200)).toBe(2)
      await reading
      part.end()
      expect(text).toContain('shutting_down')
      expect(text).not.toContain(CLOSING_EVENT)
      const reply = await silent
      expect(reply.status).toBe(503)
      expect(reply.headers.get('retry-after')).toBe('1')
      await waitFor(() => gateway.sandbox.calls.every(({ aborted }) => aborted))
      expect(gateway.sandbox.calls.map(({ aborted }) => aborted)).toEqual([true, true])
      await gateway.sandbox.stop()

      // The books, from a gateway that starts where the other one ended.
      const after = await startTestGateway({ dataDir: gateway.dataDir })
      const charges = await after.charges()
      expect(charges.map(({ state, ended_by, usage_source }) => [state, ended_by, usage_source])).toEqual([
        ['settled', 'shutdown', 'counted'],
        ['released', 'shutdown', null],
      ])
      await after.close()
    }))
})

describe('a full disk', () => {
  /** No file of the process may grow beyond this; blocks of the shell's `ulimit` are of 512 or 1024 bytes. */
  const FILE_BLOCKS = 4_096
  const MAX_FILE_BYTES = FILE_BLOCKS * 1_024
  /** Without the trap, writing beyond the limit would end the process instead of failing. */
  const limited = { before: `trap '' XFSZ\nulimit -f ${FILE_BLOCKS}` }

  test('stops new requests before they reach the vendor, loses nothing, and recovers by itself', async () => {
    const installation = await install()
    const secret = await installation.makeKey('alice', '100')
    const server = await installation.serve(limited)
    expect((await ask(server, secret)).status).toBe(200)
    const stream = await ask(server, secret, {
      stream: true,
      messages: say('[sandbox tokens=30 token_delay_ms=50]'),
    })
    const disk = fillDisk(installation)
    expect(disk.logBytes()).toBeGreaterThan(MAX_FILE_BYTES)

    const refused = await ask(server, secret)
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await refused.text()).toContain('database_unavailable')
    // It still reads, and reports what it cannot do.
    expect(
      (await fetch(`${server.url}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })).status,
    ).toBe(200)
    // A stream that was running continues; its charge waits for the disk.
    expect(await stream.text()).toContain(CLOSING_EVENT)
    await waitFor(() => server.stderr().includes('charge_not_ended_yet'))
    const id = stream.headers.get('x-request-id') ?? ''
    expect(await installation.rows('select state from charges where id = ?1', id)).toEqual([
      { state: 'held' },
    ])
    expect((await ask(server, secret)).status).toBe(503)
    expect(installation.sandbox.calls).toHaveLength(2)
    await waitFor(async () => (await readiness(server)).checks.database === 'takes no changes')

    disk.free()
    expect(disk.logBytes()).toBeLessThan(MAX_FILE_BYTES)
    expect((await ask(server, secret)).status).toBe(200)
    const settled = async () => (await installation.rows('select * from charges where id = ?1', id))[0]
    await waitFor(async () => (await settled())?.state === 'settled')
    expect(await settled()).toMatchObject({ state: 'settled', usage_source: 'upstream', ended_by: 'done' })
    expect(installation.sandbox.calls).toHaveLength(3)
    expect(await countCharges(installation)).toBe(3)
    await waitFor(async () => (await readiness(server)).status === 'ready')
    await stopWell(installation, server)
  })

  test('and kill -9 lose no answer: each is charged and stored once at the next start', async () => {
    const installation = await install()
    const secret = await installation.makeKey('alice', '100')
    const server = await installation.serve(limited)
    const slow = '[sandbox tokens=40 token_delay_ms=50]'
    const stream = { stream: true, messages: say(slow) }
    const headers = { 'idempotency-key': 'order-1' }
    const streams = await Promise.all([
      ask(server, secret, stream, { headers }),
      ...Array.from({ length: 20 }, () => ask(server, secret, stream)),
      ...Array.from({ length: 3 }, () => askResponse(server, secret, slow)),
    ])
    const disk = fillDisk(installation)
    const texts = await Promise.all(streams.map((each) => each.text()))
    expect(texts.filter((text) => /\[DONE\]|"response.completed"/.test(text))).toHaveLength(24)
    const kept = texts.flatMap((text) => /"id":"(resp_[0-9a-z]+)"/.exec(text)?.[1] ?? [])
    expect(kept).toHaveLength(3)
    // It does not exist yet, and no answer says that it was not kept.
    expect(await readResponse(server, secret, kept[0] ?? '')).toMatchObject({
      error: { code: 'database_unavailable' },
    })
    server.kill('SIGKILL')
    await server.ended
    expect(await installation.rows(`select id from charges where state = 'settled'`)).toEqual([])
    expect(findingOf(await installation.command(['doctor', '--json']), 'pending ends')).toMatchObject({
      state: 'warning',
      found: '24 ends of charges wait on the disk',
    })
    disk.free()

    const states = () =>
      installation.rows('select state, usage_source, count(*) as count from charges group by 1, 2')
    for (let start = 0; start < 2; start++) {
      const again = await installation.serve()
      expect(await states()).toEqual([{ state: 'settled', usage_source: 'upstream', count: 24 }])
      for (const id of kept)
        expect(await readResponse(again, secret, id)).toMatchObject({ status: 'completed' })
      const replayed = await ask(again, secret, stream, { headers })
      expect(replayed.headers.get('idempotent-replayed')).toBe('true')
      expect(await replayed.text()).toBe(texts[0] ?? '')
      await stopWell(installation, again)
    }
    expect(findingOf(await installation.command(['doctor', '--json']), 'pending ends')).toBeUndefined()
  })

  /** Mounting requires root, in a container with that permission. */
  const canMount = process.getuid?.() === 0 && Bun.spawnSync(['unshare', '-m', 'true']).exitCode === 0

  test.skipIf(!canMount)('that fills makes the gateway not ready, while it still serves', async () => {
    const installation = await install()
    const { dataDir } = installation
    mkdirSync(dataDir, { recursive: true })
    // Eight million bytes more than must be free and the file of pending ends takes, which only the process sees.
    const mount = `mount -t tmpfs -o size=${72_000_000 + 16 * 1024 * 1024} none ${dataDir}`
    const server = await installation.serve({
      before: `set -- unshare -m sh -c '${mount} && exec "$@"' sh "$@"`,
    })
    expect(await readiness(server)).toMatchObject({ status: 'ready', checks: { disk: 'ok' } })
    const filler = `/proc/${server.pid}/root${dataDir}/filler`
    writeFileSync(filler, Buffer.alloc(8_000_000))
    await waitFor(async () => (await readiness(server)).status === 'not ready')
    expect((await readiness(server)).checks).toEqual({
      database: 'ok',
      disk: 'nearly full',
      configuration: 'ok',
    })
    expect((await fetch(`${server.url}/health/live`)).status).toBe(200)
    expect((await fetch(`${server.url}/health`)).status).toBe(503)
    rmSync(filler)
    await waitFor(async () => (await readiness(server)).status === 'ready')
    server.kill('SIGTERM')
    expect((await server.ended).code).toBe(0)
  })
})

function askResponse({ url }: Running, secret: string, input: string): Promise<Response> {
  return fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test-chat', stream: true, input }),
  })
}

async function readResponse({ url }: Running, secret: string, id: string): Promise<unknown> {
  return (await fetch(`${url}/v1/responses/${id}`, { headers: { authorization: `Bearer ${secret}` } })).json()
}

function findingOf({ stdout }: Finished, check: string): object | undefined {
  const { findings } = JSON.parse(stdout) as { findings: { check: string }[] }
  return findings.find((finding) => finding.check === check)
}

async function readiness({ url }: Running) {
  const response = await fetch(`${url}/health/ready`)
  const answer = (await response.json()) as { status: string; checks: Record<string, string> }
  expect(response.status).toBe(answer.status === 'ready' ? 200 : 503)
  return answer
}

/**
 * Makes the database's log longer than a file of the server may be: a reader that never ends keeps the log from being
 * used again, and many small changes make it grow. When the reader ends there is room again.
 */
function fillDisk({ dataDir }: Installation) {
  const path = join(dataDir, 'gateway.sqlite')
  const reader = new Database(path)
  const writer = new Database(path)
  writer.run('pragma busy_timeout = 5000')
  writer.run('pragma synchronous = off')
  writer.run('create table filling (number integer)')
  writer.run('insert into filling values (0)')
  reader.run('begin')
  reader.query('select number from filling').all()
  const fill = writer.query('update filling set number = number + 1')
  for (let changes = 0; changes < 2_000; changes++) fill.run()
  return {
    logBytes: () => statSync(`${path}-wal`).size,
    free() {
      reader.run('commit')
      reader.close()
      writer.run('drop table filling')
      writer.run('pragma wal_checkpoint(truncate)')
      writer.close()
    },
  }
}
