// Models that replace those that a simulator does not know, one for each kind of request of each vendor, so that any
// configuration can be tried. They must never replace a model that the simulator knows.

import { asArray, asObject, asString, type JsonObject } from './json'
import type { Reply, VendorName, VendorRequest } from './simulator'

type Choice = string | ((body: JsonObject) => string)

/** Models by what the path contains; the first that fits is used. */
const standIns: Record<VendorName, readonly (readonly [path: string, model: Choice])[]> = {
  // Servers of all kinds speak this API: their fields are not checked.
  openai: [
    ['/chat/completions', 'local-model'],
    ['/embeddings', 'local-model'],
    ['/audio/', 'local-model'],
    ['/rerank', 'local-model'],
    ['/images/', ({ response_format: format }) => (format === undefined ? 'gpt-image-2' : 'dall-e-2')],
  ],
  dashscope: [
    ['/chat/completions', 'qwen-plus'],
    ['/embeddings', 'text-embedding-v4'],
    ['/multimodal-generation/', generatorFor],
    ['/video-synthesis', videoFor],
  ],
  google: [
    ['/chat/completions', 'gemini-2.5-flash-lite'],
    ['/interactions', 'gemini-3.1-flash-image'],
    ['/models/', 'gemini-embedding-001'],
    ['/embeddings', 'gemini-embedding-001'],
  ],
  voyage: [
    ['/embeddings', 'voyage-4'],
    ['/rerank', 'rerank-2.5'],
  ],
  xai: [
    ['/chat/completions', 'grok-4.3'],
    ['/images/', 'grok-imagine-image'],
    ['/videos/', 'grok-imagine-video'],
  ],
  anthropic: [['/messages', 'claude-sonnet-5-5']],
  cohere: [['/rerank', 'rerank-v4.0-fast']],
  ark: [
    ['/images/', 'seedream-4-5-251128'],
    ['/tasks', 'seedance-2-0-260128'],
  ],
}

/** The request with a model that the simulator knows; undefined if there is none. */
export function withStandIn(vendor: VendorName, request: VendorRequest): VendorRequest | undefined {
  if (request.method !== 'POST') return undefined
  const choice = standIns[vendor].find(([path]) => request.path.includes(path))?.[1]
  if (choice === undefined) return undefined
  const body = asObject(request.json)
  const model = typeof choice === 'string' ? choice : choice(body ?? {})
  return {
    ...request,
    path: request.path.replace(/(\/models\/)[^/:]+/, `$1${model}`),
    json: body ? bodyWith(body, model) : request.json,
    form: request.form?.map(([name, value]) => [name, name === 'model' ? model : value] as const),
  }
}

/** The body with the model in the same place: at the top, or in each part of a batch. */
function bodyWith(body: JsonObject, model: string): JsonObject {
  const requests = asArray(body.requests)?.map((part) => ({ ...asObject(part), model: `models/${model}` }))
  return { ...body, ...(body.model !== undefined && { model }), ...(requests && { requests }) }
}

/** Whether a vendor reports an unknown model, by status or text. */
export function lacksModel(reply: Reply): boolean {
  if (reply.status === 404) return true
  return (
    reply.status === 400 &&
    reply.body.kind === 'json' &&
    / is not supported\. Supported models are /.test(JSON.stringify(reply.body.value))
  )
}

/** The model for the path that pictures and speech share. */
function generatorFor(body: JsonObject): string {
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
function videoFor(body: JsonObject): string {
  const input = asObject(body.input) ?? {}
  const media = (asArray(input.media) ?? []).map((item) => asString(asObject(item)?.type) ?? '')
  if (media.some((type) => type.startsWith('reference'))) return 'wan2.7-r2v'
  if (media.length > 0) return 'wan2.7-i2v'
  if (input.reference_urls !== undefined) return 'wan2.6-r2v'
  if (input.img_url !== undefined) return 'wan2.6-i2v'
  return asObject(body.parameters)?.size === undefined ? 'wan2.7-t2v' : 'wan2.6-t2v'
}
