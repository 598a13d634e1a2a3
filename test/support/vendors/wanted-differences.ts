// How a request of the gateway may differ from that of the vendor's own SDK, each difference with its reason, and the comparison
// that finds any other. A difference that no longer occurs in any case must be removed.

import type { SandboxCall } from '../../../sandbox'

/** A request as the vendor reads it. */
export interface SentRequest {
  method: string
  path: string
  headers: Readonly<Record<string, string>>
  body: unknown
}

interface WantedDifference {
  /** The path of the difference: `body.stream_options.include_usage`, `header.accept`. */
  place: string
  /** The cases that show it, by the beginning of their names. */
  only: readonly string[]
  why: string
}

/** The event stream that a client requests by a header, although the SDK says that it accepts JSON. */
const STREAMS = [
  ...['openai: a streamed', 'openai: speech of gpt-4o-mini-tts', 'anthropic: streamed', 'bedrock: streamed'],
  'groq: a streamed',
]

export const wantedDifferences: readonly WantedDifference[] = [
  {
    place: 'header.accept',
    only: [...STREAMS, 'bedrock: converse', 'google: embeddings', 'cohere', 'voyage', 'ollama'],
    why: 'The gateway names the type of answer that it reads. Vendors choose it by the body, and some SDKs name none.',
  },
  {
    place: 'body.stream_options.include_usage',
    only: ['openai: a streamed chat', 'groq: a streamed chat', 'openrouter: a streamed chat'],
    why: 'The gateway bills by the usage of the stream, and removes it again where the caller did not ask for it.',
  },
  {
    place: 'body.stream_format',
    only: ['openai: speech of gpt-4o-mini-tts'],
    why: 'The vendor reports the tokens of speech in events only. The caller gets the file that is in them.',
  },
  {
    place: 'header.content-type',
    only: ['ollama'],
    why: 'A request without a body has no content type.',
  },
  {
    place: 'body.encoding_format',
    only: ['openai: embeddings'],
    why: 'The SDK asks for base64 by itself. The gateway asks for numbers, which every server sends, and encodes them for the caller.',
  },
  ...['header.authorization', 'header.x-api-key'].map((place) => ({
    place,
    only: ['anthropic'],
    why: "The API takes the key in either header. The SDK sends a bearer token since 1.0; the API's documentation names x-api-key.",
  })),
  ...[0, 1].map((index) => ({
    place: `body.requests.${index}.content.role`,
    only: ['google: embeddings'],
    why: "Optional: 'can be left blank or unset' outside of a conversation (type Content of @google/genai).",
  })),
  {
    place: 'body.toolConfig.toolChoice.auto',
    only: ['bedrock: converse'],
    why: 'The default where tools are given (ToolConfiguration of the AWS SDK).',
  },
  {
    place: 'body.stream',
    only: ['mistral: chat', 'openrouter: chat'],
    why: 'False is the default; the SDK writes it.',
  },
]

/** Headers that decide what a vendor does; others describe the client or the connection. */
const HEADERS = [
  'authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'content-type',
  'accept',
  'x-dashscope-async',
]
const HEADER_PREFIXES = ['anthropic-', 'openai-']

export function asSent({ method, path, headers, body, form }: SandboxCall): SentRequest {
  const kept = Object.entries(headers).filter(
    ([name]) => HEADERS.includes(name) || HEADER_PREFIXES.some((prefix) => name.startsWith(prefix)),
  )
  // These vendors ignore the order of the parts of a form.
  const parts = form?.map(([name, value]) =>
    typeof value === 'string' ? [name, value] : [name, value.name, value.type, value.size],
  )
  parts?.sort(([one = ''], [other = '']) => (one < other ? -1 : 1))
  return {
    method,
    path: decodeURIComponent(path),
    headers: Object.fromEntries(kept.map(([name, value]) => [name, asCompared(name, value)])),
    body: parts ?? (body === '' ? undefined : JSON.parse(body)),
  }
}

/** A header without the parts that differ between any two requests: dates, signatures, boundaries. */
function asCompared(name: string, value: string): string {
  if (name === 'authorization') return value.replace(/,? (SignedHeaders|Signature)=\S+/g, '')
  return name === 'content-type' ? value.replace(/; (boundary|charset)=.*/, '') : value
}

/** The paths at which two requests differ, with both values. */
export function differencesOf(
  one: SentRequest,
  other: SentRequest,
): Record<string, readonly [unknown, unknown]> {
  const [ones, others] = [placesOf(one), placesOf(other)]
  const places = [...new Set([...ones.keys(), ...others.keys()])].sort()
  return Object.fromEntries(
    places
      .filter((place) => ones.get(place) !== others.get(place))
      .map((place) => [place, [ones.get(place), others.get(place)]]),
  )
}

function placesOf({ method, path, headers, body }: SentRequest): Map<string, unknown> {
  const found = new Map<string, unknown>([
    ['method', method],
    ['path', path],
  ])
  for (const [name, value] of Object.entries(headers)) found.set(`header.${name}`, value)
  collect(body, 'body', found)
  return found
}

function collect(value: unknown, place: string, into: Map<string, unknown>): void {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) {
    into.set(place, typeof value === 'object' ? JSON.stringify(value) : value)
    return
  }
  for (const [name, inner] of Object.entries(value)) collect(inner, `${place}.${name}`, into)
}

/** Splits the differences of a case into the wanted ones, by their index in the list, and the unwanted ones. */
export function judge(
  name: string,
  differences: Record<string, readonly [unknown, unknown]>,
): { wanted: number[]; unwanted: Record<string, readonly [unknown, unknown]> } {
  const wanted: number[] = []
  const unwanted: Record<string, readonly [unknown, unknown]> = {}
  for (const [place, values] of Object.entries(differences)) {
    const index = wantedDifferences.findIndex(
      (difference) => difference.place === place && difference.only.some((start) => name.startsWith(start)),
    )
    if (index >= 0) wanted.push(index)
    else unwanted[place] = values
  }
  return { wanted, unwanted }
}
