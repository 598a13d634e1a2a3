// Recognises model servers that are loading a model by their answers: llama.cpp refuses every request until its model is loaded
// (https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md, "Loading model"), and Hugging Face states the seconds
// that it takes (huggingface/transformers#23793, `estimated_time`). Pure. It must never mistake a busy server for one that is
// loading.

import { asObject } from '../lib/objects'

/** Seconds to wait for a server that does not say how long it will load: small models take about as long. */
const USUAL_SECONDS = 10
/** Clients do not retry after longer waits. */
const MAX_SECONDS = 60

/** The seconds after which a model may be loaded; undefined if the answer is about something else. */
export function loadingSeconds(status: number, body: unknown, message: string): number | undefined {
  if (status !== 503 || !/\bloading\b/i.test(message)) return undefined
  const { estimated_time: named } = asObject(Array.isArray(body) ? body[0] : body)
  return typeof named === 'number' && named > 0 ? Math.min(Math.ceil(named), MAX_SECONDS) : USUAL_SECONDS
}
