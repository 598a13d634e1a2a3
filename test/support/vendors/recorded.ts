// A vendor over real HTTP that answers with recordings, and remembers its requests. It must not judge a request: that is the task
// of the simulators.

/** Placeholder in an answer for a deeply nested value, which is inserted as text: no recursive writer of JSON could write it. */
export const DEEP = 'a deeply nested value'
/** Nested deeper than any recursive reader goes. Each level is a list and an object. */
const DEEP_LEVELS = 20_000

/** JSON with this depth. */
export function nestedText(levels: number): string {
  return `${'[{"a":'.repeat(levels)}[]${'}]'.repeat(levels)}`
}

export interface RecordedVendor {
  url: string
  /** The answer to later requests. */
  answer: Recorded
  /** The answer to later polls. */
  poll: unknown
  /** The answer to calls for the result of a task; absent: polls have it. */
  result?: unknown
  /** The body of the last request: JSON, or the fields and files of a form. */
  received: unknown
  /** The number of calls, without polls. */
  requests: number
  stop(): Promise<void>
}

/** A reply, the events of a stream with its final `data`, or a sound as base64. */
export type Recorded =
  | { reply: unknown }
  | { events: readonly unknown[]; end: string | null }
  | { sound: string }

export function startRecordedVendor(): RecordedVendor {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    async fetch(request) {
      // The result of a task may have an address of its own.
      const isResult =
        vendor.result !== undefined &&
        !/\/(?:status|query\/video_generation)$/.test(new URL(request.url).pathname)
      if (request.method === 'GET') return Response.json(isResult ? vendor.result : vendor.poll)
      vendor.requests++
      const isForm = request.headers.get('content-type')?.startsWith('multipart/form-data')
      vendor.received = isForm ? [...(await request.formData()).entries()] : await request.json()
      return respond(vendor.answer)
    },
  })
  const vendor: RecordedVendor = {
    url: `http://127.0.0.1:${server.port}`,
    answer: { reply: {} },
    poll: {},
    received: undefined,
    requests: 0,
    stop: () => server.stop(true),
  }
  return vendor
}

function respond(recorded: Recorded): Response {
  if ('reply' in recorded)
    return new Response(textOf(recorded.reply), { headers: { 'content-type': 'application/json' } })
  if ('sound' in recorded)
    return new Response(Buffer.from(recorded.sound, 'base64'), { headers: { 'content-type': 'audio/mpeg' } })
  const { events, end } = recorded
  const lines = [...events.map(textOf), ...(end === null ? [] : [end])]
  return new Response(lines.map((line) => `data: ${line}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  })
}

function textOf(answer: unknown): string {
  return JSON.stringify(answer).replaceAll(`"${DEEP}"`, () => nestedText(DEEP_LEVELS))
}
