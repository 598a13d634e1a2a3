// The table of what a caller can ask. HTTP routes, tools and documentation are made from it.

export interface Operation {
  name: OperationName
  path: string
  /** Bytes of the largest body that is read; a larger one is 413. */
  maxBodyBytes: number
  summary: string
}

export type OperationName = 'chat' | 'embeddings'

const MEBIBYTE = 1024 * 1024

export const operations: readonly Operation[] = [
  {
    name: 'chat',
    path: '/v1/chat/completions',
    // Room for several images and files as base64.
    maxBodyBytes: 64 * MEBIBYTE,
    summary: 'Chat completion: text, multimodal, tools, reasoning, streaming',
  },
  {
    name: 'embeddings',
    path: '/v1/embeddings',
    maxBodyBytes: 16 * MEBIBYTE,
    summary: 'Text embeddings',
  },
]
