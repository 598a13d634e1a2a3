// The traits pass over a finished messages request, whether a caller or a translation wrote it. A setting without effect is
// omitted, one with an equivalent is translated, and anything else that the model refuses is an error that names the field. It must
// never change anything that the model accepts.

import type { Model } from '../../contract/family'
import type { Traits } from '../../contract/traits'
import { asObject, isObject } from '../../lib/objects'
import { type OpenEdit, openEdit } from './edit'
import { budgetOfEffort, checkEffort, effortOfBudget, lowestEffort, nearestEffort } from './efforts'
import { ignoredInMessages } from './ignored'
import { refusedPrefill, refusedSchema, refusedToolChoice } from './refusals'
import { withoutStrict } from './strict-tools'

type Fields = Record<string, unknown>

/** The members of a messages request that the pass reads. */
interface Request {
  max_tokens: number
  messages: readonly { role: string; content: unknown }[]
  thinking?: unknown
  tool_choice?: unknown
  tools?: unknown
  output_config?: unknown
  /** The older name of `output_config.format`. */
  output_format?: unknown
}

/** How much the model should think. */
interface Thinking {
  /** The field `thinking`; undefined leaves it to the model. */
  thinking: Fields | undefined
  /** `output_config.effort`; undefined leaves it to the model. */
  effort: string | undefined
}

const OFF = { type: 'disabled' }
const MIN_BUDGET = 1_024
/** The share of the limit that thinking may use, so that there is room for the answer. */
const MAX_SHARE_OF_LIMIT = 0.75

/**
 * The edit that makes a messages request acceptable to its model. Throws 400 for anything that the model refuses and that has no
 * equivalent. The request must already contain a lowered limit of output.
 */
export function messagesEdit(request: Request, model: Model): OpenEdit {
  const traits = traitsFor(model)
  const edit = openEdit(ignoredInMessages(traits))
  const isPrefilled = endsWithAnswer(request)
  if (isPrefilled && traits.prefill === 'never') throw refusedPrefill(model, request.messages.length - 1)
  const config = asObject(request.output_config)
  fitSchemas(edit, request, model)
  const asked: Thinking = {
    thinking: isObject(request.thinking) ? request.thinking : undefined,
    effort: typeof config.effort === 'string' ? config.effort : undefined,
  }
  const wanted = withoutConflict(thinkingFor(request, asked, model, traits), request, model, traits)
  if (wanted.thinking !== asked.thinking) {
    if (wanted.thinking) edit.set.thinking = JSON.stringify(wanted.thinking)
    else edit.drop.push('thinking')
  }
  if (wanted.effort !== asked.effort) {
    if (wanted.effort !== undefined)
      edit.inside.output_config = { set: { effort: JSON.stringify(wanted.effort) } }
    else if (Object.keys(config).length === 1) edit.drop.push('output_config')
    else edit.inside.output_config = { drop: ['effort'] }
  }
  if (traits.sampling === 'unless_thinking' && thinks(wanted, traits)) edit.drop.push(...sampled(request))
  const { temperature, top_p: topP } = request as { temperature?: unknown; top_p?: unknown }
  if (!traits.bothSampling && typeof temperature === 'number' && typeof topP === 'number') {
    edit.drop.push('top_p')
  }
  return edit
}

/** Omits `strict` of tools. Throws 400 for an answer by a schema. */
function fitSchemas(edit: OpenEdit, request: Request, model: Model): void {
  const { schemas, strictTools } = model.traits
  const { output_config: config, output_format: older, tools } = request
  if (!schemas && (isObject(asObject(config).format) || isObject(older))) throw refusedSchema(model)
  const loose = strictTools ? undefined : withoutStrict(tools)
  if (loose) edit.set.tools = JSON.stringify(loose)
}

/** Sampling fields with a value other than the default, which is accepted in every request. */
function sampled(request: object): string[] {
  return ['temperature', 'top_p', 'top_k'].filter(
    (field) => ![undefined, null, 1].includes((request as Fields)[field] as null),
  )
}

/** For an unknown model, translated requests have the form that every vendor of messages accepts. */
const CAUTIOUS: Partial<Traits> = {
  thinkingForms: ['budget'],
  sampling: 'unless_thinking',
  forcedToolChoice: 'unless_thinking',
}

function traitsFor({ traits, family }: Model): Traits {
  return traits.thinking === 'never' && family.operation !== 'messages' ? { ...traits, ...CAUTIOUS } : traits
}

function thinkingFor(request: Request, asked: Thinking, model: Model, traits: Traits): Thinking {
  const { thinking, effort } = asked
  const { thinkingForms: forms, efforts } = traits
  // For an unknown model, the caller's own form.
  if (traits.thinking === 'never' && traits === model.traits) return asked
  if (thinking?.type === 'disabled') return turnedOff(asked, traits)
  const lacksAdaptive = !forms.includes('adaptive')
  if (thinking?.type === 'adaptive' && lacksAdaptive) return budgeted(request, asked)
  if (thinking?.type === 'enabled' && !lacksAdaptive && !forms.includes('budget')) {
    const { type: _, budget_tokens: budget, ...rest } = thinking
    const meant =
      effort ?? (typeof budget === 'number' ? nearestEffort(traits, effortOfBudget(budget)) : undefined)
    return { thinking: { type: 'adaptive', ...rest }, effort: meant }
  }
  if (effort === undefined || efforts === undefined || efforts.includes(effort)) return asked
  if (lacksAdaptive) return thinking ? { thinking, effort: undefined } : budgeted(request, asked)
  if (model.family.operation === 'messages') checkEffort(model, effort, 'output_config.effort')
  return { thinking, effort: nearestEffort(traits, effort) }
}

/** Without thinking, or with the minimum of the model. */
function turnedOff({ thinking, effort }: Thinking, traits: Traits): Thinking {
  if (traits.thinking === 'always') return { thinking: undefined, effort: lowestEffort(traits) ?? effort }
  const { efforts, offEfforts = efforts } = traits
  return { thinking, effort: effort && nearestEffort({ efforts: offEfforts }, effort) }
}

/** An effort as a number of tokens; no thinking if there is no room for it, or if earlier calls of tools lack theirs. */
function budgeted(request: Request, { thinking, effort }: Thinking): Thinking {
  const budget = Math.min(budgetOfEffort(effort), Math.floor(request.max_tokens * MAX_SHARE_OF_LIMIT))
  if (budget < MIN_BUDGET || hasLostThinking(request)) return { thinking: OFF, effort: undefined }
  const { display } = thinking ?? {}
  const shown = display !== undefined && { display }
  return { thinking: { type: 'enabled', budget_tokens: budget, ...shown }, effort: undefined }
}

/** Thinking is turned off if the rest of the request rules it out: a forced call or a prefilled answer takes precedence. */
function withoutConflict(wanted: Thinking, request: Request, model: Model, traits: Traits): Thinking {
  const isForced = FORCED.has(asObject(request.tool_choice).type)
  if (isForced && traits.forcedToolChoice === 'never') throw refusedToolChoice(model)
  const isRuledOut =
    (isForced && traits.forcedToolChoice === 'unless_thinking') ||
    (traits.prefill === 'unless_thinking' && endsWithAnswer(request))
  if (!isRuledOut || !thinks(wanted, traits)) return wanted
  if (traits.thinking === 'always') throw refusedToolChoice(model)
  return turnedOff({ thinking: OFF, effort: wanted.effort }, traits)
}

const FORCED: ReadonlySet<unknown> = new Set(['any', 'tool'])

function thinks({ thinking }: Thinking, traits: Traits): boolean {
  if (thinking) return thinking.type !== 'disabled'
  return traits.thinking === 'always' || (traits.thinking === 'optional' && traits.thinksByDefault)
}

/** Whether the last message is the beginning of the answer, and not a turn that a tool of the vendor interrupted. */
function endsWithAnswer({ messages }: Request): boolean {
  const last = messages.at(-1)
  if (last?.role !== 'assistant') return false
  return (
    typeof last.content === 'string' ||
    (Array.isArray(last.content) && asObject(last.content.at(-1)).type === 'text')
  )
}

/** Whether the last turn of the assistant calls tools without the thinking that led to the calls. */
function hasLostThinking({ messages }: Request): boolean {
  const content = messages.findLast(({ role }) => role === 'assistant')?.content
  if (!Array.isArray(content) || !content.some((block) => asObject(block).type === 'tool_use')) return false
  const first = asObject(content[0]).type
  return first !== 'thinking' && first !== 'redacted_thinking'
}
