// The form in which Google's API lists models: pages of `models/…` with their methods and limits.
// https://ai.google.dev/api/models

import { type Static, Type } from '@sinclair/typebox'
import { list, maybeCount, named, text } from '../../../api-operation/schemas'
import { conditional, readParameter } from '../../../api-operation/values'
import type { ModelCard } from '../../../catalogue/model-card'
import type { ListedModel } from '../../../catalogue/models'
import { invalidRequest } from '../../../lib/errors'
import { contentsMethods } from '../../contents-methods'

const example = {
  name: 'models/a-chat-model',
  version: '1',
  displayName: 'a-chat-model',
  inputTokenLimit: 200_000,
  outputTokenLimit: 64_000,
  supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
}
export const ContentsModel = named(
  'ContentsModel',
  {
    name: text,
    version: text,
    displayName: text,
    inputTokenLimit: Type.Optional(maybeCount),
    outputTokenLimit: Type.Optional(maybeCount),
    supportedGenerationMethods: list(text),
  },
  example,
)
type ContentsModel = Static<typeof ContentsModel>
export const ContentsModelList = named(
  'ContentsModelList',
  { models: list(ContentsModel), nextPageToken: Type.Optional(text) },
  { models: [example] },
)

const USUAL_SIZE = 50
const MAX_SIZE = 1_000
const PageSize = Type.Integer({
  minimum: 0,
  maximum: 2_147_483_647,
  description:
    'Models on a page, for clients of `generateContent`: 50 if it is left out or 0, and 1,000 at most.',
})
export const contentsQuery = {
  pageSize: conditional(PageSize),
  pageToken: Type.Optional(Type.String({ description: '`nextPageToken` of the page before.' })),
}

/** A page of the list, with the token of the next one. */
export function contentsPage(
  models: readonly ListedModel[],
  { pageSize, pageToken }: { pageSize?: string; pageToken?: string },
  show: (model: ListedModel) => ContentsModel,
): Static<typeof ContentsModelList> {
  const size = readParameter('pageSize', PageSize, pageSize ?? '0') || USUAL_SIZE
  const begin = pageToken === undefined ? 0 : placeAfter(models, pageToken)
  const page = models.slice(begin, begin + Math.min(size, MAX_SIZE))
  const last = begin + page.length < models.length ? page.at(-1) : undefined
  return {
    models: page.map(show),
    ...(last && { nextPageToken: Buffer.from(last.id).toString('base64url') }),
  }
}

export function shownInContents({ id }: ListedModel, card?: ModelCard): ContentsModel {
  const isServed = (operation: string) =>
    card?.operations.some(
      (name) => name === operation || (operation === 'contents' && name.startsWith('image')),
    )
  return {
    name: `models/${id}`,
    version: '1',
    displayName: id,
    ...(card?.context_length && { inputTokenLimit: card.context_length }),
    ...(card?.max_completion_tokens && { outputTokenLimit: card.max_completion_tokens }),
    supportedGenerationMethods: Object.entries(contentsMethods).flatMap(([method, operation]) =>
      isServed(operation) ? [method] : [],
    ),
  }
}

/** The position after the model that a token names. Throws 400 for any other text. */
function placeAfter(models: readonly ListedModel[], token: string): number {
  const id = Buffer.from(token, 'base64url').toString()
  const place = models.findIndex((model) => model.id === id)
  if (place !== -1) return place + 1
  throw invalidRequest(
    'pageToken',
    "Invalid 'pageToken': it is not of a page of this list. Start without it.",
  )
}
