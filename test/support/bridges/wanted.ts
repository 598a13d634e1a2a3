// Differences between an older family and the newer one in its place that are wanted, each with its reason. Add a row here
// if a newer family does better; a row that no case needs any more fails.

import type { WantedDifference } from './differences'
import { chatOnResponsesDifferences } from './wanted/chat-on-responses'
import { messagesOnResponsesDifferences } from './wanted/messages-on-responses'
import { wantedOfChat } from './wanted-of-chat'
import { wantedOfConverse } from './wanted-of-converse'
import { wantedOnChat } from './wanted-on-chat'
import { wantedOnMessages } from './wanted-on-messages'

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
    matches: ({ older, newer }, { body }) =>
      older === undefined ||
      newer === undefined ||
      newer >= older ||
      /base64|data:/.test(JSON.stringify(body)),
  },
  ...wantedOfChat,
  ...wantedOnChat,
  ...wantedOfConverse,
  ...wantedOnMessages,
  ...chatOnResponsesDifferences.map((row) => ({ pair: 'chat-on-responses', ...row })),
  ...messagesOnResponsesDifferences.map((row) => ({ pair: 'messages-on-responses', ...row })),
]
