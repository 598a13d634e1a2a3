// Reads answers other than chat: pictures in any form, audio, transcripts, vectors, ranks and verdicts. If nothing can be read, the
// reply is the JSON itself: whatever was paid for is always shown.

import type { ModelReply, Score } from './conversation'
import { dataUrlOf } from './files'

type Json = Record<string, unknown>

/** The reply with pictures anywhere in the answer: as bytes, or as URLs. */
export function withPictures(reply: ModelReply, answer: unknown): ModelReply {
  const places = placesIn(answer)
  const pictures = places.filter(isOwn)
  const elsewhere = places.filter((place) => !isOwn(place) && /^https?:/.test(place))
  return pictures.length + elsewhere.length === 0 ? withRaw(reply, answer) : { ...reply, pictures, elsewhere }
}

export function withRaw(reply: ModelReply, answer: unknown): ModelReply {
  return { ...reply, raw: JSON.stringify(answer, null, 2) }
}

/** Only this gateway's own files are loaded into the page. */
function isOwn(place: string): boolean {
  return place.startsWith('data:image/') || URL.parse(place)?.origin === location.origin
}

function placesIn(answer: unknown): string[] {
  if (Array.isArray(answer)) return answer.flatMap(placesIn)
  if (typeof answer !== 'object' || answer === null) return []
  const { b64_json: base64, data, mime_type: type, ...rest } = answer as Json
  if (typeof base64 === 'string' && base64 !== '') return [dataUrlOfPicture(base64)]
  if (typeof data === 'string' && typeof type === 'string' && type.startsWith('image/'))
    return [dataUrlOfPicture(data)]
  return Object.entries({ ...rest, data }).flatMap(([name, value]) => {
    const isPlace = ['url', 'image', 'uri'].includes(name) && typeof value === 'string' && value !== ''
    return isPlace ? [value as string] : placesIn(value)
  })
}

/** The type of a picture is determined by the beginning of its base64. */
function dataUrlOfPicture(base64: string): string {
  const type = base64.startsWith('/9j/') ? 'jpeg' : base64.startsWith('UklGR') ? 'webp' : 'png'
  return `data:image/${type};base64,${base64}`
}

export async function withSound(reply: ModelReply, response: Response): Promise<ModelReply> {
  return { ...reply, sound: await dataUrlOf(await response.blob()) }
}

/** The text of a transcription, with its usage if that has tokens. */
export function withTranscript(reply: ModelReply, answer: unknown): ModelReply {
  const { text } = answer as { text?: unknown }
  return typeof text === 'string' ? { ...reply, text } : withRaw(reply, answer)
}

export function withVectors(reply: ModelReply, answer: unknown): ModelReply {
  const { data = [] } = answer as { data?: { embedding?: unknown }[] }
  const vectors = data.flatMap(({ embedding }) => (Array.isArray(embedding) ? [embedding as number[]] : []))
  return vectors.length === 0 ? withRaw(reply, answer) : { ...reply, vectors }
}

export function withRanks(reply: ModelReply, answer: unknown, documents: readonly string[]): ModelReply {
  const { results = [] } = answer as { results?: { index?: number; relevance_score?: number }[] }
  const scores = results.map(({ index = 0, relevance_score: score = 0 }): Score => {
    return { label: documents[index] ?? `${index}`, score }
  })
  return scores.length === 0 ? withRaw(reply, answer) : { ...reply, scores }
}

export function withVerdict(reply: ModelReply, answer: unknown): ModelReply {
  const { results } = answer as {
    results?: { categories?: Record<string, boolean>; category_scores?: Record<string, number> }[]
  }
  const { categories = {}, category_scores: found = {} } = results?.[0] ?? {}
  const scores = Object.entries(found).map(([label, score]): Score => {
    return { label, score, isHit: categories[label] ?? false }
  })
  if (scores.length === 0) return withRaw(reply, answer)
  return { ...reply, scores: scores.sort((one, other) => other.score - one.score) }
}

/** How similar two vectors are: 1 for the same direction. */
export function cosineOf(one: readonly number[], other: readonly number[]): number {
  let product = 0
  let oneSquare = 0
  let otherSquare = 0
  for (let index = 0; index < one.length; index++) {
    const left = one[index] ?? 0
    const right = other[index] ?? 0
    product += left * right
    oneSquare += left * left
    otherSquare += right * right
  }
  return product / Math.sqrt(oneSquare * otherSquare || 1)
}
