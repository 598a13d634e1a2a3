// The translations to responses in isolation: a vendor's stream through the meter of all streams, and a whole reply, with a request
// and a model of the test.

import { type PriceConfig, priceListOf } from '../../../src/config/models/prices'
import type {
  AnswerContext,
  MadeFamily,
  Model,
  ParsedRequest,
  Quantities,
  Translator,
} from '../../../src/contract/family'
import { bridge } from '../../../src/families/conversation/bridge'
import { responsesDialect } from '../../../src/families/dialects/responses/dialect'
import { messagesProtocol } from '../../../src/families/protocols/messages/protocol'
import { openaiChatProtocol } from '../../../src/families/protocols/openai-chat/protocol'
import type { ResponsesBody } from '../../../src/families/responses/caller-side'
import { knownModel, traitsOf } from '../../../src/families/traits/known-models'
import type { StreamMeter } from '../../../src/request/stream/meter'
import { createTranslatingMeter } from '../../../src/request/stream/translation'
import { metered } from '../relaying'
import type { Json } from '../scenario'

/** Seals by a prefix, so that a test can read the sealed text. */
export const openSeals: AnswerContext = {
  id: `resp_${'a1'.repeat(16)}`,
  isKept: true,
  isInBackground: false,
  now: () => 1_770_000_002_000,
  seal: (text) => `sealed ${text}`,
  open: (sealed) => (sealed.startsWith('sealed ') ? sealed.slice(7) : undefined),
}

export function responsesRequest(body: Json = {}, answer = openSeals): ParsedRequest<ResponsesBody> {
  return { body: { model: 'm', input: 'Hi', ...body }, byteLength: 50, at: 1_770_000_000_000, answer }
}

const bridges = {
  chat: bridge(responsesDialect, openaiChatProtocol),
  messages: bridge(responsesDialect, messagesProtocol),
}

export type Bridge = keyof typeof bridges

/** A model behind a bridge, with the members that a translation reads. */
export function bridgedModel(
  name: Bridge,
  upstreamModel: string = name,
  more: Partial<Model> & { price?: PriceConfig } = {},
  entry: Parameters<typeof traitsOf>[0] = {},
): Model {
  const { price = { per_1m_input_tokens: '1', per_1m_output_tokens: '3' }, ...given } = more
  return {
    id: 'house-model',
    upstreamModel,
    family: bridges[name] as unknown as MadeFamily,
    upstream: { streamUsage: true },
    priceList: priceListOf({ price }),
    traits: traitsOf(entry, knownModel(upstreamModel)),
    reserveOutputTokens: 4_096,
    ...given,
  } as Model
}

/** The body of the request to a vendor. */
export function requestOf(parsed: ParsedRequest<ResponsesBody>, model: Model): Json {
  const call = madeOf(model).call(parsed, model)
  const body = 'path' in call ? call.body : undefined
  if (!body || !('json' in body)) throw new Error('no call with a JSON body')
  return body.json as Json
}

/** A whole reply as its caller reads it. */
export function responseOf(
  reply: unknown,
  parsed: ParsedRequest<ResponsesBody>,
  model: Model,
  usage: Quantities = {},
): Json {
  return madeOf(model).reply([reply], parsed, model, usage, new Map()) as Json
}

export function translatorOf(parsed: ParsedRequest<ResponsesBody>, model: Model): Translator {
  const { stream } = madeOf(model)
  if (!stream) throw new Error('nothing translates')
  return stream.translate(parsed, model)
}

function madeOf({ family }: Model): MadeFamily {
  if (family.kind !== 'made') throw new Error('nothing translates')
  return family
}

/** A vendor's stream as the caller gets it, if it arrives in pieces that end at these places. */
export function responseStream(
  model: Model,
  request: ParsedRequest<ResponsesBody>,
  text: string,
  cuts: readonly number[] = [],
): { events: string; meter: StreamMeter; answer: Json } {
  const translator = translatorOf(request, model)
  const meter = createTranslatingMeter(
    { model, hideUsage: true, judge: (usage) => usage, translateError: (json) => JSON.stringify(json) },
    translator,
  )
  const events = metered(meter, Buffer.from(text), cuts)
  return { events, meter, answer: translator.answer?.() }
}
