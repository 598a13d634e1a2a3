// Answers that end with their connection: if a reset cuts the connection, no reader accepts the answer as complete, however much
// has arrived. If the connection closes normally, it is complete.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Socket } from 'node:net'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { outside } from '../../src/app/world'
import { dashscope } from '../../src/upstreams/kinds/dashscope'
import { createFetchFile } from '../../src/upstreams/result-file'
import { followTask, readTask } from '../support/databases/task-rows'
import { say, startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import { rejection } from '../support/rejection'
import { START, startTaskNodes } from '../support/task-nodes'
import { type ScriptedServer, startScriptedServer } from '../support/vendors/scripted-server'
import { chunk, completion, usageChunk } from '../support/vendors/vendor'

type End = 'reset' | 'close'

let vendor: ScriptedServer
let gateway: TestGateway
beforeAll(async () => {
  vendor = await startScriptedServer()
  const upstream = { kind: 'openai', baseUrl: `${vendor.url}/v1`, apiKey: 'none' }
  gateway = await startTestGateway({
    upstreams: { cut: upstream, counting: { ...upstream, kind: 'anthropic' } },
    models: {
      'test-cut': { ...testModels['test-chat'], upstream: 'cut' },
      'test-counting': { ...testModels['test-messages'], upstream: 'counting' },
    },
  })
})
afterAll(async () => {
  await gateway.close()
  vendor.stop()
})

function answer(body: string, end: End, contentType = 'application/json') {
  return (socket: Socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${contentType}\r\n\r\n${body}`)
    setTimeout(() => (end === 'reset' ? socket.resetAndDestroy() : socket.end()), 30)
  }
}

describe('an answer that is cut', () => {
  const reply = JSON.stringify(completion('Hello!', 10, 20))
  const events = chunk('Hello') + chunk('', 'stop') + usageChunk(10, 20)

  test('as JSON is refused, and nothing is paid', async () => {
    vendor.answer = answer(reply, 'close')
    expect((await gateway.chat({ model: 'test-cut' })).status).toBe(200)
    const before = await gateway.balance()
    vendor.answer = answer(reply, 'reset')
    const response = await gateway.chat({ model: 'test-cut' })
    expect(response.status).toBe(502)
    expect(await response.text()).toContain('cut off')
    expect(await gateway.balance()).toEqual(before)
  })

  test('as a stream ends with the reason', async () => {
    const ask = async (end: End) => {
      vendor.answer = answer(events, end, 'text/event-stream')
      return (await gateway.chat({ model: 'test-cut', stream: true })).text()
    }
    expect(await ask('close')).not.toContain('upstream_cut')
    expect(await ask('reset')).toContain('upstream_cut')
    // The status was sent before; lists of requests show what became of it.
    const rowOf = () => gateway.newestLogged()
    await waitFor(async () => (await rowOf())?.ended_by === 'upstream')
    expect(await rowOf()).toMatchObject({ status: 200, error_code: 'upstream_cut' })
  })

  const role = chunk('').replace('"content":""', '"role":"assistant"')
  test.each([
    ['before its first text', role, { state: 'released', amount: 0 }],
    ['after some text', role + chunk('Hello'), { state: 'settled', usage_source: 'counted' }],
    [
      'after the figures',
      events,
      { state: 'settled', usage_source: 'upstream', amount: 10 * 1_000 + 20 * 2_000 },
    ],
  ])('as a stream %s is charged for what was delivered', async (_, sent, charged) => {
    vendor.answer = answer(sent, 'reset', 'text/event-stream')
    const body = { model: 'test-cut', stream: true, messages: say('Say hello, please.') }
    expect(await (await gateway.chat(body)).text()).toContain('upstream_cut')
    const charge = await gateway.newestCharge()
    expect(charge).toMatchObject({ ended_by: 'upstream', ...charged })
    if (charge?.usage_source === 'counted') {
      const input = countTokens('Say hello, please.') * 1_000
      expect(charge.amount).toBe(input + countTokens('Hello') * 2_000)
    }
  })

  test('as a token count is refused', async () => {
    const ask = async (end: End) => {
      vendor.answer = answer('{"input_tokens":3}', end)
      const body = { model: 'test-counting', messages: say('Hi') }
      return (await gateway.post('/v1/messages/count_tokens', body)).status
    }
    expect(await ask('close')).toBe(200)
    expect(await ask('reset')).toBe(502)
  })

  test('as the state of a task is ignored', async () => {
    const upstream = { kind: 'dashscope', baseUrl: vendor.url, apiKey: 'none' }
    await using group = await startTaskNodes('sqlite', 1, { upstreams: { dashscope: upstream } })
    const { db } = group.nodes[0].world
    const { id } = await followTask(db, { createdAt: START })
    const url = 'https://files.example.com/a.mp4'
    const output = { task_id: `ds-${id}`, task_status: 'SUCCEEDED', video_url: url }
    const state = JSON.stringify({
      request_id: 'r',
      output,
      usage: { video_duration: 5, SR: 720, video_count: 1 },
    })
    let asked = 0
    const pollWith = async (end: End) => {
      const before = asked
      const answered = answer(state, end)
      vendor.answer = (socket) => {
        asked++
        answered(socket)
      }
      group.clock.now += 600_000
      await group.nodes[0].poller.beat()
      await waitFor(() => asked === before + 1)
      expect(asked).toBe(before + 1)
      await Bun.sleep(200)
    }
    await pollWith('reset')
    expect((await readTask(db, id)).state).toBe('submitted')
    await pollWith('close')
    await waitFor(async () => (await readTask(db, id)).state === 'succeeded')
    expect((await readTask(db, id)).state).toBe('succeeded')
  })

  test('as a file is cut off too', async () => {
    const upstream = { kind: 'dashscope', baseUrl: vendor.url, apiKey: 'none' }
    const fetchFile = createFetchFile('cut', dashscope, upstream, outside)
    const read = async (end: End) => {
      vendor.answer = answer('half of a video', end, 'video/mp4')
      const { body } = await fetchFile(`${vendor.url}/a.mp4`, new AbortController().signal)
      return Buffer.from(await body.bytes(1_000)).toString()
    }
    expect(await read('close')).toBe('half of a video')
    expect((await rejection(read('reset'))).message).toContain('ECONNRESET')
  })

  test('as a file does not share a connection', async () => {
    const upstream = { kind: 'dashscope', baseUrl: vendor.url, apiKey: 'none' }
    const fetchFile = createFetchFile('cut', dashscope, upstream, outside)
    const before = vendor.connections
    vendor.answer = (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfilm')
    for (let count = 0; count < 3; count++) {
      const { body } = await fetchFile(`${vendor.url}/a.mp4?x=${count}`, new AbortController().signal)
      expect(Buffer.from(await body.bytes(10)).toString()).toBe('film')
    }
    expect(vendor.connections - before).toBe(3)
    expect(vendor.requests.at(-1)).toStartWith('GET /a.mp4?x=2 HTTP/1.1\r\n')
    await waitFor(() => vendor.open() === 0)
  })
})
