// Requests in Gemini's own form that Google and Vertex AI refuse, as rules written from the records in google/. The
// rules must never be derived from the gateway's own tables or from the simulator, because they judge both.

import type { JsonObject } from './recorded'
import type { Rule, Sent } from './rules'

const object = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
const objects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.map(object) : [])
const isNative = ({ path }: Sent): boolean => /:(?:streamG|g)enerateContent$/.test(path)
const isThird = ({ model }: Sent): boolean => /^gemini-(?:[3-9]|\d\d)/.test(model)
const config = ({ body }: Sent): JsonObject => object(body.generationConfig)
const functionsOf = ({ body }: Sent): JsonObject[] =>
  objects(body.tools).flatMap((tool) => objects(tool.functionDeclarations))

const KEYWORDS =
  /^(?:type|format|title|description|nullable|default|enum|example|required|items|anyOf|properties|propertyOrdering|pattern|minimum|maximum|(?:min|max)(?:Items|Properties|Length))$/
const isForeign = (schema: unknown): boolean =>
  Object.entries(object(schema)).some(([word, value]) => {
    if (!KEYWORDS.test(word) || (word === 'type' && Array.isArray(value))) return true
    if (word === 'properties') return Object.values(object(value)).some(isForeign)
    return word === 'items' || word === 'anyOf' ? [value].flat().some(isForeign) : false
  })

const partsWith = (content: JsonObject | undefined, name: string): JsonObject[] =>
  objects(content?.parts).filter((part) => part[name] !== undefined)

function lacksSignature(contents: readonly JsonObject[]): boolean {
  const isPrompt = (content: JsonObject) =>
    content.role === 'user' && partsWith(content, 'functionResponse').length === 0
  const current = contents.slice(contents.findLastIndex(isPrompt) + 1)
  return current.some((content) => {
    const [first] = partsWith(content, 'functionCall')
    return first !== undefined && !first.thoughtSignature
  })
}

const ofGemini: Readonly<Record<string, Rule>> = {
  'google/native-thinking'(sent) {
    const { thinkingBudget: budget, thinkingLevel: level } = object(config(sent).thinkingConfig)
    if (!isNative(sent)) return false
    if (level !== undefined) {
      const word = String(level).toLowerCase()
      if (budget !== undefined || !isThird(sent)) return true
      if (word === 'minimal') return /-(?:3\.[78]-flash|[3-9][\d.]*-pro)/.test(sent.model)
      return word === 'medium' && /^gemini-3-pro/.test(sent.model)
    }
    const most = sent.model.startsWith('gemini-2.5-pro') ? 32_768 : 24_576
    const offIsRefused = budget === 0 && sent.model.startsWith('gemini-2.5-pro')
    return !isThird(sent) && (Number(budget ?? -1) > most || offIsRefused)
  },
  'google/native-schemas': (sent) =>
    isNative(sent) &&
    (functionsOf(sent).some(({ parameters }) => isForeign(parameters)) ||
      isForeign(config(sent).responseSchema)),
  'google/native-contents': (sent) =>
    isNative(sent) &&
    objects(sent.body.contents).some(({ role = 'user', parts }) => {
      const hasData = (part: JsonObject) =>
        Object.keys(part).some((name) => !/^(?:thought|videoMetadata|mediaResolution)/.test(name))
      return (
        !/^(?:user|model)$/.test(String(role)) ||
        objects(parts).length === 0 ||
        !objects(parts).every(hasData)
      )
    }),
  'google/native-turns'(sent) {
    const contents = objects(sent.body.contents)
    if (!isNative(sent)) return false
    if (isThird(sent) && lacksSignature(contents)) return true
    // Signatures made by the service are long.
    const given = contents.flatMap(({ parts }) => objects(parts)).map((part) => part.thoughtSignature)
    if (given.some((signature) => typeof signature === 'string' && signature.length < 16)) return true
    return contents.some((content, index) => {
      const calls = partsWith(content, 'functionCall').length
      const next = contents[index + 1]
      const isOrphan = calls > 0 && (index === 0 || contents[index - 1]?.role === 'model')
      return (
        isOrphan || (calls > 0 && next !== undefined && partsWith(next, 'functionResponse').length !== calls)
      )
    })
  },
  'google/native-tools'(sent) {
    const named = functionsOf(sent)
    if (!isNative(sent)) return false
    if (named.some(({ name }) => !/^[A-Za-z_][\w.:-]{0,127}$/.test(String(name)))) return true
    return named.length > 0 && !isThird(sent) && config(sent).responseMimeType === 'application/json'
  },
}

export const geminiRules: Readonly<Record<string, Rule>> = {
  ...ofGemini,
  'vertex/native-thinking': (sent) =>
    sent.vendor === 'vertex' && ofGemini['google/native-thinking']?.(sent) === true,
}
