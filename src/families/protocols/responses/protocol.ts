// The protocol of vendors of the responses API, for callers who speak another dialect.

import type { Protocol } from '../../conversation/bridge'
import { readResponse, readResponseEvent } from '../../responses/reading'
import { needsResponses, needsResponsesForSome } from '../../responses/tools-with-effort'
import { responsesCan } from './can'
import { ResponseReader, readResponseAnswer } from './read-events'
import { MIN_LIMIT, writeAfterRefusal, writeResponses } from './write'

export const responsesProtocol: Protocol = {
  name: 'responses',
  family: 'openai-responses',
  can: responsesCan,
  leastLimit: MIN_LIMIT,
  write: writeResponses,
  writeAfter: writeAfterRefusal,
  read: readResponse,
  readEvent: readResponseEvent,
  // The vendor closes the connection after the event that completes the answer.
  end: null,
  readAnswer: readResponseAnswer,
  readEvents: (writer) => new ResponseReader(writer),
  takes: ({ tools, effort }, model) => needsResponses(model, tools, effort),
  takesSome: needsResponsesForSome,
}
