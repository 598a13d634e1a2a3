// Simulates Converse and ConverseStream: content blocks, usage without cached input, a frame for each event:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html. Answers are made as messages, and
// rendered here. It must never accept a field or a block that Converse does not have.

import { messageReply } from '../anthropic/messages'
import { findModelFault } from '../anthropic/models'
import { asArray, asNumber, asObject, asObjects, asString, type JsonObject, parseJson } from '../json'
import type { EventFrame, Reply, VendorRequest } from '../simulator'
import { findSchemaFault } from './schema-faults'

const FIELDS = [
  'messages',
  'system',
  'inferenceConfig',
  'toolConfig',
  'guardrailConfig',
  'additionalModelRequestFields',
  'promptVariables',
  'additionalModelResponseFieldPaths',
  'requestMetadata',
  'performanceConfig',
  'serviceTier',
  'outputConfig',
]
const INFERENCE = ['maxTokens', 'temperature', 'topP', 'stopSequences']
export const converseNames =
  /^(?:(?:us|eu|apac|global)\.)?(?:amazon\.nova|meta\.llama|mistral\.)[a-z0-9.:-]+$/
/** Claude's names at Bedrock, with the name that Anthropic has for the model. */
export const claudeNames = /^(?:(?:us|eu|apac|global)\.)?anthropic\.(claude-[a-z0-9-]+?)(?:-v\d+(?::\d+)?)?$/
const LATENCY_MS = 421

/** The reply in the form of Converse, or the vendor's complaint about the request. */
export function conversation(request: VendorRequest, id: string, isStreamed: boolean): Reply | string {
  const [, claude] = claudeNames.exec(id) ?? []
  if (claude === undefined && !converseNames.test(id)) return 'The provided model identifier is invalid.'
  const body = asObject(request.json)
  if (!body) return 'Malformed input request, please reformat your input.'
  const fault = faultIn(body)
  if (fault !== undefined) return fault
  const message = messageFor(body, isStreamed)
  const refused =
    claude === undefined
      ? undefined
      : (findSchemaFault(claude, message) ?? findModelFault({ ...message, model: claude }))
  if (refused !== undefined) return `The model returned the following errors: ${refused}`
  const reply = messageReply({ ...request, json: message }, {})
  if (reply.body.kind === 'json') return { ...reply, body: { kind: 'json', value: whole(reply.body.value) } }
  if (reply.body.kind !== 'events') return reply
  const { stream } = reply.body
  // The event with the figures, which a cut stream lacks: they are known only at the end.
  const last: EventFrame = { event: 'metadata', data: '' }
  const frames = events(stream.frames, last)
  return { ...reply, body: { kind: 'events', stream: { ...stream, frames, last } } }
}

function faultIn(body: JsonObject): string | undefined {
  const extra =
    Object.keys(body).find((name) => !FIELDS.includes(name)) ??
    Object.keys(asObject(body.inferenceConfig) ?? {}).find((name) => !INFERENCE.includes(name))
  if (extra !== undefined) return `${extra}: extraneous key [${extra}] is not permitted`
  const messages = asObjects(body.messages)
  const [first] = messages
  if (first?.role !== 'user') return 'A conversation must start with a user message. Try again.'
  const repeated = messages.some(({ role }, index) => index > 0 && role === messages[index - 1]?.role)
  if (repeated) return 'A conversation must alternate between user and assistant roles.'
  const blocks = messages.flatMap(({ content }) => asObjects(content))
  if (messages.some(({ content }) => (asArray(content) ?? []).length === 0))
    return 'The content field is empty.'
  if (blocks.some(({ text }) => typeof text === 'string' && text.trim() === '')) {
    return 'The text field in the ContentBlock object is blank.'
  }
  if (blocks.some((block) => Object.keys(block).length !== 1)) return 'ContentBlock is a union of one member.'
  const calls = blocks.some((block) => 'toolUse' in block || 'toolResult' in block)
  if (calls && body.toolConfig === undefined) {
    return 'The toolConfig field must be defined when using toolUse and toolResult content blocks.'
  }
  return undefined
}

/** The request in the form from which answers are made. */
function messageFor(body: JsonObject, isStreamed: boolean): JsonObject {
  const { maxTokens, stopSequences, temperature, topP } = asObject(body.inferenceConfig) ?? {}
  const { tools, toolChoice } = asObject(body.toolConfig) ?? {}
  const { textFormat, effort } = asObject(body.outputConfig) ?? {}
  const { schema } = asObject(asObject(asObject(textFormat)?.structure)?.jsonSchema) ?? {}
  const choice = asObject(toolChoice)
  return {
    stream: isStreamed,
    system: asObjects(body.system).map(({ text }) => ({ type: 'text', text: asString(text) ?? '' })),
    messages: asObjects(body.messages).map(({ role, content }) => ({
      role,
      content: asObjects(content).map(blockFor),
    })),
    max_tokens: asNumber(maxTokens),
    stop_sequences: stopSequences,
    tools: asObjects(tools).flatMap(({ toolSpec }) => {
      const spec = asObject(toolSpec)
      return spec
        ? [{ name: spec.name, input_schema: asObject(spec.inputSchema)?.json, strict: spec.strict }]
        : []
    }),
    ...(choice?.any !== undefined && { tool_choice: { type: 'any' } }),
    ...(choice?.tool !== undefined && { tool_choice: { type: 'tool', name: asObject(choice.tool)?.name } }),
    temperature,
    top_p: topP,
    output_config: { effort, ...(typeof schema === 'string' && { format: { schema: parseJson(schema) } }) },
    ...asObject(body.additionalModelRequestFields),
  }
}

function blockFor(block: JsonObject): JsonObject {
  const result = asObject(block.toolResult)
  if (result) return { type: 'tool_result', content: asObjects(result.content).map(blockFor) }
  if (block.text !== undefined) return { type: 'text', text: block.text }
  return { type: block.image ? 'image' : block.document ? 'document' : 'other' }
}

function whole(value: unknown): JsonObject {
  const message = asObject(value) ?? {}
  return {
    metrics: { latencyMs: LATENCY_MS },
    output: { message: { role: 'assistant', content: asObjects(message.content).flatMap(contentOf) } },
    stopReason: stopReasonFor(message.stop_reason),
    ...usageIn(message.usage),
  }
}

function contentOf(block: JsonObject): JsonObject[] {
  if (block.type === 'text') return [{ text: block.text }]
  if (block.type === 'tool_use') {
    return [{ toolUse: { toolUseId: block.id, name: block.name, input: block.input } }]
  }
  if (block.type !== 'thinking') return [{ weatherReport: { station: 'Bergen' } }]
  return [{ reasoningContent: { reasoningText: { text: block.thinking } } }]
}

const stopReasonFor = (reason: unknown) => (reason === 'refusal' ? 'guardrail_intervened' : reason)

/** The figures; absent if a directive says so. */
function usageIn(value: unknown): JsonObject {
  const usage = asObject(value)
  if (!usage) return {}
  const count = (name: string) => asNumber(usage[name]) ?? 0
  const read = count('cache_read_input_tokens')
  const written = count('cache_creation_input_tokens')
  const input = usage.input_tokens
  const output = usage.output_tokens
  return {
    usage: {
      inputTokens: input,
      outputTokens: output,
      totalTokens: (asNumber(input) ?? 0) + (asNumber(output) ?? 0) + read + written,
      cacheReadInputTokens: read,
      cacheWriteInputTokens: written,
    },
  }
}

function* events(frames: Iterable<EventFrame>, last: EventFrame): Generator<EventFrame> {
  const frame = (event: string, value: JsonObject): EventFrame => ({ event, data: JSON.stringify(value) })
  for (const { data } of frames) {
    const { type, index, delta, content_block: block, ...rest } = asObject(parseJson(data)) ?? {}
    const contentBlockIndex = index
    if (type === 'message_start') yield frame('messageStart', { role: 'assistant' })
    else if (type === 'content_block_start') {
      const { type: kind, id, name } = asObject(block) ?? {}
      // Texts begin with their first piece.
      if (kind === 'tool_use') {
        yield frame('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId: id, name } } })
      }
    } else if (type === 'content_block_delta') {
      yield frame('contentBlockDelta', { contentBlockIndex, delta: deltaFor(asObject(delta) ?? {}) })
    } else if (type === 'content_block_stop') yield frame('contentBlockStop', { contentBlockIndex })
    else if (type === 'message_delta') {
      yield frame('messageStop', { stopReason: stopReasonFor(asObject(delta)?.stop_reason) })
      last.data = JSON.stringify({ metrics: { latencyMs: LATENCY_MS }, ...usageIn(rest.usage) })
    }
  }
}

function deltaFor(delta: JsonObject): JsonObject {
  if (delta.type === 'text_delta') return { text: delta.text }
  if (delta.type === 'input_json_delta') return { toolUse: { input: delta.partial_json } }
  if (delta.type === 'thinking_delta') return { reasoningContent: { text: delta.thinking } }
  if (delta.type === 'signature_delta') return { reasoningContent: { signature: delta.signature } }
  return { weatherReport: { millimetres: 12 } }
}
