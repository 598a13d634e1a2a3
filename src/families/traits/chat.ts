// The traits pass over a finished chat completion request, whether a caller or a translation wrote it. A setting without effect is
// omitted, one with an equivalent is translated, and anything else that the model refuses is an error that names the field. It must
// never change anything that the model accepts.

import type { Model } from '../../contract/family'
import type { Traits } from '../../contract/traits'
import { asObject } from '../../lib/objects'
import { type OpenEdit, openEdit } from './edit'
import { canBeOff, checkOwnEffort, nearestEffort, takesParallelCalls } from './efforts'
import { ignoredInChat } from './ignored'
import { refusedPrefill, refusedSchema, refusedToolChoice } from './refusals'
import { withoutStrict } from './strict-tools'

type Fields = Record<string, unknown>

/**
 * The edit that makes a chat completion request acceptable to its model. Throws 400 for anything that the model refuses and that
 * has no equivalent. The request must already contain a lowered limit of output.
 */
export function chatEdit(request: object, model: Model): OpenEdit {
  const { traits } = model
  const {
    max_tokens: older,
    max_completion_tokens: limit,
    tool_choice: choice,
    messages,
    tools,
  } = request as Fields
  const edit = openEdit(ignoredInChat(traits))
  if (!traits.maxTokens) {
    edit.drop.push('max_tokens')
    if (older && !limit) edit.set.max_completion_tokens = JSON.stringify(older)
  }
  const last = Array.isArray(messages) ? asObject(messages.at(-1)) : {}
  if (last.role === 'assistant' && !('tool_calls' in last) && traits.prefill === 'never') {
    throw refusedPrefill(model, (messages as unknown[]).length - 1)
  }
  // Models that always think accept the switch in one position only.
  const isAlwaysOn = traits.thinking === 'always' && traits.thinkingForms.includes('switch')
  if (isAlwaysOn && asObject((request as Fields).thinking).type === 'disabled') edit.drop.push('thinking')
  wordEffort(edit, request, model)
  const { reasoning_effort: effort } = request as Fields
  if (!takesParallelCalls(traits, effort, edit.set.reasoning_effort)) edit.drop.push('parallel_tool_calls')
  const loose = traits.strictTools ? undefined : withoutStrict(tools)
  if (loose) edit.set.tools = JSON.stringify(loose)
  if (!traits.schemas && asObject((request as Fields).response_format).type === 'json_schema') {
    throw refusedSchema(model)
  }
  if (traits.forcedToolChoice === 'any_tool') nameNone(edit, request, model)
  else if (traits.forcedToolChoice !== 'always' && isForced(choice)) {
    const isOff = traits.forcedToolChoice === 'unless_thinking' && turnOff(edit, request, traits)
    if (!isOff) throw refusedToolChoice(model)
  }
  if (traits.sampling === 'unless_thinking' && thinks(request, traits)) {
    edit.drop.push('temperature', 'top_p', 'top_k')
  }
  return edit
}

/** An effort in the model's terms, if a translation wrote it. One that a caller wrote must be supported by the model. */
function wordEffort(edit: OpenEdit, request: object, model: Model): void {
  const { traits, family } = model
  const { reasoning_effort: effort, thinking: asked } = request as Fields
  if (typeof effort !== 'string') return
  const { thinking, efforts, thinkingForms: forms } = traits
  const isForm = !forms.includes('effort')
  const isOff = effort === 'none' && isForm && canBeOff(traits)
  if (family.operation === 'chat' && !isOff) {
    checkOwnEffort(model, effort, 'reasoning_effort')
    // If two fields mean the same, the model's own wins.
    if (thinking !== 'never' && asObject(asked).type !== undefined) {
      if (forms[0] === 'effort') edit.drop.push('thinking')
      else if (efforts === undefined) edit.drop.push('reasoning_effort')
    }
    return
  }
  if (thinking === 'never' || (isForm && efforts === undefined && effort !== 'none')) {
    edit.drop.push('reasoning_effort')
    return
  }
  if (isOff) {
    setOff(edit, traits)
    return
  }
  const meant = nearestEffort(traits, effort)
  if (meant === undefined) edit.drop.push('reasoning_effort')
  else if (meant !== effort) edit.set.reasoning_effort = JSON.stringify(meant)
}

/** A forced call of a certain tool becomes one of any tool, if there is no other. Throws 400 if there is another. */
function nameNone(edit: OpenEdit, request: object, model: Model): void {
  const { tool_choice: choice, tools } = request as Fields
  if (!isForced(choice) || choice === 'required') return
  const isOnly = asObject(choice).type === 'function' && Array.isArray(tools) && tools.length === 1
  if (!isOnly) throw refusedToolChoice(model)
  edit.set.tool_choice = '"required"'
}

/** Turns thinking off for this request; false if that is impossible. */
function turnOff(edit: OpenEdit, request: object, traits: Traits): boolean {
  if (!thinks(request, traits)) return true
  if (!canBeOff(traits)) return false
  setOff(edit, traits)
  return true
}

function setOff(edit: OpenEdit, { thinkingForms: [form] }: Traits): void {
  if (form === 'effort') {
    edit.set.reasoning_effort = '"none"'
    return
  }
  delete edit.set.reasoning_effort
  edit.drop.push('reasoning_effort')
  if (form === 'enable_thinking') {
    edit.set.enable_thinking = 'false'
    edit.drop.push('thinking_budget')
  } else edit.set.thinking = '{"type":"disabled"}'
}

/** Whether the model thinks in this request, as far as the request shows. */
function thinks(request: object, { thinking, thinksByDefault, thinkingForms: forms }: Traits): boolean {
  const { reasoning_effort: effort, thinking: asked, enable_thinking: enabled } = request as Fields
  if (thinking !== 'optional') return thinking === 'always'
  if (effort === 'none') return false
  if (forms.includes('switch') && asObject(asked).type !== undefined)
    return asObject(asked).type !== 'disabled'
  if (forms.includes('enable_thinking') && typeof enabled === 'boolean') return enabled
  return typeof effort === 'string' || thinksByDefault
}

/** Whether a call of a tool is forced. */
function isForced(choice: unknown): boolean {
  if (typeof choice === 'string') return choice === 'required'
  const { type, allowed_tools: allowed } = asObject(choice)
  return type === 'allowed_tools' ? asObject(allowed).mode === 'required' : type !== undefined
}
