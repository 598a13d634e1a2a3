// Answers of vendors by their protocols: the whole answer with the words of a stream's events, and these words. It must never use
// the gateway's readers.

import type { Json } from '../scenario'
import { listOf, type Run, Words, wordsOfResponseReply } from './words'

/** A vendor's protocol, as its answers are read here. */
interface VendorAnswers {
  /** The whole reply with the words of the events. */
  wholeOf(events: readonly Json[]): Json
  wordsOf(reply: Json): Run[]
  /** Tokens of the input and the output that it reports. */
  tokensOf(reply: Json): [input: number, output: number]
}

export const vendorAnswers: Readonly<Record<string, VendorAnswers>> = {
  chat: {
    wholeOf: completionOf,
    wordsOf({ choices: [{ message }] }) {
      const words = new Words()
      words.say('thinking', message.reasoning_content)
      words.say('answer', message.content)
      words.say('answer', message.refusal)
      for (const [place, { function: called }] of listOf(message.tool_calls).entries()) {
        words.call(place, called.name, called.arguments)
      }
      return words.all
    },
    // Some vendors count thinking in addition to the output.
    tokensOf({ usage }) {
      const {
        prompt_tokens: input,
        completion_tokens: output,
        completion_tokens_details: details,
      } = usage ?? {}
      const thinking = details?.reasoning_tokens ?? 0
      return [input, thinking > output ? output + thinking : output]
    },
  },
  messages: {
    wholeOf: messageOf,
    wordsOf({ content }) {
      const words = new Words()
      for (const [place, { type, text, thinking, name, input }] of listOf(content).entries()) {
        words.say('answer', text)
        words.say('thinking', thinking)
        if (type === 'tool_use') words.call(place, name, input)
      }
      return words.all
    },
    tokensOf: ({ usage }) => [
      usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
      usage.output_tokens,
    ],
  },
  responses: {
    wholeOf: (events) =>
      events.find(({ type }) => /^response\.(?:completed|incomplete)$/.test(type))?.response,
    wordsOf: wordsOfResponseReply,
    tokensOf: ({ usage }) => [usage?.input_tokens, usage?.output_tokens],
  },
  converse: {
    wholeOf: converseOf,
    wordsOf({ output }) {
      const words = new Words()
      for (const [place, { text, reasoningContent, toolUse }] of listOf(output.message.content).entries()) {
        words.say('answer', text)
        words.say('thinking', reasoningContent?.reasoningText?.text)
        if (toolUse) words.call(place, toolUse.name, toolUse.input)
      }
      return words.all
    },
    tokensOf: ({ usage }) => [
      usage.inputTokens + (usage.cacheReadInputTokens ?? 0) + (usage.cacheWriteInputTokens ?? 0),
      usage.outputTokens,
    ],
  },
  gemini: {
    wholeOf: contentOf,
    wordsOf({ candidates }) {
      const words = new Words()
      for (const [place, { text, thought, functionCall: called }] of listOf(
        candidates?.[0]?.content?.parts,
      ).entries()) {
        words.say(thought ? 'thinking' : 'answer', text)
        if (called) words.call(place, called.name, called.args)
      }
      return words.all
    },
    tokensOf: ({ usageMetadata: usage }) => [
      usage.promptTokenCount,
      usage.candidatesTokenCount + (usage.thoughtsTokenCount ?? 0),
    ],
  },
}

/** A parsed input; the text itself if it was cut off. */
const parsed = (text: string): Json => {
  try {
    return JSON.parse(text || '{}')
  } catch {
    return text
  }
}

function completionOf(events: readonly Json[]): Json {
  const message: Json = { role: 'assistant', content: null }
  const calls: Json[] = []
  const reply: Json = { id: 'chatcmpl-1', choices: [{ index: 0, message, finish_reason: null }] }
  for (const { id, choices, usage } of events.filter((event) => typeof event === 'object')) {
    reply.id = id ?? reply.id
    if (usage) reply.usage = usage
    const { delta = {}, finish_reason: reason } = listOf(choices)[0] ?? {}
    reply.choices[0].finish_reason = reason ?? reply.choices[0].finish_reason
    for (const name of ['content', 'reasoning_content', 'refusal']) {
      if (delta[name]) message[name] = (message[name] ?? '') + delta[name]
    }
    for (const { index = calls.length, id: of, function: called } of listOf(delta.tool_calls)) {
      calls[index] ??= { id: '', type: 'function', function: { name: '', arguments: '' } }
      calls[index].id ||= of ?? ''
      calls[index].function.name ||= called?.name ?? ''
      calls[index].function.arguments += textOf(called?.arguments)
    }
  }
  if (calls.length > 0) message.tool_calls = calls
  return reply
}

/** Some servers send arguments parsed. */
const textOf = (value: Json): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : (value ?? '')

function messageOf(events: readonly Json[]): Json {
  let reply: Json = { type: 'message', role: 'assistant' }
  const content: Json[] = []
  const inputs = new Map<number, string>()
  for (const { type, message, index, content_block: block, delta, usage } of events) {
    if (type === 'message_start') reply = { ...reply, ...message }
    if (type === 'content_block_start') content[index] = { ...block }
    if (type === 'content_block_delta') {
      const { type: _, partial_json: json, ...pieces } = delta
      if (json !== undefined) inputs.set(index, (inputs.get(index) ?? '') + json)
      else if (content[index]) {
        for (const [name, piece] of Object.entries(pieces)) {
          content[index][name] = typeof piece === 'string' ? (content[index][name] ?? '') + piece : piece
        }
      }
    }
    if (type === 'message_delta') {
      reply = { ...reply, ...delta, usage: largest(reply.usage, usage) }
    }
  }
  for (const [index, json] of inputs) if (json !== '') content[index].input = parsed(json)
  return { ...reply, content: content.filter((block) => block !== undefined) }
}

/** Figures of both events: some vendors report the input only at the beginning, and not at the end. */
function largest(usage: Json = {}, later: Json = {}): Json {
  const names = new Set([...Object.keys(usage), ...Object.keys(later)])
  return Object.fromEntries(
    [...names].map((name) => [name, Math.max(usage[name] ?? 0, later[name] ?? 0) || usage[name]]),
  )
}

function converseOf(events: readonly Json[]): Json {
  const content: Json[] = []
  const reply: Json = { output: { message: { role: 'assistant', content } } }
  const inputs = new Map<number, string>()
  for (const { contentBlockStart: start, contentBlockDelta: piece, messageStop, metadata } of events) {
    if (start) content[start.contentBlockIndex] = structuredClone(start.start)
    if (piece) {
      const { contentBlockIndex: index, delta } = piece
      content[index] ??= {}
      const block = content[index]
      if (delta.text !== undefined) block.text = (block.text ?? '') + delta.text
      if (delta.toolUse) inputs.set(index, (inputs.get(index) ?? '') + delta.toolUse.input)
      if (delta.reasoningContent) addReasoning(block, delta.reasoningContent)
    }
    if (messageStop) reply.stopReason = messageStop.stopReason
    if (metadata) Object.assign(reply, metadata)
  }
  for (const [index, json] of inputs) content[index].toolUse.input = parsed(json)
  for (const { toolUse } of content.filter(Boolean)) if (toolUse) toolUse.input ??= {}
  reply.output.message.content = content.filter(Boolean)
  return reply
}

function addReasoning(block: Json, { text, signature, redactedContent }: Json): void {
  if (redactedContent) {
    block.reasoningContent = { redactedContent }
    return
  }
  block.reasoningContent ??= { reasoningText: { text: '' } }
  const { reasoningText } = block.reasoningContent
  reasoningText.text += text ?? ''
  if (signature !== undefined) reasoningText.signature = signature
}

function contentOf(events: readonly Json[]): Json {
  const parts = events.flatMap(({ candidates }) => listOf(candidates?.[0]?.content?.parts))
  const last = events.at(-1)
  return { ...last, candidates: [{ ...last.candidates[0], content: { role: 'model', parts } }] }
}
