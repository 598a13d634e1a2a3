// The moderation endpoint: it flags words that name a category, such as "violence". It must never
// look at a picture: of two inputs only the text decides.

import { asObject, asString, isGiven, type JsonObject } from '../json'
import { hexId, jsonReply } from '../replies'
import type { Reply, VendorRequest } from '../simulator'
import { errorReply, headers, unknownModel } from './errors'
import { badRequest, missingParameter } from './fields'
import { isLenient } from './models'

export const moderationModels = ['omni-moderation-latest', 'omni-moderation-2024-09-26']
const categories = [
  'harassment',
  'harassment/threatening',
  'hate',
  'hate/threatening',
  'illicit',
  'illicit/violent',
  'self-harm',
  'self-harm/instructions',
  'self-harm/intent',
  'sexual',
  'sexual/minors',
  'violence',
  'violence/graphic',
]
const seenInPictures = ['self-harm', 'sexual', 'violence']
const imagesMax = 1

export function answerModeration({ directives }: VendorRequest, body: JsonObject): Reply {
  const model = asString(body.model) ?? moderationModels[0] ?? ''
  if (!moderationModels.includes(model) && !isLenient(model)) return unknownModel(model)
  if (!isGiven(body.input)) return errorReply(missingParameter('input'))
  const inputs = [body.input].flat()
  const parts = inputs.map(asObject).filter((part) => part !== undefined)
  const pictures = parts.filter(({ type }) => type === 'image_url').length
  if (inputs.length === 0 || pictures > imagesMax) {
    const message =
      pictures > imagesMax ? 'Too many images: at most 1 is allowed.' : 'Input must not be empty.'
    return errorReply(badRequest(message, 'input', null))
  }
  const isTogether = parts.length > 0
  const together = parts.map((part) => asString(part.text) ?? '').join('\n')
  const texts = isTogether ? [together] : inputs.map(String)
  const results = texts.map((text) => judged(text, pictures > 0))
  const shown = moderationModels.includes(model) ? 'omni-moderation-2024-09-26' : model
  return jsonReply(
    200,
    { id: `modr-${hexId()}`, model: shown, results: directives.empty ? [] : results },
    headers(),
  )
}

function judged(text: string, hasPicture: boolean): JsonObject {
  const words = text.toLowerCase()
  const found = categories.filter((category) => words.includes(category))
  const perCategory = (value: (category: string) => unknown) =>
    Object.fromEntries(categories.map((category) => [category, value(category)]))
  const sees = (category: string) => hasPicture && seenInPictures.some((name) => category.startsWith(name))
  return {
    flagged: found.length > 0,
    categories: perCategory((category) => found.includes(category)),
    category_scores: perCategory((category) => (found.includes(category) ? 0.98 : 0.0001)),
    category_applied_input_types: perCategory((category) => (sees(category) ? ['text', 'image'] : ['text'])),
  }
}
