// An OpenTelemetry collector: takes traces and logs over HTTP as JSON, and keeps them.

interface Attribute {
  key: string
  value: { stringValue?: string; intValue?: string; doubleValue?: number; boolValue?: boolean }
}
interface Envelope {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: Telemetered[] }[] }[]
  resourceLogs: { resource: { attributes: Attribute[] }; scopeLogs: { logRecords: Telemetered[] }[] }[]
}
/** A span or a line of the log. */
interface Telemetered {
  traceId?: string
  spanId?: string
  parentSpanId?: string
  name?: string
  eventName?: string
  kind?: number
  startTimeUnixNano?: string
  endTimeUnixNano?: string
  attributes: Attribute[]
}

/** Starts a collector that answers with a status. */
export function startCollector(status: () => number = () => 200) {
  const spans: Telemetered[] = []
  const logs: Telemetered[] = []
  const services = new Set<string>()
  const headers: Headers[] = []
  const note = (attributes: Attribute[]) => {
    for (const { key, value } of attributes) if (key === 'service.name') services.add(value.stringValue ?? '')
  }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      headers.push(request.headers)
      const { pathname } = new URL(request.url)
      if (status() !== 200) return new Response(null, { status: status() })
      const body = (await request.json()) as Envelope
      for (const { resource, scopeSpans } of pathname === '/v1/traces' ? body.resourceSpans : []) {
        note(resource.attributes)
        for (const scope of scopeSpans) spans.push(...scope.spans)
      }
      for (const { resource, scopeLogs } of pathname === '/v1/logs' ? body.resourceLogs : []) {
        note(resource.attributes)
        for (const scope of scopeLogs) logs.push(...scope.logRecords)
      }
      return Response.json({})
    },
  })
  const endpoint = `http://127.0.0.1:${server.port}`
  return { endpoint, spans, logs, services, headers, stop: () => server.stop(true) }
}

/** The value of an attribute as sent. */
export function attributeOf(record: Telemetered | undefined, key: string): unknown {
  const value = record?.attributes.find((each) => each.key === key)?.value
  return value && Object.values(value)[0]
}
