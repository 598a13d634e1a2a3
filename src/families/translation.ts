// The translation of a request into another dialect, made once: the request is checked, quoted and sent in the same words.
// It must never outlive the request.

import type { Model } from '../contract/family'

type Translate<Body extends object, Result> = (body: Body, model: Model) => Result

/** The same function that remembers what it made of a body for each model. What it throws it throws anew. */
export function translatedOnce<Body extends object, Result>(
  translate: Translate<Body, Result>,
): Translate<Body, Result> {
  const made = new WeakMap<Body, Map<Model, Result>>()
  return (body, model) => {
    const results = made.get(body) ?? new Map<Model, Result>()
    const known = results.get(model)
    if (known !== undefined) return known
    const result = translate(body, model)
    made.set(body, results.set(model, result))
    return result
  }
}
