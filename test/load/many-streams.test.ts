// Two thousand streams at a time through one gateway, with its sandbox in the same process: each caller gets every frame
// of its own answer, in order, and pays exactly for it. Meanwhile, videos are followed and reported as if it did nothing else.

import { expect, setDefaultTimeout, test } from 'bun:test'
import type { Socket } from 'bun'
import type { ModelConfig } from '../../src/config/schema'
import { say, testModels, videoModels, waitFor } from '../support/gateway'
import { type Serving, startServing } from '../support/processes/serving'
import { chatRequest } from '../support/servers/raw-caller'
import { idsOf, RECEIVER_NETWORK, startReceiver } from '../support/servers/webhook-receiver'
import { videoBody } from '../support/vendors/task'

setDefaultTimeout(1_200_000)

const STREAMS = 2_000
/** Connections are opened in steps, as a listening socket has a short queue. */
const STEP = 200
const TOKENS = 16
const PROMPT_TOKENS = 10
const VIDEOS = 100
const PATIENCE_MS = 1_000_000
// In nano-dollars, of the test models.
const PRICE = PROMPT_TOKENS * 1_000 + TOKENS * 2_000
const END_OF_ANSWER = '\r\n0\r\n\r\n'

/** One stream on a bare socket: a client library would hold back all but 256 of them. */
interface Caller {
  name: string
  received: Buffer[]
  begun: boolean
  ended: boolean
}

/** The numbers of running streams, now and at most, of requested ones, and of ended ones among these. */
const open = { now: 0, most: 0, asked: 0, ended: 0 }

async function call({ url, key }: Serving, onEnd: () => void): Promise<Caller> {
  const name = `caller-${String(open.asked++).padStart(5, '0')}`
  const { hostname, port } = new URL(url)
  const caller: Caller = { name, received: [], begun: false, ended: false }
  const end = (socket: Socket) => {
    if (caller.ended) return
    caller.ended = true
    if (caller.begun) open.now--
    open.ended++
    socket.end()
    onEnd()
  }
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(socket, piece) {
        caller.received.push(Buffer.from(piece))
        if (!caller.begun && piece.includes('data: ')) {
          caller.begun = true
          open.most = Math.max(open.most, ++open.now)
        }
        if (Buffer.concat(caller.received.slice(-2)).toString('latin1').endsWith(END_OF_ANSWER)) end(socket)
      },
      close: end,
      error: end,
    },
  })
  const words = `tokens=${TOKENS} prompt_tokens=${PROMPT_TOKENS} token_delay_ms=500`
  const body = {
    model: 'test-chat',
    stream: true,
    max_tokens: TOKENS + 1,
    messages: say(`[sandbox ${words}] ${name}`),
  }
  socket.write(chatRequest(key, body))
  return caller
}

/** The body of an answer in HTTP's chunks. */
function bodyOf({ received }: Caller): string {
  const bytes = Buffer.concat(received)
  const pieces: Buffer[] = []
  let at = bytes.indexOf('\r\n\r\n') + 4
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString(), 16)
    if (!(size > 0)) return Buffer.concat(pieces).toString()
    pieces.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
}

/** Content of each frame that has some, then how the stream ended. */
function framesOf(caller: Caller): string[] {
  const events = bodyOf(caller).split('\n\n').slice(0, -1)
  return events.flatMap((event) => {
    const data = event.slice('data: '.length)
    if (data === '[DONE]') return [data]
    const { delta, finish_reason } = JSON.parse(data).choices[0]
    return [delta.content, finish_reason].filter(Boolean)
  })
}

/** Begins videos that end soon, each with a webhook. */
async function beginVideos({ url, key }: Serving, webhook: string): Promise<void> {
  const body = videoBody('[sandbox task_ms=500]', { webhook_url: webhook })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const begun = Array.from({ length: VIDEOS }, async () => {
    const options = { method: 'POST', headers, body: JSON.stringify(body) }
    const answer = await fetch(`${url}/v1/videos/generations`, options)
    expect([answer.status, await answer.text()]).toEqual([202, expect.any(String)])
  })
  await Promise.all(begun)
}

test(`${STREAMS} streams at once lose no frame, and hold up no video or webhook`, async () => {
  const gateway = await startServing({
    upstreams: {
      openai: { kind: 'openai', apiKey: 'replaced by the sandbox' },
      dashscope: { kind: 'dashscope', apiKey: 'replaced by the sandbox' },
    },
    models: {
      'test-chat': testModels['test-chat'] as ModelConfig,
      'vidw2.6-t2v': videoModels['vidw2.6-t2v'] as ModelConfig,
    },
    webhooks: { allow: [RECEIVER_NETWORK] },
    server: { maxRequestsPerKey: 2 * STREAMS },
  })
  using receiver = startReceiver()
  const callers: Caller[] = []
  let areTold = false
  const begin = async () => {
    callers.push(await call(gateway, askAgain))
  }
  // However long the videos take, the number of concurrent streams stays the same.
  const askAgain = () => {
    if (!areTold) void begin()
  }
  while (open.asked < STREAMS) await Promise.all(Array.from({ length: STEP }, begin))
  await waitFor(() => open.now > STREAMS * 0.75)
  // Meanwhile other requests are served as usual.
  expect((await fetch(`${gateway.url}/health`)).status).toBe(200)
  await beginVideos(gateway, receiver.url)
  // A few at a time are polled and reported, each of which takes some turns of a process busy with streams.
  await waitFor(() => idsOf(receiver).length === VIDEOS, PATIENCE_MS)
  areTold = true
  expect(open.asked - open.ended).toBe(STREAMS)
  await waitFor(() => open.ended === open.asked)

  expect(open.most).toBeGreaterThan(STREAMS * 0.75)
  const statuses = new Set(callers.map(({ received }) => received[0]?.subarray(0, 15).toString()))
  expect([...statuses]).toEqual(['HTTP/1.1 200 OK'])
  const [first] = callers as [Caller]
  const frames = framesOf(first)
  expect(frames).toHaveLength(TOKENS + 2)
  expect(frames.slice(-2)).toEqual(['stop', '[DONE]'])
  const text = frames.join('')
  expect(text).toContain(first.name)
  for (const caller of callers) {
    expect(framesOf(caller).join('')).toBe(text.replaceAll(first.name, caller.name))
  }
  const charges = await gateway.rows(
    "select state, ended_by, usage_source, amount, count(*) as count from charges where operation = 'chat' group by 1, 2, 3, 4",
  )
  expect(charges).toEqual([
    { state: 'settled', ended_by: 'done', usage_source: 'upstream', amount: PRICE, count: callers.length },
  ])
  await gateway.stop()
})
