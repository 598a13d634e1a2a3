// The traits pass over a finished Converse request, whether a caller or a translation wrote it. A setting without effect is
// omitted, one with an equivalent is translated, and anything else that the model refuses is an error that names the field. It must
// never change anything that the model accepts.

import type { Model } from '../../contract/family'
import { asObject } from '../../lib/objects'
import { type OpenEdit, openEdit } from './edit'
import { lowestEffort, nearestEffort } from './efforts'
import { refusedPrefill, refusedSchema, refusedToolChoice } from './refusals'
import { withoutStrict } from './strict-tools'

type Fields = Record<string, unknown>

/**
 * The edit that makes a Converse request acceptable to its model. Throws 400 for anything that the model refuses and that has no
 * equivalent.
 */
export function converseEdit(request: object, model: Model): OpenEdit {
  const { traits } = model
  const { messages, toolConfig, outputConfig, inferenceConfig } = request as Fields
  const edit = openEdit()
  const { temperature, topP } = asObject(inferenceConfig)
  const isOneTooMany = !traits.bothSampling && temperature !== undefined && topP !== undefined
  const inference = [
    ...(traits.sampling === 'never' ? ['temperature', 'topP'] : []),
    ...(isOneTooMany ? ['topP'] : []),
    ...(traits.stop ? [] : ['stopSequences']),
  ]
  if (inference.length > 0) edit.inside.inferenceConfig = { drop: inference }
  const turns = Array.isArray(messages) ? messages : []
  if (traits.prefill === 'never' && endsWithAnswer(turns.at(-1)))
    throw refusedPrefill(model, turns.length - 1)
  const { toolChoice, tools } = asObject(toolConfig)
  const loose = traits.strictTools ? undefined : withoutStrict(tools)
  if (loose) edit.inside.toolConfig = { set: { tools: JSON.stringify(loose) } }
  const choice = asObject(toolChoice)
  const isForced = 'any' in choice || 'tool' in choice
  const isAlways = traits.thinking === 'always' || traits.thinksByDefault
  if (
    isForced &&
    (traits.forcedToolChoice === 'never' || (traits.forcedToolChoice === 'unless_thinking' && isAlways))
  ) {
    throw refusedToolChoice(model)
  }
  const { effort, textFormat } = asObject(outputConfig)
  if (!traits.schemas && textFormat !== undefined) throw refusedSchema(model)
  if (typeof effort !== 'string') return edit
  const meant = effortFor(effort, model)
  if (meant === effort) return edit
  if (meant !== undefined) edit.inside.outputConfig = { set: { effort: JSON.stringify(meant) } }
  else if (Object.keys(asObject(outputConfig)).length === 1) edit.drop.push('outputConfig')
  else edit.inside.outputConfig = { drop: ['effort'] }
  return edit
}

/** An effort in the model's terms; undefined if no effort is sent. No value turns thinking off. */
function effortFor(effort: string, { traits }: Model): string | undefined {
  if (traits.thinking === 'never') return undefined
  if (effort !== 'none') return nearestEffort(traits, effort)
  return traits.thinking === 'always' || traits.thinksByDefault ? lowestEffort(traits) : undefined
}

/** Whether the last turn is the beginning of the answer. */
function endsWithAnswer(turn: unknown): boolean {
  const { role, content } = asObject(turn)
  return role === 'assistant' && Array.isArray(content) && 'text' in asObject(content.at(-1))
}
