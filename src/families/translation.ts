// Translates a request once, so that the same form is checked, quoted and sent. It must never outlive the request.

import type { Model } from '../contract/family'

type Translate<Body extends object, Result> = (body: Body, model: Model) => Result

/** A function that remembers its result for each body and model. Errors are thrown again. */
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
