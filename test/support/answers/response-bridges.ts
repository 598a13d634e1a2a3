// The translations to responses by themselves: a vendor's stream through the meter that all streams take, and a whole reply,
// with a request and a model that a test decides.

import { type PriceConfig, priceListOf } from '../../../src/config/models/prices'
import type { AnswerContext, MadeFamily, Model, ParsedRequest } from '../../../src/contract/family'
import { CHAT_END, readChunk } from '../../../src/families/chat/caller-side'
import { readMessageEvent } from '../../../src/families/messages/caller-side'
import type { ResponsesBody } from '../../../src/families/responses/caller-side'
import { createEventsOfChat } from '../../../src/families/responses/via-chat/stream'
import { createEventsOfMessages } from '../../../src/families/responses/via-messages/stream'
import { knownModel, traitsOf } from '../../../src/families/traits/known-models'
import type { StreamMeter } from '../../../src/request/stream/meter'
import { createTranslatingMeter } from '../../../src/request/stream/translation'
import { metered } from '../relaying'
import type { Json } from '../scenario'

/** Seals by a mark in front, so that a test reads what was sealed. */
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

export type Bridge = 'chat' | 'messages'

/** A model behind a bridge, as far as a translation looks at it. */
export function bridgedModel(
  bridge: Bridge,
  upstreamModel: string = bridge,
  more: Partial<Model> & { price?: PriceConfig } = {},
  entry: Parameters<typeof traitsOf>[0] = {},
): Model {
  const stream =
    bridge === 'chat'
      ? { end: CHAT_END, read: readChunk, translate: createEventsOfChat }
      : { end: '{"type":"message_stop"}', read: readMessageEvent, translate: createEventsOfMessages }
  const family = {
    kind: 'made',
    operation: 'responses',
    name: bridge,
    stream: { ...stream, showsUsage: () => true },
  }
  const { price = { per_1m_input_tokens: '1', per_1m_output_tokens: '3' }, ...given } = more
  return {
    id: 'house-model',
    upstreamModel,
    family: family as unknown as MadeFamily,
    upstream: { streamUsage: true },
    priceList: priceListOf({ price }),
    traits: traitsOf(entry, knownModel(upstreamModel)),
    reserveOutputTokens: 4_096,
    ...given,
  } as Model
}

/** A vendor's stream as it goes to the caller, when it comes in pieces that end at these places. */
export function responseStream(
  model: Model,
  request: ParsedRequest<ResponsesBody>,
  text: string,
  cuts: readonly number[] = [],
): { events: string; meter: StreamMeter; answer: Json } {
  const { family } = model
  if (family.kind !== 'made' || !family.stream) throw new Error('nothing translates')
  const translator = family.stream.translate(request, model)
  const meter = createTranslatingMeter(
    { model, hideUsage: true, judge: (usage) => usage, translateError: (json) => JSON.stringify(json) },
    translator,
  )
  const events = metered(meter, Buffer.from(text), cuts)
  return { events, meter, answer: translator.answer?.() }
}
