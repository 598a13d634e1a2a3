// The words in a caller's answer: in the events of a stream of any dialect, or in a whole answer.

import type { Json } from '../scenario'
import { listOf, type Run, Words } from './words'

/** The words in a caller's events, those of one candidate. */
export function wordsInEvents(events: readonly Json[], candidate = 0): Run[] {
  const words = new Words()
  for (const { data } of events) {
    if (typeof data !== 'object' || data === null) continue
    if (data.choices)
      addDelta(words, listOf(data.choices).find(({ index }) => index === candidate)?.delta ?? {})
    else if (data.candidates)
      addParts(
        words,
        data.candidates.find(({ index = 0 }: Json) => index === candidate),
      )
    else if (/^content_block/.test(data.type)) addBlockEvent(words, data)
    else addItemEvent(words, data)
  }
  return words.all
}

/** The words in a caller's whole answer. */
export function wordsInReply(reply: Json, candidate = 0): Run[] {
  const words = new Words()
  if (reply.choices) {
    const { tool_calls, reasoning_content, ...texts } = reply.choices[candidate].message
    addDelta(words, { reasoning_content })
    addDelta(words, { ...texts, tool_calls: listOf(tool_calls).map((call, index) => ({ ...call, index })) })
  } else if (reply.candidates) addParts(words, reply.candidates[candidate])
  else if (reply.output)
    for (const [place, item] of listOf(reply.output).entries()) addItem(words, place, item)
  else for (const [place, block] of listOf(reply.content).entries()) addBlock(words, place, block)
  return words.all
}

function addDelta(
  words: Words,
  { content, refusal, reasoning_content: thought, tool_calls: calls }: Json,
): void {
  words.say('thinking', thought)
  words.say('answer', content)
  words.say('answer', refusal)
  for (const { index, function: called, custom } of listOf(calls)) {
    const { name, arguments: text, input } = called ?? custom
    if (name === undefined) words.piece(index, text ?? input)
    else words.call(index, name, text ?? input)
  }
}

function addParts(words: Words, candidate: Json): void {
  for (const { text, thought, functionCall: called } of listOf(candidate?.content?.parts)) {
    words.say(thought ? 'thinking' : 'answer', text)
    if (called) words.call({}, called.name, called.args)
  }
}

function addBlockEvent(words: Words, { type, index, content_block: block, delta }: Json): void {
  if (type === 'content_block_start') addBlock(words, index, { ...block, input: '' })
  if (type !== 'content_block_delta') return
  words.say('answer', delta.text)
  words.say('thinking', delta.thinking)
  words.piece(index, delta.partial_json)
}

function addBlock(words: Words, place: unknown, { type, text, thinking, name, input }: Json): void {
  words.say('answer', text)
  words.say('thinking', thinking)
  if (type === 'tool_use') words.call(place, name, input)
}

function addItemEvent(words: Words, { type, output_index: place, item, delta }: Json): void {
  if (type === 'response.output_item.added' && /_call$/.test(item.type)) {
    words.call(place, item.name, '')
  }
  if (type === 'response.output_text.delta' || type === 'response.refusal.delta') words.say('answer', delta)
  if (/^response\.reasoning(?:_summary)?_text\.delta$/.test(type)) words.say('thinking', delta)
  if (/(?:arguments|input)\.delta$/.test(type ?? '')) words.piece(place, delta)
}

function addItem(
  words: Words,
  place: unknown,
  { type, name, content, summary, input, arguments: text }: Json,
): void {
  for (const part of listOf(summary)) words.say('thinking', part.text)
  for (const part of listOf(content)) words.say('answer', part.text ?? part.refusal)
  if (/_call$/.test(type)) words.call(place, name, text ?? input)
}
