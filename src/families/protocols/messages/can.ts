// How the messages API expresses the concepts of a request. Data only.

import type { Expressions } from '../../conversation/concepts'

const NOT_SENT = 'omitted if a trait of the model forbids it'
const HINT = { ignored: 'a sampling hint; the request means the same without it' }
const NO_SOUND = { refused: 'this model reads texts, pictures and documents' }

export const messagesCan: Expressions = {
  model: { as: "the vendor's name of the model" },
  stream: { as: '`stream`' },
  instructions: { as: '`system`' },
  later_instructions: {
    as: 'a user text marked as instructions; in `system` for dialects whose instructions apply everywhere',
  },
  text: { as: 'text' },
  speaker: { as: 'for user messages: a text in front of the content' },
  image: { as: '`image`' },
  image_detail: { ignored: 'the vendor has only one level of detail' },
  document: { as: '`document`, from a PDF file or a text' },
  document_address: { as: '`document`' },
  audio: NO_SOUND,
  video: NO_SOUND,
  call: { as: '`tool_use`' },
  result: { as: '`tool_result`' },
  shown_reasoning: {
    as: '`thinking`, for vendors that require it; others accept only thinking that they signed',
  },
  sealed_reasoning: { as: '`thinking`, as this model signed it; any other is left out' },
  cache_mark: { as: '`cache_control`' },
  limit: { as: "`max_tokens`; by default, the model's own limit" },
  temperature: { as: `\`temperature\`, at most 1; ${NOT_SENT}` },
  top_p: { as: `\`top_p\`, if no temperature is set; ${NOT_SENT}` },
  top_k: { as: '`top_k`' },
  stop: { as: '`stop_sequences`' },
  candidates: { as: 'that many parallel calls' },
  seed: { ignored: 'reproducible answers are best effort, and this vendor has no seed' },
  penalties: HINT,
  functions: { as: '`tools`' },
  strict_functions: { as: '`strict`' },
  strict_functions_of_messages: { as: '`strict`' },
  custom_tools: { refused: 'this model calls functions' },
  choice: { as: '`tool_choice`, with `required` as `any`' },
  allowed_tools: { as: '`tools`: only those are sent' },
  parallel_calls: { as: '`disable_parallel_tool_use`' },
  format: { as: '`output_config.format` for a schema; for `json_object` a sentence in `system`' },
  strict_format: { ignored: 'answers always match the schema' },
  effort: {
    as: '`output_config.effort`, with `minimal` as `low`, or a budget for models that accept one; `none` disables thinking',
  },
  budget: { as: '`thinking`, in the form that the model accepts' },
  shows_thinking: { as: '`thinking.display`' },
  returns_thinking: { ignored: 'thinking shown by the model is always returned' },
  verbosity: { as: 'for `low` and `high` a sentence in `system`' },
  default_verbosity: { ignored: 'a setting for the vendor of another model' },
  logprobs: { refused: 'this model does not return probabilities' },
  user: { as: '`metadata.user_id`' },
  cache_key: { ignored: 'it only affects caching; the answer is the same' },
  cached_by_key: { as: '`cache_control` of the whole request' },
  service_tier: { refused: 'this model has no such tiers' },
}
