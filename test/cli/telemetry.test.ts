// Telemetry of the executable: metrics in Prometheus' format, and traces to the collector named by OpenTelemetry's variables.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { waitFor } from '../support/gateway'
import { parseMetrics } from '../support/metrics'
import { ask, install, stopWell } from '../support/processes/executable'
import { freePort } from '../support/processes/free-port'
import { attributeOf, startCollector } from '../support/servers/collector'

setDefaultTimeout(180_000)

test('the executable serves metrics in both formats', async () => {
  const port = await freePort()
  const installation = await install({ config: { metrics: { port } } })
  const secret = await installation.makeKey('alice', '5')
  const server = await installation.serve()
  expect((await ask(server, secret)).status).toBe(200)
  const read = async (accept: string) =>
    parseMetrics(await (await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { accept } })).text())
  for (const [accept, name] of [
    ['text/plain', 'gateway_requests_total'],
    ['application/openmetrics-text; version=1.0.0', 'gateway_requests_total'],
  ] as const) {
    let scraped = await read(accept)
    await waitFor(async () => {
      scraped = await read(accept)
      return scraped.value(name, { status: '200', model: 'test-chat' }) === 1
    })
    expect(scraped.names.size).toBeGreaterThan(25)
    expect(scraped.value('process_resident_memory_bytes', {})).toBeGreaterThan(1e6)
  }
  await stopWell(installation, server)
})

test('the variables of OpenTelemetry set the collector, its headers, the service name and the sampling ratio', async () => {
  const collector = startCollector()
  const installation = await install()
  const secret = await installation.makeKey('alice', '5')
  const environment = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-team=a%20b, x-other=c',
    OTEL_SERVICE_NAME: 'house-gateway',
    OTEL_TRACES_SAMPLER_ARG: '1',
  }
  const server = await installation.serve({ environment })
  const response = await ask(server, secret)
  expect(response.status).toBe(200)
  await waitFor(() => collector.spans.length >= 2 && collector.logs.length >= 1)
  expect(
    collector.spans.some(
      (span) => attributeOf(span, 'gateway.request_id') === response.headers.get('x-request-id'),
    ),
  ).toBe(true)
  expect([...collector.services]).toEqual(['house-gateway'])
  expect(collector.headers[0]?.get('x-team')).toBe('a b')
  expect(collector.headers[0]?.get('x-other')).toBe('c')
  await stopWell(installation, server)
  const before = collector.headers.length
  const silent = await installation.serve({ environment: { ...environment, OTEL_SDK_DISABLED: 'true' } })
  expect((await ask(silent, secret)).status).toBe(200)
  await stopWell(installation, silent)
  expect(collector.headers.length).toBe(before)
  collector.stop()
})
