// Random streams of chat completions in the style of many servers, with the words in them, to prove that a translation neither
// invents nor loses anything. It must not use the translation's own rules.

import type { Random } from '../random'
import type { Json } from '../scenario'

interface GeneratedStream {
  /** The whole stream as a vendor would send it. */
  text: string
  thinking: string
  answer: string
  /** Absent if the server sends no id. */
  calls: { id: string | undefined; name: string; arguments: string }[]
  stopReason: string
  /** Undefined if the vendor sends no usage. */
  usage: { input: number; cached: number; output: number; thinking: number } | undefined
}

/** How a server sends tool calls. */
type Manner =
  | 'pieces'
  | 'mixed'
  | 'empty ids'
  | 'new ids'
  | 'whole'
  | 'parsed'
  | 'same index'
  | 'no index'
  | 'no id'
  | 'bare'
  | 'nameless start'

const manners: readonly Manner[] = [
  'pieces',
  'mixed',
  'empty ids',
  'new ids',
  'whole',
  'parsed',
  'same index',
  'no index',
  'no id',
  'bare',
  'nameless start',
]

const words = [
  'the',
  ' cat',
  '\n\n',
  '世界',
  '🎉',
  ' "quoted"',
  ' {',
  '}',
  '\\',
  ' data: [DONE]',
  'event: x',
  '\u2028',
  ' ',
]

export function chatStream(random: Random): GeneratedStream {
  const thinking: string[] = []
  const answer: string[] = []
  const deltas: Json[] = []
  const member = random.pick(['reasoning_content', 'reasoning'])
  for (let count = random.below(4); count > 0; count--) {
    const isThinking = random.chance(0.4)
    for (const piece of textPieces(random)) {
      ;(isThinking ? thinking : answer).push(piece)
      deltas.push(isThinking ? { [member]: piece } : { content: piece })
    }
  }
  const manner = random.pick(manners)
  const calls = random.chance(0.6) ? many(random, 4, (index) => call(random, index)) : []
  const callDeltas = deltasOf(random, manner, calls)
  // A text between the calls, which some models write.
  if (callDeltas.length > 1 && random.chance(0.3)) {
    answer.push(' well,')
    callDeltas.splice(1 + random.below(callDeltas.length - 1), 0, { content: ' well,' })
  }
  deltas.push(...callDeltas)
  const refused = calls.length === 0 && random.chance(0.1)
  if (refused) {
    answer.push('No.')
    deltas.push({ refusal: 'N' }, { refusal: 'o.' })
  }
  const ending = endingOf(random, calls.length > 0, refused)
  const usage = random.chance(0.85) ? figures(random) : undefined
  return {
    text: streamOf(random, deltas, ending.finish, usage),
    thinking: thinking.join(''),
    answer: answer.join(''),
    calls:
      manner === 'no id' || manner === 'bare' ? calls.map((each) => ({ ...each, id: undefined })) : calls,
    stopReason: ending.stopReason,
    usage,
  }
}

function many<Item>(random: Random, most: number, make: (index: number) => Item): Item[] {
  return Array.from({ length: 1 + random.below(most) }, (_, index) => make(index))
}

function textPieces(random: Random): string[] {
  return many(random, 5, () => (random.chance(0.1) ? '' : random.pick(words)))
}

function call(random: Random, index: number): GeneratedStream['calls'][number] {
  const value = many(random, 6, () => random.pick(words)).join('')
  const input = random.pick([{}, { query: value }, { deep: [{ query: value }], n: random.below(9) }])
  return {
    id: `call_${index}_${random.below(1e6)}`,
    name: `tool_${random.below(3)}`,
    arguments: JSON.stringify(input),
  }
}

function deltasOf(random: Random, manner: Manner, calls: GeneratedStream['calls']): Json[] {
  const lists = calls.map((one, index) => callPieces(random, manner, one, index))
  if (manner !== 'mixed') return lists.flat().map((piece) => ({ tool_calls: [piece] }))
  // Each list keeps its order, and calls begin in order.
  const mixed: Json[] = lists.map(([first]) => first)
  const rests = lists.map((list) => list.slice(1)).filter((list) => list.length > 0)
  while (rests.length > 0) {
    const list = random.pick(rests)
    mixed.push(list.shift())
    if (list.length === 0) rests.splice(rests.indexOf(list), 1)
  }
  const deltas: Json[] = []
  // Several pieces may arrive in one delta.
  while (mixed.length > 0) deltas.push({ tool_calls: mixed.splice(0, 1 + random.below(3)) })
  return deltas
}

/** The pieces of one call, in the style of this server. */
function callPieces(
  random: Random,
  manner: Manner,
  one: GeneratedStream['calls'][number],
  index: number,
): Json[] {
  const { id, name, arguments: text } = one
  const head = { index, id, type: 'function' }
  if (manner === 'whole' || manner === 'same index') {
    return [{ ...head, index: manner === 'whole' ? index : 0, function: { name, arguments: text } }]
  }
  if (manner === 'parsed') return [{ ...head, function: { name, arguments: JSON.parse(text) } }]
  if (manner === 'no id') return [{ index, function: { name, arguments: text } }]
  if (manner === 'bare') return [{ function: { name, arguments: text } }]
  if (manner === 'no index') {
    return [{ id, type: 'function', function: { name, arguments: text } }]
  }
  const pieces = cut(random, text)
  if (manner === 'nameless start') pieces.unshift('')
  const later = manner === 'empty ids' ? { id: '', type: 'function' } : {}
  const rest = pieces.map((piece, position) => ({
    index,
    ...later,
    ...(manner === 'new ids' && { id: `other_${random.below(1e6)}` }),
    function: {
      ...(manner === 'nameless start' && position === 0 && { name }),
      arguments: piece,
    },
  }))
  const first = { ...head, function: { ...(manner !== 'nameless start' && { name }), arguments: '' } }
  return [first, ...rest]
}

function cut(random: Random, text: string): string[] {
  const letters = Array.from(text)
  const pieces: string[] = []
  while (letters.length > 0) pieces.push(letters.splice(0, 1 + random.below(8)).join(''))
  return pieces
}

function endingOf(
  random: Random,
  hasCalls: boolean,
  refused: boolean,
): { finish: string; stopReason: string } {
  if (refused) return { finish: random.pick(['stop', 'content_filter']), stopReason: 'refusal' }
  if (random.chance(0.2)) return { finish: 'length', stopReason: 'max_tokens' }
  if (hasCalls)
    return { finish: random.pick(['tool_calls', 'stop', 'function_call']), stopReason: 'tool_use' }
  return { finish: random.pick(['stop', 'tool_calls', 'eos']), stopReason: 'end_turn' }
}

function figures(random: Random) {
  const thinking = random.below(20)
  return {
    input: 1 + random.below(500),
    cached: random.below(300),
    // Chunks with separate figures have 1: figures of a stream never decrease.
    output: 1 + thinking + random.below(200),
    thinking,
  }
}

/** The chunks as text, with the figures where this server puts them. */
function streamOf(random: Random, deltas: Json[], finish: string, usage: GeneratedStream['usage']): string {
  const report = usage && {
    prompt_tokens: usage.input + usage.cached,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.cached + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached },
    completion_tokens_details: { reasoning_tokens: usage.thinking },
  }
  const place = random.pick(['own chunk', 'last chunk', 'with each'])
  const chunk = (delta: Json, rest: Json = {}) => ({
    id: 'chatcmpl-1',
    model: 'odd-model',
    choices: [{ index: 0, delta, finish_reason: null, ...rest }],
  })
  const chunks: Json[] = deltas.map((delta) => ({
    ...chunk(delta),
    ...(random.chance(0.1) && { choices: [...chunk(delta).choices, { index: 1, delta: { content: 'no' } }] }),
    ...(place === 'with each' && report && { usage: { ...report, completion_tokens: 1, total_tokens: 0 } }),
  }))
  if (random.chance(0.3)) chunks.unshift({ id: '', choices: [] })
  chunks.push({
    ...chunk({}, { finish_reason: finish }),
    ...(place !== 'own chunk' && report && { usage: report }),
  })
  if (place === 'own chunk' && report) chunks.push({ ...chunk({}), choices: [], usage: report })
  const lineEnd = random.pick(['\n', '\r\n'])
  const data = [...chunks.map((each) => JSON.stringify(each)), ...(random.chance(0.9) ? ['[DONE]'] : [])]
  return data
    .map(
      (line) =>
        `${random.chance(0.1) ? `: keep-alive${lineEnd}${lineEnd}` : ''}data: ${line}${lineEnd}${lineEnd}`,
    )
    .join('')
}
