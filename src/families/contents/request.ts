// The parts of a generateContent request that decide what it can cost, read leniently: the vendor knows more of them. It must never
// refuse a part, or leave one uncounted.

import { asObject, isObject } from '../../lib/objects'
import type { Conversation, Part, Tool } from '../conversation/conversation'
import { type GeminiBody, memberOf } from '../dialects/gemini/body'

type Fields = Record<string, unknown>

/** The request as one turn of the user with everything in it. */
export function costOfContents(body: GeminiBody): Conversation {
  const config = asObject(memberOf(body, 'generationConfig'))
  const contents = [memberOf(body, 'systemInstruction'), ...body.contents]
  const parts = contents.flatMap((content) => (isObject(content) ? partsIn(content.parts) : []))
  const tokens = memberOf(config, 'maxOutputTokens')
  const limit = typeof tokens === 'number' && tokens > 0 ? tokens : undefined
  return {
    turns: [{ side: 'user', results: [], parts }],
    instructionsHold: 'everywhere',
    tools: toolsIn(body),
    choice: undefined,
    parallelCalls: undefined,
    settings: {
      ...UNSET,
      stream: body.stream === true,
      candidates: candidatesIn(config),
      limit: limit === undefined ? undefined : { tokens: limit, at: 'generationConfig.maxOutputTokens' },
    },
  }
}

const UNSET: Conversation['settings'] = {
  stream: false,
  candidates: 1,
  limit: undefined,
  temperature: undefined,
  topP: undefined,
  topK: undefined,
  stop: [],
  seed: undefined,
  frequencyPenalty: undefined,
  presencePenalty: undefined,
  format: undefined,
  reasoning: { effort: undefined, effortAt: undefined, budgetTokens: undefined, isShown: undefined },
  verbosity: undefined,
  logprobs: undefined,
  user: undefined,
  cacheKey: undefined,
  serviceTier: undefined,
}

/** The number of answers. */
export function candidatesIn(config: Fields): number {
  const count = memberOf(config, 'candidateCount')
  return typeof count === 'number' && count > 1 ? Math.ceil(count) : 1
}

function partsIn(parts: unknown): Part[] {
  return (Array.isArray(parts) ? parts.filter(isObject) : []).flatMap((part) => [
    ...textOf(part),
    ...fileOf(part),
    ...partsIn(asObject(memberOf(part, 'functionResponse')).parts),
  ])
}

/** The text of a part; calls, results and other kinds become JSON without files. */
function textOf(part: Fields): Part[] {
  if (typeof part.text === 'string') return [{ type: 'text', text: part.text, at: '' }]
  const { args } = asObject(memberOf(part, 'functionCall'))
  const { response } = asObject(memberOf(part, 'functionResponse'))
  const code = memberOf(part, 'executableCode') ?? memberOf(part, 'codeExecutionResult')
  const held = args ?? response ?? code
  return held === undefined ? [] : [{ type: 'text', text: JSON.stringify(held), at: '' }]
}

function fileOf(part: Fields): Part[] {
  const inline = memberOf(part, 'inlineData')
  const file = inline ?? memberOf(part, 'fileData')
  if (file === undefined) return []
  const type = String(memberOf(file, 'mimeType') ?? '').toLowerCase()
  const { data } = asObject(inline)
  const url = typeof data === 'string' ? `data:${type};base64,${data}` : String(memberOf(file, 'fileUri'))
  const [kind] = type.split('/')
  const place = { url, urlAt: '', at: '' }
  if (kind === 'image' || kind === 'audio' || kind === 'video') return [{ type: kind, ...place }]
  return [{ type: 'document', ...place }]
}

/** Tools as texts: they are counted as such. */
function toolsIn({ tools }: GeminiBody): Tool[] {
  return (tools ?? []).map((tool) => ({
    name: '',
    description: JSON.stringify(tool),
    parameters: undefined,
    isStrict: false,
    at: '',
  }))
}
