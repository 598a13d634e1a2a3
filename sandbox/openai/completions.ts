// The completions endpoint of OpenAI and of local servers: a text that is continued, whole or streamed. It must never serve chat
// models of the real vendor, which refers callers of these to another endpoint.

import { answerTo, type Choice, countOutput } from '../answers'
import { asNumber, asObject, asString, isGiven, type JsonObject, printJson } from '../json'
import { jsonReply } from '../replies'
import type { EventFrame, Reply, VendorRequest } from '../simulator'
import { reportUsage } from '../usage'
import { readInputs } from './embeddings'
import { errorReply, headers, unknownModel } from './errors'
import { badRequest, missingParameter } from './fields'
import { isChatModel, isLenient } from './models'

export const textModels = ['gpt-3.5-turbo-instruct', 'davinci-002', 'babbage-002']
const tokenLimitDefault = 16
const bestOfMax = 20

export function answerCompletion(request: VendorRequest, body: JsonObject): Reply {
  const model = asString(body.model) ?? ''
  if (!isLenient(model) && !textModels.includes(model)) {
    if (!isChatModel(model)) return unknownModel(model)
    const message =
      'This is a chat model and not supported in the v1/completions endpoint. Did you mean to use v1/chat/completions?'
    return errorReply({ status: 404, message, param: 'model', code: null })
  }
  const prompts = readInputs(body.prompt)
  if (!prompts || prompts.length === 0) return errorReply(missingParameter('prompt'))
  const candidates = asNumber(body.n) ?? 1
  const bestOf = asNumber(body.best_of) ?? candidates
  if (bestOf < candidates || bestOf > bestOfMax) {
    const message = `You requested that the server return more choices than it will generate (HINT: best_of must be between ${candidates} and ${bestOfMax}).`
    return errorReply(badRequest(message, 'best_of', null))
  }
  if (body.stream === true && isGiven(body.best_of) && bestOf > candidates) {
    return errorReply(badRequest("You cannot stream with 'best_of' above 'n'.", 'best_of', null))
  }
  const limit = asNumber(body.max_tokens) ?? (isLenient(model) ? undefined : tokenLimitDefault)
  const made = prompts.map(({ text }) =>
    answerTo({
      said: text,
      toolResult: undefined,
      tools: [],
      toolChoice: 'none',
      format: 'text',
      choices: bestOf,
      stops: [body.stop].flat().filter((stop) => typeof stop === 'string'),
      tokenLimit: limit,
      reasoningTokens: 0,
      directives: request.directives,
    }),
  )
  const repeated = prompts.map(({ text }) => (body.echo === true ? text : ''))
  const shown = made.flatMap((choices, prompt) =>
    choices.slice(0, candidates).map((choice) => ({ choice, prompt: repeated[prompt] ?? '' })),
  )
  const counted = prompts.reduce((sum, { tokens }) => sum + tokens, 0)
  const prompt = request.directives.promptTokens ?? counted
  const output = made.flat().reduce((sum, choice) => sum + countOutput(choice), 0)
  const usage = { prompt_tokens: prompt, completion_tokens: output, total_tokens: prompt + output }
  return reply(request, body, shown, usage)
}

interface Shown {
  choice: Choice
  /** The prompt, if the answer repeats it. */
  prompt: string
}

function reply(request: VendorRequest, body: JsonObject, shown: Shown[], usage: JsonObject): Reply {
  const envelope = {
    id: `cmpl-${crypto.randomUUID().replaceAll('-', '')}`,
    object: 'text_completion',
    created: Math.floor(Date.now() / 1000),
    model: body.model,
  }
  const fault = request.directives.usage
  if (body.stream !== true) {
    const choices = shown.map(({ choice, prompt }, index) => ({
      index,
      text: prompt + choice.pieces.join(''),
      logprobs: logProbabilities(body, [...(prompt === '' ? [] : [prompt]), ...choice.pieces]),
      finish_reason: choice.end,
    }))
    return jsonReply(200, { ...envelope, choices, usage: reportUsage(usage, fault) }, headers())
  }
  const wantsUsage = asObject(body.stream_options)?.include_usage === true
  const stream = {
    frames: frames(body, envelope, shown, wantsUsage ? reportUsage(usage, fault) : undefined),
    last: { data: '[DONE]' },
    failure: { data: printJson({ error: { message: 'The server had an error.', type: 'server_error' } }) },
  }
  return { status: 200, headers: headers(), body: { kind: 'events', stream } }
}

function* frames(
  body: JsonObject,
  envelope: JsonObject,
  shown: readonly Shown[],
  usage: JsonObject | undefined,
): Generator<EventFrame> {
  for (const [index, { choice, prompt }] of shown.entries()) {
    const pieces = prompt === '' ? choice.pieces : [prompt, ...choice.pieces]
    for (const text of pieces) {
      const item = { index, text, logprobs: logProbabilities(body, [text]), finish_reason: null }
      yield { data: printJson({ ...envelope, choices: [item] }) }
    }
    const last = { index, text: '', logprobs: null, finish_reason: choice.end }
    yield { data: printJson({ ...envelope, choices: [last] }) }
  }
  if (usage) yield { data: printJson({ ...envelope, choices: [], usage }) }
}

function logProbabilities({ logprobs }: JsonObject, tokens: readonly string[]): JsonObject | null {
  if (typeof logprobs !== 'number') return null
  const places = tokens.map((_token, index) => tokens.slice(0, index).join('').length)
  return {
    tokens: [...tokens],
    token_logprobs: tokens.map(() => -0.01),
    top_logprobs: logprobs > 0 ? tokens.map((token) => ({ [token]: -0.01 })) : null,
    text_offset: places,
  }
}
