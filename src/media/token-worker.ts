// The worker of the token counter; the only file that loads the tokenizer. It must never be given one word of unlimited
// length: see PIECE_LENGTH.

import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'

/**
 * Maximum length of a piece for the tokenizer, in characters. Its time is quadratic in the length of one word: a megabyte of one
 * letter would take hours.
 */
const PIECE_LENGTH = 1_000

declare const self: Worker

self.onmessage = ({ data }: MessageEvent<{ id: number; text: string }>) => {
  let tokens = 0
  for (let at = 0; at < data.text.length; ) {
    const end = endOfPiece(data.text, at)
    tokens += countTokens(data.text.slice(at, end), { disallowedSpecial: new Set() })
    at = end
  }
  self.postMessage({ id: data.id, tokens })
}

/**
 * The end of the piece that begins at `at`: before a space, where a token would end too, unless there is none for a
 * long way.
 */
function endOfPiece(text: string, at: number): number {
  const most = at + PIECE_LENGTH
  if (most >= text.length) return text.length
  const space = text.lastIndexOf(' ', most)
  return space > at ? space : most
}
