// Errors for what a model refuses and nothing else can say, in the words of the caller's own dialect. Every error must name the
// field and say what to do.

import type { Model } from '../../contract/family'
import { type GatewayError, invalidRequest } from '../../lib/errors'

/** A forced call of a tool, which the model cannot be asked for. */
export function refusedToolChoice({ id }: Model): GatewayError {
  return invalidRequest(
    'tool_choice',
    `Unsupported value: 'tool_choice' cannot force a call of a tool with ${id}. Use 'auto', and say in the prompt which tool to call.`,
    'unsupported_value',
  )
}

/** The fields of formats by the operation. */
const FORMATS: Readonly<Record<string, string>> = {
  messages: 'output_config.format',
  responses: 'text.format',
}

/** An answer by a JSON schema, which the model does not make. */
export function refusedSchema({ id, family }: Model): GatewayError {
  const field = FORMATS[family.operation] ?? 'response_format'
  const older = family.operation === 'messages' ? ", or 'output_format'," : ''
  return invalidRequest(
    field,
    `Unsupported value: '${field}'${older} has a JSON schema, and ${id} does not answer by one. Leave it out, and describe the answer in the prompt.`,
    'unsupported_value',
  )
}

/** A last message that is the beginning of the answer. `index` counts the messages. */
export function refusedPrefill({ id, family }: Model, index: number): GatewayError {
  const field = family.operation === 'responses' ? 'input' : `messages[${index}]`
  return invalidRequest(
    field,
    `Unsupported value: '${field}' ends with a message of the assistant, which ${id} cannot continue. End with a message of the user.`,
    'unsupported_value',
  )
}

/** The fields of conversations by the operation. */
const TURNS: Readonly<Record<string, string>> = { responses: 'input', contents: 'contents' }

/** A conversation in which nobody says anything. */
export function nothingToAnswer({ family }: Model): GatewayError {
  const field = TURNS[family.operation] ?? 'messages'
  return invalidRequest(
    field,
    `Invalid '${field}': there is nothing to answer. Send a message of role 'user' that is not empty.`,
  )
}
