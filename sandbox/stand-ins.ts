// Models that replace those that a simulator does not know, so that any configuration can be tried. Each simulator names its
// own. They must never replace a model that the simulator knows.

import { asArray, asObject, asString, type JsonObject } from './json'
import type { Simulator, VendorRequest } from './simulator'

/** The request with a model that the simulator knows; undefined if there is none. */
export function withStandIn(
  { standIns, modelOf }: Pick<Simulator, 'standIns' | 'modelOf'>,
  request: VendorRequest,
): VendorRequest | undefined {
  if (request.method !== 'POST') return undefined
  const choice = standIns.find(([path]) => request.path.includes(path))?.[1]
  if (choice === undefined) return undefined
  const body = asObject(request.json)
  const isPath = modelOf !== undefined
  const model = typeof choice === 'string' ? choice : choice(body ?? {})
  return {
    ...request,
    path: isPath
      ? `/${model}`
      : request.path.replace(/(\/(?:models|deployments)\/)[^/:]+|(\/model\/)[^/]+/, `$1$2${model}`),
    json: body ? bodyWith(body, model) : request.json,
    form: request.form?.map(([name, value]) => [name, name === 'model' ? model : value] as const),
  }
}

/** The body with the model in the same place: at the top, or in each part of a batch. */
function bodyWith(body: JsonObject, model: string): JsonObject {
  const requests = asArray(body.requests)?.map((part) => ({ ...asObject(part), model: `models/${model}` }))
  return {
    ...body,
    ...(body.model !== undefined && { model }),
    ...(body.model_id !== undefined && { model_id: model }),
    ...(requests && { requests }),
  }
}

/** The model that a request names in its body, form or path; undefined if it names none. */
export function modelIn({ path, json, form }: VendorRequest): string | undefined {
  const body = asObject(json)
  const inPath = /\/(?:models|deployments|model)\/([^/:]+)/.exec(path)?.[1]
  const named =
    asString(body?.model) ??
    asString(body?.model_id) ??
    asString(asObject(asArray(body?.requests)?.[0])?.model) ??
    asString(form?.find(([name]) => name === 'model')?.[1]) ??
    (inPath && decodeURIComponent(inPath))
  return named?.replace(/^models\//, '')
}
