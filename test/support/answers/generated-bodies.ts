// Random request bodies of every family, with the maximum that a vendor could count in them, to prove that a hold covers the price.
// It must not use the families' own rules.

import type { Random } from '../random'

/** The number of tokens of a text. */
export type Count = (text: string) => number

interface GeneratedBody {
  body: Record<string, unknown>
  /** Tokens of input, including those that vendors add around each message. */
  inputTokens(count: Count): number
  /** Maximum number of output tokens that the body allows. */
  outputTokens: number
  /** Maximum number of pictures that the body allows; absent for bodies without pictures. */
  images?: number
  /** The billed characters; absent without any. */
  characters?: number
  /** The billed seconds of video, or the maximum if the vendor chooses; absent if there are none. */
  seconds?: number
  /** Tokens of the input pictures, and the maximum of the generated ones; absent if there are none. */
  inputImageTokens?: number
  outputImageTokens?: number
  /** Tokens of the generated video; absent if there are none. */
  outputVideoTokens?: number
  /** Set for a model priced by tokens whose family also has models priced otherwise. */
  byToken?: true
}

/** A generator for each family, by the family's name. */
export const generators: Record<string, (random: Random, model: string) => GeneratedBody> = {
  'openai-chat': chatBody,
  'anthropic-messages': messagesBody,
  'messages-on-chat': messagesBody,
  'chat-on-messages': (random, model) => eachByItself(chatBody(random, model)),
  'openai-completions': completionBody,
  'openai-responses': responsesBody,
  'responses-on-chat': responsesBody,
  'responses-on-messages': responsesBody,
  'responses-on-converse': responsesBody,
  'bedrock-converse': messagesBody,
  'chat-on-converse': (random, model) => eachByItself(chatBody(random, model)),
  'chat-on-responses': (random, model) => eachByItself(atLeast16(chatBody(random, model))),
  'messages-on-responses': (random, model) => atLeast16(messagesBody(random, model)),
  'chat-on-gemini': (random, model) => eachByItself(chatBody(random, model)),
  'messages-on-gemini': messagesBody,
  'responses-on-gemini': responsesBody,
  'gemini-contents': contentsBody,
  'gemini-on-chat': contentsBody,
  'gemini-on-messages': contentsBody,
  'gemini-on-responses': contentsBody,
  'gemini-on-converse': contentsBody,
  'openai-embeddings': (random, model) =>
    random.chance(0.3) ? tokenArrays(random, model) : textInputs(random, model),
  'gemini-embeddings': textInputs,
  'voyage-embeddings': textInputs,
  'cohere-rerank': rerankBody,
  'voyage-rerank': rerankBody,
  'openai-moderation': moderationBody,
  'dashscope-speech': speechBody,
  'openai-speech': speechBody,
  'elevenlabs-speech': speechBody,
  'minimax-speech': (random, model) => twiceWide(speechBody(random, model)),
  'openai-transcriptions': audioBody,
  'openai-translations': audioBody,
  'dashscope-images': (random, model) => multimodalImage(random, model),
  'ark-images': (random, model) => imageSeries(random, model),
  'xai-images': (random, model) => imageList(random, model),
  'gemini-images': (random, model) => interaction(random, model),
  'openai-images': gptImage,
  'openai-image-edits': gptImageEdit,
  'dalle-images': legacyImage,
  'dalle-image-edits': legacyImage,
  'openai-images-on-dashscope': legacyImage,
  'openai-images-on-ark': legacyImage,
  'openai-images-on-gemini': pictureOfTokens,
  'openai-image-edits-on-dashscope': editedImage,
  'openai-image-edits-on-ark': editedImage,
  'openai-image-edits-on-gemini': (random, model) => withUploads(random, pictureOfTokens(random, model)),
  'openai-image-edits-on-xai': editedImage,
  'dashscope-video': (random, model) => videoOfParameters(random, model),
  'xai-video': (random, model) => videoOfPrompt(random, model),
  'ark-video': (random, model) => videoOfContent(random, model),
  'runway-video': (random, model) => videoOfPromptText(random, model),
  'fal-video': (random, model) => videoOfAddresses(random, model),
  'minimax-video': (random, model) => videoOfItems(random, model),
  'gemini-video': (random, model) => videoOfParts(random, model),
  'hailuo-video': (random, model) => videoOfFrames(random, model),
}

/** Tokens that mark the role and the name around each message, and those that begin the answer. */
const TOKENS_PER_MESSAGE = 5
const TOKENS_TO_BEGIN = 3
/** Largest documented number of tokens of a picture at full detail. */
const TOKENS_PER_IMAGE = 3_800
/** Gemini Omni at 720p: the recorded answer in test/fixtures/gemini-video has 17,376 tokens for three seconds. */
const VIDEO_TOKENS_A_SECOND = 5_792

const scripts: ((random: Random) => string)[] = [
  (random) => random.pick(['the', ' cat', ' sat', ' on', ' antidisestablishmentarianism', '. ', '\n']),
  (random) =>
    random.pick(['世', '界', '人工智能', 'こんにちは', '안녕하세요', 'สวัสดี', 'مرحبا', 'नमस्ते', 'Ω≈ç√∫', 'ﷺ']),
  (random) =>
    random.pick([
      '🎉',
      '👩‍👩‍👧‍👦',
      '🏳️‍🌈',
      '🇺🇦',
      '👍🏽',
      '𓀀',
      '𠜎',
      'e\u0301\u0302\u0303',
      '\u200d',
      '\ufeff',
    ]),
  (random) =>
    random.pick([
      '\u0001',
      '\u001f',
      '\u007f',
      '\t',
      '\r\n',
      '   ',
      '\u00a0',
      '\u2028',
      '"',
      '\\',
      '/',
      '{"a":[1,2]}',
    ]),
  (random) => String.fromCodePoint(32 + random.below(0xd7ff - 32)),
  (random) => String.fromCodePoint(0x10000 + random.below(0x20000)),
  (random) => random.below(1_000_000_007).toString(random.pick([2, 10, 16, 36])),
  (random) => random.pick(['a', '!', '-', '0', ' ']).repeat(1 + random.below(40)),
]

function text(random: Random): string {
  const length = random.pick([1, 1, 3, 10, 40])
  const script = random.chance(0.5) ? random.pick(scripts) : undefined
  return Array.from({ length }, () => (script ?? random.pick(scripts))(random)).join('')
}

function many<Item>(random: Random, most: number, make: () => Item): Item[] {
  return Array.from({ length: 1 + random.below(most) }, make)
}

function textInputs(random: Random, model: string): GeneratedBody {
  const input = random.chance(0.3) ? text(random) : many(random, 12, () => text(random))
  const body = { model, input, ...(random.chance(0.3) ? { encoding_format: 'base64' } : {}) }
  return {
    body,
    inputTokens: (count) => [input].flat().reduce((sum, one) => sum + count(one), 0),
    outputTokens: 0,
  }
}

function speechBody(random: Random, model: string): GeneratedBody {
  const input = text(random)
  const body = { model, input, ...(random.chance(0.3) ? { voice: 'alloy' } : {}) }
  return { body, inputTokens: () => 0, outputTokens: 0, characters: Array.from(input).length }
}

/** Characters as counted by a vendor that bills up to two for each one outside of ASCII. */
function twiceWide(generated: GeneratedBody): GeneratedBody {
  const characters = Array.from(String(generated.body.input))
  const wide = characters.filter((character) => (character.codePointAt(0) ?? 0) > 127)
  return { ...generated, characters: characters.length + wide.length }
}

/** Vendors read the query next to each document. */
function rerankBody(random: Random, model: string): GeneratedBody {
  const query = text(random)
  const texts = [text(random), ...many(random, 12, () => text(random))]
  const documents = texts.map((each) => (random.chance(0.3) ? { text: each } : each))
  return {
    body: { model, query, documents },
    inputTokens: (count) => texts.reduce((sum, each) => sum + count(query) + count(each), 0),
    outputTokens: 0,
    byToken: true,
  }
}

function moderationBody(random: Random, model: string): GeneratedBody {
  const texts = many(random, 8, () => text(random))
  const isParts = random.chance(0.5)
  const parts = texts.map((each) => ({ type: 'text', text: each }))
  const input = isParts ? parts : random.chance(0.3) ? (texts[0] as string) : texts
  return {
    body: { ...(random.chance(0.5) && { model }), input },
    inputTokens: (count) =>
      (typeof input === 'string' ? [input] : texts).reduce((sum, each) => sum + count(each), 0),
    outputTokens: 0,
    byToken: true,
  }
}

/** A token for every tenth of a second of audio; nobody speaks ten tokens per second. */
const AUDIO_TOKENS_PER_SECOND = 10

function audioBody(random: Random, model: string): GeneratedBody {
  const seconds = random.below(7_200) / 10
  const prompt = text(random)
  const file = [{ filename: 'a.mp3', bytes: new Blob([]), audio: { format: 'mp3', seconds } }]
  const tokens = Math.ceil(seconds * AUDIO_TOKENS_PER_SECOND)
  return {
    body: { model, file, prompt },
    inputTokens: (count) => count(prompt) + tokens,
    outputTokens: tokens,
    byToken: true,
  }
}

function tokenArrays(random: Random, model: string): GeneratedBody {
  const tokens = () => many(random, 30, () => random.below(200_000))
  const input = random.chance(0.5) ? tokens() : many(random, 5, tokens)
  return { body: { model, input }, inputTokens: () => input.flat().length, outputTokens: 0 }
}

function chatBody(random: Random, model: string): GeneratedBody {
  const limit = 1 + random.below(60)
  const n = random.chance(0.3) ? 1 + random.below(4) : undefined
  const messages = [...many(random, 6, () => message(random)), { role: 'user', content: text(random) }]
  const tools = random.chance(0.3) ? many(random, 3, () => tool(random)) : undefined
  const body = {
    model,
    messages,
    [random.chance(0.5) ? 'max_tokens' : 'max_completion_tokens']: limit,
    ...(n === undefined ? {} : { n }),
    ...(tools === undefined ? {} : { tools, tool_choice: 'none' }),
    ...(random.chance(0.3) ? { stream: true } : {}),
  }
  return {
    body,
    outputTokens: limit * (n ?? 1),
    inputTokens: (count) =>
      TOKENS_TO_BEGIN +
      messages.reduce((sum, one) => sum + TOKENS_PER_MESSAGE + stringsIn(one, count), 0) +
      (tools === undefined ? 0 : count(JSON.stringify(tools))),
  }
}

/** Servers may read each prompt again for each completion, and every completion of every prompt may reach the limit. */
function completionBody(random: Random, model: string): GeneratedBody {
  const tokens = () => many(random, 30, () => random.below(200_000))
  const prompts: (string | number[])[] = random.chance(0.3)
    ? many(random, 4, tokens)
    : many(random, 4, () => text(random))
  const [first] = prompts
  const only = prompts.length === 1 && random.chance(0.5)
  const limit = random.below(60)
  const n = random.chance(0.3) ? 1 + random.below(4) : 1
  const best = random.chance(0.3) ? n + random.below(3) : n
  const suffix = random.chance(0.2) ? text(random) : undefined
  return {
    body: {
      model,
      prompt: only ? first : prompts,
      max_tokens: limit,
      ...(n > 1 && { n }),
      ...(best > n && { best_of: best }),
      ...(suffix !== undefined && typeof first === 'string' && { suffix }),
      ...(random.chance(0.3) && { echo: true }),
    },
    inputTokens: (count) =>
      best *
      prompts.reduce(
        (sum: number, prompt) => sum + (typeof prompt === 'string' ? count(prompt) : prompt.length),
        typeof first === 'string' && suffix !== undefined ? count(suffix) : 0,
      ),
    outputTokens: limit * prompts.length * best,
  }
}

/** Vendors of responses accept no lower limit. */
function atLeast16({ body, ...rest }: GeneratedBody): GeneratedBody {
  const field = 'max_completion_tokens' in body ? 'max_completion_tokens' : 'max_tokens'
  const { n = 1 } = body as { n?: number }
  const limit = Math.max(16, body[field] as number)
  return { ...rest, body: { ...body, [field]: limit }, outputTokens: limit * n }
}

/** The items of a response: the same texts as messages, with flat tools. */
function responsesBody(random: Random, model: string): GeneratedBody {
  const limit = 16 + random.below(60)
  const items = (place: number) => {
    const kind = random.pick(['message', 'message', 'call', 'reasoning'])
    if (kind === 'call') {
      const id = `call_${place}`
      const words = JSON.stringify({ of: text(random) })
      return [
        { type: 'function_call', call_id: id, name: 'look', arguments: words },
        { type: 'function_call_output', call_id: id, output: text(random) },
      ]
    }
    if (kind === 'reasoning') {
      return [{ type: 'reasoning', id: `rs_${place}`, summary: [], encrypted_content: text(random) }]
    }
    return [{ role: 'user', content: [{ type: 'input_text', text: text(random) }] }]
  }
  let place = 0
  const input = random.chance(0.2)
    ? text(random)
    : [...many(random, 6, () => items(place++)).flat(), { role: 'user', content: `now ${text(random)}` }]
  const tools = random.chance(0.3)
    ? many(random, 3, () => ({ type: 'function', name: 'look', description: text(random), parameters: {} }))
    : undefined
  const body = {
    model,
    input,
    max_output_tokens: limit,
    ...(random.chance(0.3) ? { instructions: text(random) } : {}),
    ...(tools === undefined ? {} : { tools }),
    ...(random.chance(0.3) ? { stream: true } : {}),
  }
  const length = typeof input === 'string' ? 1 : input.length
  return {
    body,
    outputTokens: limit,
    inputTokens: (count) =>
      TOKENS_TO_BEGIN +
      TOKENS_PER_MESSAGE * length +
      stringsIn(input, count) +
      count(body.instructions ?? '') +
      (tools === undefined ? 0 : count(JSON.stringify(tools))),
  }
}

/** Tokens that the vendor adds for tools, by its documentation. */
const TOKENS_BEFORE_TOOLS = 530
/** True if each candidate is a separate call, which reads the input again. */
function eachByItself(generated: GeneratedBody): GeneratedBody {
  const { n = 1 } = generated.body as { n?: number }
  return { ...generated, inputTokens: (count) => n * generated.inputTokens(count) }
}

/** Largest documented number of tokens of a picture. */
const TOKENS_PER_PICTURE_BLOCK = 4_784

function messagesBody(random: Random, model: string): GeneratedBody {
  const limit = 1 + random.below(60)
  const block = (role: string) => {
    const kind = random.pick(
      role === 'user' ? ['text', 'text', 'image', 'tool_result', 'document'] : ['text', 'text', 'tool_use'],
    )
    const cache = random.chance(0.1) ? { cache_control: { type: 'ephemeral' } } : {}
    if (kind === 'text') return { type: kind, text: text(random), ...cache }
    if (kind === 'document')
      return { type: kind, source: { type: 'text', media_type: 'text/plain', data: text(random) } }
    if (kind === 'tool_use')
      return { type: kind, id: 'toolu_1', name: 'look_up', input: { query: text(random) } }
    const source = random.pick([
      { type: 'url', url: 'https://example.com/a.png' },
      { type: 'base64', media_type: 'image/png', data: 'QUJD'.repeat(random.below(3_000)) },
    ])
    const picture = { type: 'image', source }
    return kind === 'image'
      ? picture
      : { type: kind, tool_use_id: 'toolu_1', content: [{ type: 'text', text: text(random) }, picture] }
  }
  const messages = many(random, 6, () => {
    const role = random.pick(['user', 'assistant'])
    return { role, content: random.chance(0.5) ? text(random) : many(random, 4, () => block(role)) }
  })
  const system = random.chance(0.3) ? text(random) : undefined
  const tools = random.chance(0.3)
    ? many(random, 3, () => ({
        name: 'look_up',
        description: text(random),
        input_schema: { type: 'object' },
      }))
    : []
  const count = (value: unknown, one: Count): number => {
    if (typeof value === 'string') return one(value)
    if (typeof value !== 'object' || value === null) return 0
    if ((value as { type?: unknown }).type === 'image') return TOKENS_PER_PICTURE_BLOCK
    return Object.values(value).reduce((sum: number, member) => sum + count(member, one), 0)
  }
  return {
    body: {
      model,
      max_tokens: limit,
      messages,
      ...(system === undefined ? {} : { system }),
      ...(tools.length === 0 ? {} : { tools }),
    },
    outputTokens: limit,
    inputTokens: (one) =>
      TOKENS_TO_BEGIN +
      count(messages, one) +
      count(system, one) +
      (tools.length === 0 ? 0 : TOKENS_BEFORE_TOOLS + one(JSON.stringify(tools))),
  }
}

function contentsBody(random: Random, model: string): GeneratedBody {
  const limit = 16 + random.below(60)
  const words = () => ({ text: text(random) })
  const picture = () => ({
    inlineData: { mimeType: 'image/png', data: 'QUJD'.repeat(1 + random.below(3_000)) },
  })
  const exchange = () => {
    const question = {
      role: 'user',
      parts: random.chance(0.7) ? many(random, 4, words) : many(random, 4, picture),
    }
    if (random.chance(0.5)) return [question, { role: 'model', parts: [words()] }]
    const call = { functionCall: { name: 'look_up', args: { query: text(random) } } }
    const result = { functionResponse: { name: 'look_up', response: { output: text(random) } } }
    return [question, { role: 'model', parts: [words(), call] }, { role: 'user', parts: [result] }]
  }
  const contents = many(random, 3, exchange).flat()
  const systemInstruction = random.chance(0.3) ? { parts: [words()] } : undefined
  const functionDeclarations = random.chance(0.3)
    ? many(random, 3, () => ({ name: `look_up_${random.below(1e9)}`, description: text(random) }))
    : []
  const count = (value: unknown, one: Count): number => {
    if (typeof value === 'string') return one(value)
    if (typeof value !== 'object' || value === null) return 0
    if ('inlineData' in value) return TOKENS_PER_PICTURE_BLOCK
    return Object.values(value).reduce((sum: number, member) => sum + count(member, one), 0)
  }
  return {
    body: {
      model,
      contents,
      generationConfig: { maxOutputTokens: limit },
      ...(systemInstruction && { systemInstruction }),
      ...(functionDeclarations.length > 0 && { tools: [{ functionDeclarations }] }),
    },
    outputTokens: limit,
    inputTokens: (one) =>
      TOKENS_TO_BEGIN +
      count(contents, one) +
      count(systemInstruction, one) +
      (functionDeclarations.length === 0
        ? 0
        : TOKENS_BEFORE_TOOLS + one(JSON.stringify(functionDeclarations))),
  }
}

function message(random: Random): Record<string, unknown> {
  const role = random.pick(['system', 'user', 'assistant', 'tool'])
  if (role === 'tool') return { role, tool_call_id: `call_${random.below(1e9)}`, content: text(random) }
  if (role === 'assistant' && random.chance(0.5)) {
    const call = { name: 'look_up', arguments: JSON.stringify({ query: text(random) }) }
    return { role, content: null, tool_calls: [{ id: 'call_1', type: 'function', function: call }] }
  }
  if (role !== 'user' || random.chance(0.5)) return { role, content: text(random) }
  return { role, content: many(random, 4, () => part(random)) }
}

function part(random: Random): Record<string, unknown> {
  if (random.chance(0.6)) return { type: 'text', text: text(random) }
  const url = random.chance(0.5) ? 'https://example.com/a.png' : 'data:image/png;base64,iVBORw0KGgo='
  return { type: 'image_url', image_url: { url, detail: random.pick(['low', 'high', 'auto']) } }
}

function multimodalImage(random: Random, model: string): GeneratedBody {
  const parameters = {
    ...(random.chance(0.5) ? { n: 1 } : {}),
    ...(random.chance(0.5) ? { size: random.pick(['1024*1024', '1664*928', '720*1280']) } : {}),
  }
  const content = many(random, 2, () => ({ text: text(random) }))
  const body = { model, input: { messages: [{ role: 'user', content }] }, parameters }
  return { body, inputTokens: () => 0, outputTokens: 0, images: 1 }
}

/** There are at most fifteen references and results together. */
function imageSeries(random: Random, model: string): GeneratedBody {
  const references = random.below(15)
  const isSeries = random.chance(0.7)
  const most = random.chance(0.7) ? 1 + random.below(15 - references) : undefined
  const body = {
    model,
    prompt: text(random),
    ...(references > 0 ? { image: Array(references).fill('https://example.com/a.png') } : {}),
    ...(isSeries ? { sequential_image_generation: 'auto' } : {}),
    ...(most === undefined ? {} : { sequential_image_generation_options: { max_images: most } }),
    ...(random.chance(0.3) ? { stream: true } : {}),
  }
  return { body, inputTokens: () => 0, outputTokens: 0, images: isSeries ? (most ?? 15 - references) : 1 }
}

function tool(random: Random): Record<string, unknown> {
  const properties = { [`field_${random.below(99)}`]: { type: 'string', description: text(random) } }
  const parameters = { type: 'object', properties }
  return {
    type: 'function',
    function: { name: `tool_${random.below(99)}`, description: text(random), parameters },
  }
}

/** Tokens of every string in a message; a picture has its own figure. */
function stringsIn(value: unknown, count: Count): number {
  if (typeof value === 'string') return count(value)
  if (typeof value !== 'object' || value === null) return 0
  if ((value as { type?: unknown }).type === 'image_url') return TOKENS_PER_IMAGE
  return Object.values(value).reduce((sum: number, member) => sum + stringsIn(member, count), 0)
}

function imageList(random: Random, model: string): GeneratedBody {
  const n = random.chance(0.7) ? 1 + random.below(10) : undefined
  const reference = { url: 'https://example.com/a.png' }
  const body = {
    model,
    prompt: text(random),
    ...(n === undefined ? {} : { n }),
    ...(random.chance(0.3) ? { image: reference } : {}),
    ...(random.chance(0.5) ? { size: random.pick(['auto', '256x256', '1536x1024', '2048x2048']) } : {}),
  }
  return { body, inputTokens: () => 0, outputTokens: 0, images: n ?? 1 }
}

/** Largest documented number of tokens of a picture in an interaction. */
const TOKENS_PER_INTERACTION_IMAGE = 2_240

function interaction(random: Random, model: string): GeneratedBody {
  const limit = 1 + random.below(4_000)
  const data = 'iVBORw0KGgo='.repeat(random.below(300))
  const content = many(random, 5, () =>
    random.chance(0.6)
      ? { type: 'text', text: text(random) }
      : { type: 'image', mime_type: 'image/png', data },
  )
  const input = random.pick([text(random), content, [{ type: 'user_input', content }]])
  const body = {
    model,
    input,
    system_instruction: text(random),
    generation_config: { max_output_tokens: limit },
    ...(random.chance(0.3) ? { stream: true } : {}),
  }
  return {
    body,
    outputTokens: limit,
    inputTokens: (count) =>
      count(body.system_instruction) +
      (typeof input === 'string'
        ? count(input)
        : content.reduce(
            (sum, part) =>
              sum + ('data' in part ? TOKENS_PER_INTERACTION_IMAGE : count((part as { text: string }).text)),
            0,
          )),
  }
}

/** Tokens of a picture by its size and quality, for the model that uses more: documented, or observed in replies. */
const imageTokens: Record<string, Record<string, number>> = {
  '1024x1024': { low: 272, medium: 1_756, high: 7_024 },
  '1024x1536': { low: 408, medium: 1_584, high: 6_240 },
  '1536x1024': { low: 400, medium: 1_568, high: 6_208 },
  '1792x1024': { high: 5_063 },
  '3840x2160': { high: 13_342 },
}
/** Tokens of an upload at high fidelity, and of each unfinished picture. */
const TOKENS_PER_UPLOAD = 65 + 129 + 6_240
const TOKENS_PER_PARTIAL_IMAGE = 100

function gptImage(random: Random, model: string): GeneratedBody {
  const prompt = text(random)
  const n = random.chance(0.5) ? 1 + random.below(10) : undefined
  const size = random.pick([undefined, 'auto', ...Object.keys(imageTokens)])
  const quality = random.pick([undefined, 'auto', 'low', 'medium', 'high'])
  const partial_images = random.chance(0.3) ? random.below(4) : undefined
  const meant = quality === undefined || quality === 'auto' ? 'high' : quality
  // If the model chooses, it may choose any of the first three.
  const sizes = size === undefined || size === 'auto' ? Object.keys(imageTokens).slice(0, 3) : [size]
  const each = Math.max(...sizes.map((name) => imageTokens[name]?.[meant] ?? 0))
  const body: Record<string, unknown> = { model, prompt }
  for (const [name, value] of Object.entries({ n, size, quality, partial_images })) {
    if (value !== undefined) body[name] = value
  }
  return {
    body,
    inputTokens: (count) => count(prompt),
    outputTokens: 0,
    outputImageTokens: (n ?? 1) * (each + (partial_images ?? 0) * TOKENS_PER_PARTIAL_IMAGE),
  }
}

function gptImageEdit(random: Random, model: string): GeneratedBody {
  const generated = gptImage(random, model)
  const image = many(random, 16, () => ({ bytes: new Blob([]) }))
  const mask = random.chance(0.5) ? [{ bytes: new Blob([]) }] : []
  const inputImageTokens = (image.length + mask.length) * TOKENS_PER_UPLOAD
  return { ...generated, body: { ...generated.body, image, mask }, inputImageTokens }
}

function legacyImage(random: Random, model: string): GeneratedBody {
  const n = random.chance(0.7) ? 1 + random.below(10) : undefined
  const body = { model, prompt: text(random), ...(n === undefined ? {} : { n }) }
  return { body, inputTokens: () => 0, outputTokens: 0, images: n ?? 1 }
}

function editedImage(random: Random, model: string): GeneratedBody {
  return withUploads(random, legacyImage(random, model))
}

function withUploads(random: Random, generated: GeneratedBody): GeneratedBody {
  const image = many(random, 3, () => ({ bytes: new Blob([]) }))
  const tokens = image.length * TOKENS_PER_INTERACTION_IMAGE * ((generated.body.n as number | undefined) ?? 1)
  return {
    ...generated,
    body: { ...generated.body, image },
    inputTokens: (count) => generated.inputTokens(count) + (generated.outputImageTokens ? tokens : 0),
  }
}

/** Tokens of a picture of each size, for the model that uses more, from the vendor's table. */
const sizedTokens: Record<string, number> = { '1024x1024': 1_290, '2048x2048': 1_680, '5504x3072': 2_520 }

function pictureOfTokens(random: Random, model: string): GeneratedBody {
  const prompt = text(random)
  const n = random.chance(0.5) ? 1 + random.below(10) : undefined
  const size = random.pick([undefined, 'auto', ...Object.keys(sizedTokens)])
  const body = { model, prompt, ...(n !== undefined && { n }), ...(size !== undefined && { size }) }
  return {
    body,
    inputTokens: (count) => (n ?? 1) * count(prompt),
    outputTokens: 0,
    outputImageTokens: (n ?? 1) * (sizedTokens[size ?? ''] ?? 1_290),
  }
}

/** Seconds of a video without a duration, and the maximum if the vendor chooses, for models without their own figures. */
const SECONDS_UNSAID = 5
const SECONDS_CHOSEN = 60

function videoOfParameters(random: Random, model: string): GeneratedBody {
  const duration = random.pick([undefined, null, -1, 2, 5, 15])
  const parameters = { ...(duration ? { duration } : {}), seed: random.below(1e9), resolution: '1080P' }
  const body = { model, duration, resolution: '1080p', input: { prompt: text(random) }, parameters }
  return { body, inputTokens: () => 0, outputTokens: 0, seconds: secondsFor(duration) }
}

function videoOfPrompt(random: Random, model: string): GeneratedBody {
  const duration = random.pick([undefined, null, 1, 7.5, 15])
  const image = random.chance(0.5) ? { image: { url: 'https://example.com/a.png' } } : {}
  const body = { model, prompt: text(random), duration, ...image }
  return { body, inputTokens: () => 0, outputTokens: 0, seconds: secondsFor(duration) }
}

function videoOfContent(random: Random, model: string): GeneratedBody {
  const isFinal = random.chance(0.2)
  const duration = random.pick([undefined, null, -1, 4, 12])
  const draft = { type: 'draft_task', draft_task: { id: 'cgt-1' } }
  const content = isFinal ? [draft] : [{ type: 'text', text: text(random) }]
  const body = { model, content, duration, generate_audio: random.chance(0.5) }
  const seconds = secondsFor(isFinal ? -1 : duration)
  return { body, inputTokens: () => 0, outputTokens: 0, seconds }
}

function videoOfPromptText(random: Random, model: string): GeneratedBody {
  const duration = random.pick([undefined, null, 4, 12, 'auto'] as const)
  const images = random.chance(0.5) ? { promptImage: 'https://example.com/a.png' } : {}
  const body = { model, promptText: text(random), duration, audio: random.chance(0.5), ...images }
  return {
    body,
    inputTokens: () => 0,
    outputTokens: 0,
    seconds: secondsFor(duration === 'auto' ? -1 : duration),
  }
}

function videoOfAddresses(random: Random, model: string): GeneratedBody {
  const duration = random.pick([undefined, null, '5', '7s', 15])
  const images = random.chance(0.5) ? { image_urls: ['https://example.com/a.png'] } : {}
  const body = { model, prompt: text(random), duration, generate_audio: random.chance(0.5), ...images }
  const seconds = typeof duration === 'string' ? Number.parseInt(duration, 10) : secondsFor(duration)
  return { body, inputTokens: () => 0, outputTokens: 0, seconds }
}

function videoOfItems(random: Random, model: string): GeneratedBody {
  const duration = random.pick([undefined, null, 4, 12])
  const url = 'https://example.com/a.png'
  const image = random.chance(0.5) ? [{ type: 'image_url', image_url: { url }, role: 'first_frame' }] : []
  const body = { model, content: [{ type: 'text', text: `x${text(random)}` }, ...image], duration }
  return { body, inputTokens: () => 0, outputTokens: 0, seconds: secondsFor(duration) }
}

function videoOfFrames(random: Random, model: string): GeneratedBody {
  const duration = random.pick([undefined, null, 6, 10])
  const images = random.chance(0.5) ? { first_frame_image: 'https://example.com/a.png' } : {}
  const body = { model, prompt: text(random), duration, prompt_optimizer: random.chance(0.5), ...images }
  return { body, inputTokens: () => 0, outputTokens: 0, seconds: secondsFor(duration) }
}

function videoOfParts(random: Random, model: string): GeneratedBody {
  const [duration, words] = [random.pick([undefined, '3s', '15s']), text(random)]
  const image = random.chance(0.5) ? [{ type: 'image', uri: 'https://example.com/a.png' }] : []
  const input = random.chance(0.5) ? `x${words}` : [{ type: 'text', text: words }, ...image]
  const body = { model, input, response_format: { type: 'video', duration } }
  const seconds = duration === undefined ? SECONDS_UNSAID : Number.parseInt(duration, 10)
  return { body, inputTokens: () => 0, outputTokens: 0, outputVideoTokens: seconds * VIDEO_TOKENS_A_SECOND }
}

function secondsFor(duration: number | null | undefined): number {
  return duration === -1 ? SECONDS_CHOSEN : (duration ?? SECONDS_UNSAID)
}
