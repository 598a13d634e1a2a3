// The protocol of Gemini's own API, for callers who speak another dialect.

import type { Protocol } from '../../conversation/bridge'
import { geminiCan } from './can'
import { readGeminiEvent, readGeminiReply } from './read'
import { GeminiReader, readGeminiAnswer } from './read-events'
import { thinkingBudgetOf, writeGemini } from './write'

export const geminiProtocol: Protocol = {
  name: 'gemini',
  family: 'gemini-contents',
  can: geminiCan,
  watchesFilms: true,
  drawsPictures: true,
  write: writeGemini,
  thinkingTokens: thinkingBudgetOf,
  read: readGeminiReply,
  readEvent: readGeminiEvent,
  // The event with the finish reason is the last.
  end: null,
  readAnswer: readGeminiAnswer,
  readEvents: (writer) => new GeminiReader(writer),
}
