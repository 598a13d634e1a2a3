// The playground: a request as a form at the left, with the most that it can cost before it is sent, and its answer as it
// comes at the right, with what it cost. What was tried stays in this browser alone.

import { useState } from 'preact/hooks'
import { address, setQuery } from '../address'
import { session } from '../api'
import { askPrices, type PricedModel } from '../key-api'
import { Choice } from '../parts/choice'
import { Loaded, useLoaded } from '../parts/loaded'
import { moneyText } from '../parts/money'
import { AnswerView, PlaygroundError } from '../parts/playground-answer'
import { PlaygroundForm } from '../parts/playground-form'
import { ProgramView } from '../parts/program'
import { Time } from '../parts/time'
import { ToolResults, ToolTurns } from '../parts/tool-results'
import { type Exchange, type Quoted, useExchange, useQuote } from '../playground-exchange'
import { addToHistory, clearHistory, historyOf, type Tried } from '../playground-history'
import { type Draft, KINDS, type Kind } from '../playground-request'
import { keyTexts } from '../texts'

const words = keyTexts.playground

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
  const draft: Draft = { kind, model: model?.id ?? '', values, pictures, turns: [] }
  const quoted = useQuote(draft, model)
  const exchange = useExchange((sent, { costUsd }) => {
    const at = new Date().toISOString()
    setTried(addToHistory(owner, { kind: sent.kind, model: sent.model, values: sent.values, costUsd, at }))
  })
  const [results, setResults] = useState<readonly string[]>([])
  const followUp = followUpOf(exchange, results)
  const followUpQuoted = useQuote(
    followUp,
    models.find(({ id }) => id === followUp?.model),
  )
  const send = (what: Draft, { request }: Quoted) => {
    setResults([])
    if (request) exchange.start(what, request)
  }
  // What is to be sent next: the results of tools once there are some, else what stands in the form.
  const next = followUpQuoted.request ? { kind: 'chat' as const, ...followUpQuoted } : { kind, ...quoted }
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
            isReady={quoted.request !== undefined}
            send={() => send(draft, quoted)}
            stop={exchange.stop}
          >
            <Price quoted={quoted} toWrite={words.writeFirst} />
          </PlaygroundForm>
        ) : (
          <p class="empty">{words.noModel}</p>
        )}
      </section>
      <AnswerPart
        exchange={exchange}
        results={results}
        setResults={setResults}
        quoted={followUpQuoted}
        send={() => followUp && send(followUp, followUpQuoted)}
      />
      {next.request && <ProgramView kind={next.kind} request={next.request} />}
      <History
        tried={tried}
        use={({ values, kind, model }) => {
          setValues(values)
          setPictures([])
          setQuery({ kind, model })
        }}
        clear={() => setTried(clearHistory(owner))}
      />
    </div>
  )
}

interface AnswerPartProps {
  exchange: Exchange
  results: readonly string[]
  setResults(results: readonly string[]): void
  /** The request that sends the results of tools. */
  quoted: Quoted
  send(): void
}

/** The answer as far as it has come, with what tools were called before, and a field for each that it calls. */
function AnswerPart({ exchange, results, setResults, quoted, send }: AnswerPartProps) {
  const { draft, answer, error, isRunning, isStopped } = exchange
  return (
    <section class="part" aria-label={words.answer}>
      <h2>{words.answer}</h2>
      <ToolTurns turns={draft?.turns ?? []} />
      {(answer || !error) && <AnswerView answer={answer} isRunning={isRunning} isStopped={isStopped} />}
      {error && <PlaygroundError error={error} />}
      {answer && hasCalls(exchange) && (
        <ToolResults
          calls={answer.calls}
          results={results}
          change={setResults}
          isReady={quoted.request !== undefined}
          send={send}
        >
          <Price quoted={quoted} toWrite={words.resultsFirst} />
        </ToolResults>
      )}
    </section>
  )
}

function hasCalls({ answer, error, isRunning, isStopped }: Exchange): boolean {
  return answer !== undefined && answer.calls.length > 0 && !error && !isRunning && !isStopped
}

/** The request that sends the results of the tools that were called; undefined before all are entered. */
function followUpOf(exchange: Exchange, results: readonly string[]): Draft | undefined {
  const { draft, answer } = exchange
  if (!draft || !answer || !hasCalls(exchange)) return undefined
  const { text, calls } = answer
  if (calls.some((_, index) => !results[index]?.trim())) return undefined
  return { ...draft, turns: [...draft.turns, { text, calls, results }] }
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

function Price({ quoted, toWrite }: { quoted: Quoted; toWrite: string }) {
  const { quote, error, isComplete } = quoted
  if (error) return <span class="bad">{error.message}</span>
  if (!isComplete) return <span class="quiet">{toWrite}</span>
  return <span class="quiet">{quote ? words.atMost(moneyText(quote.most_usd)) : words.asking}</span>
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
