// What the playground asks of the gateway while somebody uses it: the price of a draft before it is sent, and one request at
// a time with its answer. Nothing must be sent whose price was not shown.

import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from './api'
import { askQuote, type PricedModel, type Quote } from './key-api'
import { type Draft, type PlaygroundRequest, requestOf } from './playground-request'
import { type Answer, run } from './playground-run'

/** A price is asked for when nothing was typed for this long, in milliseconds. */
const PAUSE_MS = 350

export interface Quoted {
  /** The most that it can cost. Undefined while it is asked for. */
  quote: Quote | undefined
  error: ApiError | undefined
  /** Whether the draft is a request. */
  isComplete: boolean
  /** The request to be sent, once its price is known. */
  request: PlaygroundRequest | undefined
}

/** The request of a draft, and the most that it can cost. */
export function useQuote(draft: Draft | undefined, model: PricedModel | undefined): Quoted {
  const [found, setFound] = useState<{ of: string; quote?: Quote; error?: ApiError }>()
  const made = attempt(() => draft && requestOf(draft, model?.options[draft.kind]))
  const key = made.value ? JSON.stringify(made.value) : ''
  const latest = useRef(made.value)
  latest.current = made.value
  useEffect(() => {
    if (key === '') return
    const controller = new AbortController()
    const timer = setTimeout(() => {
      const request = latest.current
      if (!request) return
      askQuote(request, controller.signal).then(
        (quote) => setFound({ of: key, quote }),
        (error: unknown) => !controller.signal.aborted && setFound({ of: key, error: ApiError.from(error) }),
      )
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [key])
  const { quote, error } = found?.of === key ? found : {}
  return {
    quote,
    error: made.error ?? error,
    isComplete: made.value !== undefined,
    request: made.value && quote && sentAs(made.value, quote),
  }
}

/** The request to be sent: one in plain words is put into the form of its model, which comes with its price. */
function sentAs(request: PlaygroundRequest, { body }: Quote): PlaygroundRequest | undefined {
  if (!request.plain) return request
  return body && { ...request, body }
}

function attempt<Value>(make: () => Value): { value?: Value; error?: ApiError } {
  try {
    return { value: make() }
  } catch (error) {
    return { error: ApiError.from(error) }
  }
}

interface ExchangeState {
  /** The draft that was sent last. */
  draft: Draft | undefined
  answer: Answer | undefined
  error: ApiError | undefined
  isRunning: boolean
  isStopped: boolean
}

export interface Exchange extends ExchangeState {
  start(draft: Draft, request: PlaygroundRequest): void
  stop(): void
}

/** One request at a time, and its answer as far as it has come. */
export function useExchange(onEnd: (draft: Draft, answer: Answer) => void): Exchange {
  const [state, setState] = useState<ExchangeState>({
    draft: undefined,
    answer: undefined,
    error: undefined,
    isRunning: false,
    isStopped: false,
  })
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  return {
    ...state,
    start(draft, request) {
      const controller = new AbortController()
      running.current = controller
      setState({ draft, answer: undefined, error: undefined, isRunning: true, isStopped: false })
      const show = (answer: Answer) => setState((before) => ({ ...before, answer }))
      run(draft.kind, request, show, controller.signal).then(
        (answer) => {
          setState({ draft, answer, error: undefined, isRunning: false, isStopped: false })
          onEnd(draft, answer)
        },
        (error: unknown) => {
          const { aborted: isStopped } = controller.signal
          setState((before) => ({
            ...before,
            isRunning: false,
            isStopped,
            error: isStopped ? undefined : ApiError.from(error),
          }))
        },
      )
    },
    stop: () => running.current?.abort(),
  }
}
