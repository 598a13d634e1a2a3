// Differences between an older family and the newer one in its place that are wanted, each with its reason. Add a row here
// if a newer family does better; a row that no case needs any more fails.

import type { Json } from '../scenario'
import type { WantedDifference } from './differences'
import { chatOnMessagesDifferences } from './wanted/chat-on-messages'
import { chatOnResponsesDifferences } from './wanted/chat-on-responses'
import { messagesOnResponsesDifferences } from './wanted/messages-on-responses'
import { responsesOnMessagesDifferences } from './wanted/responses-on-messages'
import { wantedOfChat } from './wanted-of-chat'
import { wantedOfConverse } from './wanted-of-converse'
import { wantedOnChat } from './wanted-on-chat'

/** A document or a sound in a request, whole. */
const FILE = /data:(?!image)[a-z]|"media_type":"(?!image)/

/** Tokens of the input that are held by one of the quotes of a request, whatever their units. */
function inputHeld({ quote }: Json, place: number): number {
  const { output_token: _, ...input } = quote[place]
  return Object.values(input).reduce((sum: number, count) => sum + Number(count), 0)
}

export const wantedDifferences: readonly WantedDifference[] = [
  {
    where: /texts(\[.*)?/,
    reason:
      'The texts that are counted where a vendor reports no usage are those of the conversation, in the words of no dialect.',
  },
  {
    where: /mediaTokens/,
    reason:
      'Pictures and documents are estimated for every dialect: where there are any, a hold is not narrowed to a count of texts.',
    matches: ({ older, newer }) => (older ?? 0) <= (newer as number),
  },
  {
    where: /quote\[\d\]\.(input_token|cache_write_token|cache_write_1h_token|input_audio_token)/,
    reason:
      'One bound of the input for all: with the tokens of tools, files by their content, and the dearest unit that the vendor may use.',
    // Only files count by what is in them: less may be held for one that is small.
    matches: ({ where }, { body, older, newer }) => {
      const place = Number(/\d/.exec(where))
      return inputHeld(newer, place) >= inputHeld(older, place) || FILE.test(body)
    },
  },
  ...wantedOfChat,
  ...wantedOnChat,
  ...wantedOfConverse,
  ...chatOnMessagesDifferences.map((row) => ({ pair: 'chat-on-messages', ...row })),
  ...responsesOnMessagesDifferences.map((row) => ({ pair: 'responses-on-messages', ...row })),
  ...chatOnResponsesDifferences.map((row) => ({ pair: 'chat-on-responses', ...row })),
  ...messagesOnResponsesDifferences.map((row) => ({ pair: 'messages-on-responses', ...row })),
]
