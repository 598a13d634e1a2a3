// The payload contracts that this gateway knows.

import type { Family } from '../family'
import { geminiEmbeddings } from './gemini-embeddings'
import { openaiChat } from './openai-chat'
import { openaiEmbeddings } from './openai-embeddings'
import { voyageEmbeddings } from './voyage-embeddings'

// Each family knows its own body; the line only hands a checked body back to the family that checked it.
const list = [openaiChat, openaiEmbeddings, geminiEmbeddings, voyageEmbeddings] as unknown as Family[]

export const families: ReadonlyMap<string, Family> = new Map(list.map((family) => [family.name, family]))
