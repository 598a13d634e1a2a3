// The grammar of each dialect's streams, as its clients parse them: the order of events, and their end. It must never use the code
// that writes them.

import { readResponse } from '../answers/response-events'
import type { Json } from '../scenario'
import type { DialectName } from './pairs'

/** How a stream ended: by itself or cut by the gateway, or with an error. */
export type Ending = 'whole' | 'failed'

/** Faults of a stream's events; empty if there are none. */
export function grammarFaults(dialect: DialectName, events: readonly Json[], ending: Ending): string[] {
  const faults: string[] = []
  const must = (holds: boolean, what: string) => {
    if (!holds) faults.push(what)
  }
  grammars[dialect](events, ending === 'whole', must)
  return faults
}

type Must = (holds: boolean, what: string) => void

const grammars: Readonly<
  Record<DialectName, (events: readonly Json[], isWhole: boolean, must: Must) => void>
> = {
  chat(events, isWhole, must) {
    const chunks = events.filter(({ data }) => data.choices).map(({ data }) => data)
    const choices = chunks.flatMap((chunk) => chunk.choices)
    must(new Set(chunks.map(({ id }) => id)).size <= 1, 'chunks of several ids')
    must(choices.length === 0 || choices[0].delta.role === 'assistant', 'no role first')
    must(
      choices.slice(1).every(({ delta }) => delta.role === undefined),
      'a role twice',
    )
    const ends = choices.filter(({ finish_reason: reason }) => reason !== null)
    must(ends.length === (isWhole ? 1 : 0), `${ends.length} reasons to end`)
    must(!isWhole || ends[0] === choices.at(-1), 'something after the reason to end')
    must(!isWhole || events.at(-1)?.data === '[DONE]', 'no [DONE] at the end')
    const begun = new Set<unknown>()
    for (const { index, id } of choices.flatMap(({ delta }) => delta.tool_calls ?? [])) {
      const isFirst = !begun.has(index)
      begun.add(index)
      must(isFirst === (id !== undefined), 'an id of a call not in its first piece alone')
      must(!isFirst || index === begun.size - 1, 'a call out of order')
      must(!isFirst || Boolean(id), 'a call without an id')
    }
  },
  messages(events, isWhole, must) {
    const all = events.map(({ data }) => data)
    must(
      events.every(({ name, data }) => name === data.type),
      'a name that is not the type',
    )
    must(all.length === 0 || all[0].type === 'message_start' || all[0].type === 'error', 'no start first')
    must(all.filter(({ type }) => type === 'message_start').length <= 1, 'two starts')
    let open: number | undefined
    let next = 0
    for (const { type, index } of all) {
      if (type === 'content_block_start') {
        must(open === undefined && index === next, 'a block begins within another, or out of order')
        open = index
        next++
      } else if (/^content_block/.test(type)) {
        must(index === open, 'a piece of a block that is not open')
        if (type === 'content_block_stop') open = undefined
      }
    }
    if (!isWhole) return
    must(open === undefined, 'a block without an end')
    must(all.at(-1)?.type === 'message_stop' && all.at(-2)?.type === 'message_delta', 'no proper end')
    must(typeof all.at(-2)?.delta?.stop_reason === 'string', 'no reason to stop')
  },
  responses(events, isWhole, must) {
    const text = events.map(
      ({ name, data }) =>
        `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`,
    )
    try {
      const { response, items } = readResponse(text.join(''))
      must(isWhole === /^(?:completed|incomplete)$/.test(response.status), `the end is ${response.status}`)
      must(!isWhole || Bun.deepEquals(response.output, items), 'the response has other items than the stream')
    } catch (error) {
      must(false, String(error))
    }
  },
  gemini(events, isWhole, must) {
    const all = events.map(({ data }) => data)
    const candidates = all.map(({ candidates }) => candidates?.[0]).filter(Boolean)
    const ends = candidates.filter(({ finishReason }) => finishReason !== undefined)
    must(ends.length === (isWhole ? 1 : 0), `${ends.length} reasons to end`)
    must(!isWhole || ends[0] === candidates.at(-1), 'something after the end')
    must(
      candidates.every(({ content }) => !content?.parts || content.parts.every(Boolean)),
      'an empty part',
    )
  },
}

/** Tokens of the input and the output, as a caller reads them in a whole answer, or in the events of a stream. */
export function reportedTokens(dialect: DialectName, answer: Json): [input: number, output: number] {
  const { usage, usageMetadata, response } = answer
  switch (dialect) {
    case 'chat':
      return [usage.prompt_tokens, usage.completion_tokens]
    case 'messages':
      return [
        usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
        usage.output_tokens,
      ]
    case 'responses':
      return tokensOfResponse(response ?? answer)
    case 'gemini':
      return [
        usageMetadata.promptTokenCount,
        usageMetadata.candidatesTokenCount + (usageMetadata.thoughtsTokenCount ?? 0),
      ]
  }
}

const tokensOfResponse = ({ usage }: Json): [number, number] => [usage.input_tokens, usage.output_tokens]

/** The event of a stream with the figures. */
export function figuresIn(dialect: DialectName, events: readonly Json[]): Json {
  const all = events.map(({ data }) => data).filter((data) => typeof data === 'object')
  return all.findLast(({ type, usage, usageMetadata, response }) =>
    dialect === 'responses'
      ? response?.usage
      : dialect === 'messages'
        ? type === 'message_delta'
        : (usage ?? usageMetadata),
  )
}

/** Why an answer ended, whole or as a stream. */
export function reportedStop(dialect: DialectName, answer: Json | readonly Json[]): string | undefined {
  const all: Json[] = Array.isArray(answer) ? answer.map(({ data }) => data) : [answer]
  const found = all.flatMap((data) => {
    if (dialect === 'chat') return data.choices?.[0]?.finish_reason ?? []
    if (dialect === 'messages') return data.stop_reason ?? data.delta?.stop_reason ?? []
    if (dialect === 'gemini') return data.candidates?.[0]?.finishReason ?? []
    const { status } = data.response ?? data
    return status && status !== 'in_progress' ? status : []
  })
  return found.at(-1)
}
