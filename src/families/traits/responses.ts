// The traits pass over a finished responses request, whether a caller or a translation wrote it. A setting without effect is
// omitted, one with an equivalent is translated, and anything else that the model refuses is an error that names the field. It must
// never change anything that the model accepts.

import type { Model } from '../../contract/family'
import { asObject } from '../../lib/objects'
import { type OpenEdit, openEdit } from './edit'
import { checkOwnEffort, nearestEffort, takesParallelCalls } from './efforts'
import { ignoredInResponses } from './ignored'
import { refusedSchema, refusedToolChoice } from './refusals'
import { withoutStrict } from './strict-tools'

type Fields = Record<string, unknown>

/** Values of `include` for probabilities, and for reasoning that can be sent back. */
const PROBABILITIES = 'message.output_text.logprobs'
const SEALED_REASONING = 'reasoning.encrypted_content'

/**
 * The edit that makes a request of responses acceptable to its model. Throws 400 for anything that the model refuses and that has
 * no equivalent.
 */
export function responsesEdit(request: object, model: Model): OpenEdit {
  const { traits, family } = model
  const { include, tool_choice: choice, reasoning, text, tools } = request as Fields
  const edit = openEdit(ignoredInResponses(traits))
  const loose = traits.strictTools ? undefined : withoutStrict(tools)
  if (loose) edit.set.tools = JSON.stringify(loose)
  if (!traits.schemas && asObject(asObject(text).format).type === 'json_schema') throw refusedSchema(model)
  const isRefused = (word: unknown) =>
    (word === PROBABILITIES && !traits.logprobs) || (word === SEALED_REASONING && traits.thinking === 'never')
  if (Array.isArray(include) && include.some(isRefused)) {
    const rest = include.filter((word) => !isRefused(word))
    if (rest.length > 0 || family.operation === 'responses') edit.set.include = JSON.stringify(rest)
    else edit.drop.push('include')
  }
  if (traits.forcedToolChoice === 'never' && isForced(choice)) throw refusedToolChoice(model)
  if (!traits.verbosity && asObject(text).verbosity !== undefined) {
    edit.inside.text = { drop: ['verbosity'] }
  }
  fitEffort(edit, reasoning, model)
  const { effort } = asObject(reasoning)
  if (!takesParallelCalls(traits, effort, edit.inside.reasoning?.set?.effort))
    edit.drop.push('parallel_tool_calls')
  return edit
}

/** An effort in the model's terms, if a translation wrote it. One that a caller wrote must be supported by the model. */
function fitEffort(edit: OpenEdit, reasoning: unknown, model: Model): void {
  const { traits, family } = model
  if (family.operation === 'responses') {
    checkOwnEffort(model, asObject(reasoning).effort, 'reasoning.effort')
    return
  }
  if (reasoning === undefined) return
  if (traits.thinking === 'never') {
    edit.drop.push('reasoning')
    return
  }
  const { effort } = asObject(reasoning)
  if (typeof effort !== 'string') return
  const meant = nearestEffort(traits, effort)
  if (meant === undefined) edit.inside.reasoning = { drop: ['effort'] }
  else if (meant !== effort) edit.inside.reasoning = { set: { effort: JSON.stringify(meant) } }
}

/** Whether a call of a tool is forced. */
function isForced(choice: unknown): boolean {
  if (typeof choice === 'string') return choice === 'required'
  const { type, mode } = asObject(choice)
  return type === 'allowed_tools' ? mode === 'required' : type !== undefined
}
