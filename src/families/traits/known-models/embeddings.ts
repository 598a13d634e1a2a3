// Known embedding models: traits and limits, each with its source and the month of the check. Data. Nothing may be listed without a
// source.

import type { KnownModel } from './row'

const openaiVectors = {
  traits: {},
  batchTokens: 300_000,
  source: 'https://github.com/openai/openai-node/blob/master/src/resources/embeddings.ts',
  asOf: '2026-11',
}
const voyageVectors = { traits: {}, source: 'https://docs.voyageai.com/docs/embeddings', asOf: '2026-11' }
const mistralVectors = {
  traits: {},
  batchTokens: 16_000,
  batchSize: 256,
  source: 'https://docs.mistral.ai/studio/knowledge-rag/embeddings/code_embeddings',
  // 257 inputs were refused there; the tokens are those of MAX_TOKENS in langchain-mistralai.
  limitsSource: 'https://docs.rs/crate/rig-core/latest/source/src/providers/mistral/embedding.rs',
  asOf: '2026-11',
}
const VOYAGE_LENGTHS = [256, 512, 1024, 2048]

/** Embedding models. For a Voyage model without a row, the family uses the lowest limit per call. */
export const embeddingModels: readonly KnownModel[] = [
  { names: ['text-embedding-3-small'], dimensions: { min: 1, max: 1536 }, ...openaiVectors },
  { names: ['text-embedding-3-large'], dimensions: { min: 1, max: 3072 }, ...openaiVectors },
  { names: ['text-embedding-ada-002'], ...openaiVectors },
  {
    names: ['voyage-4-large', 'voyage-3-large', 'voyage-code-3'],
    dimensions: VOYAGE_LENGTHS,
    batchTokens: 120_000,
    ...voyageVectors,
  },
  {
    names: ['voyage-4-lite', 'voyage-3.5-lite'],
    dimensions: VOYAGE_LENGTHS,
    batchTokens: 1_000_000,
    ...voyageVectors,
  },
  {
    names: ['voyage-4', 'voyage-3.5'],
    dimensions: VOYAGE_LENGTHS,
    batchTokens: 320_000,
    ...voyageVectors,
  },
  { names: ['mistral-embed*'], dimensions: [1024], ...mistralVectors },
  { names: ['codestral-embed*'], dimensions: { min: 1, max: 3072 }, ...mistralVectors },
  { names: ['voyage-2'], batchTokens: 320_000, ...voyageVectors },
]
