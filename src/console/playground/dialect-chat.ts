// Chat completions: the form of a thread, and its events.

import type { ChatDialect, Step } from './dialects'
import { brokeOff, numberOf, withCall, withText, withThinking } from './pieces'

interface Chunk {
  error?: { message?: string; code?: string | null }
  usage?: { completion_tokens?: number } | null
  choices?: {
    delta?: {
      content?: string | null
      reasoning_content?: string | null
      tool_calls?: { index?: number; id?: string; function?: { name?: string; arguments?: string } }[]
    }
  }[]
}

export const chatDialect: ChatDialect = {
  path: '/v1/chat/completions',

  body(model, steps, { values, tools, schema }) {
    return {
      model,
      messages: [
        ...(values.system?.trim() ? [{ role: 'system', content: values.system.trim() }] : []),
        ...steps.flatMap(messagesOf),
      ],
      ...numberOf('max_tokens', values.max_tokens),
      ...numberOf('temperature', values.temperature),
      ...(tools.length > 0 && { tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
      ...(schema && {
        response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } },
      }),
      stream: true,
      stream_options: { include_usage: true },
    }
  },

  next(reply, data) {
    const { error, usage, choices } = data as Chunk
    if (error) throw brokeOff(error)
    const delta = choices?.[0]?.delta
    let next = withThinking(withText(reply, delta?.content), delta?.reasoning_content)
    for (const { index = 0, id, function: part } of delta?.tool_calls ?? [])
      next = withCall(next, index, { ...part, ...(id && { id }) })
    return usage ? { ...next, outputTokens: usage.completion_tokens ?? null } : next
  },
}

function messagesOf({ text, pictures, results, reply }: Step): object[] {
  const asked =
    results.length > 0
      ? results.map(({ call, result }) => ({ role: 'tool', tool_call_id: call.id, content: result }))
      : [{ role: 'user', content: contentOf(text, pictures) }]
  if (!reply) return asked
  const calls = reply.calls.map(({ id, name, arguments: json }) => {
    return { id, type: 'function', function: { name, arguments: json } }
  })
  return [
    ...asked,
    { role: 'assistant', content: reply.text || null, ...(calls.length > 0 && { tool_calls: calls }) },
  ]
}

function contentOf(text: string, pictures: readonly string[]): string | object[] {
  if (pictures.length === 0) return text
  return [{ type: 'text', text }, ...pictures.map((url) => ({ type: 'image_url', image_url: { url } }))]
}
