// The tokens of a request in a short text: input and output.

/** Undefined for a request without tokens, such as one for a picture or a refused request. */
export function tokensText(input: number | null, output: number | null): string | undefined {
  if ((input ?? 0) + (output ?? 0) === 0) return undefined
  return `${input ?? 0} / ${output ?? 0}`
}
