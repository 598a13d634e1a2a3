// The list of the families, which are the payload contracts that this gateway knows. Nothing except this list may name a family.

import type { Family } from '../contract/family'
import { openaiChat } from './chat/openai'
import { openaiCompletions } from './completions/openai'
import { geminiContents } from './contents/gemini'
import { bridge, type ConversationDialect } from './conversation/bridge'
import { chatDialect } from './dialects/chat/dialect'
import { geminiDialect } from './dialects/gemini/dialect'
import { messagesDialect } from './dialects/messages/dialect'
import { responsesDialect } from './dialects/responses/dialect'
import { geminiEmbeddings } from './embeddings/gemini'
import { openaiEmbeddings } from './embeddings/openai'
import { voyageEmbeddings } from './embeddings/voyage'
import { arkImages, openaiImageEditsOnArk, openaiImagesOnArk } from './images/ark'
import { dalleImageEdits, dalleImages } from './images/dalle'
import { dashscopeImages, openaiImageEditsOnDashscope, openaiImagesOnDashscope } from './images/dashscope'
import { geminiImages, openaiImageEditsOnGemini, openaiImagesOnGemini } from './images/gemini'
import { openaiImages } from './images/openai'
import { openaiImageEdits } from './images/openai-edits'
import { openaiImageEditsOnXai, xaiImages } from './images/xai'
import { anthropicMessages } from './messages/anthropic'
import { openaiModeration } from './moderation/openai'
import { converseProtocol } from './protocols/converse/protocol'
import { geminiProtocol } from './protocols/gemini/protocol'
import { messagesProtocol } from './protocols/messages/protocol'
import { openaiChatProtocol } from './protocols/openai-chat/protocol'
import { responsesProtocol } from './protocols/responses/protocol'
import { cohereRerank } from './rerank/cohere'
import { voyageRerank } from './rerank/voyage'
import { openaiResponses } from './responses/openai'
import { dashscopeSpeech } from './speech/dashscope'
import { elevenlabsSpeech } from './speech/elevenlabs'
import { minimaxSpeech } from './speech/minimax'
import { openaiSpeech } from './speech/openai'
import { openaiTranscriptions, openaiTranslations } from './transcription/openai'
import { arkVideo } from './videos/ark'
import { dashscopeVideo } from './videos/dashscope'
import { falVideo } from './videos/fal'
import { geminiVideo } from './videos/gemini'
import { hailuoVideo } from './videos/hailuo'
import { minimaxVideo } from './videos/minimax'
import { runwayVideo } from './videos/runway'
import { xaiVideo } from './videos/xai'

const dialects = [
  chatDialect,
  messagesDialect,
  responsesDialect,
  geminiDialect,
] as unknown as ConversationDialect[]
const protocols = [openaiChatProtocol, messagesProtocol, responsesProtocol, geminiProtocol, converseProtocol]

/** Conversations of callers whose dialect the vendor does not speak. */
const bridges = dialects.flatMap((dialect) =>
  protocols.filter(({ name }) => name !== dialect.name).map((protocol) => bridge(dialect, protocol)),
)

// Each family knows its own body. The request line only returns a checked body to the family that checked it.
const list = [
  openaiChat,
  anthropicMessages,
  openaiResponses,
  geminiContents,
  ...bridges,
  openaiCompletions,
  openaiEmbeddings,
  geminiEmbeddings,
  voyageEmbeddings,
  cohereRerank,
  voyageRerank,
  openaiModeration,
  dashscopeSpeech,
  openaiSpeech,
  elevenlabsSpeech,
  minimaxSpeech,
  openaiTranscriptions,
  openaiTranslations,
  dashscopeImages,
  arkImages,
  xaiImages,
  geminiImages,
  openaiImages,
  openaiImageEdits,
  dalleImages,
  dalleImageEdits,
  openaiImagesOnDashscope,
  openaiImagesOnArk,
  openaiImagesOnGemini,
  openaiImageEditsOnDashscope,
  openaiImageEditsOnArk,
  openaiImageEditsOnGemini,
  openaiImageEditsOnXai,
  dashscopeVideo,
  xaiVideo,
  arkVideo,
  falVideo,
  runwayVideo,
  minimaxVideo,
  hailuoVideo,
  geminiVideo,
] as unknown as Family[]

export const families: ReadonlyMap<string, Family> = new Map(list.map((family) => [family.name, family]))
