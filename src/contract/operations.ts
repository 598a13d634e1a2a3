// The table of operations that a caller can request. HTTP routes, tools and documentation must be made from it.

import type { Dialect } from '../lib/errors'

interface OperationRow {
  name: string
  path: string
  /** Additional paths: those of other gateways, and those that clients derive from another base URL. */
  aliases?: readonly string[]
  /** True if the model's id is in the path, in place of `{id}`, and the method after it says whether the answer is a stream. */
  inAddress?: true
  /** Form of a request: a JSON object, or a form with files. */
  body: 'json' | 'form'
  /** The operation whose JSON body a request may have instead of a form, for models that accept it. */
  asJson?: 'image'
  /** Form of errors that are raised before the model is known. */
  dialect: Dialect
  /** Maximum size of a body in bytes, unless the configuration sets another limit; a larger one is 413. */
  maxBodyBytes: number
  /** True if answers are stored, so that later requests of the account can continue them by id. */
  keepsAnswers?: true
  /** True if the answer is a compaction of the conversation, which is never stored. */
  compacts?: true
  /** True if a caller may have the answer made in the background, as a task. */
  canBeDeferred?: true
  /** Headers of the caller that are sent to the vendor. */
  forwards?: readonly string[]
  /** Title in the documentation, of a few words. */
  summary: string
  /** The first sentence of the documentation. Absent: the title suffices. */
  about?: string
  /** Heading in the documentation. */
  tag: string
  /** True if a request need not name a model: it then goes to the first model of the catalogue that serves the operation. */
  modelIsOptional?: true
  /** Kinds of input and output, in the terms of model lists. */
  modalities: { input: readonly string[]; output: readonly string[] }
  /** The plain request of the documentation's example. */
  asks: { text: string; resolution?: string }
  /** Name of the file that the example of a form sends. */
  exampleFile?: string
  /** An answer for the documentation. Absent: a separate schema describes its form there. */
  answer?: {
    description: string
    example: object
    /** Media types of answers that are not JSON. */
    texts?: readonly string[]
    /** Server-sent events, if the request has `stream: true`. */
    events?: string
  }
}

const MEBIBYTE = 1024 * 1024

/** Media types of texts and subtitles. */
const TRANSCRIPTS = ['text/plain', 'application/x-subrip', 'text/vtt'] as const

const table = [
  {
    name: 'chat',
    canBeDeferred: true,
    path: '/v1/chat/completions',
    body: 'json',
    dialect: 'openai',
    // Enough for several images and files as base64.
    maxBodyBytes: 32 * MEBIBYTE,
    summary: 'Chat completion',
    about:
      'Answers a conversation of texts, pictures, sounds and files, with tools and reasoning, whole or as a stream.',
    tag: 'Text',
    modalities: { input: ['text'], output: ['text'] },
    asks: { text: 'Why is the sky blue?' },
  },
  {
    name: 'messages',
    canBeDeferred: true,
    path: '/v1/messages',
    // The Anthropic SDK adds /v1/messages to its base URL, the AI SDK only /messages, and both read ANTHROPIC_BASE_URL.
    aliases: ['/messages'],
    body: 'json',
    dialect: 'messages',
    maxBodyBytes: 32 * MEBIBYTE,
    // Fields and the header that allows them belong together: a vendor refuses one without the other.
    forwards: ['anthropic-version', 'anthropic-beta'],
    summary: 'Messages',
    about: 'Answers a conversation in the native form of one provider, for any chat model.',
    tag: 'Text',
    modalities: { input: ['text'], output: ['text'] },
    asks: { text: 'Why is the sky blue?' },
  },
  {
    name: 'completions',
    canBeDeferred: true,
    path: '/v1/completions',
    body: 'json',
    dialect: 'openai',
    maxBodyBytes: 32 * MEBIBYTE,
    summary: 'Text completion',
    about: 'Continues a plain text, by models that serve this older form, such as those of local servers.',
    tag: 'Text',
    modalities: { input: ['text'], output: ['text'] },
    asks: { text: 'The sky is blue because' },
    answer: {
      description: 'The text that follows each prompt, or its pieces as events.',
      example: {
        id: 'cmpl-123',
        object: 'text_completion',
        created: 1_767_225_600,
        model: 'a-text-model',
        choices: [{ index: 0, text: ' of how light scatters.', logprobs: null, finish_reason: 'stop' }],
        usage: { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 },
      },
      events:
        'data: {"object":"text_completion","choices":[{"index":0,"text":" of how","finish_reason":null}]}\n\ndata: [DONE]\n\n',
    },
  },
  {
    name: 'responses',
    path: '/v1/responses',
    body: 'json',
    dialect: 'openai',
    maxBodyBytes: 32 * MEBIBYTE,
    keepsAnswers: true,
    summary: 'Responses',
    about: 'Answers with text, tool calls and reasoning as items, for any chat model.',
    tag: 'Text',
    modalities: { input: ['text'], output: ['text'] },
    asks: { text: 'Why is the sky blue?' },
  },
  {
    name: 'contents',
    path: '/v1beta/models/{id}:generateContent',
    // The default of @google/genai since 3.0; other clients send requests below /v1beta.
    aliases: ['/v1/models/{id}:generateContent'],
    inAddress: true,
    body: 'json',
    dialect: 'gemini',
    maxBodyBytes: 32 * MEBIBYTE,
    summary: 'Contents',
    about: 'Answers a conversation in the form of `generateContent`, for any chat model.',
    tag: 'Text',
    modalities: { input: ['text'], output: ['text'] },
    asks: { text: 'Why is the sky blue?' },
  },
  {
    name: 'embeddings',
    path: '/v1/embeddings',
    body: 'json',
    dialect: 'openai',
    maxBodyBytes: 16 * MEBIBYTE,
    summary: 'Text embeddings',
    tag: 'Embeddings',
    modalities: { input: ['text'], output: ['embeddings'] },
    asks: { text: 'The sky is blue.' },
  },
  {
    name: 'speech',
    canBeDeferred: true,
    path: '/v1/audio/speech',
    body: 'json',
    dialect: 'openai',
    maxBodyBytes: MEBIBYTE,
    summary: 'Text to speech',
    about: 'The answer is the audio itself.',
    tag: 'Speech',
    modalities: { input: ['text'], output: ['speech'] },
    asks: { text: 'The sky is blue.' },
  },
  {
    name: 'image',
    canBeDeferred: true,
    path: '/v1/images/generations',
    body: 'json',
    // There is another form too, and callers of each family read their own.
    dialect: 'flat',
    maxBodyBytes: 32 * MEBIBYTE,
    summary: 'Image generation',
    about: 'Makes images from a text, or from reference images.',
    tag: 'Images',
    modalities: { input: ['text'], output: ['image'] },
    asks: { text: 'A lighthouse in a storm, in oil' },
  },
  {
    name: 'image-edit',
    canBeDeferred: true,
    path: '/v1/images/edits',
    body: 'form',
    asJson: 'image',
    dialect: 'openai',
    maxBodyBytes: 256 * MEBIBYTE,
    summary: 'Image editing',
    about: 'Edits uploaded images, within a mask if one is sent.',
    tag: 'Images',
    modalities: { input: ['text', 'image'], output: ['image'] },
    asks: { text: 'Make it night' },
    exampleFile: 'picture.png',
  },
  {
    name: 'video',
    path: '/v1/videos/generations',
    aliases: ['/v1/video/generations'],
    body: 'json',
    dialect: 'openai',
    maxBodyBytes: 32 * MEBIBYTE,
    summary: 'Video generation',
    about: 'Submits a task, whose end can be polled or sent to a webhook.',
    tag: 'Video',
    modalities: { input: ['text'], output: ['video'] },
    asks: { text: 'Waves break at a lighthouse', resolution: '720p' },
  },
  {
    name: 'transcription',
    canBeDeferred: true,
    path: '/v1/audio/transcriptions',
    body: 'form',
    dialect: 'openai',
    maxBodyBytes: 64 * MEBIBYTE,
    summary: 'Transcription',
    about: 'Turns audio into text, JSON or subtitles, in the spoken language.',
    tag: 'Speech',
    modalities: { input: ['audio'], output: ['transcription'] },
    asks: { text: '' },
    exampleFile: 'speech.mp3',
    answer: {
      description: 'The text, as JSON, as plain text or as subtitles, or its pieces as events.',
      example: { text: 'The sky is blue.', usage: { type: 'duration', seconds: 2 } },
      texts: TRANSCRIPTS,
      events: 'data: {"type":"transcript.text.delta","delta":"The sky"}\n\n',
    },
  },
  {
    name: 'translation',
    canBeDeferred: true,
    path: '/v1/audio/translations',
    body: 'form',
    dialect: 'openai',
    maxBodyBytes: 64 * MEBIBYTE,
    summary: 'Translation of audio',
    about: 'Turns audio in any language into English text, JSON or subtitles.',
    tag: 'Speech',
    modalities: { input: ['audio'], output: ['transcription'] },
    asks: { text: '' },
    exampleFile: 'speech.mp3',
    answer: {
      description: 'The English text, as JSON, as plain text or as subtitles.',
      example: { text: 'The sky is blue.' },
      texts: TRANSCRIPTS,
    },
  },
  {
    name: 'rerank',
    path: '/v1/rerank',
    // The path of ClientV2 in the Cohere SDK, and of CohereClientV2 in TypeScript.
    aliases: ['/v2/rerank'],
    body: 'json',
    dialect: 'openai',
    maxBodyBytes: 16 * MEBIBYTE,
    summary: 'Reranking',
    about: 'Ranks documents by how well they answer a query, the best first.',
    tag: 'Rerank',
    modalities: { input: ['text'], output: ['rerank'] },
    asks: { text: 'Why is the sky blue?' },
    answer: {
      description: 'The documents by their places in the request, the most relevant first.',
      example: {
        results: [{ index: 0, relevance_score: 0.98 }],
        meta: { billed_units: { search_units: 1 } },
      },
    },
  },
  {
    name: 'moderation',
    path: '/v1/moderations',
    body: 'json',
    dialect: 'openai',
    maxBodyBytes: 32 * MEBIBYTE,
    modelIsOptional: true,
    summary: 'Moderation',
    about: 'Reports whether texts or a picture are harmful, and in which categories.',
    tag: 'Moderation',
    modalities: { input: ['text'], output: ['moderation'] },
    asks: { text: 'I want to hurt them.' },
    answer: {
      description: 'A result for each text, or one for all parts.',
      example: {
        id: 'modr-123',
        model: 'a-moderation-model',
        results: [{ flagged: true, categories: { violence: true }, category_scores: { violence: 0.98 } }],
      },
    },
  },
] as const satisfies readonly OperationRow[]

export type OperationName = (typeof table)[number]['name']
export interface Operation extends OperationRow {
  name: OperationName
}

export const operations: readonly Operation[] = table

export function operationOf(name: OperationName): Operation {
  return operations.find((operation) => operation.name === name) as Operation
}

const NOTHING = {}

/** Headers of a request that are sent to its vendor. */
export function forwardedOf({ forwards }: Operation, headers: Headers): Readonly<Record<string, string>> {
  if (!forwards) return NOTHING
  return Object.fromEntries(
    forwards.flatMap((name) => {
      const value = headers.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )
}

/** The path of a request for a model. */
export function pathForModel({ path }: Pick<Operation, 'path'>, id: string): string {
  return path.replace('{id}', encodeURIComponent(id))
}

/** The maximum body sizes in words, unless the configuration sets others: that of most operations, and the exceptions. */
export const largestBodies: string = (() => {
  const bySize = [...Map.groupBy(operations, ({ maxBodyBytes }) => maxBodyBytes)].sort(
    ([one], [other]) => one - other,
  )
  const usual = bySize.reduce((most, each) => (each[1].length > most[1].length ? each : most))
  const mebibytes = (bytes: number) => `${bytes / MEBIBYTE} MiB`
  const list = new Intl.ListFormat('en')
  const others = bySize
    .filter((each) => each !== usual)
    .map(([bytes, named]) => `${list.format(named.map(({ name }) => name))} ${mebibytes(bytes)}`)
  return `${mebibytes(usual[0])}; ${others.join(', ')}`
})()

/** A response that contains only a sealed summary of the conversation: served, priced and limited like responses. */
export const compaction: Operation = {
  ...operationOf('responses'),
  path: '/v1/responses/compact',
  compacts: true,
  summary: 'Compaction: a conversation in fewer tokens, to be continued',
}
