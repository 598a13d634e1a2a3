// How Converse expresses the concepts of a request. Data only.

import type { Expressions } from '../../conversation/concepts'

const NOT_SENT = 'omitted if a trait of the model forbids it'
const EFFORT = '`outputConfig.effort`; omitted for models that do not think'
const CACHE = '`cachePoint`, for models that have a price for cached input; left out for others'
const HINT = { ignored: 'a sampling hint; the request means the same without it' }
const SHOWN_ANYWAY = { ignored: 'thinking shown by the model is always returned' }
const NO_SOUND = { refused: 'this model reads texts, pictures and documents' }

const STRICT = { as: `\`toolSpec.strict\`; ${NOT_SENT}` }

export const converseCan: Expressions = {
  model: { as: "the vendor's name of the model, in the path" },
  stream: { as: 'the operation `ConverseStream`' },
  instructions: { as: '`system`' },
  later_instructions: {
    as: 'a user text marked as instructions; in `system` for dialects whose instructions apply everywhere',
  },
  text: { as: '`text`' },
  speaker: { as: 'for user messages: a text in front of the content' },
  image: { as: '`image`, from a data URL or base64 of PNG, JPEG, GIF or WebP; other URLs are refused' },
  image_detail: { ignored: 'the vendor has only one level of detail' },
  document: {
    as: '`document`, from a data URL or base64, with its name; texts of other types are `text`',
  },
  document_address: { refused: 'this model takes files only as data URLs' },
  audio: NO_SOUND,
  video: NO_SOUND,
  call: { as: '`toolUse`; a text if no tools are sent' },
  result: { as: '`toolResult`, with its status; texts and files if no tools are sent' },
  shown_reasoning: { ignored: 'the vendor accepts only thinking that it signed' },
  sealed_reasoning: { ignored: 'earlier thinking is not sent' },
  cache_mark: { as: CACHE },
  limit: { as: "`inferenceConfig.maxTokens`; by default, the model's own limit" },
  temperature: { as: `\`inferenceConfig.temperature\`, at most 1; ${NOT_SENT}` },
  top_p: { as: `\`inferenceConfig.topP\`; ${NOT_SENT}` },
  top_k: HINT,
  stop: { as: `\`inferenceConfig.stopSequences\`; ${NOT_SENT}` },
  candidates: { as: 'that many parallel calls' },
  seed: { ignored: 'reproducible answers are best effort, and this vendor has no seed' },
  penalties: HINT,
  functions: { as: '`toolConfig.tools`' },
  strict_functions: STRICT,
  strict_functions_of_messages: STRICT,
  custom_tools: { refused: 'this model calls only functions of the caller' },
  choice: {
    as: '`toolConfig.toolChoice`; with `none`, tools are left out and earlier calls are sent as texts',
  },
  allowed_tools: { as: '`toolConfig.tools`: only those are sent' },
  parallel_calls: { refused: 'the number of calls cannot be limited to one' },
  format: {
    as: '`outputConfig.textFormat` for a schema, refused if a trait of the model forbids it; for `json_object` a sentence in `system`',
  },
  strict_format: { ignored: 'answers always match the schema' },
  effort: { as: EFFORT },
  budget: { as: `derived from the budget: ${EFFORT}` },
  shows_thinking: SHOWN_ANYWAY,
  returns_thinking: SHOWN_ANYWAY,
  verbosity: { as: 'for `low` and `high` a sentence in `system`' },
  default_verbosity: { ignored: 'a setting for the vendor of another model' },
  logprobs: { refused: 'this model does not return probabilities' },
  user: { ignored: 'the vendor does not learn who the caller is' },
  cache_key: { ignored: 'it only affects caching; the answer is the same' },
  cached_by_key: { as: `${CACHE}; at the end of the last message` },
  service_tier: { refused: 'this model has no such tiers' },
}
