// A vendor over real HTTP for chat completions, messages and responses. It answers in each of them, whole or as a stream, as a test
// decides, and records its requests.

import type { Config } from '../../../src/config/schema'
import type { Json } from '../scenario'

export interface Said {
  text?: string
  thought?: string
  /** The name of a tool to call without arguments. */
  call?: string
  isCut?: boolean
  /** True if it does not report usage. */
  isUncounted?: boolean
  /** The kind of implausible figures; absent if they are plausible. */
  figures?: OddFigures
  /** The number of searches before the text, in messages and responses. */
  searches?: number
}

/**
 * Zeros; absurd figures; figures with less output at the end of a stream; or thinking that is only in the total, if the dialect has
 * a total.
 */
export type OddFigures = 'zero' | 'absurd' | 'less' | 'separate'

/** Tokens of thinking counted separately from the output. */
export const THINKING = 16

interface TrilingualVendor {
  /** The address without a version, for every kind of upstream. */
  url: string
  /** Upstreams of a configuration that lead to it: `of-chat` for completions and responses, and `of-messages`. */
  upstreams: Config['upstreams']
  says: Said
  /** Called when a request has arrived, before it is answered. */
  onRequest: () => void
  received: { path: string; body: Json }[]
  stop(): Promise<void>
}

/** The tokens of every answer. */
export const USED = { input: 10, output: 5 }

export function startTrilingualVendor(): TrilingualVendor {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    async fetch(request) {
      const path = new URL(request.url).pathname
      const body = (await request.json()) as Json
      vendor.received.push({ path, body })
      vendor.onRequest()
      const form = path.endsWith('/messages') ? message : path.endsWith('/responses') ? response : chat
      const { whole, events } = asSaid(form(vendor.says), vendor.says)
      if (!body.stream) return Response.json(whole)
      const frames = events.map(({ event, ...data }) => {
        const name = event === undefined ? '' : `event: ${event}\n`
        return `${name}data: ${JSON.stringify(event === undefined ? data : { type: event, ...data })}\n\n`
      })
      const end = form === chat ? 'data: [DONE]\n\n' : ''
      return new Response(frames.join('') + end, { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  const url = `http://127.0.0.1:${server.port}`
  const vendor: TrilingualVendor = {
    url,
    upstreams: {
      'of-chat': { kind: 'openai', baseUrl: url, apiKey: 'none' },
      'of-messages': { kind: 'anthropic', baseUrl: url, apiKey: 'none' },
    },
    says: {},
    onRequest: () => {},
    received: [],
    stop: () => server.stop(true),
  }
  return vendor
}

interface Form {
  whole: Json
  events: Json[]
}

function asSaid(form: Form, { isUncounted, figures }: Said): Form {
  if (isUncounted) return uncounted(form)
  return figures === undefined ? form : odd(form, figures)
}

/** An answer with implausible figures. */
function odd({ whole, events }: Form, figures: OddFigures): Form {
  const usageOf = (usage: Json): Json => {
    if (figures === 'zero') return Object.fromEntries(Object.keys(usage).map((name) => [name, 0]))
    const output = 'completion_tokens' in usage ? 'completion_tokens' : 'output_tokens'
    if (figures === 'absurd') return { ...usage, [output]: 1e12, total_tokens: 2e12 }
    return figures === 'less' || usage.total_tokens === undefined
      ? usage
      : { ...usage, total_tokens: usage.total_tokens + THINKING }
  }
  const changed = (json: Json): Json => {
    const changes: Json = json.usage ? { usage: usageOf(json.usage) } : {}
    for (const member of ['message', 'response']) if (json[member]) changes[member] = changed(json[member])
    return { ...json, ...changes }
  }
  const all = events.map(changed)
  if (figures !== 'less') return { whole: changed(whole), events: all }
  // The event with the last figures is repeated with lower ones.
  const at = all.findLastIndex(({ usage }) => usage)
  const { usage } = all[at] ?? {}
  const output = usage && 'completion_tokens' in usage ? 'completion_tokens' : 'output_tokens'
  const again = usage ? [{ ...all[at], usage: { ...usage, [output]: 1 } }] : []
  return { whole, events: [...all.slice(0, at + 1), ...again, ...all.slice(at + 1)] }
}

/** An answer without its figures. */
function uncounted({ whole, events }: Form): Form {
  const without = (json: Json): Json => {
    const { usage: _, ...rest } = json
    for (const member of ['message', 'response']) if (rest[member]) rest[member] = without(rest[member])
    return rest
  }
  const isFigures = ({ choices }: Json) => Array.isArray(choices) && choices.length === 0
  return { whole: without(whole), events: events.filter((event) => !isFigures(event)).map(without) }
}

function chat({ text, thought, call, isCut }: Said): Form {
  const calls = call && [
    { index: 0, id: 'call_1', type: 'function', function: { name: call, arguments: '{}' } },
  ]
  const said = {
    role: 'assistant',
    ...(thought && { reasoning_content: thought }),
    content: text ?? null,
    ...(calls && { tool_calls: calls }),
  }
  const reason = isCut ? 'length' : call ? 'tool_calls' : 'stop'
  const usage = {
    prompt_tokens: USED.input,
    completion_tokens: USED.output,
    total_tokens: USED.input + USED.output,
  }
  const choice = (member: Json, finish: string | null) => [{ index: 0, ...member, finish_reason: finish }]
  return {
    whole: { id: 'c_1', choices: choice({ message: said }, reason), usage },
    events: [
      { id: 'c_1', choices: choice({ delta: said }, null) },
      { id: 'c_1', choices: choice({ delta: {} }, reason) },
      { id: 'c_1', choices: [], usage },
    ],
  }
}

function message({ text, thought, call, isCut, searches = 0 }: Said): Form {
  const content: Json[] = [
    ...(thought ? [{ type: 'thinking', thinking: thought, signature: 'c2ln' }] : []),
    ...Array.from({ length: searches }, (_, at) => ({
      type: 'server_tool_use',
      id: `srvtoolu_${at}`,
      name: 'web_search',
      input: { query: 'lamp' },
    })),
    ...(text ? [{ type: 'text', text }] : []),
    ...(call ? [{ type: 'tool_use', id: 'call_1', name: call, input: {} }] : []),
  ]
  const stop_reason = isCut ? 'max_tokens' : call ? 'tool_use' : 'end_turn'
  const usage = { input_tokens: USED.input, output_tokens: USED.output }
  const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' }
  const blocks = content.flatMap((block, index): Json[] => [
    { event: 'content_block_start', index, content_block: { ...block, ...(block.text && { text: '' }) } },
    ...(block.text
      ? [{ event: 'content_block_delta', index, delta: { type: 'text_delta', text: block.text } }]
      : []),
    { event: 'content_block_stop', index },
  ])
  return {
    whole: { ...head, content, stop_reason, usage },
    events: [
      { event: 'message_start', message: { ...head, content: [], usage: { ...usage, output_tokens: 1 } } },
      ...blocks,
      { event: 'message_delta', delta: { stop_reason }, usage },
      { event: 'message_stop' },
    ],
  }
}

function response({ text, thought, isCut, searches = 0 }: Said): Form {
  const output: Json[] = [
    ...(thought
      ? [{ type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: thought }] }]
      : []),
    ...Array.from({ length: searches }, (_, at) => ({
      type: 'web_search_call',
      id: `ws_${at}`,
      status: 'completed',
      action: { type: 'search', query: 'lamp' },
    })),
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text, annotations: [] }],
    },
  ]
  const status = isCut ? 'incomplete' : 'completed'
  const whole = {
    id: 'resp_1',
    object: 'response',
    status,
    ...(isCut && { incomplete_details: { reason: 'max_output_tokens' } }),
    output,
    usage: { input_tokens: USED.input, output_tokens: USED.output, total_tokens: USED.input + USED.output },
  }
  return {
    whole,
    events: [
      { event: 'response.created', response: { ...whole, status: 'in_progress', output: [], usage: null } },
      ...output.flatMap((item, index): Json[] => [
        { event: 'response.output_item.added', output_index: index, item: begun(item) },
        { event: 'response.output_item.done', output_index: index, item },
      ]),
      { event: `response.${status}`, response: whole },
    ],
  }
}

function begun(item: Json): Json {
  if (item.type === 'reasoning') return { ...item, summary: [] }
  return { ...item, status: 'in_progress', content: [] }
}
