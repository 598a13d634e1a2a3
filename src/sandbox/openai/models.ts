// Properties of single OpenAI models: names, reasoning efforts, fields that a reasoning model refuses, context sizes.
// It must never be used before the body itself was checked.

import { asNumber, asObjects, asString, isGiven, type JsonObject } from '../json'
import { badRequest, type Fault, invalidValue, quotedList } from './fields'

const family = /^(gpt-3\.5-turbo|gpt-4|gpt-4o|gpt-4\.1|gpt-4\.5|gpt-[56](?:\.\d)?|o1|o3|o4)(?:-[a-z0-9-]+)?$/

export const listedModels = [
  'gpt-4.1',
  'gpt-4.1-mini',
  'gpt-4o',
  'gpt-4o-mini',
  'gpt-5',
  'gpt-5-mini',
  'gpt-5-nano',
  'gpt-5.1',
  'gpt-5.4',
  'gpt-5.4-mini',
  'gpt-5.6-luna',
  'gpt-6-astra',
  'gpt-6-luna',
  'o3',
  'o4-mini',
  'text-embedding-3-large',
  'text-embedding-3-small',
  'text-embedding-ada-002',
  'gpt-image-2',
  'gpt-image-2.5-flare',
  'gpt-image-2.5-sunburst',
  'whisper-1',
  'gpt-transcribe',
  'gpt-4o-transcribe',
  'gpt-4o-mini-transcribe',
  'gpt-4o-transcribe-diarize',
]

/** Whether a model stands for any server of this form, which accepts unknown fields. */
export function isLenient(model: string): boolean {
  return model.startsWith('local-')
}

export function isChatModel(model: string): boolean {
  return isLenient(model) || family.test(model)
}

/** The dated name that the real service puts into its replies. */
export function datedName(model: string): string {
  return isLenient(model) || /\d{4}-\d\d-\d\d$/.test(model) ? model : `${model}-2025-08-07`
}

/** The version of a GPT model as a number, such as 5.6; 0 for any other model. */
function versionOf(model: string): number {
  return Number(/^gpt-(\d(?:\.\d)?)/.exec(model)?.[1] ?? 0)
}

/**
 * Supported efforts, the default first; undefined for a model that does not reason. Of GPT-6 Astra:
 * UKGovernmentBEIS/inspect_ai#5254, probed on 2026-09-04.
 */
function effortsOf(model: string): readonly string[] | undefined {
  if (/^o[134]/.test(model)) return ['medium', 'low', 'high']
  const version = versionOf(model)
  if (version < 5) return undefined
  if (version === 5) return ['medium', 'minimal', 'low', 'high']
  if (version === 5.1) return ['none', 'low', 'medium', 'high']
  if (version < 5.5) return ['none', 'low', 'medium', 'high', 'xhigh']
  const efforts = ['medium', 'low', 'high', 'xhigh']
  return model.startsWith('gpt-6-astra') ? efforts : [...efforts, 'none']
}

/**
 * Refuses function tools beside an effort, which chat completions do since GPT-5.4. Words and rule: openclaw/openclaw#76727
 * (2026-05-03), BerriAI/litellm#34569 (2026-07-24), onyx-dot-app/onyx#15008 (2026-09-23).
 */
export function findToolFault(model: string, body: JsonObject): Fault | undefined {
  const version = versionOf(model)
  if (version < 5.4 || effortIn(model, body) === 'none') return undefined
  if (!asObjects(body.tools).some(({ type }) => type === 'function')) return undefined
  const instead =
    version < 5.5
      ? 'Please use /v1/responses instead.'
      : "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
  return badRequest(
    `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. ${instead}`,
    'reasoning_effort',
    null,
  )
}

const effortOrder = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
const reasoningByEffort = new Map([
  ['none', 0],
  ['minimal', 4],
  ['low', 8],
  ['medium', 16],
  ['high', 32],
  ['xhigh', 64],
])

export function reasoningTokens(model: string, body: JsonObject): number {
  const effort = effortsOf(model) ? effortIn(model, body) : 'none'
  return reasoningByEffort.get(effort) ?? 0
}

export function contextTokensMax(model: string): number {
  return /^gpt-6/.test(model)
    ? 1_050_000
    : /^gpt-5/.test(model)
      ? 400_000
      : /^gpt-4\.1/.test(model)
        ? 1_047_576
        : 128_000
}

export function findModelFault(model: string, body: JsonObject): Fault | undefined {
  const efforts = effortsOf(model)
  if (!efforts) {
    return isGiven(body.reasoning_effort) ? unsupportedParameter('reasoning_effort') : undefined
  }
  const effort = effortIn(model, body)
  if (!efforts.includes(effort)) {
    const ordered = effortOrder.filter((known) => efforts.includes(known))
    // A word that no model knows is refused first, then one that this model does not support.
    if (!effortOrder.includes(effort)) return invalidValue('reasoning_effort', effort, effortOrder)
    const message = `Unsupported value: 'reasoning_effort' does not support '${effort}' with this model. Supported values are: ${quotedList(ordered)}.`
    return badRequest(message, 'reasoning_effort', 'unsupported_value')
  }
  return findReasoningFault(model, body, effort !== 'none')
}

function effortIn(model: string, body: JsonObject): string {
  return asString(body.reasoning_effort) ?? effortsOf(model)?.[0] ?? 'none'
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
    if (isGiven(body[name]) && versionOf(model) >= 5) {
      return badRequest(`Unknown parameter: '${name}'.`, name, 'unknown_parameter')
    }
  }
  for (const name of ['stop', 'logit_bias', 'prediction']) {
    if (isGiven(body[name])) return unsupportedParameter(name)
  }
  const choices = asNumber(body.n) ?? 1
  if (choices > 8) {
    const message = `Invalid 'n': integer above maximum value. Expected a value <= 8, but got ${choices} instead.`
    return badRequest(message, 'n', 'integer_above_max_value')
  }
  if (!reasons) return undefined
  for (const name of ['presence_penalty', 'frequency_penalty']) {
    if (isGiven(body[name])) return unsupportedParameter(name)
  }
  if (body.logprobs === true) return unsupportedParameter('logprobs')
  for (const name of ['temperature', 'top_p']) {
    if (isGiven(body[name]) && body[name] !== 1) {
      const message = `Unsupported value: '${name}' does not support ${String(body[name])} with this model. Only the default (1) value is supported.`
      return badRequest(message, name, 'unsupported_value')
    }
  }
  return undefined
}
