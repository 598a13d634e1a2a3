// The tokens of a request in one short text: those it took, and those it made.

/** Undefined for a request without tokens, such as one for a picture or a refused one. */
export function tokensText(input: number | null, output: number | null): string | undefined {
  if ((input ?? 0) + (output ?? 0) === 0) return undefined
  return `${input ?? 0} / ${output ?? 0}`
}
