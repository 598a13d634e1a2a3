// How the responses API expresses the concepts of a request. Data only.

import type { Expressions } from '../../conversation/concepts'

const NOT_SENT = 'omitted if a trait of the model forbids it'
const HINT = { ignored: 'a sampling hint; the request means the same without it' }
const NO_SOUND = { refused: 'this model takes texts, pictures and files' }
const SUMMARY = { as: '`reasoning.summary`; without it no summary is requested' }
const VERBOSITY = { as: '`text.verbosity`' }
const CACHE_KEY = { as: 'the field of the same name' }

export const responsesCan: Expressions = {
  model: { as: "the vendor's name of the model" },
  stream: { as: '`stream`' },
  instructions: {
    as: '`instructions`, or an item of its role at its position, for dialects with several positions',
  },
  later_instructions: {
    as: 'an item of its role, for dialects with several positions; for others, a user text marked as instructions',
  },
  text: { as: '`input_text`, or `output_text` of the assistant' },
  speaker: { as: 'for user messages: a text in front of the content' },
  image: { as: '`input_image`' },
  image_detail: { as: '`detail`' },
  document: { as: '`input_file`' },
  document_address: { as: '`file_url`' },
  audio: NO_SOUND,
  video: NO_SOUND,
  call: { as: '`function_call`, or `custom_tool_call`' },
  result: { as: '`function_call_output`, or `custom_tool_call_output`; its text says if the call failed' },
  shown_reasoning: { ignored: 'the vendor accepts only thinking that it sealed' },
  sealed_reasoning: {
    as: 'reasoning of this model that was sealed for this account; altered reasoning is refused, any other is left out',
  },
  cache_mark: { ignored: 'the vendor caches automatically; the answer is the same' },
  limit: { as: '`max_output_tokens`; at least 16, the minimum of vendors' },
  temperature: { as: `\`temperature\`; ${NOT_SENT}` },
  top_p: { as: `\`top_p\`; ${NOT_SENT}` },
  top_k: HINT,
  stop: { refused: 'this model has no stop sequences' },
  candidates: { as: 'that many parallel calls' },
  seed: { ignored: 'reproducible answers are best effort, and this vendor has no seed' },
  penalties: HINT,
  functions: { as: '`tools`, flattened' },
  strict_functions: { as: '`strict`' },
  strict_functions_of_messages: {
    ignored: 'the schema is sent; vendors accept different schemas as strict',
  },
  custom_tools: { as: '`tools` of type `custom`' },
  choice: { as: '`tool_choice`, flattened' },
  allowed_tools: { as: '`tool_choice` of type `allowed_tools`' },
  parallel_calls: { as: '`parallel_tool_calls`' },
  format: { as: '`text.format`' },
  strict_format: { as: '`text.format.strict`' },
  effort: { as: '`reasoning.effort`; omitted for models that do not think' },
  budget: { as: '`reasoning.effort`, derived from the budget; omitted for models that do not think' },
  shows_thinking: SUMMARY,
  returns_thinking: SUMMARY,
  verbosity: VERBOSITY,
  default_verbosity: VERBOSITY,
  logprobs: { as: `probabilities of the text, in \`include\`, and \`top_logprobs\`; ${NOT_SENT}` },
  user: { as: '`safety_identifier`' },
  cache_key: CACHE_KEY,
  cached_by_key: CACHE_KEY,
  service_tier: { as: '`service_tier`' },
}
