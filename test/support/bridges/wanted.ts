// Differences between an older family and the newer one in its place that are wanted, each with its reason. Add a row here
// if a newer family does better; a row that no case needs any more fails.

import type { WantedDifference } from './differences'

export const wantedDifferences: readonly WantedDifference[] = []
