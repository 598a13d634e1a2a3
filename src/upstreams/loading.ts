// Servers of models that are loading one, by what they answer: llama.cpp refuses every request until its model is there
// (https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md, "Loading model"), and Hugging Face names the seconds
// that it takes (huggingface/transformers#23793, `estimated_time`). Pure. It must never mistake a busy server for one that is loading.

import { asObject } from '../lib/objects'

/** Seconds to wait for a server that does not say how long it loads: small models take about as long. */
const USUAL_SECONDS = 10
/** Clients repeat nothing that is further away. */
const SECONDS_MOST = 60

/** The seconds after which a model may be loaded; undefined if the answer is not about that. */
export function loadingSeconds(status: number, body: unknown, message: string): number | undefined {
  if (status !== 503 || !/\bloading\b/i.test(message)) return undefined
  const { estimated_time: named } = asObject(Array.isArray(body) ? body[0] : body)
  return typeof named === 'number' && named > 0 ? Math.min(Math.ceil(named), SECONDS_MOST) : USUAL_SECONDS
}
