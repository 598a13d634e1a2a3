// How Converse expresses the concepts of a request. Data only.

import type { Expressions } from '../../conversation/concepts'

const NOT_SENT = 'omitted if a trait of the model forbids it'
const EFFORT = '`outputConfig.effort`; omitted for models that do not think'
const CACHE = '`cachePoint`, for models that have a price for cached input; left out for others'
const HINT = { ignored: 'a hint of how words are chosen; what is asked is the same' }
const SHOWN_ANYWAY = { ignored: 'thinking that the model shows is always returned' }
const NO_SOUND = { refused: 'this model reads texts, pictures and documents' }

const STRICT = { as: `\`toolSpec.strict\`; ${NOT_SENT}` }

export const converseCan: Expressions = {
  model: { as: "the vendor's name of the model, in the path" },
  stream: { as: 'asked of ConverseStream' },
  instructions: { as: '`system`' },
  later_instructions: {
    as: 'a text of the user, marked as such; in `system` for callers whose instructions hold everywhere',
  },
  text: { as: '`text`' },
  speaker: { as: 'of a user: a text in front of what they say' },
  image: { as: '`image`, of a data URL or base64 of PNG, JPEG, GIF or WebP; by its address it is refused' },
  image_detail: { ignored: 'the vendor has one way to look at a picture' },
  document: {
    as: '`document`, of a data URL or base64, with its name; texts of other types are `text`',
  },
  document_address: { refused: 'files are taken as data URLs' },
  audio: NO_SOUND,
  video: NO_SOUND,
  call: { as: '`toolUse`; a text where no tools are sent' },
  result: { as: '`toolResult`, with a failure as its status; texts and files where no tools are sent' },
  shown_reasoning: { ignored: 'thinking that the vendor has not signed, it does not take back' },
  sealed_reasoning: { ignored: 'earlier thinking is not sent' },
  cache_mark: { as: CACHE },
  limit: { as: "`inferenceConfig.maxTokens`; without it the model's own limit" },
  temperature: { as: `\`inferenceConfig.temperature\`, at most 1; ${NOT_SENT}` },
  top_p: { as: `\`inferenceConfig.topP\`; ${NOT_SENT}` },
  top_k: HINT,
  stop: { as: `\`inferenceConfig.stopSequences\`; ${NOT_SENT}` },
  candidates: { as: 'as many calls side by side' },
  seed: { ignored: 'answers are reproducible where possible, and there it is not' },
  penalties: HINT,
  functions: { as: '`toolConfig.tools`' },
  strict_functions: STRICT,
  strict_functions_of_messages: STRICT,
  custom_tools: { refused: 'this model calls functions of the caller' },
  choice: { as: '`toolConfig.toolChoice`; with `none` the tools are left out, and earlier calls are texts' },
  allowed_tools: { as: '`toolConfig.tools`: only those are sent' },
  parallel_calls: { refused: 'the number of calls cannot be limited to one' },
  format: {
    as: '`outputConfig.textFormat` for a schema, refused if a trait of the model forbids it; for `json_object` a sentence in `system`',
  },
  strict_format: { ignored: 'answers always fit the schema' },
  effort: { as: EFFORT },
  budget: { as: `by the budget, ${EFFORT}` },
  shows_thinking: SHOWN_ANYWAY,
  returns_thinking: SHOWN_ANYWAY,
  verbosity: { as: 'for `low` and `high` a sentence in `system`' },
  default_verbosity: { ignored: 'a setting for the vendor of another model' },
  logprobs: { refused: 'this model does not return probabilities' },
  user: { ignored: 'the vendor does not learn who the caller is' },
  cache_key: { ignored: 'where a cache is looked for; the answer is the same' },
  cached_by_key: { as: `${CACHE}; at the end of the last message` },
  service_tier: { refused: 'this model has no such tiers' },
}
