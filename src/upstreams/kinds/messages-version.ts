// The version of the messages API for vendors that take it in the body, as Anthropic's own SDKs send it there
// (@anthropic-ai/bedrock-sdk 1.1.3, client.mjs). It must never replace a version that the caller named.

/** Named by callers of all ages; these vendors have names of their own for it. */
const FIRST_VERSION = '2023-06-01'

/** The version that a caller named in a header; undefined if there is none or it is the first one: both leave it to the vendor. */
export function requestedVersion(headers: Readonly<Record<string, string>>): string | undefined {
  const version = headers['anthropic-version']
  return version === FIRST_VERSION ? undefined : version
}
