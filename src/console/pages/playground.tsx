// The playground: a request as a form at the left, with the most that it can cost before it is sent, and its answer as it
// comes at the right, with what it cost. What was tried stays in this browser alone.

import { useEffect, useRef, useState } from 'preact/hooks'
import { address, setQuery } from '../address'
import { ApiError, session } from '../api'
import { askPrices, askQuote, type PricedModel, type Quote } from '../key-api'
import { keyTexts } from '../key-texts'
import { Choice } from '../parts/choice'
import { Loaded, useLoaded } from '../parts/loaded'
import { moneyText } from '../parts/money'
import { AnswerView, PlaygroundError } from '../parts/playground-answer'
import { PlaygroundForm } from '../parts/playground-form'
import { ProgramView } from '../parts/program'
import { Time } from '../parts/time'
import { addToHistory, clearHistory, historyOf, type Tried } from '../playground-history'
import { type Draft, KINDS, type Kind, type PlaygroundRequest, requestOf } from '../playground-request'
import { type Answer, run } from '../playground-run'

const words = keyTexts.playground
/** A price is asked for when nothing was typed for this long, in milliseconds. */
const PAUSE_MS = 350

export default function Playground() {
  const load = useLoaded(askPrices, [])
  return (
    <>
      <h1 class="page-head">{words.title}</h1>
      <Loaded of={load}>{({ data }) => <Bench models={data} />}</Loaded>
    </>
  )
}

function Bench({ models }: { models: readonly PricedModel[] }) {
  const { query } = address.value
  const kind: Kind = KINDS.find((each) => each === query.kind) ?? 'chat'
  const usable = models.filter(({ operations }) => operations.includes(kind))
  const model = usable.find(({ id }) => id === query.model) ?? usable[0]
  const [values, setValues] = useState<Draft['values']>({})
  const [pictures, setPictures] = useState<readonly string[]>([])
  const owner = session.value?.name ?? ''
  const [tried, setTried] = useState(() => historyOf(owner))
  const draft: Draft = { kind, model: model?.id ?? '', values, pictures }
  const { request, quote, error } = useQuote(draft, model)
  const exchange = useExchange((answer) => {
    const costUsd = answer.costUsd
    setTried(addToHistory(owner, { kind, model: draft.model, values, costUsd, at: new Date().toISOString() }))
  })
  const sent: PlaygroundRequest | undefined =
    request && (request.plain ? quote?.body && { ...request, body: quote.body } : request)
  return (
    <div class="columns">
      <section class="part">
        <Choices kind={kind} model={model?.id} models={usable.map(({ id }) => id)} />
        {model ? (
          <PlaygroundForm
            kind={kind}
            options={model.options[kind]}
            values={values}
            change={(name, value) => setValues((before) => ({ ...before, [name]: value }))}
            pictures={pictures}
            setPictures={setPictures}
            isRunning={exchange.isRunning}
            isReady={sent !== undefined && quote !== undefined}
            send={() => sent && exchange.start(kind, sent)}
            stop={exchange.stop}
          >
            <Price quote={quote} hasText={request !== undefined || error !== undefined} error={error} />
          </PlaygroundForm>
        ) : (
          <p class="empty">{words.noModel}</p>
        )}
      </section>
      <section class="part" aria-label={words.answer}>
        <h2>{words.answer}</h2>
        <AnswerView answer={exchange.answer} isRunning={exchange.isRunning} isStopped={exchange.isStopped} />
        {exchange.error && <PlaygroundError error={exchange.error} />}
      </section>
      {sent && <ProgramView kind={kind} request={sent} />}
      <History
        tried={tried}
        use={(each) => {
          setValues(each.values)
          setPictures([])
          setQuery({ kind: each.kind, model: each.model })
        }}
        clear={() => setTried(clearHistory(owner))}
      />
    </div>
  )
}

function Choices({
  kind,
  model,
  models,
}: {
  kind: Kind
  model: string | undefined
  models: readonly string[]
}) {
  return (
    <div class="filters">
      <Choice
        title={words.kind}
        name="kind"
        value={kind}
        options={KINDS}
        show={(each) => words.kinds[each] ?? each}
        resets="model"
      />
      {model !== undefined && <Choice title={words.model} name="model" value={model} options={models} />}
    </div>
  )
}

function Price({
  quote,
  hasText,
  error,
}: {
  quote: Quote | undefined
  hasText: boolean
  error: ApiError | undefined
}) {
  if (error) return <span class="bad">{error.message}</span>
  if (!hasText) return <span class="quiet">{words.writeFirst}</span>
  return <span class="quiet">{quote ? words.atMost(moneyText(quote.most_usd)) : words.asking}</span>
}

interface Quoted {
  request: PlaygroundRequest | undefined
  /** Undefined while it is asked for. */
  quote: Quote | undefined
  error: ApiError | undefined
}

/** The request of a draft, and the most that it can cost. */
function useQuote(draft: Draft, model: PricedModel | undefined): Quoted {
  const [found, setFound] = useState<{ of: string; quote?: Quote; error?: ApiError }>()
  const made = attempt(() => requestOf(draft, model?.options[draft.kind]))
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
  const own = found?.of === key ? found : undefined
  return { request: made.value, quote: own?.quote, error: made.error ?? own?.error }
}

function attempt<Value>(make: () => Value): { value?: Value; error?: ApiError } {
  try {
    return { value: make() }
  } catch (error) {
    return { error: ApiError.from(error) }
  }
}

interface Exchange {
  answer: Answer | undefined
  error: ApiError | undefined
  isRunning: boolean
  isStopped: boolean
  start(kind: Kind, request: PlaygroundRequest): void
  stop(): void
}

/** One request at a time, and its answer as far as it has come. */
function useExchange(onEnd: (answer: Answer) => void): Exchange {
  const [state, setState] = useState<Pick<Exchange, 'answer' | 'error' | 'isRunning' | 'isStopped'>>({
    answer: undefined,
    error: undefined,
    isRunning: false,
    isStopped: false,
  })
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  return {
    ...state,
    start(kind, request) {
      const controller = new AbortController()
      running.current = controller
      setState({ answer: undefined, error: undefined, isRunning: true, isStopped: false })
      const show = (answer: Answer) => setState((before) => ({ ...before, answer }))
      run(kind, request, show, controller.signal).then(
        (answer) => {
          setState({ answer, error: undefined, isRunning: false, isStopped: false })
          onEnd(answer)
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

function History({ tried, use, clear }: { tried: readonly Tried[]; use(tried: Tried): void; clear(): void }) {
  return (
    <section class="part">
      <h2>{words.history}</h2>
      {tried.length === 0 ? (
        <p class="quiet">{words.noHistory}</p>
      ) : (
        <>
          <ul class="tried">
            {tried.map((each) => (
              <li key={each.at}>
                <button type="button" class="plain" onClick={() => use(each)} title={words.again}>
                  {each.values.text}
                </button>
                <span class="quiet">
                  {each.model} {each.costUsd && `· ${moneyText(each.costUsd)}`} · <Time at={each.at} />
                </span>
              </li>
            ))}
          </ul>
          <button type="button" onClick={clear}>
            {words.clear}
          </button>
        </>
      )}
    </section>
  )
}
