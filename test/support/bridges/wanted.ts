// Differences between an older family and the newer one in its place that are wanted, each with its reason. Add a row here
// if a newer family does better; a row that no case needs any more fails.

import type { WantedDifference } from './differences'

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
]
