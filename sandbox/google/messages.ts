// The fields of a native request to Gemini, as messages that know nothing else. It must never check values: only names, and whether
// a field is a list.
//
// Fields: types of @google/genai 3.3.0. Refusals: BerriAI/litellm#14330, openswarm-ai/openswarm#24 ($schema, const,
// exclusiveMinimum, propertyNames), zed-industries/zed#53919 (lists of types), ax-llm/ax#293 (places within a schema).

import { asObject, type JsonObject } from '../json'
import type { Unreadable } from './errors'

/** A message by its fields: null for a value that is not looked into; `map` has values of the message below free names. */
type Message = { readonly [field: string]: null | (() => Message) | { map: () => Message } }

const named = (...fields: string[]): Message => Object.fromEntries(fields.map((field) => [field, null]))

/** The schema of `parameters` and `responseSchema`: part of OpenAPI 3.0. The fields with `JsonSchema` in their name are free. */
const schema: Message = {
  ...named('type', 'format', 'title', 'description', 'nullable', 'default', 'enum', 'example', 'required'),
  ...named('minItems', 'maxItems', 'minProperties', 'maxProperties', 'minLength', 'maxLength', 'pattern'),
  ...named('minimum', 'maximum', 'propertyOrdering'),
  items: () => schema,
  anyOf: () => schema,
  properties: { map: () => schema },
}
const declaration: Message = {
  ...named('name', 'description', 'behavior', 'parametersJsonSchema', 'responseJsonSchema'),
  parameters: () => schema,
  response: () => schema,
}
const tool: Message = {
  ...named('googleSearch', 'googleSearchRetrieval', 'codeExecution', 'urlContext', 'googleMaps'),
  ...named('computerUse', 'fileSearch', 'mcpServers'),
  functionDeclarations: () => declaration,
}
const part: Message = {
  ...named('text', 'thought', 'thoughtSignature', 'executableCode', 'codeExecutionResult', 'videoMetadata'),
  ...named(
    'mediaResolution',
    'toolCall',
    'toolResponse',
    'partMetadata',
    'mediaProcessing',
    'speechMetadata',
  ),
  inlineData: () => named('mimeType', 'data', 'displayName'),
  fileData: () => named('mimeType', 'fileUri', 'displayName'),
  functionCall: () => named('id', 'name', 'args'),
  functionResponse: () => named('id', 'name', 'response', 'parts', 'willContinue', 'scheduling'),
}
const content: Message = { role: null, parts: () => part }
const thinking = named('includeThoughts', 'thinkingBudget', 'thinkingLevel')
const generation: Message = {
  ...named('temperature', 'topP', 'topK', 'candidateCount', 'maxOutputTokens', 'stopSequences', 'seed'),
  ...named('responseLogprobs', 'logprobs', 'presencePenalty', 'frequencyPenalty', 'responseMimeType'),
  ...named('responseJsonSchema', 'responseModalities', 'mediaResolution', 'speechConfig', 'imageConfig'),
  ...named('enableEnhancedCivicAnswers', 'audioTranscriptionConfig'),
  responseSchema: () => schema,
  thinkingConfig: () => thinking,
}
const toolConfig: Message = {
  ...named('retrievalConfig', 'includeServerSideToolInvocations'),
  functionCallingConfig: () => named('mode', 'allowedFunctionNames', 'streamFunctionCallArguments'),
}

/** A request of generateContent. */
export const generateMessage: Message = {
  ...named('model', 'safetySettings', 'cachedContent', 'labels', 'serviceTier', 'store', 'continuationToken'),
  contents: () => content,
  systemInstruction: () => content,
  tools: () => tool,
  toolConfig: () => toolConfig,
  generationConfig: () => generation,
}
/** A request of countTokens. */
export const countMessage: Message = {
  ...generateMessage,
  generateContentRequest: () => generateMessage,
}

const LISTS = ['contents', 'parts', 'tools', 'functionDeclarations', 'anyOf']
const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const camel = (name: string) => name.replace(/_([a-z])/g, (_whole, letter: string) => letter.toUpperCase())

/** Every field of a request that its messages do not have. */
export function unreadableIn(value: unknown, message: Message, place = ''): Unreadable[] {
  const fields = asObject(value) ?? {}
  return Object.entries(fields).flatMap(([field, given]): Unreadable[] => {
    const name = camel(field)
    if (!Object.hasOwn(message, name)) return [{ place, field }]
    if (name === 'type' && Array.isArray(given))
      return [{ place, field, why: 'Proto field is not repeating, cannot start list.' }]
    const inner = message[name]
    const below = place === '' ? snake(name) : `${place}.${snake(name)}`
    if (inner === null || inner === undefined) return []
    if (typeof inner === 'object') {
      const values = Object.values(asObject(given) ?? {})
      return values.flatMap((one, index) => unreadableIn(one, inner.map(), `${below}[${index}].value`))
    }
    if (!LISTS.includes(name)) return unreadableIn(given, inner(), below)
    return [given].flat().flatMap((one, index) => unreadableIn(one, inner(), `${below}[${index}]`))
  })
}

/** A value with the names that Google documents, instead of the same names with underscores. */
export function inCamelCase(value: unknown, message: Message): JsonObject {
  const entries = Object.entries(asObject(value) ?? {}).map(([field, given]) => {
    const name = camel(field)
    const inner = message[name]
    if (typeof inner !== 'function') return [name, given]
    return [
      name,
      Array.isArray(given) ? given.map((one) => inCamelCase(one, inner())) : inCamelCase(given, inner()),
    ]
  })
  return Object.fromEntries(entries) as JsonObject
}
