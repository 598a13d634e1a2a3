// How the messages API expresses the concepts of a request. Data only.

import type { Expressions } from '../../conversation/concepts'

const NOT_SENT = 'omitted if a trait of the model forbids it'
const HINT = { ignored: 'a hint of how words are chosen; what is asked is the same' }
const NO_SOUND = { refused: 'this model reads texts, pictures and documents' }

export const messagesCan: Expressions = {
  model: { as: "the vendor's name of the model" },
  stream: { as: '`stream`' },
  instructions: { as: '`system`' },
  later_instructions: {
    as: 'a text of the user, marked as such; in `system` for callers whose instructions hold everywhere',
  },
  text: { as: 'text' },
  speaker: { as: 'of a user: a text in front of what they say' },
  image: { as: '`image`' },
  image_detail: { ignored: 'the vendor has one way to look at a picture' },
  document: { as: '`document`, of a PDF file or a text' },
  document_address: { as: '`document`' },
  audio: NO_SOUND,
  video: NO_SOUND,
  call: { as: '`tool_use`' },
  result: { as: '`tool_result`' },
  shown_reasoning: {
    as: '`thinking`, for vendors that demand it back; others take back only what they have signed',
  },
  sealed_reasoning: { as: '`thinking`, as this model signed it; any other is left out' },
  cache_mark: { as: '`cache_control`' },
  limit: { as: "`max_tokens`; without it the model's own limit" },
  temperature: { as: `\`temperature\`, at most 1; ${NOT_SENT}` },
  top_p: { as: `\`top_p\`, where no temperature is set; ${NOT_SENT}` },
  top_k: { as: '`top_k`' },
  stop: { as: '`stop_sequences`' },
  candidates: { as: 'as many calls side by side' },
  seed: { ignored: 'answers are reproducible where possible, and there it is not' },
  penalties: HINT,
  functions: { as: '`tools`' },
  strict_functions: { as: '`strict`' },
  strict_functions_of_messages: { as: '`strict`' },
  custom_tools: { refused: 'this model calls functions' },
  choice: { as: '`tool_choice`, with `required` as `any`' },
  allowed_tools: { as: '`tools`: only those are sent' },
  parallel_calls: { as: '`disable_parallel_tool_use`' },
  format: { as: '`output_config.format` for a schema; for `json_object` a sentence in `system`' },
  strict_format: { ignored: 'answers always fit the schema' },
  effort: {
    as: '`output_config.effort`, with `minimal` as `low`, or a budget for models that take one; `none` disables thinking',
  },
  budget: { as: '`thinking`, in the form that the model accepts' },
  shows_thinking: { as: '`thinking.display`' },
  returns_thinking: { ignored: 'thinking that the model shows is always returned' },
  verbosity: { as: 'for `low` and `high` a sentence in `system`' },
  default_verbosity: { ignored: 'a setting for the vendor of another model' },
  logprobs: { refused: 'this model does not return probabilities' },
  user: { as: '`metadata.user_id`' },
  cache_key: { ignored: 'where a cache is looked for; the answer is the same' },
  cached_by_key: { as: '`cache_control` of the whole request' },
  service_tier: { refused: 'this model has no such tiers' },
}
