// The requests of the load generator and the replies of the mock vendor, so that each side can check the bytes of the other. It
// must never depend on time or chance: the bytes are always the same.

/** Frames with text; a role frame precedes them, and finish, usage and [DONE] follow. */
export const CONTENT_FRAMES = 100
export const FRAMES_PER_SECOND = 50

/** Model names that select the mock's answer, because every proxy passes them to the vendor. */
export const WHOLE = 'whole'
/** A whole answer of a model with a response cache. */
export const CACHED = 'cached'
/** A whole answer of a model over two upstreams, and one of a route that chooses the cheapest of two models. */
export const EQUAL = 'equal'
export const PREFERRED = 'preferred'
export const BURST = 'burst'
export const PACED = `paced-${FRAMES_PER_SECOND}`
export const VIDEO = 'video'

/** The vendor's name of a model, which the bare proxies pass on. */
export const vendorModel = (answer: string): string => `bench-${answer}`
export const gatewayModel = (answer: string): string => `house-${answer}`

export const REPLY_MODEL = 'gpt-5-mini-2025-08-07'
export const CREATED_SECONDS = 1_770_933_892
const USAGE = {
  prompt_tokens: 187,
  completion_tokens: CONTENT_FRAMES,
  total_tokens: 187 + CONTENT_FRAMES,
  prompt_tokens_details: { cached_tokens: 64, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 0,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
}
export const INSTRUCTIONS = 'You are a helpful assistant of a small company. Be brief and exact.'
export const QUESTION =
  'Our shop sells garden tools. Below are three notes of customers about a pair of shears. Say in two sentences ' +
  'what they have in common, then propose one change to the product and one to its description. First note: the ' +
  'spring came loose after a week, and the handle is too wide for small hands. Second note: cuts well, but the ' +
  'lock slips open in the pocket, which is dangerous. Third note: the blade stays sharp for long, only the spring ' +
  'squeaks and the grip becomes slippery when wet. Answer in plain English, without a list, and do not repeat the ' +
  'notes word for word. If something is not clear from the notes, say so in one more sentence at the end. Keep in ' +
  'mind that the shears are sold in a gift box with a small sharpening stone, that the price must stay as it is, ' +
  'and that the next batch leaves the factory in two weeks.'
const ANSWER =
  'All three customers praise the blade and complain about the parts around it: the spring and the handle. I would ' +
  'fit a captive spring with a rubber grip, and say in the description for which size of hand the shears are made. '

export const usage = {
  promptTokens: USAGE.prompt_tokens,
  cachedTokens: USAGE.prompt_tokens_details.cached_tokens,
  completionTokens: USAGE.completion_tokens,
}
export const wholeContent = ANSWER.repeat(2)

/** The text of a frame, different in each, so that a lost, repeated or swapped frame is noticed. */
export function frameContent(index: number): string {
  return ` word${String(index).padStart(3, '0')}`
}

/** About 1 KB of request. `user` is a field for a mark that reaches the vendor. */
export function requestBody(model: string, stream: boolean, user?: string): string {
  return JSON.stringify({
    model,
    messages: [
      { role: 'system', content: INSTRUCTIONS },
      { role: 'user', content: QUESTION },
    ],
    max_completion_tokens: 1024,
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...(user === undefined ? {} : { user }),
  })
}

/** A request in the form of responses, with the same question. */
export function responsesBody(model: string, stream: boolean): string {
  return JSON.stringify({
    model,
    instructions: INSTRUCTIONS,
    input: QUESTION,
    max_output_tokens: 1024,
    stream,
    // Chat completions are not stored either.
    store: false,
  })
}

export function wholeReply(): string {
  const message = { role: 'assistant', content: wholeContent, refusal: null, annotations: [] }
  return JSON.stringify({
    id: 'chatcmpl-D8qZs4mNf2wYb7LkR1vTgHxEoCu3P',
    object: 'chat.completion',
    created: CREATED_SECONDS,
    model: REPLY_MODEL,
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage: USAGE,
    service_tier: 'default',
    system_fingerprint: null,
  })
}

/** The frames of one stream in order; the usage frame only if it was requested. */
export function streamFrames(includeUsage: boolean): string[] {
  const frames = [frame({ role: 'assistant', content: '', refusal: null }, null, includeUsage)]
  for (let index = 0; index < CONTENT_FRAMES; index++) {
    frames.push(frame({ content: frameContent(index) }, null, includeUsage))
  }
  frames.push(frame({}, 'stop', includeUsage))
  if (includeUsage) frames.push(event({ ...chunkHead(), choices: [], usage: USAGE }))
  frames.push('data: [DONE]\n\n')
  return frames
}

function frame(delta: object, finishReason: string | null, includeUsage: boolean): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: finishReason }]
  return event({
    ...chunkHead(),
    choices,
    ...(includeUsage ? { usage: null } : {}),
    obfuscation: 'Qup1BsQ3',
  })
}

function chunkHead(): object {
  return {
    id: 'chatcmpl-D8qZs4mNf2wYb7LkR1vTgHxEoCu3P',
    object: 'chat.completion.chunk',
    created: CREATED_SECONDS,
    model: REPLY_MODEL,
    service_tier: 'default',
    system_fingerprint: null,
  }
}

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`
}
