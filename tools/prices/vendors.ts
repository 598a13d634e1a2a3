// The vendors whose lists are made, how the two sources name them, and which families serve their models here. Data only.

export interface Vendor {
  /** The kind of upstream, which also names the file. */
  kind: string
  /** The vendor's names in the first list, and the prefixes of its model names there. */
  providers: readonly string[]
  prefix: string
  /** The vendor's name in the second list; absent if that list lacks the vendor. */
  second?: string
  /** Families for each mode of the first list. A model of another mode is left out. */
  families: Readonly<Record<string, readonly string[]>>
  /** Set if the vendor counts and bills the web searches that its models run. */
  bills?: {
    /**
     * The billed unit of searches: each search, or the unit that the first list names; without a name, each prompt for which it
     * searched.
     */
    searches: 'each' | 'as_listed'
    /** Price of a thousand searches by the vendor's page, for models that search and that have no such price in the list. */
    searchPrice?: string
  }
  /** Ends of models that the first list lacks, by name, from the vendor's page. */
  ended?: Readonly<Record<string, { retires: string; successor: string }>>
  /** Seconds of audio that a request is billed for at least. */
  leastSeconds?: number
  /** Models that no family here can serve or bill, by the form of their names, with the reason. */
  unserved?: readonly (readonly [names: RegExp, reason: string])[]
  /** True if all reasoning models of the vendor refuse the same fields: those that the setting `reasoning` stands for. */
  reasonsAlike?: true
}

const chat = { chat: ['openai-chat'] }

const BY_HAND_ONLY = 'models of its mode are kept by hand in gateway.config.ts, which lacks it'

/** Why models of a mode are omitted if the vendor has no family for it. */
export const unservedModes: Readonly<Record<string, string>> = {
  audio_speech: 'no family here speaks the form of its vendor for speech',
  audio_transcription: 'no family here speaks the form of its vendor for transcription',
  completion: 'no family here speaks the form of its vendor for completions',
  embedding: 'no family here speaks the form of its vendor for embeddings',
  image_generation: BY_HAND_ONLY,
  moderation: 'no family here speaks the form of its vendor for moderation',
  ocr: 'no operation here reads documents without a chat',
  realtime: 'realtime sessions are not served',
  responses: 'it is asked over responses only, which are not served of this vendor',
  search: 'no operation here searches without a chat',
  video_generation: BY_HAND_ONLY,
}

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
      audio_speech: ['openai-speech'],
      audio_transcription: ['openai-transcriptions'],
    },
    // developers.openai.com/api/docs/pricing, 2026-11: "Web search (all models)". The list has the higher price of the older
    // `web_search_preview` for models that do not reason.
    bills: { searches: 'each', searchPrice: '10.00' },
    // developers.openai.com/api/docs/guides/tools-web-search: over chat completions they always search before they answer.
    unserved: [
      [/-search-(preview|api)/, 'it searches for every request, and chat completions do not count searches'],
      [/^(chatgpt-image-latest|gpt-image-1-mini|gpt-image-1\.5)/, 'its vendor ends it on 2026-12-01'],
    ],
    reasonsAlike: true,
  },
  {
    kind: 'anthropic',
    providers: ['anthropic'],
    prefix: '',
    second: 'anthropic',
    families: { chat: ['anthropic-messages'] },
    // platform.claude.com/docs/en/about-claude/pricing, 2026-11
    bills: { searches: 'each', searchPrice: '10.00' },
  },
  {
    kind: 'google',
    providers: ['gemini'],
    prefix: 'gemini/',
    second: 'google',
    // ai.google.dev/gemini-api/docs/pricing, 2026-11: queries of Gemini 3 and later, prompts of earlier models.
    bills: { searches: 'as_listed' },
    families: { chat: ['gemini-contents'], embedding: ['gemini-embeddings'] },
    // ai.google.dev/gemini-api/docs/deep-research
    unserved: [
      [/^deep-research-/, 'it is an agent, which only the Interactions API runs'],
      [/^(imagen|veo)-/, 'no family here speaks the form of its vendor for predictions'],
      [/^nano-banana-pro-preview$/, 'an earlier name of gemini-3-pro-image'],
    ],
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
    families: { ...chat, audio_speech: ['dashscope-speech'] },
    unserved: [
      // alibabacloud.com/help/en/model-studio/deep-thinking
      [/^qwq-/, 'its vendor answers it only as a stream'],
      [/^qwen-image-3\.0/, 'it costs more at 2K, and no page is known that says how much'],
      [/^qwen-audio-/, 'no page is known that says whether it is asked as qwen3-tts is'],
    ],
  },
  {
    kind: 'cohere',
    providers: ['cohere'],
    prefix: '',
    second: 'cohere',
    families: { rerank: ['cohere-rerank'] },
    // docs.cohere.com/docs/compatibility-api
    unserved: [
      [
        /^(cohere\/)?embed-/,
        'its vendor serves it in a known form at api.cohere.ai/compatibility/v1 only, for which an upstream of the kind openai is needed',
      ],
    ],
  },
  {
    kind: 'voyage',
    providers: ['voyage'],
    prefix: 'voyage/',
    second: 'voyageai',
    families: { embedding: ['voyage-embeddings'], rerank: ['voyage-rerank'] },
    // voyageai 0.4.0 on npm: MultimodalEmbedRequest and ContextualizedEmbedRequest are separate requests.
    unserved: [
      [/^voyage-multimodal-/, 'POST /multimodalembeddings is not served'],
      [/^voyage-context-/, 'POST /contextualizedembeddings is not served'],
    ],
  },
  {
    kind: 'mistral',
    providers: ['mistral'],
    prefix: 'mistral/',
    second: 'mistral',
    families: {
      ...chat,
      embedding: ['openai-embeddings'],
      audio_transcription: ['openai-transcriptions'],
    },
    // src/schema/models/models of mistralai/platform-docs-public (2026-08-21), from which docs.mistral.ai/models is made.
    ended: {
      'codestral-mamba-latest': { retires: '2025-06-06', successor: 'codestral-2508' },
      'devstral-latest': { retires: '2026-07-31', successor: 'mistral-medium-3-5' },
      'devstral-medium-latest': { retires: '2026-07-31', successor: 'mistral-medium-3-5' },
      'devstral-small-latest': { retires: '2026-03-31', successor: 'mistral-medium-3-5' },
      'magistral-medium-latest': { retires: '2026-07-31', successor: 'mistral-medium-3-5' },
      'magistral-small-latest': { retires: '2026-07-31', successor: 'mistral-small-2603' },
      'open-mistral-nemo': { retires: '2026-07-31', successor: 'ministral-8b-2512' },
      'pixtral-large-latest': { retires: '2026-05-31', successor: 'mistral-medium-3-5' },
    },
    // RealtimeTranscription in @mistralai/mistralai 2.7 opens a WebSocket; docs.pipecat.ai/api-reference/server/services/stt/mistral.
    unserved: [[/-realtime-/, 'it transcribes over a WebSocket, which is not served']],
  },
  { kind: 'deepseek', providers: ['deepseek'], prefix: 'deepseek/', second: 'deepseek', families: chat },
  { kind: 'zai', providers: ['zai'], prefix: 'zai/', second: 'zai', families: chat },
  { kind: 'moonshot', providers: ['moonshot'], prefix: 'moonshot/', second: 'moonshotai', families: chat },
  {
    kind: 'groq',
    providers: ['groq'],
    prefix: 'groq/',
    second: 'groq',
    families: { ...chat, audio_transcription: ['openai-transcriptions'] },
    // "Minimum Billed Length: 10 seconds": console.groq.com/docs/speech-to-text
    leastSeconds: 10,
  },
]
