// A vendor over real HTTP that answers as a test chooses, for misbehaviour that the simulators do not have.

import type { UpstreamConfig } from '../../../src/upstreams/settings'

export interface OddVendor {
  /** Settings of an upstream that uses this vendor. */
  upstream: UpstreamConfig
  /** Answers later requests. */
  answer: (request: Request) => Response | Promise<Response>
  requests: number
  url: string
  stop(): Promise<void>
}

/** `answer` reads the requests itself. */
export function startVendor(options: { answer?: OddVendor['answer'] } = {}): OddVendor {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    async fetch(request, listener) {
      listener.timeout(request, 0)
      vendor.requests++
      if (!options.answer) await request.arrayBuffer().catch(() => {})
      return vendor.answer(request)
    },
  })
  const url = `http://127.0.0.1:${server.port}`
  const vendor: OddVendor = {
    upstream: { kind: 'openai', baseUrl: `${url}/v1`, apiKey: 'none' },
    answer:
      options.answer ?? (() => Response.json({ error: { message: 'nothing was planned' } }, { status: 500 })),
    requests: 0,
    url,
    stop: () => server.stop(true),
  }
  return vendor
}

/** A chat completion with these figures. */
export function completion(content: string, promptTokens: number, completionTokens: number): unknown {
  return {
    id: 'chatcmpl-odd',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'odd-model-2026',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    },
  }
}

/** One event of a stream. */
export function chunk(content: string, finishReason: string | null = null): string {
  const choices = [{ index: 0, delta: { content }, finish_reason: finishReason }]
  return `data: ${JSON.stringify({ id: 'chatcmpl-odd', object: 'chat.completion.chunk', model: 'odd-model-2026', choices })}\n\n`
}

export function usageChunk(promptTokens: number, completionTokens: number): string {
  const usage = { prompt_tokens: promptTokens, completion_tokens: completionTokens }
  return `data: ${JSON.stringify({ id: 'chatcmpl-odd', model: 'odd-model-2026', choices: [], usage })}\n\n`
}

export const DONE = 'data: [DONE]\n\n'

export function eventStream(body: string | ReadableStream<Uint8Array>): Response {
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}
