// The traits pass over a finished generateContent request, whether a caller or a translation wrote it. A setting without effect is
// omitted, one with an equivalent is translated, and anything else that the model refuses is an error that names the field. It must
// never change anything that the model accepts.
//
// Gemini 2.5 accepts a number of tokens for thinking and refuses levels (RooCodeInc/Roo-Code#10700); later models accept levels,
// which https://ai.google.dev/gemini-api/docs/thinking prefers there, and none accepts both: "You can only set only one of thinking
// budget and thinking level." (vercel/ai#22372, recorded 2026-10-09).

import type { Model } from '../../contract/family'
import type { Traits } from '../../contract/traits'
import { asObject } from '../../lib/objects'
import { nameOf } from '../sealed-reasoning'
import { type OpenEdit, openEdit } from './edit'
import { effortOfBudget, nearestEffort } from './efforts'
import { refusedPrefill, refusedSchema, refusedToolChoice } from './refusals'

type Fields = Record<string, unknown>

/** The generation before thinking levels, and before files in results of calls. */
const OLDER_MODELS = /^gemini-[12](?!\d)/
/**
 * Minimum and maximum of thinking tokens by model: "The thinking budget (52428) is invalid." (RooCodeInc/Roo-Code#4399). The ranges
 * are those of Google's page on thinking.
 */
const RANGES: readonly [models: RegExp, least: number, most: number][] = [
  [/^gemini-2\.5-pro/, 128, 32_768],
  [/^gemini-2\.5-flash-lite/, 512, 24_576],
  [OLDER_MODELS, 1, 24_576],
]
/** Thinking tokens per effort, as https://ai.google.dev/gemini-api/docs/openai translates them. */
const BUDGETS: Readonly<Record<string, number>> = { minimal: 1_024, low: 1_024, medium: 8_192 }
const HIGH_BUDGET = 24_576
/**
 * Models that accept the lowest level. Others answer "Thinking level MINIMAL is not supported for this model. Please retry with
 * other thinking level." (fixtures of vercel/ai of gemini-3.7-flash and gemini-3.1-pro-preview, 2026).
 */
const MINIMAL_MODELS = /^gemini-3(?:\.\d+)?-flash-lite|^gemini-3(?:\.[0-6])?-flash(?!\w)/
/** Models that accept only the lowest and the highest of the other levels (discuss.ai.google.dev/t/112648). */
const LOW_OR_HIGH_MODELS = /^gemini-3-pro(?!\w)/
const LEVELS = ['minimal', 'low', 'medium', 'high']

/** Whether a model is older than Gemini 3. */
export function isOlderGemini(model: Pick<Model, 'upstreamModel'>): boolean {
  return OLDER_MODELS.test(nameOf(model))
}

/**
 * The edit that makes a request of generateContent acceptable to its model. Throws 400 for anything that the model refuses and that
 * has no equivalent.
 */
export function geminiEdit(request: object, model: Model): OpenEdit {
  const { traits } = model
  const { contents, toolConfig, generationConfig } = request as Fields
  const config = asObject(generationConfig)
  const edit = openEdit()
  const turns = Array.isArray(contents) ? contents : []
  if (traits.prefill === 'never' && endsWithAnswer(turns.at(-1))) {
    throw refusedPrefill(model, turns.length - 1)
  }
  if (!traits.schemas && (config.responseJsonSchema ?? config.responseSchema) !== undefined) {
    throw refusedSchema(model)
  }
  fitChoice(edit, asObject(asObject(toolConfig).functionCallingConfig), config, model)
  const drop = droppedSettings(config, traits).filter((name) => name in config)
  const thinking = asObject(config.thinkingConfig)
  const fitted = fitThinking(thinking, model)
  if ('thinkingConfig' in config && Object.keys(fitted).length === 0) drop.push('thinkingConfig')
  else if (fitted !== thinking) {
    edit.inside.generationConfig = { drop, set: { thinkingConfig: JSON.stringify(fitted) } }
    return edit
  }
  if (drop.length > 0) edit.inside.generationConfig = { drop }
  return edit
}

function fitChoice(
  edit: OpenEdit,
  { mode, allowedFunctionNames: names }: Fields,
  config: Fields,
  model: Model,
): void {
  const { forcedToolChoice: forced, strictTools } = model.traits
  const isForced = mode === 'ANY'
  if (
    isForced &&
    (forced === 'never' ||
      (forced === 'unless_thinking' && thinks(config, model.traits)) ||
      (forced === 'any_tool' && names !== undefined))
  ) {
    throw refusedToolChoice(model)
  }
  // Without names it only makes calls fit their schemas.
  if (mode === 'VALIDATED' && names === undefined && !strictTools) edit.drop.push('toolConfig')
}

/** Settings that the model refuses. */
function droppedSettings(config: Fields, traits: Traits): string[] {
  const isUnsampled =
    traits.sampling === 'never' || (traits.sampling === 'unless_thinking' && thinks(config, traits))
  const isOneTooMany = !traits.bothSampling && config.temperature !== undefined && config.topP !== undefined
  return [
    ...(isUnsampled ? ['temperature', 'topP', 'topK'] : []),
    ...(isOneTooMany ? ['topP'] : []),
    ...(traits.stop ? [] : ['stopSequences']),
    ...(traits.penalties ? [] : ['frequencyPenalty', 'presencePenalty']),
    ...(traits.logprobs ? [] : ['responseLogprobs', 'logprobs']),
  ]
}

/** The thinking options in the model's own form, if a translation wrote them; unchanged otherwise. */
function fitThinking(thinking: Fields, model: Model): Fields {
  const { traits, family } = model
  const { thinkingLevel: level, thinkingBudget: budget, ...rest } = thinking
  // A caller of this API chose the form itself.
  if ((family.operation as string) === 'contents' || Object.keys(thinking).length === 0) return thinking
  if (traits.thinking === 'never') return {}
  if (typeof level !== 'string' && typeof budget !== 'number') return thinking
  const wanted = typeof level === 'string' ? level.toLowerCase() : undefined
  const range = RANGES.find(([models]) => models.test(nameOf(model)))
  if (range) {
    const tokens = wanted === undefined ? (budget as number) : budgetOf(nearestEffort(traits, wanted))
    return tokens === undefined ? rest : { ...rest, thinkingBudget: within(tokens, range) }
  }
  const effort = nearestEffort(traits, wanted ?? effortOfBudget(budget as number))
  return effort === undefined ? rest : { ...rest, thinkingLevel: levelOf(effort, model) }
}

function budgetOf(effort: string | undefined): number | undefined {
  if (effort === undefined) return undefined
  return effort === 'none' ? 0 : (BUDGETS[effort] ?? HIGH_BUDGET)
}

/** The tokens, limited to what the model accepts: 0 turns thinking off, if the model can. */
function within(tokens: number, [, least, most]: (typeof RANGES)[number]): number {
  return tokens === 0 ? 0 : Math.min(Math.max(tokens, least), most)
}

function levelOf(effort: string, model: Model): string {
  const name = nameOf(model)
  const level = effort === 'none' ? 'minimal' : LEVELS.includes(effort) ? effort : 'high'
  const isLifted =
    (level === 'minimal' && !MINIMAL_MODELS.test(name)) ||
    (level === 'medium' && LOW_OR_HIGH_MODELS.test(name))
  return (isLifted ? (LEVELS[LEVELS.indexOf(level) + 1] as string) : level).toUpperCase()
}

/** Whether the model thinks in this request, as far as the request shows. */
function thinks({ thinkingConfig }: Fields, { thinking, thinksByDefault }: Traits): boolean {
  if (thinking !== 'optional') return thinking === 'always'
  const { thinkingLevel: level, thinkingBudget: budget } = asObject(thinkingConfig)
  if (budget === 0 || level === 'none') return false
  return level !== undefined || budget !== undefined || thinksByDefault
}

/** Whether the last turn is the beginning of the answer. */
function endsWithAnswer(turn: unknown): boolean {
  const { role, parts } = asObject(turn)
  return role === 'model' && Array.isArray(parts) && 'text' in asObject(parts.at(-1))
}
