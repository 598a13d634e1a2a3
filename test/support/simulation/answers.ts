// The successful answers of the simulation's vendors, in the form of each, with their costs at the prices of the simulation. Pure
// except for randomness.

import type { Random } from '../random'
import { CHARACTER_NANO, FILE_HOST, IMAGE_NANO, TOKEN_NANO } from './config'

/** A whole answer, or the pieces of a stream. */
export interface Made {
  pieces: string[]
  contentType: string
  /** Price of the whole answer in nano-dollars. */
  nano: number
  /** A vendor that stops early does not send the pieces from here on. */
  cutAt: number
}

export interface Wish {
  /** The vendor's name of the model. */
  model: string
  mark: string
  isStream: boolean
  random: Random
}

const JSON_TYPE = 'application/json'
const EVENTS = 'text/event-stream'

const MAX_OUTPUT = 40

function tokensOf({ model, random }: Wish, most = MAX_OUTPUT) {
  const [inputNano, outputNano] = TOKEN_NANO[model] as readonly [number, number]
  const [input, output] = [5 + random.below(30), 1 + random.below(most)]
  return { input, output, nano: input * inputNano + output * outputNano }
}

/** The words of a stream, and its tokens. None are hidden, so there are at most as many as bytes. */
function wordsOf(wish: Wish) {
  const words = Array.from({ length: 1 + wish.random.below(8) }, (_none, index) => `word ${index} `)
  return { words, ...tokensOf(wish, Math.min(MAX_OUTPUT, words.join('').length)) }
}

function whole(reply: object, nano: number): Made {
  return { pieces: [JSON.stringify(reply)], contentType: JSON_TYPE, nano, cutAt: 1 }
}

function stream(words: string[], end: string[], nano: number): Made {
  return { pieces: [...words, ...end], contentType: EVENTS, nano, cutAt: words.length }
}

export function chatAnswer(wish: Wish): Made {
  const { model, mark, isStream } = wish
  const { words: said, input, output, nano } = wordsOf(wish)
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
  const head = { id: 'c', created: 1, model }
  if (!isStream) {
    const message = { role: 'assistant', content: `answer to ${mark}` }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    return whole({ ...head, object: 'chat.completion', choices, usage }, nano)
  }
  const event = (data: object) =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...data })}\n\n`
  const words = said.map((content) =>
    event({ choices: [{ index: 0, delta: { content }, finish_reason: null }] }),
  )
  const end = [
    event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
    event({ choices: [], usage }),
    'data: [DONE]\n\n',
  ]
  return stream(words, end, nano)
}

export function messageAnswer(wish: Wish): Made {
  const { model, mark, isStream } = wish
  const { words: said, input, output, nano } = wordsOf(wish)
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model }
  if (!isStream) {
    const usage = { input_tokens: input, output_tokens: output }
    const content = [{ type: 'text', text: `answer to ${mark}` }]
    return whole({ ...message, content, stop_reason: 'end_turn', stop_sequence: null, usage }, nano)
  }
  const event = (type: string, data: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
  const begun = {
    ...message,
    content: [],
    stop_reason: null,
    usage: { input_tokens: input, output_tokens: 1 },
  }
  const words = said.map((text) =>
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  )
  return stream(
    [
      event('message_start', { message: begun }),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      ...words,
    ],
    [
      event('content_block_stop', { index: 0 }),
      event('message_delta', {
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: output },
      }),
      event('message_stop', {}),
    ],
    nano,
  )
}

export function embeddingsAnswer({ model, random }: Wish, inputs: number): Made {
  const [nano] = TOKEN_NANO[model] as readonly [number, number]
  const tokens = inputs + random.below(inputs)
  const data = Array.from({ length: inputs }, (_none, index) => ({
    object: 'embedding',
    index,
    embedding: [0.5, 1],
  }))
  const usage = { prompt_tokens: tokens, total_tokens: tokens }
  return whole({ object: 'list', data, model, usage }, tokens * nano)
}

/** Silent samples, in events. */
export function speechAnswer({ random }: Wish, text: string): Made {
  const event = (audio: object, finish: string | null) =>
    `data: ${JSON.stringify({ output: { audio, finish_reason: finish } })}\n\n`
  const data = Buffer.alloc(64).toString('base64')
  const words = Array.from({ length: 1 + random.below(5) }, () => event({ data }, null))
  return stream(words, [event({ data: '' }, 'stop')], text.length * CHARACTER_NANO)
}

export function imageAnswer({ mark, random }: Wish): Made {
  const image = `http://${FILE_HOST}/${mark}-${random.below(1e6)}.png`
  const choices = [{ finish_reason: 'stop', message: { role: 'assistant', content: [{ image }] } }]
  return whole({ request_id: 'r', output: { choices }, usage: { image_count: 1 } }, IMAGE_NANO)
}

export function editAnswer(wish: Wish): Made {
  const { input, output, nano } = tokensOf(wish)
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output }
  return whole({ created: 1, data: [{ b64_json: Buffer.from(wish.mark).toString('base64') }], usage }, nano)
}

/** The tokens of the audio are the whole input. */
export function transcriptAnswer(wish: Wish): Made {
  const { input, output, nano } = tokensOf(wish)
  const usage = {
    type: 'tokens',
    input_tokens: input,
    input_token_details: { text_tokens: 0, audio_tokens: input },
    output_tokens: output,
    total_tokens: input + output,
  }
  return whole({ text: `what is said in ${wish.mark}`, usage }, nano)
}

/** The file at the address of a result. */
export function fileAt(path: string): string {
  return `the file at ${path}`
}
