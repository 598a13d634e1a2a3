// Traces and logs received by an OpenTelemetry collector: complete, in their trace, without content, and without delaying a
// request. The collector is a server of the test that decodes what it receives.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { beginTrace, traceHeaders } from '../../src/lib/trace-context'
import { startTestGateway, waitFor } from '../support/gateway'
import { postMessage, toolMessage, toolModels } from '../support/mcp'
import { attributeOf, startCollector } from '../support/servers/collector'
import { completion, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(60_000)

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const CANARY = 'canary-of-the-prompt'

test('a request is two spans in the trace of its caller, and the vendor gets the second', async () => {
  const vendor = startVendor()
  const reported: Headers[] = []
  vendor.answer = (request: Request) => {
    reported.push(request.headers)
    return Response.json(completion(CANARY, 7, 4), { headers: { 'x-request-id': 'vendor-1' } })
  }
  const collector = startCollector()
  const gateway = await startTestGateway({
    upstreams: { house: { kind: 'openai', baseUrl: vendor.url, apiKey: null } },
    models: {
      traced: {
        family: 'openai-chat',
        upstream: 'house',
        price: { per_1m_input_tokens: '1', per_1m_output_tokens: '2' },
      },
    },
    config: {
      telemetry: { endpoint: collector.endpoint, serviceName: 'house-gateway', headers: { 'x-team': 'a' } },
    },
  })
  const messages = [{ role: 'user', content: CANARY }]
  const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=1' }
  const response = await gateway.chat({ model: 'traced', messages }, headers)
  expect(response.status).toBe(200)
  await gateway.requestLog()
  await waitFor(() => collector.spans.length >= 2 && collector.logs.length >= 1)
  const [own, call] = collector.spans
  expect(own).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, kind: 2, name: 'chat traced' })
  expect(call).toMatchObject({ traceId: TRACE, parentSpanId: own?.spanId, kind: 3, name: 'chat traced' })
  expect(reported[0]?.get('traceparent')).toBe(`00-${TRACE}-${call?.spanId}-01`)
  expect(reported[0]?.get('tracestate')).toBe('vendor=1')
  expect(attributeOf(own, 'gateway.request_id')).toBe(response.headers.get('x-request-id'))
  expect(attributeOf(call, 'gen_ai.operation.name')).toBe('chat')
  expect(attributeOf(call, 'gen_ai.provider.name')).toBe('house')
  expect(attributeOf(call, 'gen_ai.usage.input_tokens')).toBe('7')
  expect(attributeOf(call, 'gen_ai.usage.output_tokens')).toBe('4')
  expect(attributeOf(call, 'gen_ai.response.id')).toBe('vendor-1')
  const times = [own?.startTimeUnixNano, call?.startTimeUnixNano, call?.endTimeUnixNano, own?.endTimeUnixNano]
  expect([...times].map(BigInt as never).sort((one, other) => Number(one) - Number(other))).toEqual(
    times.map(BigInt as never),
  )
  expect(collector.logs[0]).toMatchObject({ eventName: 'request', traceId: TRACE, spanId: own?.spanId ?? '' })
  expect([...collector.services]).toEqual(['house-gateway'])
  expect(collector.headers[0]?.get('x-team')).toBe('a')
  expect(JSON.stringify([collector.spans, collector.logs])).not.toContain(CANARY)
  expect(JSON.stringify([collector.spans, collector.logs])).not.toContain(gateway.secret)
  await gateway.close()
  await vendor.stop()
  collector.stop()
})

test('an unsampled trace is propagated but not exported, and without a caller context the share decides', async () => {
  const collector = startCollector()
  const gateway = await startTestGateway({
    config: { telemetry: { endpoint: collector.endpoint, sampleRatio: 0 } },
  })
  await gateway.chat({}, { traceparent: `00-${TRACE}-${PARENT}-00` })
  await gateway.chat()
  await gateway.chat({}, { traceparent: `00-${TRACE}-${PARENT}-01` })
  await gateway.requestLog()
  await waitFor(() => collector.spans.length >= 2)
  expect(collector.spans).toHaveLength(2)
  expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]))
  await gateway.close()
  collector.stop()
})

test('a failing collector affects no request, and lost data is counted', async () => {
  const collector = startCollector(() => 400)
  const gateway = await startTestGateway({ config: { telemetry: { endpoint: collector.endpoint } } })
  expect((await gateway.chat()).status).toBe(200)
  await gateway.requestLog()
  await waitFor(() => gateway.log.some(({ event }) => event === 'telemetry_lost'))
  expect(gateway.server.world.tracer?.dropped).toBeGreaterThanOrEqual(2)
  expect((await gateway.chat()).status).toBe(200)
  await gateway.close()
  collector.stop()
})

test('the queue is bounded', async () => {
  const gateway = await startTestGateway({ config: { telemetry: { endpoint: 'http://127.0.0.1:9' } } })
  const { log, tracer } = gateway.server.world
  for (let count = 0; count < 10_000; count++) log('task_ended', { task: 'x' })
  expect(tracer?.dropped).toBeGreaterThanOrEqual(10_000 - 8_192)
  await gateway.close()
})

test('an invalid context begins a new trace', () => {
  let ids = 0
  const hexId = (bytes: number) => (++ids).toString(16).padStart(bytes * 2, '0')
  const wrong = [
    null,
    '',
    'nonsense',
    `ff-${TRACE}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}`,
  ]
  for (const parent of wrong) {
    expect(beginTrace({ parent, state: 'a=b' }, hexId, () => true)).toMatchObject({
      parentId: null,
      state: null,
    })
  }
  const later = beginTrace({ parent: `cc-${TRACE}-${PARENT}-01-more`, state: 'a\r\nb' }, hexId, () => false)
  expect(later).toMatchObject({ traceId: TRACE, parentId: PARENT, isSampled: true, state: null })
  expect(traceHeaders(later)).toEqual({ traceparent: `00-${TRACE}-${later.callSpanId}-01` })
})

test('a call of a tool is logged with the address of its client, in the trace of its caller', async () => {
  const collector = startCollector()
  const gateway = await startTestGateway({
    models: toolModels,
    config: { telemetry: { endpoint: collector.endpoint }, server: { trustedProxies: ['127.0.0.0/8'] } },
  })
  const message = toolMessage('speak', { model: 'qnx3-tts-flash', input: 'Hello!' })
  const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, 'x-forwarded-for': '192.0.2.7' }
  const answer = await (await postMessage(gateway.url, gateway.secret, message, headers)).text()
  expect(answer).toContain('cost_usd')
  const rows = await gateway.requestLog()
  expect(rows.at(-1)).toMatchObject({ operation: 'speech', status: 200, client_address: '192.0.2.7' })
  await waitFor(() => collector.spans.length >= 2)
  expect(collector.spans[0]).toMatchObject({
    traceId: TRACE,
    parentSpanId: PARENT,
    name: 'speech qnx3-tts-flash',
  })
  expect(attributeOf(collector.spans[0], 'client.address')).toBe('192.0.2.7')
  const [call] = gateway.sandbox.calls
  expect(call?.headers.traceparent).toBe(`00-${TRACE}-${collector.spans[1]?.spanId}-01`)
  await gateway.close()
  collector.stop()
})
