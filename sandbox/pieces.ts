// Tokens of the sandbox: text cut into pieces, which a stream sends and usage counts. It must never lose a character:
// the pieces joined are the text.

const piece = /\s?[\p{L}\p{M}\p{N}]{1,6}|\s?[^\s\p{L}\p{M}\p{N}]|\s+/gu

export function cutIntoPieces(text: string): string[] {
  return text.match(piece) ?? []
}

export function countTokens(text: string): number {
  return cutIntoPieces(text).length
}
