// Every member of a request that is a file, an address or a count either changes the hold, or is listed here with the reason why it
// costs nothing. The members come from the schemas and the field rules of all families, so that a new one is found.

import { describe, expect, test } from 'bun:test'
import { outside } from '../../src/app/world'
import { buildCatalogue } from '../../src/catalogue/models'
import type { ModelConfig } from '../../src/config/schema'
import type { Family, FieldRule, Model, Upload } from '../../src/contract/family'
import { families } from '../../src/families'
import { GatewayError } from '../../src/lib/errors'
import { createValidator } from '../../src/lib/validate'
import { checkFields } from '../../src/request/fields'
import { familyRows } from '../support/answers/family-rows'
import type { Json } from '../support/scenario'

/** Size of every request: a member must count by itself, not by the bytes that it has. */
const BYTES = 100_000
const ADDRESS = 'https://example.com/a'

const CHOOSES = 'it chooses among words, of which as many are made'
const SHAPES = 'what is made has another form at the same price'
const WAITS = 'it is about the waiting for an answer'
const SOUND = 'sound that a video is made with is not billed'
const PICTURES = 'the price of an image that is made has those that it is made from'
const NOT_THERE = 'vendors take it at other paths only'
const FEWER = 'it returns fewer of the same results'

/** Members that cost nothing by themselves, by their paths, or by their paths and the operation or the family. */
const free: Readonly<Record<string, string>> = {
  temperature: CHOOSES,
  top_p: CHOOSES,
  seed: CHOOSES,
  'parameters.seed': CHOOSES,
  frequency_penalty: CHOOSES,
  presence_penalty: CHOOSES,
  'top_k of messages': CHOOSES,
  top_logprobs: 'probabilities of words are not tokens',
  logprobs: 'probabilities of words are not tokens',
  wait: WAITS,
  execution_expires_after: WAITS,
  dimensions: SHAPES,
  output_compression: SHAPES,
  'top_k of rerank': FEWER,
  top_n: FEWER,
  max_tokens_per_doc: 'it cuts documents, whose bytes are held',
  speed: 'it has no effect',
  max_tool_calls: 'it bounds searches, which are held where the tool of searches is',
  'input.audio_url': SOUND,
  'input.media[].reference_voice': SOUND,
  'reference_audios[].url': SOUND,
  audio_url: SOUND,
  'referenceAudio[].uri': SOUND,
  'content[].audio_url': SOUND,
  'content[].audio_url.url': SOUND,
  'input.messages[].content[].image': PICTURES,
  'image of ark-images': PICTURES,
  'image[] of ark-images': PICTURES,
  'image of openai-images-on-ark': PICTURES,
  'image[] of openai-images-on-ark': PICTURES,
  'image of openai-images-on-dashscope': PICTURES,
  'image[] of openai-images-on-dashscope': PICTURES,
  'image of openai-image-edits-on-ark': PICTURES,
  'image of openai-image-edits-on-dashscope': PICTURES,
  'image of dalle-image-edits': PICTURES,
  'mask of dalle-image-edits': PICTURES,
  'content[].image_url.url of minimax-video': 'its first images are free',
  'first_frame_image of hailuo-video': PICTURES,
  'last_frame_image of hailuo-video': PICTURES,
  'subject_reference[].image[] of hailuo-video': PICTURES,
  'images[].image_url': NOT_THERE,
  'mask.image_url': NOT_THERE,
  'ref_audio of speech': 'a voice that is copied costs what any other costs',
  'mask.url of xai-images': 'a mask selects a part of an image that is billed',
}

interface Member {
  path: string
  value: unknown
}

/** Numbers of a schema, by their paths. */
function numbersIn(schema: Json, at = ''): string[] {
  if (schema?.anyOf) return [...new Set<string>(schema.anyOf.flatMap((each: Json) => numbersIn(each, at)))]
  if (schema?.type === 'integer' || schema?.type === 'number') return [at]
  if (schema?.type === 'array') return numbersIn(schema.items, `${at}[]`)
  if (schema?.type !== 'object') return []
  return Object.entries(schema.properties ?? {}).flatMap(([name, each]) =>
    numbersIn(each as Json, at === '' ? name : `${at}.${name}`),
  )
}

function membersOf(family: Family): Member[] {
  const rules = (family.fieldRules ?? []).filter((rule: FieldRule) => rule.in === undefined)
  const addresses = rules.filter(({ address }) => address).map(({ field }) => field)
  const uploads = ['image', 'mask', 'file'].filter(
    (name) => /edit|transcription|translation/.test(family.operation) && name in family.body.properties,
  )
  const values = new Map<string, unknown>()
  for (const path of numbersIn(family.body)) values.set(path, /tokens/.test(path) ? 7_777 : 7)
  for (const path of addresses) values.set(path, ADDRESS)
  for (const name of uploads)
    values.set(name, name === 'image' ? [upload(name), upload(name)] : [upload(name)])
  return [...values].map(([path, value]) => ({ path, value }))
}

function upload(name: string, seconds = 100): Upload {
  const bytes = new Blob(['x'.repeat(5_000_000)])
  return {
    filename: `${name}.bin`,
    contentType: 'application/octet-stream',
    bytes,
    ...(name === 'file'
      ? { audio: { format: 'wav', seconds } }
      : { picture: { format: 'png', width: 2_048, height: 1_024 } }),
  }
}

const base: Readonly<Record<string, () => Json>> = {
  chat: () => ({ messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }] }),
  messages: () => ({ max_tokens: 5, messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }] }),
  completions: () => ({ prompt: 'x' }),
  responses: () => ({ input: [{ role: 'user', content: [{ type: 'input_text', text: 'x' }] }] }),
  contents: () => ({ contents: [{ role: 'user', parts: [{ text: 'x' }] }] }),
  embeddings: () => ({ input: 'x' }),
  rerank: () => ({ query: 'x', documents: ['x'] }),
  moderation: () => ({ input: [{ type: 'text', text: 'x' }] }),
  speech: () => ({ input: 'x', voice: 'Cherry' }),
  transcription: () => ({ file: [upload('file', 1)] }),
  translation: () => ({ file: [upload('file', 1)] }),
  image: () => ({ prompt: 'x' }),
  'image-edit': () => ({ prompt: 'x', image: [upload('image')] }),
  video: () => ({ prompt: 'x' }),
}
const ownBase: Readonly<Record<string, () => Json>> = {
  'gemini-images': () => ({ input: [{ type: 'text', text: 'x' }] }),
  'dashscope-images': () => ({ input: { messages: [{ role: 'user', content: [{ text: 'x' }] }] } }),
  'dashscope-video': () => ({ input: { prompt: 'x' } }),
  'runway-video': () => ({ promptText: 'x' }),
  'gemini-video': () => ({ input: [{ type: 'text', text: 'x' }] }),
  'minimax-video': () => ({ content: [{ type: 'text', text: 'x' }] }),
  'ark-video': () => ({ content: [{ type: 'text', text: 'x' }] }),
}

/** Elements of lists that are more than a type and the member. */
const samples: Readonly<Record<string, (value: unknown) => Json>> = {
  'input[].output[].image_url': (url) => answered({ type: 'input_image', image_url: url }),
  'input[].output[].file_url': (url) => answered({ type: 'input_file', file_url: url }),
  'input[].output[].file_data': (data) => answered({ type: 'input_file', file_data: data }),
  'sequential_image_generation_options.max_images': (most) => ({
    prompt: 'x',
    sequential_image_generation: 'auto',
    sequential_image_generation_options: { max_images: most },
  }),
  'messages[].content[].source.content[].source.url': (url) => ({
    max_tokens: 5,
    messages: [{ role: 'user', content: [documentWith(url)] }],
  }),
  'messages[].content[].content[].source.url': (url) => returned(pictureAt(url)),
  'messages[].content[].content[].source.content[].source.url': (url) => returned(documentWith(url)),
  'messages[].content[].content.content.source.url': (url) => fetched({ type: 'url', url }),
  'messages[].content[].content.content.source.content[].source.url': (url) =>
    fetched({ type: 'content', content: [pictureAt(url)] }),
}

const pictureAt = (url: unknown): Json => ({ type: 'image', source: { type: 'url', url } })

const documentWith = (url: unknown): Json => ({
  type: 'document',
  source: { type: 'content', content: [pictureAt(url)] },
})

/** Calls a tool of messages and returns a block. */
function returned(block: Json): Json {
  const call = { type: 'tool_use', id: 't', name: 'look', input: {} }
  const messages = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: [call] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [block] }] },
  ]
  return { max_tokens: 5, messages }
}

/** Calls a tool and answers the call, with a part. */
function answered(part: Json): Json {
  const call = { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' }
  return { input: [call, { type: 'function_call_output', call_id: 'c', output: [part] }] }
}

function fetched(source: Json): Json {
  const content = { type: 'web_fetch_result', content: { type: 'document', source } }
  const messages = [{ role: 'user', content: [{ type: 'web_fetch_tool_result', tool_use_id: 't', content }] }]
  return { max_tokens: 5, messages }
}

/** The type of an object in a list, by the family and the members that it has. */
function typeOf(family: Family, steps: readonly string[]): string | undefined {
  const [first = ''] = steps
  const path = steps.join('.')
  if (family.name === 'dashscope-video') return path === 'url' ? 'reference_video' : undefined
  if (family.name === 'gemini-images') return /uri/i.test(first) ? 'image' : undefined
  if (family.operation === 'messages') {
    if (first === 'source') return path.startsWith('source.content') ? 'document' : 'image'
    return path.startsWith('content.content')
      ? 'web_fetch_tool_result'
      : first === 'content'
        ? 'tool_result'
        : undefined
  }
  if (family.operation === 'responses') {
    if (first === 'image_url') return 'input_image'
    if (/^file_/.test(first)) return 'input_file'
    if (first === 'server_url' || first === 'tools') return 'mcp'
    if (first === 'output')
      return path.startsWith('output.image_url') ? 'computer_call_output' : 'function_call_output'
    return undefined
  }
  return /^(image|video|audio|file|document)/.test(first) || first === 'input_audio' ? first : undefined
}

/** A body with a member: lists are added to at their end, the outermost ones of the base gone into. */
function withMember(family: Family, body: Json, path: string, value: unknown): Json {
  const sample = samples[path]
  if (sample) return sample(value)
  const steps = path.split(/\.|(?=\[\])/)
  const put = (target: unknown, rest: readonly string[]): unknown => {
    const [step, ...more] = rest
    if (step === undefined) return value
    if (step !== '[]') {
      const isObject = typeof target === 'object' && target !== null && !Array.isArray(target)
      const type = isObject ? undefined : typeOf(family, rest)
      const object = (isObject ? target : type ? { type } : {}) as Json
      return { ...object, [step]: put(object[step], more) }
    }
    const list = Array.isArray(target) ? target : []
    const isInner = more.slice(0, -1).includes('[]') && list.length > 0
    if (isInner) return [put(list[0], more), ...list.slice(1)]
    const type = typeOf(family, more)
    return [...list, put(more.length > 0 && type !== undefined ? { type } : undefined, more)]
  }
  return put(body, steps) as Json
}

const tokens = {
  per_1m_input_tokens: '1',
  per_1m_output_tokens: '2',
  per_1m_input_image_tokens: '3',
  per_1m_input_audio_tokens: '4',
  per_1m_output_image_tokens: '5',
  per_1k_web_searches: '10',
}

/** A model with a price for everything that its family counts. */
function modelOf(family: Family): Model {
  const { kind = 'openai', model } = familyRows[family.name] ?? { model: {} }
  const over = family.over ?? family.name
  const { price: own } = (model ?? {}) as ModelConfig
  const extra = family.units.flat().some((unit) => unit.endsWith('_token')) ? tokens : {}
  const pictures = family.operation === 'video' || over === 'xai-images' ? { per_input_image: '0.01' } : {}
  const entry = { ...model, family: over, upstream: 'u', price: { ...extra, ...own, ...pictures } }
  const { free: _, ...rest } = entry as ModelConfig
  const models = buildCatalogue(
    { upstreams: { u: { kind, apiKey: 'none' } }, models: { m: rest as ModelConfig } },
    outside,
  )
  return (models.models.get('m') ?? []).find((each) => each.family === family) as Model
}

/** The quantities that are held for a body, and the tier of their prices. */
function heldFor(family: Family, model: Model, body: Json): string {
  const whole = { model: 'm', ...body }
  const quote = family.quote({ body: whole, byteLength: BYTES, at: 0 }, model)
  return JSON.stringify([quote, family.tier?.(whole, model)])
}

/** Whether a request is rejected, so that nothing is held for it. */
function isRefused(family: Family, model: Model, body: Json): boolean {
  const whole = { model: 'm', ...body }
  try {
    checks.get(family)?.(whole)
    checkFields(model, { body: whole, byteLength: BYTES, at: 0 })
    family.check?.(whole, model)
    heldFor(family, model, body)
    return false
  } catch (error) {
    if (error instanceof GatewayError) return true
    throw error
  }
}

const checks = new Map([...families.values()].map((family) => [family, createValidator(family.body)]))

function reasonFor({ name, operation }: Family, path: string): string | undefined {
  return free[`${path} of ${name}`] ?? free[`${path} of ${operation}`] ?? free[path]
}

describe.each([...families.values()].map((family) => [family.name, family] as const))('%s', (_, family) => {
  const model = modelOf(family)
  const body = (ownBase[family.name] ?? base[family.operation])?.() as Json

  test('takes the request that members are put into', () => {
    expect(isRefused(family, model, body)).toBe(false)
  })

  test.each(membersOf(family).map((member) => [member.path, member] as const))('%s', (path, { value }) => {
    const whole = withMember(family, body, path, value)
    if (isRefused(family, model, whole)) return
    const reason = reasonFor(family, path)
    const isHeld = heldFor(family, model, whole) !== heldFor(family, model, body)
    expect({ isHeld, reason }).toEqual({ isHeld: reason === undefined, reason })
  })
})

test('every reason is that of a member', () => {
  const all = new Set(
    [...families.values()].flatMap((family) =>
      membersOf(family).flatMap(({ path }) => [
        `${path} of ${family.name}`,
        `${path} of ${family.operation}`,
        path,
      ]),
    ),
  )
  expect(Object.keys(free).filter((name) => !all.has(name))).toEqual([])
})
