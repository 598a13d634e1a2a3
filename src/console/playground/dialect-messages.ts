// Messages: the form of a thread, and its events.

import type { ChatDialect, Step } from './dialects'
import { brokeOff, numberOf, withCall, withText, withThinking } from './pieces'

/** This form requires a limit of the answer, in tokens. */
const DEFAULT_MAX_TOKENS = 4_096

interface Event {
  type?: string
  error?: { message?: string; type?: string }
  content_block?: { type?: string; id?: string; name?: string; text?: string }
  delta?: { type?: string; text?: string; thinking?: string; partial_json?: string }
  usage?: { output_tokens?: number }
}

export const messagesDialect: ChatDialect = {
  path: '/v1/messages',

  body(model, steps, { values, tools, schema }) {
    return {
      model,
      max_tokens: DEFAULT_MAX_TOKENS,
      ...numberOf('max_tokens', values.max_tokens),
      ...(values.system?.trim() && { system: values.system.trim() }),
      messages: steps.flatMap(messagesOf),
      ...numberOf('temperature', values.temperature),
      ...(tools.length > 0 && {
        tools: tools.map(({ parameters, ...tool }) => {
          return { ...tool, input_schema: parameters ?? { type: 'object' } }
        }),
      }),
      ...(schema && { output_config: { format: { type: 'json_schema', schema } } }),
      stream: true,
    }
  },

  next(reply, data) {
    const { type, error, content_block: block, delta, usage } = data as Event
    if (type === 'error')
      throw brokeOff({ ...(error?.message && { message: error.message }), code: error?.type ?? null })
    if (type === 'content_block_start' && block?.type === 'tool_use') {
      const { id = '', name = '' } = block
      return withCall(reply, reply.calls.length, { id, name })
    }
    if (type === 'content_block_start') return withText(reply, block?.text)
    if (delta?.type === 'input_json_delta')
      return withCall(reply, reply.calls.length - 1, { arguments: delta.partial_json ?? '' })
    if (type === 'message_delta')
      return { ...reply, outputTokens: usage?.output_tokens ?? reply.outputTokens }
    return withThinking(withText(reply, delta?.text), delta?.thinking)
  },
}

function messagesOf({ text, pictures, results, reply }: Step): object[] {
  const asked =
    results.length > 0
      ? results.map(({ call, result }) => ({ type: 'tool_result', tool_use_id: call.id, content: result }))
      : [...pictures.map(pictureOf), { type: 'text', text }]
  const user = { role: 'user', content: asked }
  if (!reply) return [user]
  const calls = reply.calls.map(({ id, name, arguments: json }) => {
    return { type: 'tool_use', id, name, input: inputOf(json) }
  })
  const said = reply.text ? [{ type: 'text', text: reply.text }] : []
  return [user, { role: 'assistant', content: [...said, ...calls] }]
}

function pictureOf(url: string): object {
  const [, type = '', data = ''] = /^data:([^;]+);base64,(.*)$/s.exec(url) ?? []
  return { type: 'image', source: { type: 'base64', media_type: type, data } }
}

/** The arguments of a call as an object, as this form requires. */
function inputOf(json: string): unknown {
  try {
    return JSON.parse(json || '{}')
  } catch {
    return {}
  }
}
