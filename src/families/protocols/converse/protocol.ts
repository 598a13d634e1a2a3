// The protocol of Amazon Bedrock's Converse, for models that it serves by no other protocol, such as Nova, Llama and Mistral.

import type { Protocol } from '../../conversation/bridge'
import { converseCan } from './can'
import { readConverse, readConverseAnswer } from './read'
import { ConverseReader, readConverseEvent } from './read-events'
import { writeConverse } from './write'

export const converseProtocol: Protocol = {
  name: 'converse',
  family: 'bedrock-converse',
  familyDialect: 'messages',
  can: converseCan,
  cachesByMarks: true,
  countsPixels: true,
  requiresLimit: true,
  write: writeConverse,
  read: readConverse,
  readEvent: readConverseEvent,
  // The event with the figures is the last.
  end: null,
  readAnswer: readConverseAnswer,
  readEvents: (writer) => new ConverseReader(writer),
}
