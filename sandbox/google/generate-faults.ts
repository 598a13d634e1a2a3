// Google's refusals of native requests with known fields, each in recorded words. It must never refuse more than is on record,
// except for a list without contents and the longest name of a function.

import { asArray, asNumber, asObject, asObjects, asString, isGiven, type JsonObject } from '../json'
import { contentsFault, signs } from './signatures'

/** The names of a part's data; it has exactly one. */
const DATA = 'text inlineData fileData functionCall functionResponse executableCode codeExecutionResult'
const SERVER_DATA = ['toolCall', 'toolResponse']
const data = [...DATA.split(' '), ...SERVER_DATA]
/** Budgets of Gemini 2.5: docs.cloud.google.com/vertex-ai/generative-ai/docs/thinking, by juspay/neurolink#1707. */
const BUDGETS: readonly [name: RegExp, least: number, most: number][] = [
  [/^gemini-2\.5-pro/, 128, 32_768],
  [/^gemini-2\.5-flash-lite/, 512, 24_576],
  [/^gemini-2\.5-flash/, 1, 24_576],
]
/** theJayTea/WritingTools#282 (2026-09-11): 3.7 and 3.8 Flash and every Pro. */
const WITHOUT_MINIMAL = /^gemini-(?:3\.[78]-flash|[3-9][\d.]*-pro)/
/** heyhuynhgiabuu/proxypal#170 (2026-02-17). */
const WITHOUT_MEDIUM = /^gemini-3-pro/
const LEARN_MORE = 'Learn more: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/gemini'

/** Google's first refusal of a request, in its words. `onVertex` selects the words of Vertex AI. */
export function generateFault(body: JsonObject, model: string, onVertex: boolean): string | undefined {
  const contents = asObjects(body.contents)
  return (
    contentFault(contents) ??
    toolFault(body, model) ??
    thinkingFault(body, model, onVertex) ??
    turnFault(contents) ??
    contentsFault(contents, model)
  )
}

/**
 * An empty list: no record was found, the words are those of this sandbox's compatible path. Empty parts: egoist/chatwise-releases#250 (2025-02-18). Parts without data:
 * boldsoftware/sketch#68 (2025-05-06). Roles: the-open-agent/openagent#1666 (2025-10-19).
 */
function contentFault(contents: readonly JsonObject[]): string | undefined {
  if (contents.length === 0) return '* GenerateContentRequest.contents: contents is not specified\n'
  for (const [index, { role, parts }] of contents.entries()) {
    const place = `* GenerateContentRequest.contents[${index}].parts`
    if (isGiven(role) && role !== 'user' && role !== 'model') return 'Please use a valid role: user, model.'
    const given = asArray(parts) ?? []
    if (given.length === 0) return `${place}: contents.parts must not be empty.\n`
    const bare = given.findIndex((part) => !data.some((name) => isGiven(asObject(part)?.[name])))
    if (bare !== -1)
      return `${place}[${bare}].data: required oneof field 'data' must have one initialized field\n`
  }
  return undefined
}

/** Names: kaitranntt/ccs#219 (2025-12-28), where the limit was 64; types of @google/genai 3.3.0 say 128. JSON together with functions: symfony/ai#1777 (2026-03-16). */
function toolFault({ tools, generationConfig }: JsonObject, model: string): string | undefined {
  const declared = asObjects(tools).map((tool) => asObjects(tool.functionDeclarations))
  for (const [index, functions] of declared.entries()) {
    const wrong = functions.findIndex(({ name }) => !/^[A-Za-z_][\w.:-]{0,127}$/.test(asString(name) ?? ''))
    if (wrong !== -1) {
      const place = `tools[${index}].function_declarations[${wrong}].name`
      return `The GenerateContentRequest proto is invalid:\n  * ${place}: [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.`
    }
  }
  const type = asObject(generationConfig)?.responseMimeType
  return declared.flat().length > 0 && type === 'application/json' && !signs(model)
    ? "Function calling with a response mime type: 'application/json' is unsupported"
    : undefined
}

/**
 * Both: sterlp/eclipse-peon-ai#115 (2026-08-05). Levels before Gemini 3: RooCodeInc/Roo-Code#10700 (2026-01-13), on Vertex AI
 * google-gemini/gemini-cli#14025 (2025-11-28). Levels of a model: WritingTools#282. Budgets: Roo-Code#4399 (2025-06-06).
 */
function thinkingFault(
  { generationConfig }: JsonObject,
  model: string,
  onVertex: boolean,
): string | undefined {
  const { thinkingBudget: budget, thinkingLevel: level } =
    asObject(asObject(generationConfig)?.thinkingConfig) ?? {}
  if (isGiven(budget) && isGiven(level))
    return 'You can only set only one of thinking budget and thinking level.'
  if (isGiven(level)) {
    if (!signs(model)) {
      return onVertex
        ? `Unable to submit request because thinking_level is not supported by this model.. ${LEARN_MORE}`
        : 'Thinking level is not supported for this model.'
    }
    const name = String(level).toUpperCase()
    const isRefused =
      (name === 'MINIMAL' && WITHOUT_MINIMAL.test(model)) || (name === 'MEDIUM' && WITHOUT_MEDIUM.test(model))
    return isRefused
      ? `Thinking level ${name} is not supported for this model. Please retry with other thinking level.`
      : undefined
  }
  const [, least, most] = BUDGETS.find(([name]) => name.test(model)) ?? []
  const tokens = asNumber(budget)
  if (tokens === undefined || least === undefined || most === undefined || tokens === -1) return undefined
  const turnsOff = tokens === 0 && !model.startsWith('gemini-2.5-pro')
  return turnsOff || (tokens >= least && tokens <= most)
    ? undefined
    : `The thinking budget (${tokens}) is invalid.`
}

/** Counts: google-gemini/gemini-cli#16415 (2026-01-12). Order: google-gemini/gemini-cli#26486 (2026-05-05). */
function turnFault(contents: readonly JsonObject[]): string | undefined {
  const count = (content: JsonObject | undefined, name: string) =>
    asObjects(content?.parts).filter((part) => isGiven(part[name])).length
  for (const [index, content] of contents.entries()) {
    const calls = count(content, 'functionCall')
    const before = contents[index - 1]
    const next = contents[index + 1]
    if (calls > 0 && (before === undefined || before.role === 'model')) {
      return 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
    }
    const answered = count(content, 'functionResponse')
    const isUnanswered = calls > 0 && next !== undefined && count(next, 'functionResponse') !== calls
    if (isUnanswered || (answered > 0 && answered !== count(before, 'functionCall'))) {
      return 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'
    }
  }
  return undefined
}
