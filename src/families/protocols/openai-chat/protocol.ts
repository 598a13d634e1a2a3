// The protocol of vendors of chat completions, for callers who speak another dialect.

import { CHAT_END, readChunk, readCompletion } from '../../chat/caller-side'
import type { Protocol } from '../../conversation/bridge'
import { openaiChatCan } from './can'
import { ChatReader } from './read-events'
import { writeChat } from './write'

export const openaiChatProtocol: Protocol = {
  name: 'chat',
  family: 'openai-chat',
  can: openaiChatCan,
  write: writeChat,
  read: readCompletion,
  readEvent: readChunk,
  end: CHAT_END,
  readAnswer: (reply, writer, model) => new ChatReader(writer, model).readWhole(reply),
  readEvents: (writer, model) => new ChatReader(writer, model),
}
