// The catalogue that the gateway starts with: model ids, the vendors behind them, and list prices in US dollars.
// Copy it, change what you like, and run `gateway config check`. It imports types only, so that the executable can load it.

import type { Config } from './src/config/schema'

// Where each price was read, and when: a page of its vendor, or the page of another that repeats it.
const openai = { source: 'https://developers.openai.com/api/docs/pricing', as_of: '2026-11' }
const anthropic = { source: 'https://platform.claude.com/docs/en/about-claude/pricing', as_of: '2026-11' }
const alibaba = { source: 'https://www.alibabacloud.com/help/en/model-studio/models', as_of: '2026-11' }
const google = { source: 'https://ai.google.dev/gemini-api/docs/pricing', as_of: '2026-11' }
// By third parties.
const cohere = { source: 'https://openrouter.ai/cohere', as_of: '2026-11' }
const elevenlabs = { source: 'https://elevenlabs.io/pricing/api', as_of: '2026-11' }
const minimax = { source: 'https://platform.minimax.io/docs/guides/pricing-paygo', as_of: '2026-11' }
// By calesthio, who repeats the page above.
const hailuoPage = {
  source: 'https://github.com/calesthio/OpenMontage/blob/main/skills/creative/minimax/SKILL.md',
  as_of: '2026-11',
}
const voyage = { source: 'https://docs.voyageai.com/docs/pricing', as_of: '2026-11' }
const xai = { source: 'https://docs.x.ai/developers/models', as_of: '2026-11' }
// By the published list that the lists of prices/ are made from too, which names the vendor's page.
const litellm = { source: 'https://pypi.org/project/litellm/1.110.2/', as_of: '2026-11-24' }
/** Source of a price at fal, which has a page for each model. */
const fal = (page: string) => ({ source: `https://fal.ai/${page}`, as_of: '2026-11' })
const byteplus = { source: 'https://docs.byteplus.com/en/docs/ModelArk', as_of: '2026-11' }

// A million tokens: read, read from a cache, written to one, and made.
const tokens = (input: string, cached: string, written: string, output: string) => ({
  per_1m_input_tokens: input,
  per_1m_cached_input_tokens: cached,
  per_1m_cache_write_tokens: written,
  per_1m_output_tokens: output,
})
// A thousand searches of the web that the vendor runs. OpenAI: developers.openai.com/api/docs/pricing, "Web search (all models)";
// Anthropic: platform.claude.com/docs/en/about-claude/pricing; both 2026-11.
const searches = { per_1k_web_searches: '10.00' }
// Chat completions and responses, both of the vendor itself.
const pgt = { family: ['openai-chat', 'openai-responses'], upstream: 'openai', ownedBy: 'openai' }
const claude = {
  family: 'anthropic-messages',
  upstream: 'anthropic',
  ownedBy: 'anthropic',
  inputModalities: ['image' as const, 'file' as const],
}
// The same, with what is written to a cache for an hour.
const claudeTokens = (
  input: string,
  cached: string,
  written: string,
  writtenForAnHour: string,
  output: string,
) => ({
  ...tokens(input, cached, written, output),
  per_1m_cache_write_1h_tokens: writtenForAnHour,
})

// Audio by tokens: text in, audio in, text out. Limits and prices of audio: developers.openai.com/api/docs/models/gpt-4o-transcribe and
// …/models/compare?model=gpt-4o-mini-transcribe, 2026-11-27. In 2025 the page of prices had 6.00 and 3.00.
const transcriber = {
  family: 'openai-transcriptions',
  upstream: 'openai',
  ownedBy: 'openai',
  contextTokens: 16_000,
  maxOutputTokens: 2_000,
}
const transcribed = (input: string, audio: string, output: string) => ({
  per_1m_input_tokens: input,
  per_1m_input_audio_tokens: audio,
  per_1m_output_tokens: output,
})
const speaker = { family: 'elevenlabs-speech', upstream: 'elevenlabs', ownedBy: 'elevenlabs' }
const narrator = { family: 'minimax-speech', upstream: 'minimax', ownedBy: 'minimax' }
const moderator = { family: 'openai-moderation', upstream: 'openai', ownedBy: 'openai', free: true as const }
const reranker = { family: 'cohere-rerank', upstream: 'cohere', ownedBy: 'cohere' }

// What many of the video models below have in common.
// Videos of other makers, of which one endpoint makes one kind: other fields than the known ones may cost more.
const queued = { family: 'fal-video', upstream: 'fal', strictFields: true }
const edited = { family: 'runway-video', upstream: 'runway', strictFields: true }
const h3 = { family: 'minimax-video', upstream: 'minimax', ownedBy: 'minimax', strictFields: true }
const hailuo = { family: 'hailuo-video', upstream: 'minimax', ownedBy: 'minimax', strictFields: true }
const wan = { family: 'dashscope-video', upstream: 'dashscope', ownedBy: 'alibaba' }
/**
 * Pictures are their only output: developers.openai.com/api/docs/pricing has no price of text that they write. That price is for text
 * that is reported all the same.
 */
const newestPictures = {
  family: ['openai-images', 'openai-image-edits'],
  upstream: 'openai',
  ownedBy: 'openai',
  referenceImages: { min: 1, max: 16 },
  price: {
    ...openai,
    per_1m_input_tokens: '5.00',
    per_1m_input_image_tokens: '8.00',
    per_1m_output_tokens: '30.00',
    per_1m_output_image_tokens: '30.00',
  },
}
const clips = {
  family: 'xai-video',
  upstream: 'xai',
  ownedBy: 'xai',
  durations: { min: 1, max: 15, default: 8 },
  referenceImages: { min: 0, max: 7 },
  price: {
    ...litellm,
    per_second: { '480p': '0.08', '720p': '0.14', '1080p': '0.25' },
    per_input_image: '0.01',
  },
}
const ofVideos = { ...wan, maxInputSeconds: 5 }
const to10 = { min: 2, max: 10, default: 5 }
const to15 = { min: 2, max: 15, default: 5 }
const plain = { ...alibaba, per_second: { '720p': '0.10' } }
const sharp = { ...alibaba, per_second: { '720p': '0.10', '1080p': '0.15' } }
const flash = {
  ...alibaba,
  per_second: { '720p': '0.05', '720p silent': '0.025', '1080p': '0.075', '1080p silent': '0.0375' },
}
const preview = {
  durations: { min: 5, max: 10, default: 5 },
  price: { ...alibaba, per_second: { '480p': '0.05', '720p': '0.10', '1080p': '0.15' } },
}
const happyhorse = {
  durations: { min: 3, max: 15, default: 5 },
  price: { ...alibaba, per_second: { '720p': '0.14', '1080p': '0.18' } },
}
/** The first generation, at the list prices of Singapore. */
const olderHorse = { ...happyhorse, price: { ...litellm, per_second: { '720p': '0.14', '1080p': '0.24' } } }
// Text, images, references and videos in one model. Of a duration of -1 it makes what it likes. Reference videos are billed whole:
// docs.comfy.org, docs.laozhang.ai.
const wan3 = {
  durations: { min: 2, max: 30, default: 5, vendorMayChoose: true },
  referenceImages: { min: 0, max: 10 },
  maxInputSeconds: 15,
}

export default {
  server: { host: '127.0.0.1', port: 8080 },

  // A vendor without a key only hides its models: set the variables of those that you use.
  upstreams: {
    openai: { kind: 'openai', apiKey: process.env.OPENAI_API_KEY, listed: true },
    mistral: { kind: 'mistral', apiKey: process.env.MISTRAL_API_KEY, listed: true },
    deepseek: { kind: 'deepseek', apiKey: process.env.DEEPSEEK_API_KEY, listed: true },
    zai: { kind: 'zai', apiKey: process.env.ZAI_API_KEY, listed: true },
    moonshot: { kind: 'moonshot', apiKey: process.env.MOONSHOT_API_KEY, listed: true },
    groq: { kind: 'groq', apiKey: process.env.GROQ_API_KEY, listed: true },
    dashscope: { kind: 'dashscope', apiKey: process.env.DASHSCOPE_API_KEY, listed: true },
    google: { kind: 'google', apiKey: process.env.GEMINI_API_KEY, listed: true },
    voyage: { kind: 'voyage', apiKey: process.env.VOYAGE_API_KEY, listed: true },
    xai: { kind: 'xai', apiKey: process.env.XAI_API_KEY, listed: true },
    anthropic: { kind: 'anthropic', apiKey: process.env.ANTHROPIC_API_KEY, listed: true },
    ark: { kind: 'ark', apiKey: process.env.ARK_API_KEY },
    cohere: { kind: 'cohere', apiKey: process.env.COHERE_API_KEY, listed: true },
    elevenlabs: { kind: 'elevenlabs', apiKey: process.env.ELEVENLABS_API_KEY },
    minimax: { kind: 'minimax', apiKey: process.env.MINIMAX_API_KEY },
    fal: { kind: 'fal', apiKey: process.env.FAL_KEY },
    runway: { kind: 'runway', apiKey: process.env.RUNWAYML_API_SECRET },
    // A server on your own machine, such as Ollama, llama.cpp or vLLM:
    // ollama: { kind: 'openai', baseUrl: 'http://127.0.0.1:11434/v1', apiKey: null },
  },

  models: {
    // Chat
    'pgt-5-mini': {
      ...pgt,
      upstreamModel: 'gpt-5-mini',
      contextTokens: 400_000,
      inputModalities: ['image'],
      price: {
        ...openai,
        ...searches,
        per_1m_input_tokens: '0.25',
        per_1m_cached_input_tokens: '0.025',
        per_1m_output_tokens: '2.00',
        service_tiers: {
          flex: '0.5',
          priority: {
            per_1m_input_tokens: '0.45',
            per_1m_cached_input_tokens: '0.045',
            per_1m_output_tokens: '3.60',
          },
        },
      },
    },
    'pgt-5.4-mini': {
      ...pgt,
      upstreamModel: 'gpt-5.4-mini',
      contextTokens: 400_000,
      inputModalities: ['image'],
      price: {
        ...openai,
        ...searches,
        per_1m_input_tokens: '0.75',
        per_1m_cached_input_tokens: '0.075',
        per_1m_output_tokens: '4.50',
        service_tiers: { flex: '0.5', priority: '2' },
      },
    },
    'pgt-6-luna': {
      ...pgt,
      upstreamModel: 'gpt-6-luna',
      contextTokens: 1_050_000,
      inputModalities: ['image'],
      price: {
        ...openai,
        ...searches,
        ...tokens('0.10', '0.01', '0.125', '0.50'),
        above_272k: tokens('0.20', '0.02', '0.25', '0.75'),
        service_tiers: { flex: '0.5', priority: '2', fast: '2' },
      },
    },
    'pgt-4.1-mini': {
      ...pgt,
      upstreamModel: 'gpt-4.1-mini',
      contextTokens: 1_047_576,
      inputModalities: ['image'],
      price: {
        ...openai,
        // The older `web_search_preview` costs this much at models that do not reason; `web_search` costs less.
        per_1k_web_searches: '25.00',
        per_1m_input_tokens: '0.40',
        per_1m_cached_input_tokens: '0.10',
        per_1m_output_tokens: '1.60',
      },
    },
    'qnx3.8-flash': {
      family: 'openai-chat',
      upstream: 'dashscope',
      upstreamModel: 'qwen3.8-flash',
      ownedBy: 'alibaba',
      contextTokens: 1_000_000,
      price: { ...alibaba, ...tokens('0.15', '0.016', '0.20', '0.47') },
    },
    'qnx3.8-max': {
      family: 'openai-chat',
      upstream: 'dashscope',
      upstreamModel: 'qwen3.8-max',
      ownedBy: 'alibaba',
      contextTokens: 1_000_000,
      price: { ...alibaba, ...tokens('2.00', '0.25', '2.50', '6.00') },
    },
    'gkx-4.3': {
      family: 'openai-chat',
      upstream: 'xai',
      upstreamModel: 'grok-4.3',
      ownedBy: 'xai',
      contextTokens: 1_000_000,
      inputModalities: ['image'],
      // The vendor's page says that requests above 200,000 tokens cost more; how much is what resellers say.
      price: {
        ...xai,
        per_1m_input_tokens: '1.25',
        per_1m_cached_input_tokens: '0.20',
        per_1m_output_tokens: '2.50',
        above_200k: {
          per_1m_input_tokens: '2.50',
          per_1m_cached_input_tokens: '0.40',
          per_1m_output_tokens: '5.00',
        },
      },
    },
    'gmx-3.5-flash-lite': {
      family: 'gemini-contents',
      upstream: 'google',
      upstreamModel: 'gemini-3.5-flash-lite',
      ownedBy: 'google',
      contextTokens: 1_048_576,
      inputModalities: ['image', 'audio'],
      price: {
        ...google,
        per_1k_web_searches: '14.00',
        per_1m_input_tokens: '0.30',
        per_1m_cached_input_tokens: '0.03',
        per_1m_input_audio_tokens: '0.30',
        per_1m_cached_input_audio_tokens: '0.03',
        per_1m_output_tokens: '2.50',
      },
    },
    'gmx-2.5-flash-lite': {
      family: 'gemini-contents',
      upstream: 'google',
      upstreamModel: 'gemini-2.5-flash-lite',
      ownedBy: 'google',
      contextTokens: 1_048_576,
      inputModalities: ['image', 'audio'],
      price: {
        ...google,
        // Earlier models than Gemini 3 bill the prompt, however often they search.
        per_1k_grounded_prompts: '35.00',
        per_1m_input_tokens: '0.10',
        per_1m_cached_input_tokens: '0.01',
        per_1m_input_audio_tokens: '0.30',
        per_1m_cached_input_audio_tokens: '0.03',
        per_1m_output_tokens: '0.40',
      },
    },

    // Messages. Coding clients look for these names, so they are the vendor's own.
    // One million tokens of context, and it always thinks before it answers.
    'claude-fable-5-1': {
      ...claude,
      price: { ...anthropic, ...searches, ...claudeTokens('10.00', '0.25', '12.50', '20.00', '50.00') },
    },
    'claude-opus-5-5': {
      ...claude,
      price: { ...anthropic, ...searches, ...claudeTokens('4.00', '0.20', '5.00', '8.00', '20.00') },
    },
    'claude-sonnet-5-5': {
      ...claude,
      price: { ...anthropic, ...searches, ...claudeTokens('2.00', '0.10', '2.50', '4.00', '10.00') },
    },
    'claude-haiku-5-5': {
      ...claude,
      price: {
        ...anthropic,
        ...searches,
        ...claudeTokens('0.10', '0.01', '0.125', '0.20', '0.50'),
        above_100k: claudeTokens('0.50', '0.05', '0.625', '1.00', '2.50'),
      },
    },
    'claude-haiku-4-5': {
      ...claude,
      price: { ...anthropic, ...searches, ...claudeTokens('1.00', '0.10', '1.25', '2.00', '5.00') },
    },

    // Embeddings
    'text-embedding-v4': {
      family: 'openai-embeddings',
      upstream: 'dashscope',
      ownedBy: 'alibaba',
      dimensions: [64, 128, 256, 512, 768, 1024, 1536, 2048],
      batchSize: 10,
      price: { ...alibaba, per_1m_input_tokens: '0.07' },
    },
    'text-embedding-3-small': {
      family: 'openai-embeddings',
      upstream: 'openai',
      ownedBy: 'openai',
      price: { ...openai, per_1m_input_tokens: '0.02' },
    },
    // The vendor retired it in January 2026 and answers 404; the id stays so that callers get a clear error.
    'text-embedding-004': {
      retires: '2026-01-14',
      successor: 'gemini-embedding-001',
      family: 'gemini-embeddings',
      upstream: 'google',
      ownedBy: 'google',
      dimensions: { min: 1, max: 768 },
      price: { ...google, per_1m_input_tokens: '0.15' },
    },
    'gmx-embedding-001': {
      family: 'gemini-embeddings',
      upstream: 'google',
      upstreamModel: 'gemini-embedding-001',
      ownedBy: 'google',
      dimensions: { min: 128, max: 3072 },
      price: { ...google, per_1m_input_tokens: '0.15' },
    },
    'gmx-embedding-2-preview': {
      family: 'gemini-embeddings',
      upstream: 'google',
      upstreamModel: 'gemini-embedding-2-preview',
      ownedBy: 'google',
      dimensions: { min: 128, max: 3072 },
      price: { ...google, per_1m_input_tokens: '0.20' },
    },
    'vgx-4-large': {
      family: 'voyage-embeddings',
      upstream: 'voyage',
      upstreamModel: 'voyage-4-large',
      ownedBy: 'voyage',
      price: { ...voyage, per_1m_input_tokens: '0.12' },
    },
    'vgx-4': {
      family: 'voyage-embeddings',
      upstream: 'voyage',
      upstreamModel: 'voyage-4',
      ownedBy: 'voyage',
      price: { ...voyage, per_1m_input_tokens: '0.06' },
    },
    'vgx-4-lite': {
      family: 'voyage-embeddings',
      upstream: 'voyage',
      upstreamModel: 'voyage-4-lite',
      ownedBy: 'voyage',
      price: { ...voyage, per_1m_input_tokens: '0.02' },
    },

    // Speech
    'qnx3-tts-flash': {
      family: 'dashscope-speech',
      upstream: 'dashscope',
      upstreamModel: 'qwen3-tts-flash',
      ownedBy: 'alibaba',
      price: { ...alibaba, per_1m_characters: '10.00' },
    },
    'qnx3-tts-instruct-flash': {
      family: 'dashscope-speech',
      upstream: 'dashscope',
      upstreamModel: 'qwen3-tts-instruct-flash',
      ownedBy: 'alibaba',
      price: { ...alibaba, per_1m_characters: '11.50' },
    },

    // OpenAI retires its speech on 6 January 2027. Prices: developers.openai.com/api/docs/pricing and
    // …/models/gpt-4o-mini-tts, 2026-11-27.
    'tts-1': {
      family: 'openai-speech',
      upstream: 'openai',
      ownedBy: 'openai',
      price: { ...openai, per_1m_characters: '15.00' },
    },
    'tts-1-hd': {
      family: 'openai-speech',
      upstream: 'openai',
      ownedBy: 'openai',
      price: { ...openai, per_1m_characters: '30.00' },
    },
    'pgt-4o-mini-tts': {
      family: 'openai-speech',
      upstream: 'openai',
      upstreamModel: 'gpt-4o-mini-tts',
      ownedBy: 'openai',
      contextTokens: 2_000,
      price: { ...openai, per_1m_input_tokens: '0.60', per_1m_output_audio_tokens: '12.00' },
    },
    eleven_v4: { ...speaker, price: { ...elevenlabs, per_1m_characters: '80.00' } },
    eleven_v3: { ...speaker, price: { ...elevenlabs, per_1m_characters: '80.00' } },
    eleven_multilingual_v2: { ...speaker, price: { ...elevenlabs, per_1m_characters: '80.00' } },
    eleven_v4_turbo: { ...speaker, price: { ...elevenlabs, per_1m_characters: '40.00' } },
    eleven_flash_v2_5: { ...speaker, price: { ...elevenlabs, per_1m_characters: '40.00' } },
    eleven_flash_v2: { ...speaker, price: { ...elevenlabs, per_1m_characters: '40.00' } },
    eleven_turbo_v2_5: { ...speaker, price: { ...elevenlabs, per_1m_characters: '40.00' } },
    eleven_turbo_v2: { ...speaker, price: { ...elevenlabs, per_1m_characters: '40.00' } },
    'speech-2.8-hd': { ...narrator, price: { ...minimax, per_1m_characters: '100.00' } },
    'speech-2.8-turbo': { ...narrator, price: { ...minimax, per_1m_characters: '60.00' } },
    'speech-2.6-hd': { ...narrator, price: { ...litellm, per_1m_characters: '100.00' } },
    'speech-2.6-turbo': { ...narrator, price: { ...litellm, per_1m_characters: '60.00' } },
    'speech-02-hd': { ...narrator, price: { ...litellm, per_1m_characters: '100.00' } },
    'speech-02-turbo': { ...narrator, price: { ...litellm, per_1m_characters: '60.00' } },

    // Transcription. The vendor retires all but the first on 26 February 2027, and translation with them.
    'pgt-transcribe': {
      family: 'openai-transcriptions',
      upstream: 'openai',
      upstreamModel: 'gpt-transcribe',
      ownedBy: 'openai',
      price: { ...openai, per_audio_minute: '0.0045' },
    },
    'whisper-1': {
      family: ['openai-transcriptions', 'openai-translations'],
      upstream: 'openai',
      ownedBy: 'openai',
      price: { ...openai, per_audio_minute: '0.006' },
    },
    'pgt-4o-transcribe': {
      ...transcriber,
      upstreamModel: 'gpt-4o-transcribe',
      price: { ...openai, ...transcribed('2.50', '2.50', '10.00') },
    },
    'pgt-4o-mini-transcribe': {
      ...transcriber,
      upstreamModel: 'gpt-4o-mini-transcribe',
      price: { ...openai, ...transcribed('1.25', '1.25', '5.00') },
    },
    'pgt-4o-transcribe-diarize': {
      ...transcriber,
      upstreamModel: 'gpt-4o-transcribe-diarize',
      price: { ...openai, ...transcribed('2.50', '2.50', '10.00') },
    },

    // Reranking
    'rerank-v4.0-pro': { ...reranker, price: { ...cohere, per_1k_searches: '2.50' } },
    'rerank-v4.0-fast': { ...reranker, price: { ...cohere, per_1k_searches: '2.00' } },
    'vgx-rerank-2.5': {
      family: 'voyage-rerank',
      upstream: 'voyage',
      upstreamModel: 'rerank-2.5',
      ownedBy: 'voyage',
      price: { ...voyage, per_1m_input_tokens: '0.05' },
    },
    'vgx-rerank-2.5-lite': {
      family: 'voyage-rerank',
      upstream: 'voyage',
      upstreamModel: 'rerank-2.5-lite',
      ownedBy: 'voyage',
      price: { ...voyage, per_1m_input_tokens: '0.02' },
    },

    // Moderation, which the vendor gives away.
    'omni-moderation-latest': moderator,
    'omni-moderation-2024-09-26': moderator,

    // Images in the multimodal style
    'qnx-image-2.0': {
      family: 'dashscope-images',
      upstream: 'dashscope',
      upstreamModel: 'qwen-image-2.0',
      ownedBy: 'alibaba',
      price: { ...alibaba, per_image: '0.035' },
    },
    'qnx-image-2.0-pro': {
      family: 'dashscope-images',
      upstream: 'dashscope',
      upstreamModel: 'qwen-image-2.0-pro',
      ownedBy: 'alibaba',
      price: { ...alibaba, per_image: '0.075' },
    },
    'qnx-image-max': {
      family: 'dashscope-images',
      upstream: 'dashscope',
      upstreamModel: 'qwen-image-max',
      ownedBy: 'alibaba',
      price: { ...alibaba, per_image: '0.075' },
    },
    'qnx-image-edit': {
      family: 'dashscope-images',
      upstream: 'dashscope',
      upstreamModel: 'qwen-image-edit',
      ownedBy: 'alibaba',
      referenceImages: { min: 1, max: 3 },
      price: { ...alibaba, per_image: '0.045' },
    },
    'qnx-image-edit-plus': {
      family: 'dashscope-images',
      upstream: 'dashscope',
      upstreamModel: 'qwen-image-edit-plus',
      ownedBy: 'alibaba',
      referenceImages: { min: 1, max: 3 },
      price: { ...alibaba, per_image: '0.03' },
    },
    'qnx-image-edit-max': {
      family: 'dashscope-images',
      upstream: 'dashscope',
      upstreamModel: 'qwen-image-edit-max',
      ownedBy: 'alibaba',
      referenceImages: { min: 1, max: 3 },
      price: { ...alibaba, per_image: '0.075' },
    },

    // Images, one or a series
    'seedream-4.0': {
      family: 'ark-images',
      upstream: 'ark',
      upstreamModel: 'seedream-4-0-250828',
      ownedBy: 'bytedance',
      referenceImages: { min: 0, max: 14 },
      price: { ...byteplus, per_image: '0.03' },
    },
    'seedream-4.5': {
      family: 'ark-images',
      upstream: 'ark',
      upstreamModel: 'seedream-4-5-251128',
      ownedBy: 'bytedance',
      referenceImages: { min: 0, max: 14 },
      price: { ...byteplus, per_image: '0.04' },
    },
    'seedream-5.0-lite': {
      family: 'ark-images',
      upstream: 'ark',
      upstreamModel: 'seedream-5-0-260128',
      ownedBy: 'bytedance',
      referenceImages: { min: 0, max: 14 },
      price: { ...byteplus, per_image: '0.035' },
    },

    // Images, made and edited in OpenAI's form
    'pgt-image-2': {
      family: ['openai-images', 'openai-image-edits'],
      upstream: 'openai',
      upstreamModel: 'gpt-image-2',
      ownedBy: 'openai',
      referenceImages: { min: 1, max: 16 },
      price: {
        ...openai,
        per_1m_input_tokens: '5.00',
        per_1m_input_image_tokens: '8.00',
        per_1m_output_tokens: '10.00',
        per_1m_output_image_tokens: '30.00',
      },
    },
    'pgt-image-2-2026-04-21': {
      ...newestPictures,
      upstreamModel: 'gpt-image-2-2026-04-21',
      price: { ...newestPictures.price, per_1m_output_tokens: '10.00' },
    },
    'pgt-image-2.5-flare': { ...newestPictures, upstreamModel: 'gpt-image-2.5-flare' },
    'pgt-image-2.5-flare-2026-09-08': { ...newestPictures, upstreamModel: 'gpt-image-2.5-flare-2026-09-08' },
    'pgt-image-2.5-sunburst': { ...newestPictures, upstreamModel: 'gpt-image-2.5-sunburst' },
    'pgt-image-2.5-sunburst-2026-09-08': {
      ...newestPictures,
      upstreamModel: 'gpt-image-2.5-sunburst-2026-09-08',
    },
    // Of the newest, animations and drawings (`gif`, `svg`) are refused: how they are billed is not on record.
    'pgt-image-2.6-flare': { ...newestPictures, upstreamModel: 'gpt-image-2.6-flare' },
    'pgt-image-2.6-sunburst': { ...newestPictures, upstreamModel: 'gpt-image-2.6-sunburst' },
    // The vendor retired it in October 2026 and answers 404; it writes no text, so that price is never used.
    'pgt-image-1': {
      family: ['openai-images', 'openai-image-edits'],
      upstream: 'openai',
      upstreamModel: 'gpt-image-1',
      ownedBy: 'openai',
      sizes: ['auto', '1024x1024', '1024x1536', '1536x1024'],
      referenceImages: { min: 1, max: 16 },
      price: {
        ...openai,
        per_1m_input_tokens: '5.00',
        per_1m_input_image_tokens: '10.00',
        per_1m_output_tokens: '40.00',
        per_1m_output_image_tokens: '40.00',
      },
    },
    // Retired in May 2026. Both ids stay, so that callers get a clear error and other servers can be put behind them.
    'dle-2': {
      family: ['dalle-images', 'dalle-image-edits'],
      upstream: 'openai',
      upstreamModel: 'dall-e-2',
      retires: '2026-05-12',
      successor: 'gpt-image-2',
      ownedBy: 'openai',
      price: { ...openai, per_image: { '256x256': '0.016', '512x512': '0.018', '1024x1024': '0.020' } },
    },

    // Images, by OpenAI's form and by resolution. These prices are what third parties say, as those of its videos are.
    'gkx-imagine-image': {
      family: 'xai-images',
      upstream: 'xai',
      upstreamModel: 'grok-imagine-image',
      ownedBy: 'xai',
      referenceImages: { min: 0, max: 3 },
      price: { ...xai, per_image: { '1k': '0.02', '2k': '0.02' }, per_input_image: '0.002' },
    },
    'gkx-imagine-image-quality': {
      family: 'xai-images',
      upstream: 'xai',
      upstreamModel: 'grok-imagine-image-quality',
      ownedBy: 'xai',
      referenceImages: { min: 0, max: 3 },
      price: { ...xai, per_image: { '1k': '0.05', '2k': '0.07' }, per_input_image: '0.01' },
    },

    'gkx-imagine-image-2026-03-02': {
      family: 'xai-images',
      upstream: 'xai',
      upstreamModel: 'grok-imagine-image-2026-03-02',
      ownedBy: 'xai',
      referenceImages: { min: 0, max: 3 },
      price: { ...litellm, per_image: { '1k': '0.02', '2k': '0.02' }, per_input_image: '0.002' },
    },
    'gkx-imagine-image-2.0': {
      family: 'xai-images',
      upstream: 'xai',
      upstreamModel: 'grok-imagine-image-2.0',
      ownedBy: 'xai',
      referenceImages: { min: 0, max: 3 },
      price: {
        source: 'https://github.com/pollinations/pollinations/pull/13373',
        as_of: '2026-08-14',
        // Those of medium quality have no word for it, so that another name of the model has a price too.
        per_image: { '1k low': '0.04', '2k low': '0.06', '1k': '0.06', '2k': '0.08' },
        per_input_image: '0.01',
      },
    },

    // Images, as interactions
    // The vendor ended it on this day: github.com/BerriAI/litellm/discussions/44983, skills.sh/jpcaparas/skills/nanobanana.
    'gmx-3.1-flash-image': {
      retires: '2026-10-29',
      successor: 'gemini-nano-banana-2.1',
      family: 'gemini-images',
      upstream: 'google',
      upstreamModel: 'gemini-3.1-flash-image',
      ownedBy: 'google',
      contextTokens: 131_072,
      price: {
        ...google,
        per_1m_input_tokens: '0.50',
        per_1m_output_tokens: '3.00',
        per_1m_output_image_tokens: '60.00',
      },
    },
    'gmx-3-pro-image': {
      family: 'gemini-images',
      upstream: 'google',
      upstreamModel: 'gemini-3-pro-image',
      ownedBy: 'google',
      contextTokens: 65_536,
      price: {
        ...google,
        per_1m_input_tokens: '2.00',
        per_1m_output_tokens: '12.00',
        per_1m_output_image_tokens: '120.00',
      },
    },

    'gmx-2.5-flash-image': {
      family: 'gemini-images',
      upstream: 'google',
      upstreamModel: 'gemini-2.5-flash-image',
      ownedBy: 'google',
      contextTokens: 65_536,
      price: {
        ...litellm,
        per_1m_input_tokens: '0.30',
        per_1m_output_tokens: '2.50',
        per_1m_output_image_tokens: '30.00',
      },
    },
    'gmx-nano-banana-2.1': {
      family: 'gemini-images',
      upstream: 'google',
      upstreamModel: 'gemini-nano-banana-2.1',
      ownedBy: 'google',
      contextTokens: 131_072,
      price: {
        ...litellm,
        per_1m_input_tokens: '1.50',
        per_1m_output_tokens: '7.50',
        per_1m_output_image_tokens: '30.00',
      },
    },
    'gmx-3.1-flash-lite-image': {
      family: 'gemini-images',
      upstream: 'google',
      upstreamModel: 'gemini-3.1-flash-lite-image',
      ownedBy: 'google',
      contextTokens: 65_536,
      price: {
        ...litellm,
        per_1m_input_tokens: '0.25',
        per_1m_output_tokens: '1.50',
        per_1m_output_image_tokens: '30.00',
      },
    },

    // Video, in Wan's form. What is without sound by `audio: false` costs what is called silent here.
    'vidw2.5-t2v-preview': { ...wan, upstreamModel: 'wan2.5-t2v-preview', ...preview },
    'vidw2.5-i2v-preview': { ...wan, upstreamModel: 'wan2.5-i2v-preview', ...preview },
    'vidw2.6-t2v': { ...wan, upstreamModel: 'wan2.6-t2v', durations: to15, price: sharp },
    'vidw2.6-i2v': { ...wan, upstreamModel: 'wan2.6-i2v', durations: to15, price: sharp },
    'vidw2.6-i2v-flash': { ...wan, upstreamModel: 'wan2.6-i2v-flash', durations: to15, price: flash },
    // Reference videos are billed as the output is, up to five seconds all together: docs.evolink.ai, docs.laozhang.ai.
    'vidw2.6-r2v': { ...ofVideos, upstreamModel: 'wan2.6-r2v', durations: to10, price: sharp },
    'vidw2.6-r2v-flash': { ...ofVideos, upstreamModel: 'wan2.6-r2v-flash', durations: to10, price: flash },
    // The vendor makes these at 1080p too: give them the price `sharp` to offer it.
    'vidw2.7-t2v': { ...wan, upstreamModel: 'wan2.7-t2v', durations: to15, price: plain },
    'vidw2.7-t2v-2026-04-25': {
      ...wan,
      upstreamModel: 'wan2.7-t2v-2026-04-25',
      durations: to15,
      price: plain,
    },
    'vidw2.7-i2v': { ...wan, upstreamModel: 'wan2.7-i2v', durations: to15, price: plain },
    'vidw2.7-i2v-2026-04-25': {
      ...wan,
      upstreamModel: 'wan2.7-i2v-2026-04-25',
      durations: to15,
      price: plain,
    },
    'vidw2.7-r2v': { ...ofVideos, upstreamModel: 'wan2.7-r2v', durations: to15, price: plain },
    'wan3.0-video': {
      ...wan,
      ...wan3,
      price: { ...alibaba, per_second: { '480p': '0.05', '720p': '0.10', '1080p': '0.20' } },
    },
    'wan3.0-video-prime': {
      ...wan,
      ...wan3,
      price: { ...litellm, per_second: { '480p': '0.068', '720p': '0.14', '1080p': '0.28' } },
    },
    'happyhorse-1.0-t2v': { ...wan, ...olderHorse },
    'happyhorse-1.0-i2v': { ...wan, ...olderHorse },
    'happyhorse-1.0-r2v': { ...wan, ...olderHorse, referenceImages: { min: 1, max: 9 } },
    'happyhorse-1.1-t2v': { ...wan, ...happyhorse },
    'happyhorse-1.1-i2v': { ...wan, ...happyhorse },
    'happyhorse-1.1-r2v': { ...wan, ...happyhorse, referenceImages: { min: 1, max: 9 } },

    // Video, from a prompt and an image
    'gkx-imagine-video': {
      family: 'xai-video',
      upstream: 'xai',
      upstreamModel: 'grok-imagine-video',
      ownedBy: 'xai',
      durations: { min: 1, max: 15, default: 8 },
      referenceImages: { min: 0, max: 7 },
      // What is edited is billed too: by third parties. Pictures: docs.x.ai/docs/models/grok-imagine-video.
      price: {
        ...xai,
        per_second: { '480p': '0.05', '720p': '0.07' },
        per_input_second: '0.01',
        per_input_image: '0.002',
      },
    },
    'gkx-imagine-video-1.5-preview': {
      family: 'xai-video',
      upstream: 'xai',
      upstreamModel: 'grok-imagine-video-1.5-preview',
      ownedBy: 'xai',
      durations: { min: 1, max: 15, default: 8 },
      referenceImages: { min: 1, max: 1 },
      price: {
        ...xai,
        per_second: { '480p': '0.08', '720p': '0.14', '1080p': '0.25' },
        per_input_image: '0.01',
      },
    },

    // Of text, of a picture, or of up to seven: inference.sh/apps/xai/grok-imagine-video-1-5.md, muapi.ai/zh/grok-imagine-video-1-5, 2026-11.
    'gkx-imagine-video-1.5': { ...clips, upstreamModel: 'grok-imagine-video-1.5' },
    'gkx-imagine-video-1.5-2026-05-30': { ...clips, upstreamModel: 'grok-imagine-video-1.5-2026-05-30' },
    'gkx-imagine-video-1.5-lite': {
      ...clips,
      upstreamModel: 'grok-imagine-video-1.5-lite',
      referenceImages: { min: 0, max: 1 },
      price: {
        ...litellm,
        per_second: { '480p': '0.02', '720p': '0.03', '1080p': '0.14' },
        per_input_image: '0.01',
      },
    },

    // Video, with first and last frame, references, sound and drafts. The vendor bills tokens, by seconds and pixels; these
    // are its list prices for the largest frame of each resolution.
    'seedance-1.5-pro': {
      family: 'ark-video',
      upstream: 'ark',
      upstreamModel: 'seedance-1-5-pro-251215',
      ownedBy: 'bytedance',
      durations: { min: 4, max: 12, default: 5, vendorMayChoose: true },
      referenceImages: { min: 0, max: 2 },
      price: {
        ...byteplus,
        per_second: {
          draft: '0.015',
          'draft silent': '0.009',
          '480p': '0.025',
          '480p silent': '0.0125',
          '720p': '0.053',
          '720p silent': '0.0265',
          '1080p': '0.118',
          '1080p silent': '0.059',
        },
      },
    },
    'seedance-2.0': {
      family: 'ark-video',
      upstream: 'ark',
      upstreamModel: 'dreamina-seedance-2-0-260128',
      ownedBy: 'bytedance',
      durations: { min: 4, max: 15, default: 5, vendorMayChoose: true },
      referenceImages: { min: 0, max: 9 },
      maxInputSeconds: 15,
      // With a reference video $4.30 for a million tokens of input and output, in place of $7.00 of output:
      // docs.byteplus.com/api/docs/ModelArk/1544106, docs.comfy.org. At 1080p it is not known, and costs what others cost.
      price: {
        ...byteplus,
        per_second: {
          '480p': '0.071',
          '480p from video': '0.0437',
          '720p': '0.153',
          '720p from video': '0.094',
          '1080p': '0.377',
        },
      },
    },

    // Videos over fal's queue: the first resolution is the default.
    'kling-4.0': {
      ...queued,
      upstreamModel: 'kling/v4/text-to-video',
      ownedBy: 'kling',
      durations: { min: 3, max: 30, default: 5 },
      referenceImages: { min: 0, max: 0 },
      price: { ...fal('learn/tools/kling-api'), per_second: { '720p': '0.157', '1080p': '0.235' } },
    },
    'kling-4.0-i2v': {
      ...queued,
      upstreamModel: 'kling/v4/image-to-video',
      ownedBy: 'kling',
      durations: { min: 3, max: 30, default: 5 },
      referenceImages: { min: 1, max: 10 },
      price: {
        ...fal('models/kling/v4/image-to-video/llms.txt'),
        per_second: { '720p': '0.157', '1080p': '0.235' },
      },
    },
    'kling-o3-4k-i2v': {
      ...queued,
      upstreamModel: 'fal-ai/kling-video/o3/4k/image-to-video',
      ownedBy: 'kling',
      durations: { min: 3, max: 15, default: 5 },
      referenceImages: { min: 1, max: 2 },
      price: { ...fal('models/fal-ai/kling-video/o3/4k/image-to-video/llms.txt'), per_second: '0.42' },
    },
    'luma-ray-3.2': {
      ...queued,
      upstreamModel: 'luma/agent/ray/v3.2/text-to-video',
      ownedBy: 'luma',
      durations: { min: 5, max: 10, default: 5 },
      referenceImages: { min: 0, max: 0 },
      price: { ...litellm, per_second: { '540p': '0.10', '720p': '0.20', '1080p': '0.40' } },
    },
    'seedance-2.0-t2v': {
      ...queued,
      upstreamModel: 'bytedance/seedance-2.0/text-to-video',
      ownedBy: 'bytedance',
      durations: { min: 4, max: 15, default: 5 },
      referenceImages: { min: 0, max: 0 },
      price: {
        ...litellm,
        per_second: { '720p': '0.3034', '480p': '0.1346', '1080p': '0.682', '4k': '1.5552' },
      },
    },
    'seedance-2.0-i2v': {
      ...queued,
      upstreamModel: 'bytedance/seedance-2.0/image-to-video',
      ownedBy: 'bytedance',
      durations: { min: 4, max: 15, default: 5 },
      referenceImages: { min: 1, max: 2 },
      price: {
        ...litellm,
        per_second: { '720p': '0.3034', '480p': '0.1346', '1080p': '0.682', '4k': '1.5552' },
      },
    },
    'minimax-h3-max': {
      ...queued,
      upstreamModel: 'minimax/h3-max/text-to-video',
      ownedBy: 'minimax',
      durations: { min: 5, max: 15, default: 5 },
      referenceImages: { min: 0, max: 0 },
      // After its first weeks.
      price: {
        ...fal('models/minimax/h3-max/text-to-video/llms.txt'),
        per_second: { '768p': '0.08', '480p': '0.05' },
      },
    },

    // Videos of Runway. The editor bills what it makes: videos of 2 to 30 seconds (docs.comfy.org, RunwayAleph2VideoToVideoNode, 2026-11).
    'runway-gen4.5': {
      ...edited,
      upstreamModel: 'gen4.5',
      ownedBy: 'runway',
      durations: { min: 2, max: 10, default: 5 },
      referenceImages: { min: 0, max: 1 },
      price: { ...litellm, per_second: '0.12' },
    },
    'runway-aleph2': {
      ...edited,
      upstreamModel: 'aleph2',
      ownedBy: 'runway',
      durations: { min: 2, max: 30, default: 30 },
      referenceImages: { min: 0, max: 5 },
      price: { ...litellm, per_second: '0.28', minimum: '0.56' },
    },
    'seedance-2.5': {
      ...edited,
      upstreamModel: 'seedance2_5',
      ownedBy: 'bytedance',
      durations: { min: 4, max: 30, default: 5, vendorMayChoose: true },
      referenceImages: { min: 0, max: 30 },
      maxInputSeconds: 30,
      price: {
        ...litellm,
        per_second: { '720p': '0.30', '480p': '0.20', '1080p': '0.68' },
        per_input_second: { '720p': '0.15', '480p': '0.10', '1080p': '0.34' },
        minimum: '0.80',
      },
    },
    'hailuo-3': {
      ...edited,
      upstreamModel: 'hailuo3',
      ownedBy: 'minimax',
      durations: { min: 5, max: 15, default: 5 },
      referenceImages: { min: 0, max: 9 },
      price: { ...litellm, per_second: { '768p': '0.10', '2k': '0.15' }, per_input_image: '0.02' },
    },
    'veo-3.1': {
      ...edited,
      upstreamModel: 'veo3.1',
      ownedBy: 'google',
      durations: { min: 4, max: 8, default: 8 },
      referenceImages: { min: 0, max: 2 },
      price: { ...litellm, per_second: { video: '0.40', 'video silent': '0.20' } },
    },

    // Videos of MiniMax: the first resolution is the default. Those of Hailuo have a price each, by resolution and length.
    'minimax-h3': {
      ...h3,
      upstreamModel: 'MiniMax-H3',
      durations: { min: 4, max: 15, default: 5 },
      referenceImages: { min: 0, max: 9 },
      maxInputSeconds: 15,
      price: { ...litellm, per_second: { '768p': '0.08', '2k': '0.13' }, per_input_image: '0.04' },
    },
    'hailuo-2.3': {
      ...hailuo,
      upstreamModel: 'MiniMax-Hailuo-2.3',
      durations: { min: 6, max: 10, default: 6 },
      referenceImages: { min: 0, max: 1 },
      price: { ...hailuoPage, per_video: { '768p 6s': '0.28', '768p 10s': '0.56', '1080p 6s': '0.49' } },
    },
    'hailuo-2.3-fast': {
      ...hailuo,
      upstreamModel: 'MiniMax-Hailuo-2.3-Fast',
      durations: { min: 6, max: 10, default: 6 },
      referenceImages: { min: 1, max: 1 },
      price: { ...hailuoPage, per_video: { '768p 6s': '0.19', '768p 10s': '0.32', '1080p 6s': '0.33' } },
    },

    // Videos of Google, by tokens. A second at 720p has 5,792, which is $0.07.
    'gemini-omni-1.2-flash': {
      family: 'gemini-video',
      upstream: 'google',
      ownedBy: 'google',
      strictFields: true,
      contextTokens: 131_072,
      durations: { min: 3, max: 15, default: 8 },
      referenceImages: { min: 0, max: 6 },
      maxInputSeconds: 15,
      price: {
        ...litellm,
        per_1m_input_tokens: '1.50',
        per_1m_output_tokens: '9.00',
        per_1m_output_video_tokens: '12.00',
      },
    },
  },

  // Names that clients ask for by themselves, such as those of small background requests. A name that a model here has
  // itself is never looked up among them. Each leads to a model of the same vendor.
  aliases: {
    'gpt-*': 'pgt-6-luna',
    'gpt-3.5-*': 'pgt-4.1-mini',
    'gpt-4*': 'pgt-4.1-mini',
    'gpt-5*': 'pgt-5.4-mini',
    'chatgpt-*': 'pgt-5.4-mini',
    'codex-*': 'pgt-5.4-mini',
    'o1*': 'pgt-5-mini',
    'o3*': 'pgt-5-mini',
    'o4-*': 'pgt-5-mini',
    // Vectors of the same length. Those of another length would not fit into an index that is there.
    'text-embedding-ada-*': 'text-embedding-3-small',
    'gemini-*': 'gmx-3.5-flash-lite',
    'gemini-1*': 'gmx-2.5-flash-lite',
    'gemini-2*': 'gmx-2.5-flash-lite',
    'grok-*': 'gkx-4.3',
    'qwen*': 'qnx3.8-flash',
    'qwen-max*': 'qnx3.8-max',
    'qwen3-max*': 'qnx3.8-max',
    'rerank-*': 'rerank-v4.0-fast',
    'rerank-1*': 'vgx-rerank-2.5',
    'rerank-2*': 'vgx-rerank-2.5',
    'rerank-lite-*': 'vgx-rerank-2.5-lite',
    'claude-haiku-4-5-*': 'claude-haiku-4-5',
    'claude-haiku-*': 'claude-haiku-5-5',
    'claude-sonnet-*': 'claude-sonnet-5-5',
    'claude-opus-*': 'claude-opus-5-5',
    'claude-fable-*': 'claude-fable-5-1',
    // A larger family that is not sold here, and names of the third generation.
    'claude-mythos-*': 'claude-fable-5-1',
    'claude-3-opus-*': 'claude-opus-5-5',
    'claude-3-sonnet-*': 'claude-sonnet-5-5',
    'claude-3-5-sonnet-*': 'claude-sonnet-5-5',
    'claude-3-7-sonnet-*': 'claude-sonnet-5-5',
    'claude-3-haiku-*': 'claude-haiku-5-5',
    'claude-3-5-haiku-*': 'claude-haiku-5-5',
  },
} satisfies Config
