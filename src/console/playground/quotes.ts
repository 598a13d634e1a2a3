// The maximum price of a draft, for each of its models, requested when its writer pauses.

import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api'
import { askQuote, type PricedModel } from '../key-api'
import { sumUsd } from '../parts/money'
import { type NextTurn, type PlaygroundRequest, requestOf } from './request'
import type { Priced } from './state'

/** A price is requested when nothing was typed for this long, in milliseconds. */
const PAUSE_MS = 350

/** Prices a request. A plain request is converted to the form of its model, which is returned with its price. */
export async function quoteOf(
  request: PlaygroundRequest,
  model: string,
  signal?: AbortSignal,
): Promise<Priced> {
  const { path, body, isPlain } = request
  const quote = await askQuote({ path, body, plain: isPlain }, signal)
  const sent = isPlain && quote.body ? { ...request, body: quote.body } : request
  return { model, request: sent, mostUsd: quote.most_usd }
}

export interface Quoted {
  /** One request for each model, once all prices are known. */
  priced: readonly Priced[] | undefined
  /** The sum of all maximum prices. */
  mostUsd: string | undefined
  error: ApiError | undefined
  /** Whether the draft is a request. */
  isComplete: boolean
}

/** The requests of a draft and their maximum prices. */
export function useQuotes(next: NextTurn, models: readonly PricedModel[]): Quoted {
  const [found, setFound] = useState<{ of: string; priced?: Priced[]; error?: ApiError }>()
  const made = attempt(() =>
    models.flatMap((model) => {
      const request = requestOf(next, model)
      return request ? [{ model: model.id, request }] : []
    }),
  )
  const requests = made.value ?? []
  const isComplete = requests.length > 0 && requests.length === models.length
  const key = isComplete ? JSON.stringify(requests) : ''
  const latest = useRef(requests)
  latest.current = requests
  useEffect(() => {
    if (key === '') return
    const controller = new AbortController()
    const timer = setTimeout(() => {
      const all = latest.current.map(({ model, request }) => quoteOf(request, model, controller.signal))
      Promise.all(all).then(
        (priced) => setFound({ of: key, priced }),
        (error: unknown) => !controller.signal.aborted && setFound({ of: key, error: ApiError.from(error) }),
      )
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [key])
  const { priced, error } = found?.of === key ? found : {}
  return {
    priced,
    mostUsd: priced && sumUsd(priced.map(({ mostUsd }) => mostUsd)),
    error: made.error ?? error,
    isComplete,
  }
}

function attempt<Value>(make: () => Value): { value?: Value; error?: ApiError } {
  try {
    return { value: make() }
  } catch (error) {
    return { error: ApiError.from(error) }
  }
}
