// Requests that a vendor's own SDK and a caller of the gateway can both make: the same question, once to the vendor and once to the
// vendor's model in the gateway, under the vendor's own name.

import { expect } from 'bun:test'
import type Anthropic from '@anthropic-ai/sdk'
import { ConverseCommand, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import type OpenAI from 'openai'
import type { VendorName } from '../../../sandbox'
import { picture } from '../../../sandbox/pictures'
import type { ModelConfig } from '../../../src/config/schema'
import type { VendorClients } from './clients'

interface VendorCase {
  name: string
  vendor: VendorName
  /** Sends the request to the vendor itself by its SDK. */
  direct(to: VendorClients): Promise<unknown>
  /** Sends the same request to the gateway, in a form that the gateway has. */
  through(to: VendorClients): Promise<unknown>
  /** Members of the SDK's result for the simulator's answer. */
  returns?: object
}

const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }
const chat = { family: 'openai-chat', price }
const messages = { family: 'anthropic-messages', price }
// A model that thinks by default, and whose version in the SDK's request is known to Bedrock.
const claude = 'us.anthropic.claude-opus-5-v1:0'
const nova = 'us.amazon.nova-lite-v1:0'

/** Models under the vendors' own names, so that both requests name the same one. */
export const vendorModels: Record<string, ModelConfig> = {
  'gpt-4.1-mini': { ...chat, family: ['openai-chat', 'openai-responses'], upstream: 'openai' },
  'gpt-3.5-turbo-instruct': { family: 'openai-completions', upstream: 'openai', price },
  'text-embedding-3-small': { family: 'openai-embeddings', upstream: 'openai', free: true },
  'omni-moderation-latest': { family: 'openai-moderation', upstream: 'openai', free: true },
  'gpt-image-2': { family: ['openai-images', 'openai-image-edits'], upstream: 'openai', free: true },
  'whisper-1': {
    family: ['openai-transcriptions', 'openai-translations'],
    upstream: 'openai',
    price: { per_audio_minute: '0.006' },
  },
  'tts-1': { family: 'openai-speech', upstream: 'openai', price: { per_1m_characters: '15' } },
  'gpt-4o-mini-tts': {
    family: 'openai-speech',
    upstream: 'openai',
    price: { per_1m_input_tokens: '0.6', per_1m_output_audio_tokens: '12' },
  },
  'gpt-4o-mini': { ...chat, upstream: 'azure' },
  'claude-haiku-4-5': { ...messages, upstream: 'anthropic' },
  [claude]: { ...messages, upstream: 'bedrock' },
  [nova]: { family: 'bedrock-converse', upstream: 'bedrock', price },
  'gemini-2.5-flash': { ...chat, upstream: 'google' },
  'gemini-embedding-001': { family: 'gemini-embeddings', upstream: 'google', free: true },
  'gemini-3.1-flash-image': { family: 'gemini-images', upstream: 'google', free: true },
  'rerank-v3.5': { family: 'cohere-rerank', upstream: 'cohere', price: { per_1k_searches: '2.00' } },
  'voyage-4': { family: 'voyage-embeddings', upstream: 'voyage', free: true },
  'rerank-2.5': { family: 'voyage-rerank', upstream: 'voyage', free: true },
  'llama-3.3-70b-versatile': { ...chat, upstream: 'groq' },
  'mistral-small-latest': { ...chat, upstream: 'mistral' },
  'openai/gpt-4.1-mini': { ...chat, upstream: 'openrouter' },
  'deepseek-chat': { ...chat, upstream: 'deepseek' },
}

const hello = [{ role: 'user' as const, content: 'Hello' }]
const weather = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const } },
  required: ['city'],
}
const tool = { name: 'get_weather', description: 'Weather of a city', parameters: weather }
const asked = {
  messages: [
    { role: 'system' as const, content: 'Be brief.' },
    { role: 'user' as const, content: 'Weather in Rome?' },
  ],
  tools: [{ type: 'function' as const, function: tool }],
  tool_choice: 'auto' as const,
  temperature: 0.2,
  max_tokens: 50,
}
const thought = {
  max_tokens: 2_000,
  system: [{ type: 'text' as const, text: 'Be brief.', cache_control: { type: 'ephemeral' as const } }],
  messages: hello,
  tools: [{ name: 'get_weather', input_schema: weather }],
  thinking: { type: 'enabled' as const, budget_tokens: 1_024 },
}
const adaptive = { ...thought, thinking: { type: 'adaptive' as const } }
const spoken = () => new File([new Uint8Array(32_044)], 'speech.mp3', { type: 'audio/mpeg' })
const photo = () => new File([picture('png', 64, 64).bytes], 'photo.png', { type: 'image/png' })

async function all(stream: Promise<AsyncIterable<unknown>>): Promise<unknown[]> {
  return Array.fromAsync(await stream)
}

/** A case whose vendor's SDK is the one that callers of the gateway use. */
function bothOf(ask: (client: OpenAI) => Promise<unknown>): Pick<VendorCase, 'direct' | 'through'> {
  return { direct: (to) => ask(to.openai()), through: (to) => ask(to.own()) }
}

function bothAnthropic(ask: (client: Anthropic) => Promise<unknown>): Pick<VendorCase, 'direct' | 'through'> {
  return { direct: (to) => ask(to.anthropic()), through: (to) => ask(to.ownAnthropic()) }
}

export const vendorCases: readonly VendorCase[] = [
  ...(['openai', 'azure', 'google', 'deepseek'] as const).map((vendor): VendorCase => {
    const model = {
      openai: 'gpt-4.1-mini',
      azure: 'gpt-4o-mini',
      google: 'gemini-2.5-flash',
      deepseek: 'deepseek-chat',
    }[vendor]
    const client = (to: VendorClients) => (vendor === 'azure' ? to.azure() : to.openai(vendor))
    return {
      name: `${vendor}: chat with tools`,
      vendor,
      direct: (to) => client(to).chat.completions.create({ model, ...asked }),
      through: (to) => to.own().chat.completions.create({ model, ...asked }),
      returns: { object: 'chat.completion' },
    }
  }),
  {
    name: 'openai: a streamed chat',
    vendor: 'openai',
    direct: (to) =>
      all(to.openai().chat.completions.create({ model: 'gpt-4.1-mini', messages: hello, stream: true })),
    through: (to) =>
      all(to.own().chat.completions.create({ model: 'gpt-4.1-mini', messages: hello, stream: true })),
  },
  {
    name: 'openai: a response',
    vendor: 'openai',
    direct: (to) => to.openai().responses.create({ model: 'gpt-4.1-mini', input: 'Hello', store: false }),
    through: (to) => to.own().responses.create({ model: 'gpt-4.1-mini', input: 'Hello', store: false }),
    returns: { object: 'response', status: 'completed' },
  },
  {
    name: 'openai: a streamed response with a tool',
    vendor: 'openai',
    ...bothOf((client) =>
      all(
        client.responses.create({
          ...{ model: 'gpt-4.1-mini', input: hello, store: false, stream: true as const },
          tools: [{ type: 'function', ...tool, strict: false }],
        }),
      ),
    ),
  },
  {
    name: 'openai: a completion',
    vendor: 'openai',
    ...bothOf((client) =>
      client.completions.create({
        model: 'gpt-3.5-turbo-instruct',
        prompt: 'The sky',
        max_tokens: 5,
      }),
    ),
    returns: { object: 'text_completion' },
  },
  {
    name: 'openai: embeddings',
    vendor: 'openai',
    ...bothOf((client) =>
      client.embeddings.create({
        model: 'text-embedding-3-small',
        input: ['a', 'b'],
        dimensions: 8,
      }),
    ),
    returns: { object: 'list' },
  },
  {
    name: 'openai: moderation',
    vendor: 'openai',
    ...bothOf((client) => client.moderations.create({ model: 'omni-moderation-latest', input: 'Hello' })),
  },
  {
    name: 'openai: a picture',
    vendor: 'openai',
    ...bothOf((client) =>
      client.images.generate({
        model: 'gpt-image-2',
        prompt: 'A fox',
        size: '1024x1024',
        quality: 'low',
      }),
    ),
  },
  {
    name: 'openai: an edited picture',
    vendor: 'openai',
    ...bothOf((client) =>
      client.images.edit({
        model: 'gpt-image-2',
        prompt: 'A hat',
        image: photo(),
        size: '1024x1024',
      }),
    ),
  },
  ...(['tts-1', 'gpt-4o-mini-tts'] as const).map(
    (model): VendorCase => ({
      name: `openai: speech of ${model}`,
      vendor: 'openai',
      ...bothOf(async (client) => {
        const said = { input: 'Hello', voice: 'nova', response_format: 'wav', speed: 1.1 } as const
        const response = await client.audio.speech.create({ model, ...said })
        return {
          type: response.headers.get('content-type'),
          bytes: (await response.arrayBuffer()).byteLength,
        }
      }),
      returns: { type: 'audio/wav', bytes: expect.any(Number) },
    }),
  ),
  {
    name: 'openai: a transcription',
    vendor: 'openai',
    ...bothOf((client) =>
      client.audio.transcriptions.create({
        model: 'whisper-1',
        file: spoken(),
        language: 'en',
        response_format: 'verbose_json',
      }),
    ),
  },
  {
    name: 'openai: a translation',
    vendor: 'openai',
    ...bothOf((client) =>
      client.audio.translations.create({
        model: 'whisper-1',
        file: spoken(),
        response_format: 'verbose_json',
      }),
    ),
  },
  {
    name: 'anthropic: messages',
    vendor: 'anthropic',
    direct: (to) => to.anthropic().messages.create({ model: 'claude-haiku-4-5', ...thought }),
    through: (to) => to.ownAnthropic().messages.create({ model: 'claude-haiku-4-5', ...thought }),
    returns: { type: 'message' },
  },
  {
    name: 'anthropic: streamed messages of the beta, with a header for it',
    vendor: 'anthropic',
    ...bothAnthropic((client) =>
      all(
        client.beta.messages.create({
          model: 'claude-haiku-4-5',
          ...thought,
          stream: true,
          betas: ['interleaved-thinking-2025-05-14'],
        }),
      ),
    ),
  },
  {
    name: 'anthropic: a count of tokens',
    vendor: 'anthropic',
    ...bothAnthropic((client) => client.messages.countTokens({ model: 'claude-haiku-4-5', messages: hello })),
    returns: { input_tokens: expect.any(Number) },
  },
  {
    name: 'bedrock: messages',
    vendor: 'bedrock',
    direct: (to) => to.bedrock().messages.create({ model: claude, ...adaptive }),
    through: (to) => to.ownAnthropic().messages.create({ model: claude, ...adaptive }),
    returns: { type: 'message' },
  },
  {
    name: 'bedrock: streamed messages',
    vendor: 'bedrock',
    direct: (to) => all(to.bedrock().messages.create({ model: claude, ...adaptive, stream: true })),
    through: (to) => all(to.ownAnthropic().messages.create({ model: claude, ...adaptive, stream: true })),
  },
  {
    name: 'bedrock: converse',
    vendor: 'bedrock',
    direct: (to) =>
      to.converse().send(
        new ConverseCommand({
          modelId: nova,
          system: [{ text: 'Be brief.' }],
          messages: [{ role: 'user', content: [{ text: 'Weather in Rome?' }] }],
          inferenceConfig: { maxTokens: 50, temperature: 0.2 },
          toolConfig: {
            tools: [
              {
                toolSpec: {
                  name: 'get_weather',
                  description: 'Weather of a city',
                  inputSchema: { json: weather },
                },
              },
            ],
            toolChoice: { auto: {} },
          },
        }),
      ),
    through: (to) => to.own().chat.completions.create({ model: nova, ...asked }),
    returns: { output: { message: { role: 'assistant' } } },
  },
  {
    name: 'bedrock: streamed converse',
    vendor: 'bedrock',
    async direct(to) {
      const command = new ConverseStreamCommand({
        modelId: nova,
        messages: [{ role: 'user', content: [{ text: 'Hello' }] }],
        inferenceConfig: { maxTokens: 50 },
      })
      const { stream } = await to.converse().send(command)
      return Array.fromAsync(stream ?? [])
    },
    through: (to) =>
      all(to.own().chat.completions.create({ model: nova, messages: hello, max_tokens: 50, stream: true })),
  },
  {
    name: 'google: embeddings',
    vendor: 'google',
    direct: (to) =>
      to.google().models.embedContent({
        model: 'gemini-embedding-001',
        contents: ['a', 'b'],
        config: { outputDimensionality: 256 },
      }),
    through: (to) =>
      to.own().embeddings.create({ model: 'gemini-embedding-001', input: ['a', 'b'], dimensions: 256 }),
  },
  {
    name: 'google: a picture',
    vendor: 'google',
    direct: (to) =>
      to.google().interactions.create({
        model: 'gemini-3.1-flash-image',
        input: 'A fox',
        response_format: { type: 'image', image_size: '1K', aspect_ratio: '1:1' },
        store: false,
      }),
    through: (to) =>
      to.post('/v1/images/generations', {
        model: 'gemini-3.1-flash-image',
        input: 'A fox',
        response_format: { type: 'image', image_size: '1K', aspect_ratio: '1:1' },
        store: false,
      }),
    returns: { status: 'completed' },
  },
  {
    name: 'cohere: reranking',
    vendor: 'cohere',
    direct: (to) =>
      to.cohere().rerank({
        model: 'rerank-v3.5',
        query: 'sky',
        documents: ['blue', 'green'],
        topN: 1,
      }),
    through: (to) =>
      to.post('/v1/rerank', {
        model: 'rerank-v3.5',
        query: 'sky',
        documents: ['blue', 'green'],
        top_n: 1,
      }),
  },
  {
    name: 'voyage: embeddings',
    vendor: 'voyage',
    direct: (to) =>
      to.voyage().embed({
        model: 'voyage-4',
        input: ['a', 'b'],
        outputDimension: 256,
      }),
    through: (to) => to.own().embeddings.create({ model: 'voyage-4', input: ['a', 'b'], dimensions: 256 }),
  },
  {
    name: 'voyage: reranking',
    vendor: 'voyage',
    direct: (to) =>
      to.voyage().rerank({
        model: 'rerank-2.5',
        query: 'sky',
        documents: ['blue', 'green'],
        topK: 1,
      }),
    through: (to) =>
      to.post('/v1/rerank', {
        model: 'rerank-2.5',
        query: 'sky',
        documents: ['blue', 'green'],
        top_n: 1,
      }),
  },
  {
    name: 'groq: chat with tools',
    vendor: 'groq',
    direct: (to) =>
      to.groq().chat.completions.create({
        model: 'llama-3.3-70b-versatile',
        ...asked,
      }),
    through: (to) => to.own().chat.completions.create({ model: 'llama-3.3-70b-versatile', ...asked }),
  },
  {
    name: 'groq: a streamed chat',
    vendor: 'groq',
    direct: (to) =>
      all(
        to.groq().chat.completions.create({
          model: 'llama-3.3-70b-versatile',
          messages: hello,
          stream: true,
        }),
      ),
    through: (to) =>
      all(
        to.own().chat.completions.create({ model: 'llama-3.3-70b-versatile', messages: hello, stream: true }),
      ),
  },
  {
    name: 'mistral: chat with tools',
    vendor: 'mistral',
    direct: (to) =>
      to.mistral().chat.complete({
        model: 'mistral-small-latest',
        messages: asked.messages,
        tools: asked.tools,
        toolChoice: 'auto',
        temperature: 0.2,
        maxTokens: 50,
      }),
    through: (to) => to.own().chat.completions.create({ model: 'mistral-small-latest', ...asked }),
    returns: { object: 'chat.completion' },
  },
  {
    name: 'mistral: a streamed chat',
    vendor: 'mistral',
    direct: (to) =>
      all(
        to.mistral().chat.stream({
          model: 'mistral-small-latest',
          messages: hello,
        }),
      ),
    through: (to) =>
      all(to.own().chat.completions.create({ model: 'mistral-small-latest', messages: hello, stream: true })),
  },
  {
    name: 'openrouter: chat with tools',
    vendor: 'openrouter',
    direct: (to) =>
      to.openrouter().chat.send({
        chatRequest: {
          model: 'openai/gpt-4.1-mini',
          messages: asked.messages,
          tools: asked.tools,
          toolChoice: 'auto',
          temperature: 0.2,
          maxTokens: 50,
        },
      }),
    through: (to) => to.own().chat.completions.create({ model: 'openai/gpt-4.1-mini', ...asked }),
    returns: { object: 'chat.completion' },
  },
  {
    name: 'openrouter: a streamed chat',
    vendor: 'openrouter',
    direct: (to) =>
      all(
        to.openrouter().chat.send({
          chatRequest: { model: 'openai/gpt-4.1-mini', messages: hello, stream: true },
        }),
      ),
    through: (to) =>
      all(to.own().chat.completions.create({ model: 'openai/gpt-4.1-mini', messages: hello, stream: true })),
  },
  {
    name: 'openrouter: the list of models',
    vendor: 'openrouter',
    async direct(to) {
      for await (const page of await to.openrouter().models.list()) return page
    },
    through: (to) => to.listOf('openrouter'),
    returns: { result: { data: expect.any(Array) } },
  },
  {
    name: 'ollama: the list of models, and each of them',
    vendor: 'ollama',
    async direct(to) {
      const client = to.ollama()
      const { models } = await client.list()
      const details = []
      for (const { model } of models) details.push(await client.show({ model }))
      return { models, details }
    },
    through: (to) => to.listOf('ollama'),
    returns: {
      models: expect.arrayContaining([
        expect.objectContaining({ size: expect.any(Number), digest: expect.any(String) }),
      ]),
    },
  },
]
