// Responses: the form of a thread as items, and its events. The thread is sent in full: the gateway stores nothing of it.

import type { ChatDialect, Step } from './dialects'
import { brokeOff, numberOf, withCall, withText, withThinking } from './pieces'

interface Event {
  type?: string
  delta?: string
  message?: string
  code?: string | null
  item?: { type?: string; call_id?: string; name?: string; arguments?: string }
  response?: {
    usage?: { output_tokens?: number } | null
    error?: { message?: string; code?: string | null } | null
  }
}

export const responsesDialect: ChatDialect = {
  path: '/v1/responses',

  body(model, steps, { values, tools, schema }) {
    return {
      model,
      ...(values.system?.trim() && { instructions: values.system.trim() }),
      input: steps.flatMap(itemsOf),
      ...numberOf('max_output_tokens', values.max_tokens),
      ...numberOf('temperature', values.temperature),
      ...(tools.length > 0 && { tools: tools.map((tool) => ({ type: 'function', ...tool })) }),
      ...(schema && { text: { format: { type: 'json_schema', name: 'answer', schema, strict: true } } }),
      store: false,
      stream: true,
    }
  },

  next(reply, data) {
    const { type, delta, item, response, message, code } = data as Event
    if (type === 'error') throw brokeOff({ ...(message !== undefined && { message }), code: code ?? null })
    if (type === 'response.failed') throw brokeOff(response?.error ?? undefined)
    if (type === 'response.output_text.delta') return withText(reply, delta)
    if (type?.startsWith('response.reasoning') && type.endsWith('.delta')) return withThinking(reply, delta)
    if (type === 'response.output_item.done' && item?.type === 'function_call') {
      const { call_id: id = '', name = '', arguments: json = '' } = item
      return withCall(reply, reply.calls.length, { id, name, arguments: json })
    }
    const tokens = response?.usage?.output_tokens
    return tokens === undefined ? reply : { ...reply, outputTokens: tokens }
  },
}

function itemsOf({ text, pictures, results, reply }: Step): object[] {
  const asked =
    results.length > 0
      ? results.map(({ call, result }) => {
          return { type: 'function_call_output', call_id: call.id, output: result }
        })
      : [{ role: 'user', content: contentOf(text, pictures) }]
  if (!reply) return asked
  return [
    ...asked,
    ...(reply.text ? [{ role: 'assistant', content: reply.text }] : []),
    ...reply.calls.map(({ id, name, arguments: json }) => {
      return { type: 'function_call', call_id: id, name, arguments: json }
    }),
  ]
}

function contentOf(text: string, pictures: readonly string[]): string | object[] {
  if (pictures.length === 0) return text
  return [{ type: 'input_text', text }, ...pictures.map((url) => ({ type: 'input_image', image_url: url }))]
}
