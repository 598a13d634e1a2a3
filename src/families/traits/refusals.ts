// Errors for anything that a model refuses and that has no equivalent, in the terms of the caller's own dialect. Every error must
// name the field and say what to do.

import type { Model } from '../../contract/family'
import { type GatewayError, invalidRequest } from '../../lib/errors'

/** The error for a forced call of a tool, which the model does not support. */
export function refusedToolChoice({ id, family }: Model): GatewayError {
  const isContents = family.operation === 'contents'
  const field = isContents ? 'toolConfig.functionCallingConfig.mode' : 'tool_choice'
  return invalidRequest(
    field,
    `Unsupported value: '${field}' cannot force a call of a tool with ${id}. Use '${isContents ? 'AUTO' : 'auto'}', and name the tool to call in the prompt.`,
    'unsupported_value',
  )
}

/** The fields of formats by the operation. */
const FORMATS: Readonly<Record<string, string>> = {
  messages: 'output_config.format',
  responses: 'text.format',
  contents: 'generationConfig.responseJsonSchema',
}

/** Other fields with the same meaning, within a sentence. */
const OTHER_FORMATS: Readonly<Record<string, string>> = {
  messages: ", or 'output_format',",
  contents: ", or 'responseSchema',",
}

/** The error for an answer by a JSON schema, which the model does not support. */
export function refusedSchema({ id, family }: Model): GatewayError {
  const field = FORMATS[family.operation] ?? 'response_format'
  const other = OTHER_FORMATS[family.operation] ?? ''
  return invalidRequest(
    field,
    `Unsupported value: '${field}'${other} has a JSON schema, which ${id} does not support. Leave it out, and describe the answer in the prompt.`,
    'unsupported_value',
  )
}

/** The fields of conversations by the operation. */
const TURNS: Readonly<Record<string, string>> = { responses: 'input', contents: 'contents' }

/** The error for a last message that is the beginning of the answer. `index` is that of the message. */
export function refusedPrefill({ id, family }: Model, index: number): GatewayError {
  const turns = TURNS[family.operation] ?? 'messages'
  const field = turns === 'input' ? turns : `${turns}[${index}]`
  return invalidRequest(
    field,
    `Unsupported value: '${field}' ends with a message of the assistant, which ${id} cannot continue. End with a message of the user.`,
    'unsupported_value',
  )
}

/** The error for a conversation without content. */
export function nothingToAnswer({ family }: Model): GatewayError {
  const field = TURNS[family.operation] ?? 'messages'
  return invalidRequest(
    field,
    `Invalid '${field}': there is nothing to answer. Send a message of role 'user' that is not empty.`,
  )
}
