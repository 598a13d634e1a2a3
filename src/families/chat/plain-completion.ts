// Converts a vendor's completion, or a chunk of one, to the form of the contract: content is a text, and usage is at the top. It
// must never lose anything in a list of content that is not text.

import { isObject } from '../../lib/objects'
import { partIn, usageIn } from './answer-parts'

/**
 * Types of chunks in Mistral's lists (`ContentChunk` of @mistralai/mistralai 2.7.0) that become a text and its thinking. Chunks
 * of references only name the documents of the texts.
 */
const AS_TEXT: ReadonlySet<unknown> = new Set(['text', 'thinking', 'reference', 'tool_reference'])

/** The completion or chunk in the form of the contract; the same object if it already has that form. */
export function plainCompletion(completion: object): object {
  const { choices, usage } = completion as { choices?: unknown; usage?: unknown }
  if (!Array.isArray(choices)) return completion
  const plain = choices.map(plainChoice)
  if (plain.every((choice, index) => choice === choices[index])) return completion
  const found = usageIn(completion)
  return { ...completion, choices: plain, ...(found !== usage && { usage: found }) }
}

function plainChoice(choice: unknown): unknown {
  if (!isObject(choice)) return choice
  const message = plainPart(choice.message)
  const delta = plainPart(choice.delta)
  if (message === choice.message && delta === choice.delta && !isObject(choice.usage)) return choice
  const { usage, ...rest } = choice
  return { ...rest, ...('message' in choice && { message }), ...('delta' in choice && { delta }) }
}

/** A message or a delta whose content is a text. */
function plainPart(part: unknown): unknown {
  if (!isObject(part) || !Array.isArray(part.content)) return part
  if (!part.content.every((each) => isObject(each) && AS_TEXT.has(each.type))) return part
  const { text, thinking } = partIn(part)
  return { ...part, content: text, ...(thinking !== '' && { reasoning_content: thinking }) }
}
