// Checks that a reply is what the mock vendor sent, apart from changes that a gateway may make: another model name, comments
// between frames, other chunk boundaries. It must never accept a lost, repeated, swapped or altered text.
import { CONTENT_FRAMES, frameContent, usage, wholeContent } from './exchange'

export interface Verdict {
  framesWrong: number
  /** Absent if the reply is correct. */
  fault?: string
}

interface Reply {
  choices?: { message?: { content?: unknown }; delta?: { content?: unknown }; finish_reason?: unknown }[]
  usage?: { prompt_tokens?: unknown; completion_tokens?: unknown } | null
}

interface WholeResponse {
  output?: { content?: { text?: unknown }[] }[]
  usage?: { input_tokens?: unknown; output_tokens?: unknown }
}

const indexOfContent = new Map<unknown, number>(
  Array.from({ length: CONTENT_FRAMES }, (_, index) => [frameContent(index), index]),
)

export function checkWhole(text: string): Verdict {
  const reply = parse(text)
  if (reply === null) return { framesWrong: 0, fault: `no JSON: ${text.slice(0, 200)}` }
  if (reply.choices?.[0]?.message?.content !== wholeContent)
    return { framesWrong: 0, fault: 'content changed' }
  if (!usageMatches(reply)) return { framesWrong: 0, fault: 'usage changed' }
  return { framesWrong: 0 }
}

export function checkStream(text: string): Verdict {
  const events = text.split('\n\n').filter((event) => event !== '' && !event.startsWith(':'))
  const last = events.pop()
  const replies = events.map((event) => (event.startsWith('data: ') ? parse(event.slice(6)) : null))
  const contents = replies.flatMap((reply) => reply?.choices?.[0]?.delta?.content || [])
  const framesWrong = countWrong(contents)
  if (replies.includes(null)) return { framesWrong, fault: 'a frame is not JSON' }
  if (framesWrong > 0)
    return { framesWrong, fault: `${framesWrong} of ${CONTENT_FRAMES} frames lost or changed` }
  if (!replies.some((reply) => reply?.choices?.[0]?.finish_reason === 'stop')) {
    return { framesWrong, fault: 'no finish frame' }
  }
  if (!replies.some((reply) => reply !== null && usageMatches(reply))) {
    return { framesWrong, fault: 'no usage frame' }
  }
  if (last !== 'data: [DONE]') return { framesWrong, fault: 'the stream does not end with [DONE]' }
  return { framesWrong }
}

/** A whole answer as it is translated. */
export function checkWholeResponse(text: string): Verdict {
  const { output, usage: used } = (parse(text) ?? {}) as WholeResponse
  if (output?.[0]?.content?.[0]?.text !== wholeContent) return { framesWrong: 0, fault: 'content changed' }
  const isSame = used?.input_tokens === usage.promptTokens && used.output_tokens === usage.completionTokens
  return isSame ? { framesWrong: 0 } : { framesWrong: 0, fault: 'usage changed' }
}

/** The texts of all frames of a response, and the event that ends it. `endsWithDone` says whether `[DONE]` must follow. */
export function checkResponse(text: string, endsWithDone: boolean): Verdict {
  const framesWrong = countWrong([...text.matchAll(/"delta":"([^"]*)"/g)].map(([, delta]) => delta))
  if (framesWrong > 0)
    return { framesWrong, fault: `${framesWrong} of ${CONTENT_FRAMES} frames lost or changed` }
  const last = /\n\nevent: response\.completed\ndata: (.*)\n\n(?:data: \[DONE\]\n\n)?$/.exec(text)?.[1]
  const { response } = JSON.parse(last ?? '{}')
  if (response?.usage?.input_tokens !== usage.promptTokens)
    return { framesWrong, fault: 'no usage at the end' }
  if (endsWithDone && !text.endsWith('data: [DONE]\n\n'))
    return { framesWrong, fault: 'the stream does not end with [DONE]' }
  return { framesWrong }
}

/** The texts of all frames of messages, and the events that end it. */
export function checkMessages(text: string): Verdict {
  const deltas = text.matchAll(/"delta":\{"type":"text_delta","text":"([^"]*)"/g)
  const framesWrong = countWrong([...deltas].map(([, delta]) => delta))
  if (framesWrong > 0)
    return { framesWrong, fault: `${framesWrong} of ${CONTENT_FRAMES} frames lost or changed` }
  const last = /\n\nevent: message_delta\ndata: (.*)\n\nevent: message_stop\ndata: .*\n\n$/.exec(text)?.[1]
  const { usage: used } = JSON.parse(last ?? '{}')
  if (used?.output_tokens !== usage.completionTokens) return { framesWrong, fault: 'no usage at the end' }
  return { framesWrong }
}

/** Number of missing texts, and of unexpected ones. */
function countWrong(contents: unknown[]): number {
  let wrong = 0
  let expected = 0
  for (const content of contents) {
    const index = indexOfContent.get(content) ?? -1
    if (index < expected) {
      wrong += 1
    } else {
      wrong += index - expected
      expected = index + 1
    }
  }
  return wrong + CONTENT_FRAMES - expected
}

function usageMatches(reply: Reply): boolean {
  return (
    reply.usage?.prompt_tokens === usage.promptTokens &&
    reply.usage.completion_tokens === usage.completionTokens
  )
}

function parse(text: string): Reply | null {
  try {
    return JSON.parse(text) as Reply
  } catch {
    return null
  }
}
