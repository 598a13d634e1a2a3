// The methods of Google's API that are served below a model in the path, and the operation that the model must serve for each.
// Routes and lists of models must be made from it.

import type { OperationName } from '../contract/operations'

export const contentsMethods = {
  generateContent: 'contents',
  streamGenerateContent: 'contents',
  countTokens: 'contents',
  embedContent: 'embeddings',
  batchEmbedContents: 'embeddings',
} as const satisfies Record<string, OperationName>
export type ContentsMethod = keyof typeof contentsMethods
