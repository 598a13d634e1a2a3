// How generateContent expresses the concepts of a request. Data only.

import type { Expressions } from '../../conversation/concepts'

const NOT_SENT = 'omitted if a trait of the model forbids it'
const THOUGHTS = { as: '`thinkingConfig.includeThoughts`' }
const NO_VERBOSITY = { ignored: 'this model has no such setting' }
const CACHED_ANYWAY = { ignored: 'the vendor caches automatically; the answer is the same' }

const STRICT = {
  as: 'the mode `VALIDATED`, if all functions are strict; otherwise strictness is not enforced',
}

export const geminiCan: Expressions = {
  model: { as: "the vendor's name of the model, in the address" },
  stream: { as: 'the method `:streamGenerateContent`' },
  instructions: { as: '`systemInstruction`' },
  later_instructions: {
    as: 'a user text marked as instructions; in `systemInstruction` for dialects whose instructions apply everywhere',
  },
  text: { as: '`text`' },
  speaker: { as: 'for user messages: a text in front of the content' },
  image: { as: '`inlineData`, or `fileData` for an address' },
  image_detail: { ignored: 'the vendor chooses the level of detail' },
  document: { as: '`inlineData`; its name is left out' },
  document_address: { as: '`fileData`' },
  audio: { as: '`inlineData`, or `fileData` for an address' },
  video: { as: '`inlineData`, or `fileData` for an address' },
  call: { as: '`functionCall`' },
  result: {
    as: '`functionResponse`, with its text as `output` or `error`; for models before Gemini 3, its files follow it',
  },
  shown_reasoning: { ignored: 'the vendor accepts only signatures' },
  sealed_reasoning: {
    as: '`thoughtSignature`, as this model signed it; any other is left out, and calls that require one get the documented filler',
  },
  cache_mark: CACHED_ANYWAY,
  limit: { as: '`generationConfig.maxOutputTokens`, which includes thinking' },
  temperature: { as: `\`generationConfig.temperature\`; ${NOT_SENT}` },
  top_p: { as: `\`generationConfig.topP\`; ${NOT_SENT}` },
  top_k: { as: `\`generationConfig.topK\`; ${NOT_SENT}` },
  stop: { as: `\`generationConfig.stopSequences\`; ${NOT_SENT}` },
  candidates: { as: 'that many parallel calls' },
  seed: { as: '`generationConfig.seed`, in 31 bits' },
  penalties: {
    as: `\`generationConfig.frequencyPenalty\` and \`presencePenalty\`; ${NOT_SENT}`,
  },
  functions: { as: '`tools[].functionDeclarations`, with `parametersJsonSchema`' },
  strict_functions: STRICT,
  strict_functions_of_messages: STRICT,
  custom_tools: { refused: 'this model calls functions with arguments' },
  choice: { as: '`toolConfig.functionCallingConfig.mode`, with `required` as `ANY`' },
  allowed_tools: { as: '`allowedFunctionNames`' },
  parallel_calls: { refused: 'the number of calls cannot be limited to one' },
  format: { as: '`generationConfig.responseMimeType`, and `responseJsonSchema` for a schema' },
  strict_format: { ignored: 'answers always match the schema' },
  effort: {
    as: '`thinkingConfig.thinkingLevel`, or `thinkingBudget` for models before Gemini 3; omitted for models that do not think',
  },
  budget: {
    as: '`thinkingConfig.thinkingBudget`, or `thinkingLevel` derived from the budget for Gemini 3 and later',
  },
  shows_thinking: THOUGHTS,
  returns_thinking: THOUGHTS,
  verbosity: NO_VERBOSITY,
  default_verbosity: NO_VERBOSITY,
  logprobs: { as: `\`generationConfig.responseLogprobs\` and \`logprobs\`; ${NOT_SENT}` },
  user: { ignored: 'the vendor does not learn who the caller is' },
  cache_key: CACHED_ANYWAY,
  cached_by_key: CACHED_ANYWAY,
  service_tier: { as: '`serviceTier`, if the tier has a price; otherwise left out' },
}
