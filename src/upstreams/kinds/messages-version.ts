// The version of the messages API for vendors that expect it in the body, as Anthropic's own SDKs send it to them
// (@anthropic-ai/bedrock-sdk 1.1.3, client.mjs). It must never replace a version in the caller's request.

/** Old and new callers name it; these vendors have their own names for it. */
const FIRST_VERSION = '2023-06-01'

/** The version in a caller's header; undefined if it is absent or the first version: both leave the choice to the vendor. */
export function requestedVersion(headers: Readonly<Record<string, string>>): string | undefined {
  const version = headers['anthropic-version']
  return version === FIRST_VERSION ? undefined : version
}
