// Moderation by OpenAI, and by the servers that speak its API: whether texts or a picture are harmful. The caller's JSON
// and the vendor's reply must never be changed, except for the model's name.

import { type Static, Type } from '@sinclair/typebox'
import { compatibleCall } from '../../contract/call'
import type { JsonFamily, Model, ParsedRequest, Quantities } from '../../contract/family'
import { hasPrice } from '../../contract/prices'
import { SHOWN, usageReading } from '../../contract/reading'
import { isErrorShape } from '../../lib/error-shapes'
import { invalidRequest } from '../../lib/errors'
import { asObject } from '../../lib/objects'
import { countedFigure, optionalField } from '../shared-schemas'
import { otherModels } from '../surcharges'
import { addresses, fileIds } from '../vendor-state'

/** Maximum number of texts or parts in a request. */
const MAX_INPUTS = 2_048
/** Tokens held for a picture, whose size its address does not show. */
const IMAGE_TOKENS = 4_096

const open = { additionalProperties: true }

const ModerationBody = Type.Object(
  {
    model: optionalField(
      Type.String({ description: 'Id from GET /v1/models. Default: the first that moderates.' }),
    ),
    input: Type.Union(
      [
        Type.String(),
        Type.Array(Type.String(), { minItems: 1, maxItems: MAX_INPUTS }),
        Type.Array(Type.Object({ type: Type.String() }, open), { minItems: 1, maxItems: MAX_INPUTS }),
      ],
      { description: 'A text, several that are judged one by one, or parts that are judged together.' },
    ),
  },
  open,
)
type ModerationBody = Static<typeof ModerationBody>
type Part = Extract<ModerationBody['input'], { type: string }[]>[number]

export const openaiModeration: JsonFamily<ModerationBody> = {
  kind: 'json',
  name: 'openai-moderation',
  operation: 'moderation',
  units: [['request'], ['input_token']],
  dialect: 'openai',
  body: ModerationBody,
  fieldRules: [
    ...otherModels,
    ...addresses('input[].image_url', 'input[].image_url.url'),
    ...fileIds('input[].file_id', 'input[].image_url.file_id'),
  ],
  fields: ['input[].text', 'input[].image_url.url'],

  check(body) {
    partsIn(body).forEach((part, index) => {
      if (typeof part === 'string' || textOf(part) !== undefined || part.image_url !== undefined) return
      throw invalidRequest(
        `input[${index}].type`,
        `Invalid 'input[${index}]': expected { type: 'text', text } or { type: 'image_url', image_url: { url } }.`,
      )
    })
  },

  quote: quoteModeration,

  call: ({ body }, model) =>
    compatibleCall('/moderations', {
      edit: { set: body.model === model.upstreamModel ? {} : { model: JSON.stringify(model.upstreamModel) } },
    }),

  read(reply) {
    const { results, usage } = asObject(reply)
    if (!Array.isArray(results)) {
      if (isErrorShape(reply)) return { end: 'failed' }
      throw new Error('an answer without results')
    }
    const { prompt_tokens: prompt, total_tokens: total } = asObject(usage)
    const tokens = countedFigure(prompt ?? total)
    const figures = Number.isNaN(tokens) ? 'invalid' : tokens > 0 ? { input_token: tokens } : undefined
    return {
      output: results.length > 0 ? SHOWN : undefined,
      usage: usageReading(figures),
      end: 'finished',
    }
  },

  texts(body, model) {
    const parts = partsIn(body)
    if (!isPricedByToken(model) || parts.some(isPicture)) return undefined
    return parts.flatMap((part) => (typeof part === 'string' ? part : (textOf(part) ?? [])))
  },

  plain: { fields: [], body: ({ text }) => ({ input: text }) },
}

function quoteModeration({ body, byteLength }: ParsedRequest<ModerationBody>, model: Model): Quantities {
  if (!isPricedByToken(model)) return {}
  return { input_token: byteLength + IMAGE_TOKENS * partsIn(body).filter(isPicture).length }
}

function isPricedByToken({ priceList }: Model): boolean {
  return hasPrice(priceList, 'input_token')
}

function partsIn({ input }: ModerationBody): (string | (Part & { image_url?: unknown }))[] {
  return typeof input === 'string' ? [input] : input
}

function isPicture(part: string | Part): boolean {
  return typeof part !== 'string' && textOf(part) === undefined
}

function textOf(part: Part): string | undefined {
  const { text } = part as { text?: unknown }
  return typeof text === 'string' ? text : undefined
}
