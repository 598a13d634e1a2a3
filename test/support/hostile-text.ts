// Texts of vendors and callers that try to take over a terminal: they end lines, set colours and titles, and reverse the direction
// of text.

import type { Random } from './random'

/** All control characters that a terminal obeys, except the line feed and the tab. */
export const TERMINAL_CONTROL = /(?![\n\t])[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/u

const PIECES = [
  ...['plain', ' ', '"', '\\', '=', '世界', '🦊', '\u200d', '\ufeff', '\ud800'],
  ...['\n', '\r', '\r\n', '\t', '\0', '\b', '\u007f', '\u0085', '\u2028', '\u2029'],
  ...[
    '\u001b[31m',
    '\u001b[2K\u001b[1A',
    '\u001b]0;title\u0007',
    '\u001b]8;;http://example.com\u001b\\',
    '\u009b2J',
  ],
  ...['\u202e', '\u2066', '\u2069', '\u200e', '\u200f', '\u061c'],
]

export function hostileText(random: Random): string {
  return Array.from({ length: 1 + random.below(6) }, () => random.pick(PIECES)).join('')
}
