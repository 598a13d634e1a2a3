// The vendors whose lists are made, how the two sources name them, and which families serve their models here. Data only.

export interface Vendor {
  /** The kind of upstream, which also names the file. */
  kind: string
  /** The vendor's names in the first list, and what its names of models begin with there. */
  providers: readonly string[]
  prefix: string
  /** The vendor's name in the second list; absent if it has none of it. */
  second?: string
  /** Families for each mode of the first list. A model of another mode is left out. */
  families: Readonly<Record<string, readonly string[]>>
  /** True if the vendor counts and bills the web searches that its models run, at the price of the list. */
  bills?: { searches: true }
  /** Models that no family here can serve or bill, by the form of their names, with the reason. */
  unserved?: readonly (readonly [names: RegExp, reason: string])[]
  /** True if all reasoning models of the vendor refuse the same fields: those that the setting `reasoning` stands for. */
  reasonsAlike?: true
}

const chat = { chat: ['openai-chat'] }

export const vendors: readonly Vendor[] = [
  {
    kind: 'openai',
    providers: ['openai'],
    prefix: '',
    second: 'openai',
    families: {
      chat: ['openai-chat'],
      responses: ['openai-responses'],
      completion: ['openai-completions'],
      embedding: ['openai-embeddings'],
      audio_transcription: ['openai-transcriptions'],
    },
    bills: { searches: true },
    // developers.openai.com/api/docs/guides/tools-web-search: over chat completions they always search before they answer.
    unserved: [
      [/-search-(preview|api)/, 'it searches for every request, and chat completions do not count searches'],
    ],
    reasonsAlike: true,
  },
  {
    kind: 'anthropic',
    providers: ['anthropic'],
    prefix: '',
    second: 'anthropic',
    families: { chat: ['anthropic-messages'] },
    bills: { searches: true },
  },
  {
    kind: 'google',
    providers: ['gemini'],
    prefix: 'gemini/',
    second: 'google',
    families: { ...chat, embedding: ['gemini-embeddings'] },
    // ai.google.dev/gemini-api/docs/deep-research
    unserved: [[/^deep-research-/, 'it is an agent, which only the Interactions API runs']],
  },
  {
    kind: 'xai',
    providers: ['xai'],
    prefix: 'xai/',
    second: 'x-ai',
    families: chat,
    // docs.x.ai/developers/migration/may-15-retirement
    unserved: [[/^grok-code-fast/, 'its vendor retired it on 2026-05-15']],
  },
  {
    kind: 'dashscope',
    providers: ['dashscope'],
    prefix: 'dashscope/',
    families: chat,
    // alibabacloud.com/help/en/model-studio/deep-thinking
    unserved: [[/^qwq-/, 'its vendor answers it only as a stream']],
  },
  {
    kind: 'cohere',
    providers: ['cohere'],
    prefix: '',
    second: 'cohere',
    families: { rerank: ['cohere-rerank'] },
  },
  {
    kind: 'voyage',
    providers: ['voyage'],
    prefix: 'voyage/',
    second: 'voyageai',
    families: { embedding: ['voyage-embeddings'], rerank: ['voyage-rerank'] },
    // voyageai 0.4.0 on npm: MultimodalEmbedRequest and ContextualizedEmbedRequest are requests of their own.
    unserved: [
      [/^voyage-multimodal-/, 'POST /multimodalembeddings is not served'],
      [/^voyage-context-/, 'POST /contextualizedembeddings is not served'],
    ],
  },
  { kind: 'mistral', providers: ['mistral'], prefix: 'mistral/', second: 'mistral', families: chat },
  { kind: 'deepseek', providers: ['deepseek'], prefix: 'deepseek/', second: 'deepseek', families: chat },
  { kind: 'zai', providers: ['zai'], prefix: 'zai/', second: 'zai', families: chat },
  { kind: 'moonshot', providers: ['moonshot'], prefix: 'moonshot/', second: 'moonshotai', families: chat },
  { kind: 'groq', providers: ['groq'], prefix: 'groq/', second: 'groq', families: chat },
]
