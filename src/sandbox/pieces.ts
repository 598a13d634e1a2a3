// Tokens of the sandbox: text cut into pieces, the same pieces that a stream sends and that usage counts.
// Must never lose a character: the pieces joined are the text.

const piece = /\s?[\p{L}\p{M}\p{N}]{1,6}|\s?[^\s\p{L}\p{M}\p{N}]|\s+/gu

export function cutIntoPieces(text: string): string[] {
  return text.match(piece) ?? []
}

export function countTokens(text: string): number {
  return cutIntoPieces(text).length
}
