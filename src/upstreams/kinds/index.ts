// The list of the vendors that this gateway can connect to. Nothing except this list may name a kind.

import type { UpstreamKind } from '../../contract/upstream'
import { anthropic } from './anthropic'
import { ark } from './ark'
import { azure } from './azure'
import { bedrock } from './bedrock'
import { cohere } from './cohere'
import { dashscope } from './dashscope'
import { deepseek } from './deepseek'
import { elevenlabs } from './elevenlabs'
import { fal } from './fal'
import { google } from './google'
import { groq } from './groq'
import { minimax } from './minimax'
import { mistral } from './mistral'
import { moonshot } from './moonshot'
import { ollama } from './ollama'
import { openai } from './openai'
import { openrouter } from './openrouter'
import { runway } from './runway'
import { vertex } from './vertex'
import { voyage } from './voyage'
import { xai } from './xai'
import { zai } from './zai'

export const upstreamKinds: ReadonlyMap<string, UpstreamKind> = new Map(
  [
    openai,
    dashscope,
    google,
    voyage,
    xai,
    anthropic,
    ark,
    cohere,
    azure,
    bedrock,
    vertex,
    openrouter,
    ollama,
    groq,
    deepseek,
    mistral,
    moonshot,
    zai,
    elevenlabs,
    minimax,
    fal,
    runway,
  ].map((kind) => [kind.kind, kind]),
)

/** The default family for conversations of a kind. */
export function chatFamilyOf(kind: string): string {
  return upstreamKinds.get(kind)?.chatFamily ?? 'openai-chat'
}
