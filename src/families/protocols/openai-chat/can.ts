// How chat completions express the concepts of a request. Data only.

import type { Expressions } from '../../conversation/concepts'

const NOT_SENT = 'omitted if a trait of the model forbids it'
const SHOWN_ANYWAY = { ignored: 'the reasoning that a model returns is always shown' }
const VERBOSITY = { as: "`verbosity`, for OpenAI's own models; omitted for others" }
const CACHE_KEY = { as: "`prompt_cache_key`, for OpenAI's own models; omitted for others" }

export const openaiChatCan: Expressions = {
  model: { as: "the vendor's name of the model" },
  stream: { as: '`stream`, with usage requested' },
  instructions: { as: "the first message, of role `system`, or `developer` for OpenAI's own models" },
  later_instructions: {
    as: "a user text marked as instructions, or a `developer` message for OpenAI's own models",
  },
  text: { as: 'text' },
  speaker: { as: 'for user messages: a text in front of the content' },
  image: { as: '`image_url`' },
  image_detail: { as: '`image_url.detail`, with `original` as `high`' },
  document: { as: '`file`' },
  document_address: { refused: 'this model takes files as file_data; send the content as a data URL' },
  audio: { as: '`input_audio`' },
  video: { refused: 'this model takes texts, pictures, files and sounds' },
  call: { as: '`tool_calls`' },
  result: {
    as: 'a message of role `tool`; its text says if the call failed, and its pictures and files follow in the next message',
  },
  shown_reasoning: { ignored: 'the vendor accepts only thinking that was sealed here' },
  sealed_reasoning: {
    as: '`reasoning_content`, `reasoning_details` and `extra_content` as this model wrote them; other reasoning is left out; vendors that refuse calls without reasoning get a filler',
  },
  cache_mark: { ignored: 'vendors of chat completions cache automatically; the answer is the same' },
  limit: { as: '`max_tokens`, or `max_completion_tokens` for models that refuse it' },
  temperature: { as: `\`temperature\`; ${NOT_SENT}` },
  top_p: { as: `\`top_p\`; ${NOT_SENT}` },
  top_k: { ignored: 'a sampling hint; the request means the same without it' },
  stop: { as: `\`stop\`; ${NOT_SENT}` },
  candidates: { as: 'that many parallel calls' },
  seed: { as: '`seed`' },
  penalties: { as: `\`frequency_penalty\` and \`presence_penalty\`; ${NOT_SENT}` },
  functions: { as: '`tools` of type `function`' },
  strict_functions: { as: '`strict`' },
  strict_functions_of_messages: {
    ignored: 'the schema is sent; vendors accept different schemas as strict',
  },
  custom_tools: { refused: 'this model calls functions' },
  choice: { as: '`tool_choice`' },
  allowed_tools: { as: "`allowed_tools` for OpenAI's own models; others are sent only those tools" },
  parallel_calls: { as: '`parallel_tool_calls`' },
  format: { as: '`response_format`' },
  strict_format: { as: '`response_format.json_schema.strict`' },
  effort: { as: '`reasoning_effort`; omitted for models that do not think' },
  budget: { as: '`reasoning_effort`, derived from the budget; omitted for models that do not think' },
  shows_thinking: SHOWN_ANYWAY,
  returns_thinking: SHOWN_ANYWAY,
  verbosity: VERBOSITY,
  default_verbosity: VERBOSITY,
  logprobs: { as: `\`logprobs\` and \`top_logprobs\`; ${NOT_SENT}` },
  user: { as: '`user`' },
  cache_key: CACHE_KEY,
  cached_by_key: CACHE_KEY,
  service_tier: { as: '`service_tier`, if the tier has a price; otherwise left out' },
}
