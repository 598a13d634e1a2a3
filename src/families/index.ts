// The payload contracts that this gateway knows.

import type { Family } from '../family'
import { anthropicMessages } from './anthropic-messages'
import { arkImages } from './ark-images'
import { arkVideo } from './ark-video'
import { chatOnMessages } from './chat-on-messages'
import { dalleImageEdits, dalleImages } from './dalle-images'
import { dashscopeImages } from './dashscope-images'
import { dashscopeSpeech } from './dashscope-speech'
import { dashscopeVideo } from './dashscope-video'
import { geminiEmbeddings } from './gemini-embeddings'
import { geminiImages } from './gemini-images'
import { messagesOnChat } from './messages-on-chat'
import { openaiChat } from './openai-chat'
import { openaiEmbeddings } from './openai-embeddings'
import { openaiImageEdits } from './openai-image-edits'
import { openaiImages } from './openai-images'
import { voyageEmbeddings } from './voyage-embeddings'
import { xaiImages } from './xai-images'
import { xaiVideo } from './xai-video'

// Each family knows its own body; the line only hands a checked body back to the family that checked it.
const list = [
  openaiChat,
  anthropicMessages,
  chatOnMessages,
  messagesOnChat,
  openaiEmbeddings,
  geminiEmbeddings,
  voyageEmbeddings,
  dashscopeSpeech,
  dashscopeImages,
  arkImages,
  xaiImages,
  geminiImages,
  openaiImages,
  openaiImageEdits,
  dalleImages,
  dalleImageEdits,
  dashscopeVideo,
  xaiVideo,
  arkVideo,
] as unknown as Family[]

export const families: ReadonlyMap<string, Family> = new Map(list.map((family) => [family.name, family]))
