// How the responses API expresses the concepts of a request. Data only.

import type { Expressions } from '../../conversation/concepts'

const NOT_SENT = 'omitted if a trait of the model forbids it'
const HINT = { ignored: 'a hint of how words are chosen; what is asked is the same' }
const NO_SOUND = { refused: 'this model takes texts, pictures and files' }
const SUMMARY = { as: '`reasoning.summary`; without it no summary is requested' }
const VERBOSITY = { as: '`text.verbosity`' }
const CACHE_KEY = { as: 'the field of the same name' }

export const responsesCan: Expressions = {
  model: { as: "the vendor's name of the model" },
  stream: { as: '`stream`' },
  instructions: {
    as: '`instructions`, or an item of its role in its place, for callers who have several places',
  },
  later_instructions: {
    as: 'an item of its role, for callers who have several places; for others a text of the user, marked as such',
  },
  text: { as: '`input_text`, or `output_text` of the assistant' },
  speaker: { as: 'of a user: a text in front of what they say' },
  image: { as: '`input_image`' },
  image_detail: { as: '`detail`' },
  document: { as: '`input_file`' },
  document_address: { as: '`file_url`' },
  audio: NO_SOUND,
  video: NO_SOUND,
  call: { as: '`function_call`, or `custom_tool_call`' },
  result: { as: '`function_call_output`, or `custom_tool_call_output`; a failure is said in its text' },
  shown_reasoning: { ignored: 'thinking that the vendor has not sealed, it does not take back' },
  sealed_reasoning: {
    as: "the model's reasoning, if it was sealed for this account; one that was altered is refused, any other is left out",
  },
  cache_mark: { ignored: 'the vendor keeps caches by itself; the answer is the same' },
  limit: { as: '`max_output_tokens`; at least 16, the fewest that vendors take' },
  temperature: { as: `\`temperature\`; ${NOT_SENT}` },
  top_p: { as: `\`top_p\`; ${NOT_SENT}` },
  top_k: HINT,
  stop: { refused: 'answers of this model do not end at texts' },
  candidates: { as: 'as many calls side by side' },
  seed: { ignored: 'answers are reproducible where possible, and there it is not' },
  penalties: HINT,
  functions: { as: '`tools`, flat' },
  strict_functions: { as: '`strict`' },
  strict_functions_of_messages: {
    ignored: 'the schema is sent; vendors differ in the schemas that they take as strict',
  },
  custom_tools: { as: '`tools` of type `custom`' },
  choice: { as: '`tool_choice`, flat' },
  allowed_tools: { as: '`tool_choice` of type `allowed_tools`' },
  parallel_calls: { as: '`parallel_tool_calls`' },
  format: { as: '`text.format`' },
  strict_format: { as: '`text.format.strict`' },
  effort: { as: '`reasoning.effort`; omitted for models that do not think' },
  budget: { as: '`reasoning.effort` by the budget; omitted for models that do not think' },
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
