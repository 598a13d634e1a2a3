// The kinds of upstreams that channels of One API and New API are, by the numbers of their types. Facts of
// relay/channeltype/define.go and url.go (One API) and of constant/channel.go (New API). Up to 25 both
// have the same numbers except for 2, 4 and 5.

import { chatFamilyOf } from '../../src/upstreams/kinds'

export interface ChannelKind {
  kind: string
  /** The default address of this type, for a channel that names none. */
  base?: string
  /** The path that our configuration appends to the address. */
  path?: string
}

const openAt = (base?: string, path = '/v1'): ChannelKind => ({
  kind: 'openai',
  ...(base !== undefined && { base }),
  path,
})

const shared: Readonly<Record<number, ChannelKind>> = {
  1: openAt('https://api.openai.com'),
  3: { kind: 'azure' },
  6: openAt('https://api.openaimax.com'),
  7: openAt('https://api.ohmygpt.com'),
  8: openAt(),
  10: openAt('https://api.aiproxy.io'),
  12: openAt('https://api.api2gpt.com'),
  13: openAt('https://api.aigc2d.com'),
  14: { kind: 'anthropic', base: 'https://api.anthropic.com', path: '/v1' },
  17: { kind: 'dashscope', base: 'https://dashscope.aliyuncs.com' },
  20: { kind: 'openrouter', base: 'https://openrouter.ai/api', path: '/v1' },
  24: { kind: 'google', base: 'https://generativelanguage.googleapis.com', path: '/v1beta' },
  25: { kind: 'moonshot', base: 'https://api.moonshot.cn' },
}

export const oneApiChannels: Readonly<Record<number, ChannelKind>> = {
  ...shared,
  2: openAt('https://oa.api2d.net'),
  4: openAt('https://api.closeai-proxy.xyz'),
  5: openAt('https://api.openai-sb.com'),
  19: openAt('https://ai.360.cn'),
  26: openAt('https://api.baichuan-ai.com'),
  28: { kind: 'mistral', base: 'https://api.mistral.ai', path: '/v1' },
  29: { kind: 'groq', base: 'https://api.groq.com/openai', path: '/v1' },
  30: { kind: 'ollama', base: 'http://localhost:11434' },
  31: openAt('https://api.lingyiwanwu.com'),
  32: openAt('https://api.stepfun.com'),
  36: { kind: 'deepseek', base: 'https://api.deepseek.com' },
  39: openAt('https://api.together.xyz'),
  40: { kind: 'ark', base: 'https://ark.cn-beijing.volces.com', path: '/api/v3' },
  41: openAt('https://api.novita.ai/v3/openai', ''),
  44: openAt('https://api.siliconflow.cn'),
  45: { kind: 'xai', base: 'https://api.x.ai', path: '/v1' },
  47: openAt('https://qianfan.baidubce.com', '/v2'),
  49: { kind: 'dashscope', base: 'https://dashscope.aliyuncs.com' },
  50: openAt(undefined, ''),
}

export const newApiChannels: Readonly<Record<number, ChannelKind>> = {
  ...shared,
  4: { kind: 'ollama', base: 'http://localhost:11434' },
  19: openAt('https://api.360.cn'),
  27: openAt('https://api.perplexity.ai', ''),
  31: openAt('https://api.lingyiwanwu.com'),
  40: openAt('https://api.siliconflow.cn'),
  42: { kind: 'mistral', base: 'https://api.mistral.ai', path: '/v1' },
  43: { kind: 'deepseek', base: 'https://api.deepseek.com' },
  45: { kind: 'ark', base: 'https://ark.cn-beijing.volces.com', path: '/api/v3' },
  46: openAt('https://qianfan.baidubce.com', '/v2'),
  47: openAt(),
  48: { kind: 'xai', base: 'https://api.x.ai', path: '/v1' },
  53: openAt('https://llm.submodel.ai'),
}

/** Words in names of models that are not paid by tokens of a chat or an embedding. */
const OTHER_WORK =
  /(^|[-_/])(tts|whisper|dall-e|image|imagen|flux|sora|veo|video|suno|mj|midjourney|rerank|reranker|realtime|audio|moderation|transcribe|speech|swap_face|wan\d|wanx|kling|cogview|cogvideox|stable-diffusion|sd)([-_.\d]|$)/i
const EMBEDDING = /embed|(^|[-_/])(bge|m3e|gte|e5|tao-8k)([-_.]|$)/i

/** The family of a model by its name and the kind of its upstream; undefined if it is neither chat nor embedding. */
export function familyOf(name: string, kind: string): string | undefined {
  if (OTHER_WORK.test(name)) return undefined
  if (!EMBEDDING.test(name)) return chatFamilyOf(kind)
  if (kind === 'voyage') return 'voyage-embeddings'
  if (kind === 'anthropic' || kind === 'cohere') return undefined
  return kind === 'google' ? 'gemini-embeddings' : 'openai-embeddings'
}
