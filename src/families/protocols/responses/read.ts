// Reads a whole response into a writer: its items are read as those of a stream that come without pieces, so that both say the same.

import { asObject, isObject } from '../../../lib/objects'
import type { AnswerWriter } from '../../conversation/answer'
import { ResponseReader } from './read-events'

/** Throws if the vendor sent no answer. */
export function readResponseAnswer(reply: unknown, writer: AnswerWriter): void {
  const response = asObject(reply)
  const { output } = response
  if (!Array.isArray(output)) throw new Error('the vendor sent no output')
  const reader = new ResponseReader(writer)
  reader.begin(response)
  for (const [place, item] of output.entries()) if (isObject(item)) reader.done(place, item)
  reader.end(response)
  reader.finish()
}
