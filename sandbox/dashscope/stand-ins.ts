// Models that replace those that DashScope's simulator does not know, chosen by the contents of a request. They must
// never replace a known model.

import { asArray, asObject, asString, type JsonObject } from '../json'

/** The model for the path that pictures and speech share. */
export function generatorFor(body: JsonObject): string {
  const input = asObject(body.input) ?? {}
  if (asString(input.text) !== undefined) return 'qwen3-tts-flash'
  const contents = (asArray(input.messages) ?? []).flatMap(
    (message) => asArray(asObject(message)?.content) ?? [],
  )
  return contents.some((part) => asObject(part)?.image !== undefined)
    ? 'qwen-image-edit-plus'
    : 'qwen-image-2.0'
}

/** The video model, by the fields in its name. */
export function videoFor(body: JsonObject): string {
  const input = asObject(body.input) ?? {}
  const media = (asArray(input.media) ?? []).map((item) => asString(asObject(item)?.type) ?? '')
  if (media.some((type) => type.startsWith('reference'))) return 'wan2.7-r2v'
  if (media.length > 0) return 'wan2.7-i2v'
  if (input.reference_urls !== undefined) return 'wan2.6-r2v'
  if (input.img_url !== undefined) return 'wan2.6-i2v'
  return asObject(body.parameters)?.size === undefined ? 'wan2.7-t2v' : 'wan2.6-t2v'
}
