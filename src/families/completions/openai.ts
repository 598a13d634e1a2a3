// Completions of OpenAI-compatible upstreams (POST /v1/completions): a text that the model continues, without roles or
// tools. The caller's text passes through with single fields edited; the vendor's bytes must never be changed.

import { type Static, Type } from '@sinclair/typebox'
import type {
  FieldRule,
  JsonFamily,
  Model,
  OutputTokens,
  ParsedRequest,
  Quantities,
} from '../../contract/family'
import { hasPrice } from '../../contract/prices'
import { SHOWN } from '../../contract/reading'
import { asObject } from '../../lib/objects'
import { CHAT_END, readChunk, readCompletion } from '../chat/caller-side'
import { SEARCHES_AND_TOOLS } from '../chat/fields'
import { ChunkFollower } from '../chat/follower'
import { shownChatUsage } from '../chat/usage'
import { completionEdit } from '../completion-edit'
import { optionalField, quotedOutput, USEFUL_OUTPUT_TOKENS } from '../shared-schemas'
import { dearerModes, laterAnswers, localServerFields, otherModels, serviceTier, speed } from '../surcharges'

/** Maximum number of prompts in a request. */
const MAX_PROMPTS = 2_048

const Token = Type.Integer({ minimum: 0 })
const open = { additionalProperties: true }

const CompletionsBody = Type.Object(
  {
    model: Type.String({ description: 'Id from GET /v1/models.' }),
    prompt: Type.Union(
      [
        Type.String(),
        Type.Array(Type.String(), { minItems: 1, maxItems: MAX_PROMPTS }),
        Type.Array(Token, { minItems: 1, maxItems: 2_000_000 }),
        Type.Array(Type.Array(Token, { minItems: 1 }), { minItems: 1, maxItems: MAX_PROMPTS }),
      ],
      { description: 'The text to continue, or several, as texts or as tokens of the model.' },
    ),
    suffix: optionalField(Type.String({ description: 'The text that follows the completion.' })),
    max_tokens: optionalField(Type.Integer({ minimum: 0, maximum: 100_000_000 })),
    n: optionalField(Type.Integer({ minimum: 1, maximum: 128 })),
    best_of: optionalField(
      Type.Integer({
        minimum: 1,
        maximum: 128,
        description: 'How many completions are made; the best `n` are returned. All of them are paid.',
      }),
    ),
    echo: optionalField(Type.Boolean({ description: 'Whether the prompt precedes the completion.' })),
    logprobs: optionalField(Type.Integer({ minimum: 0, maximum: 100 })),
    stop: optionalField(Type.Union([Type.String(), Type.Array(Type.String())])),
    stream: optionalField(Type.Boolean()),
    stream_options: optionalField(Type.Object({ include_usage: optionalField(Type.Boolean()) }, open)),
    temperature: optionalField(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: optionalField(Type.Number({ minimum: 0, maximum: 1 })),
    seed: optionalField(Type.Integer()),
    frequency_penalty: optionalField(Type.Number({ minimum: -2, maximum: 2 })),
    presence_penalty: optionalField(Type.Number({ minimum: -2, maximum: 2 })),
    logit_bias: optionalField(Type.Object({}, open)),
    user: optionalField(Type.String()),
  },
  open,
)
type CompletionsBody = Static<typeof CompletionsBody>

/** Fields of single servers that add tokens to a request beyond those held for it. */
const uncounted: readonly FieldRule[] = [
  ...localServerFields(['max_completion_tokens']),
  {
    field: 'prompt_embeds',
    why: 'its number of tokens is unknown',
    instead: "Send a text or tokens as 'prompt'.",
    always: true,
  },
]

export const openaiCompletions: JsonFamily<CompletionsBody> = {
  kind: 'json',
  name: 'openai-completions',
  operation: 'completions',
  units: [['input_token', 'output_token']],
  dialect: 'openai',
  body: CompletionsBody,
  fieldRules: [
    serviceTier,
    speed,
    ...dearerModes,
    ...otherModels,
    ...laterAnswers,
    ...SEARCHES_AND_TOOLS,
    ...uncounted,
  ],
  fields: ['min_p', 'top_k', 'repetition_penalty', 'response_format', 'ignore_eos', 'stop_token_ids'],
  quote: quoteCompletions,
  output: outputOfCompletions,

  call({ body, outputTokens }, model) {
    const edit = completionEdit(body, model)
    const limit = body.max_tokens ?? Number.POSITIVE_INFINITY
    if (outputTokens !== undefined && outputTokens < limit) edit.set.max_tokens = String(outputTokens)
    return { path: '/completions', protocol: 'openai', body: { edit }, stream: body.stream === true }
  },

  read(reply, { body }) {
    const reading = readCompletion(reply)
    if (!body.echo || reading.output?.kind !== 'shown') return reading
    const { output } = readCompletion(withoutEcho(reply, body))
    // A prompt alone is an answer too, if the caller asked for its probabilities.
    return { ...reading, output: output?.kind === 'shown' ? output : SHOWN }
  },

  stream: {
    end: CHAT_END,
    showsUsage: (body) => body.stream_options?.include_usage === true,
    read: readChunk,
    follow: (parsed, model) =>
      new ChunkFollower(parsed, model, {
        object: 'text_completion',
        idPrefix: 'cmpl',
        candidates: shownCandidates(parsed.body),
        lastPiece: () => ({ text: '' }),
      }),
  },

  usage: shownChatUsage,
  texts: textsOf,
  plain: { fields: ['n'], body: ({ text, ...options }) => ({ prompt: text, ...options }) },
}

/** The maximum that a request can use: some servers read a prompt once per completion. */
function quoteCompletions(parsed: ParsedRequest<CompletionsBody>, model: Model): Quantities {
  const { body, byteLength } = parsed
  const prompts = promptsOf(body)
  const made = Math.max(body.n ?? 1, body.best_of ?? 1)
  // No tokenizer produces more tokens than the text has bytes, and a token array is its own count.
  const read = prompts.reduce(
    (sum: number, prompt) => sum + (typeof prompt === 'string' ? 0 : prompt.length),
    typeof prompts[0] === 'string' ? byteLength : 0,
  )
  const most = (model.contextTokens ?? Number.POSITIVE_INFINITY) * prompts.length
  // Some servers write one token even if none is requested.
  const written = Math.max(1, quotedOutput(body.max_tokens ?? undefined, parsed, model))
  // In a stream without usage, a repeated prompt cannot be distinguished from output.
  const repeated = body.echo && body.stream ? Math.min(read, most) : 0
  return {
    [hasPrice(model.priceList, 'cache_write_token') ? 'cache_write_token' : 'input_token']:
      Math.min(read, most) * made,
    output_token: (written * prompts.length + repeated) * made,
  }
}

/**
 * The output of a request, if all of it is delivered: not if the best of several is chosen, and not if it repeats the prompt, which
 * may be longer than what is held at first.
 */
function outputOfCompletions(body: CompletionsBody, model: Model): OutputTokens | undefined {
  if (body.echo || (body.best_of ?? 1) > (body.n ?? 1)) return undefined
  const most = Math.max(1, body.max_tokens ?? model.maxOutputTokens ?? Number.POSITIVE_INFINITY)
  return { most, least: Math.min(most, USEFUL_OUTPUT_TOKENS), candidates: shownCandidates(body) }
}

function shownCandidates(body: CompletionsBody): number {
  return promptsOf(body).length * (body.n ?? 1)
}

/** The texts of a request, counted if the vendor reports no usage. The quote counts the tokens. */
function textsOf(body: CompletionsBody): string[] {
  const texts = promptsOf(body).filter((prompt) => typeof prompt === 'string')
  return texts.length > 0 && body.suffix ? [...texts, body.suffix] : texts
}

function promptsOf({ prompt }: CompletionsBody): (string | number[])[] {
  if (typeof prompt === 'string') return [prompt]
  return typeof prompt[0] === 'number' ? [prompt as number[]] : (prompt as (string | number[])[])
}

/** The reply without the prompts that it repeats, which the model did not write. */
function withoutEcho(reply: unknown, body: CompletionsBody): unknown {
  const { choices, ...rest } = asObject(reply)
  if (!Array.isArray(choices)) return reply
  const prompts = promptsOf(body).filter((prompt) => typeof prompt === 'string')
  return { ...rest, choices: choices.map((choice) => withoutPrompt(choice, prompts)) }
}

function withoutPrompt(choice: unknown, prompts: readonly string[]): unknown {
  const { text } = asObject(choice)
  if (typeof text !== 'string') return choice
  const repeated = prompts.filter((prompt) => text.startsWith(prompt))
  const length = repeated.reduce((most, prompt) => Math.max(most, prompt.length), 0)
  return { ...asObject(choice), text: text.slice(length) }
}
