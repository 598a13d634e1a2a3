// The refusals of single OpenAI models for a body whose fields are known, in the recorded words of the real service
// (test/vendors/openai). It must never be used before the body itself was checked.

import { asArray, asNumber, asObject, asObjects, asString, isGiven, type JsonObject } from '../json'
import { badRequest, type Fault, invalidValue, quotedList } from './fields'
import { effortIn, effortsOf } from './models'

const KNOWN_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
const LOGPROBS = 'message.output_text.logprobs'

/** The first fault of a chat completion for its model. */
export function findModelFault(model: string, body: JsonObject): Fault | undefined {
  const efforts = effortsOf(model, 'chat')
  if (!efforts) return findPlainFault(model, body)
  const effort = effortIn(model, body.reasoning_effort)
  if (!efforts.includes(effort)) {
    // A value that no model knows is refused first, then one that this model does not support.
    if (!KNOWN_EFFORTS.includes(effort)) return invalidValue('reasoning_effort', effort, KNOWN_EFFORTS)
    const message = `Unsupported value: 'reasoning_effort' does not support '${effort}' with this model. Supported values are: ${quotedList(efforts)}.`
    return badRequest(message, 'reasoning_effort', 'unsupported_value')
  }
  return findReasoningFault(model, body, effort !== 'none') ?? findToolFault(model, body)
}

/** The first fault of a response for its model. */
export function findResponseSettingFault(model: string, body: JsonObject): Fault | undefined {
  const given = asString(asObject(body.reasoning)?.effort)
  const efforts = effortsOf(model, 'responses')
  if (!efforts) {
    return given === undefined
      ? findVerbosityFault(model, asObject(body.text)?.verbosity, 'text.verbosity')
      : unsupportedParameter('reasoning.effort')
  }
  if (given !== undefined && !efforts.includes(given)) {
    if (!KNOWN_EFFORTS.includes(given)) return invalidValue('reasoning.effort', given, KNOWN_EFFORTS)
    const message = `Unsupported value: '${given}' is not supported with the '${model}' model. Supported values are: ${quotedList(efforts)}.`
    return badRequest(message, 'reasoning.effort', 'unsupported_value')
  }
  const wordy = findVerbosityFault(model, asObject(body.text)?.verbosity, 'text.verbosity')
  if (wordy) return wordy
  if (effortIn(model, given) === 'none') return undefined
  const refused = ['temperature', 'top_p', 'top_logprobs'].find((name) => isGiven(body[name]))
  if (refused) return { ...unsupportedParameter(refused), code: null }
  if (asArray(body.include)?.includes(LOGPROBS)) return { ...unsupportedParameter('include'), code: null }
  const search = asObjects(body.tools).find(({ type }) => asString(type)?.startsWith('web_search'))
  return search && given === 'minimal'
    ? badRequest(
        `The following tools cannot be used with reasoning.effort 'minimal': ${String(search.type)}.`,
        'tools',
        null,
      )
    : undefined
}

function findPlainFault(model: string, body: JsonObject): Fault | undefined {
  if (isGiven(body.reasoning_effort)) {
    return badRequest('Unrecognized request argument supplied: reasoning_effort', null, null)
  }
  return findVerbosityFault(model, body.verbosity, 'verbosity')
}

function findVerbosityFault(model: string, value: unknown, place: string): Fault | undefined {
  const isNamed = /^gpt-5(-chat|\.1-codex-max)/.test(model)
  if (!(isNamed || model.startsWith('gpt-4')) || !isGiven(value) || value === 'medium') return undefined
  const what = isNamed
    ? `'${value}' is not supported with the '${model}' model`
    : `'${place}' does not support '${value}' with this model`
  const message = `Unsupported value: ${what}. Supported values are: 'medium'.`
  return badRequest(message, place, 'unsupported_value')
}

function unsupportedParameter(name: string, hint = ''): Fault {
  const message = `Unsupported parameter: '${name}' is not supported with this model.${hint}`
  return badRequest(message, name, 'unsupported_parameter')
}

function findReasoningFault(model: string, body: JsonObject, reasons: boolean): Fault | undefined {
  if (isGiven(body.max_tokens)) {
    return unsupportedParameter('max_tokens', " Use 'max_completion_tokens' instead.")
  }
  for (const name of ['modalities', 'audio']) {
    if (isGiven(body[name]) && /^gpt-[5-9]/.test(model)) {
      return badRequest(`Unknown parameter: '${name}'.`, name, 'unknown_parameter')
    }
  }
  const lacking = ['stop', 'logit_bias', 'prediction', ...(/^o\d/.test(model) ? ['parallel_tool_calls'] : [])]
  for (const name of lacking) {
    if (isGiven(body[name])) return unsupportedParameter(name)
  }
  const choices = asNumber(body.n) ?? 1
  if (choices > 8) {
    const message = `Invalid 'n': integer above maximum value. Expected a value <= 8, but got ${choices} instead.`
    return badRequest(message, 'n', 'integer_above_max_value')
  }
  if (!reasons) return undefined
  for (const name of ['presence_penalty', 'frequency_penalty', 'top_p']) {
    if (isGiven(body[name])) return unsupportedParameter(name)
  }
  if (body.logprobs === true) {
    return {
      ...badRequest('You are not allowed to request logprobs from this model', null, null),
      status: 403,
    }
  }
  const { temperature } = body
  if (!isGiven(temperature) || temperature === 1) return undefined
  const message = `Unsupported value: 'temperature' does not support ${String(temperature)} with this model. Only the default (1) value is supported.`
  return badRequest(message, 'temperature', 'unsupported_value')
}

/** Refuses function tools together with an effort, which chat completions do since GPT-5.2. */
function findToolFault(model: string, body: JsonObject): Fault | undefined {
  const isOlder = /^gpt-5\.[2-5]/.test(model)
  if (!isOlder && !/^gpt-(5\.[6-9]|6)/.test(model)) return undefined
  if (effortIn(model, body.reasoning_effort) === 'none') return undefined
  if (!asObjects(body.tools).some(({ type }) => type === 'function')) return undefined
  const instead = isOlder
    ? 'Please use /v1/responses instead.'
    : "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
  return badRequest(
    `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. ${instead}`,
    'reasoning_effort',
    null,
  )
}
