// The edit that both kinds of completions make to a request for an OpenAI-compatible vendor. It must never change the meaning of
// the request.

import type { Model } from '../contract/family'
import type { Edit } from '../lib/json/json'

interface Streamable {
  model: string
  stream?: boolean | null
  stream_options?: { include_usage?: boolean | null } | null
}

/** The edit of a request: the vendor's name of the model, and whether a stream ends with usage. */
export function completionEdit(
  body: Streamable,
  model: Model,
): Edit & { set: Record<string, string>; drop: string[] } {
  const set: Record<string, string> = {}
  if (model.upstreamModel !== body.model) set.model = JSON.stringify(model.upstreamModel)
  if (body.stream && model.upstream.streamUsage && !body.stream_options?.include_usage) {
    set.stream_options = JSON.stringify({ ...body.stream_options, include_usage: true })
  }
  return { set, drop: [] }
}
