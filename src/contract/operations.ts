// The table of what a caller can ask. HTTP routes, tools and documentation are made from it.

import type { Dialect } from '../lib/errors'

export interface Operation {
  name: OperationName
  path: string
  /** Where callers of other gateways look for it. */
  aliases?: readonly string[]
  /** How a request is written: a JSON object, or a form with files. */
  body: 'json' | 'form'
  /** The form of errors that are raised before the model is known. */
  dialect: Dialect
  /** Bytes of the largest body that is read unless the configuration says otherwise; a larger one is 413. */
  maxBodyBytes: number
  /** Headers of the caller that the vendor is to see. */
  forwards?: readonly string[]
  summary: string
}

export type OperationName = 'chat' | 'messages' | 'embeddings' | 'speech' | 'image' | 'image-edit' | 'video'

const MEBIBYTE = 1024 * 1024

export const operations: readonly Operation[] = [
  {
    name: 'chat',
    path: '/v1/chat/completions',
    body: 'json',
    dialect: 'openai',
    // Room for several images and files as base64.
    maxBodyBytes: 32 * MEBIBYTE,
    summary: 'Chat completion: text, multimodal, tools, reasoning, streaming',
  },
  {
    name: 'messages',
    path: '/v1/messages',
    body: 'json',
    dialect: 'messages',
    maxBodyBytes: 32 * MEBIBYTE,
    // Its fields and the header that allows them go together: a vendor refuses one without the other.
    forwards: ['anthropic-version', 'anthropic-beta'],
    summary: 'Messages: the native format of one provider, for any chat model',
  },
  {
    name: 'embeddings',
    path: '/v1/embeddings',
    body: 'json',
    dialect: 'openai',
    maxBodyBytes: 16 * MEBIBYTE,
    summary: 'Text embeddings',
  },
  {
    name: 'speech',
    path: '/v1/audio/speech',
    body: 'json',
    dialect: 'openai',
    maxBodyBytes: MEBIBYTE,
    summary: 'Text to speech: the answer is the sound itself',
  },
  {
    name: 'image',
    path: '/v1/images/generations',
    body: 'json',
    // It has the other form beside it, and callers of every family read their own.
    dialect: 'flat',
    maxBodyBytes: 32 * MEBIBYTE,
    summary: 'Image generation, from a text or from reference images; the payload depends on the model',
  },
  {
    name: 'image-edit',
    path: '/v1/images/edits',
    body: 'form',
    dialect: 'openai',
    maxBodyBytes: 256 * MEBIBYTE,
    summary: 'Image editing, from uploaded images and a mask',
  },
  {
    name: 'video',
    path: '/v1/videos/generations',
    aliases: ['/v1/video/generations'],
    body: 'json',
    dialect: 'openai',
    maxBodyBytes: 32 * MEBIBYTE,
    summary: 'Video generation: submits a task, whose end is polled or told to a webhook',
  },
]

export function operationOf(name: OperationName): Operation {
  return operations.find((operation) => operation.name === name) as Operation
}
