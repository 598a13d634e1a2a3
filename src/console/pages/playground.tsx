// The playground: a conversation with one model or several side by side, each turn with its maximum price before it is sent and its
// price afterwards. Conversations are stored only in this browser.

import { useEffect, useMemo, useRef } from 'preact/hooks'
import { address } from '../address'
import { session } from '../api'
import { askPrices, type PricedModel } from '../key-api'
import { Loaded } from '../parts/loaded'
import { moneyText } from '../parts/money'
import { ProgramView } from '../parts/program'
import { Composer, isBusy } from '../playground/composer'
import { KINDS } from '../playground/conversation'
import { costOf, KeptList } from '../playground/kept-list'
import { ModelChoice } from '../playground/model-choice'
import { Settings } from '../playground/settings'
import { type PlaygroundState, playgroundStateOf } from '../playground/state'
import { TurnView } from '../playground/turn-view'
import { useQuery } from '../query'
import { keyTexts } from '../texts'

const words = keyTexts.playground

export default function Playground() {
  const load = useQuery(['prices'], askPrices)
  return (
    <>
      <h1 class="hidden">{words.title}</h1>
      <Loaded of={load}>{({ data }) => <Place owner={session.value?.id ?? ''} models={data} />}</Loaded>
    </>
  )
}

interface PlaceProps {
  /** The id of the person whose conversations these are. */
  owner: string
  models: readonly PricedModel[]
}

export function Place({ owner, models }: PlaceProps) {
  const playground = playgroundStateOf(owner)
  const { query } = address.value
  // The requested state of the address is applied before anything is drawn.
  useMemo(() => {
    playground.models.value = models
    const kind = KINDS.find((each) => each === query.kind)
    if (!kind && !query.model) return
    const asked = kind ?? playground.conversation.value.kind
    const usable = playground.modelsFor(asked).map(({ id }) => id)
    const named = (query.model ?? '').split(',').filter((id) => usable.includes(id))
    const current = playground.conversation.value
    if (asked !== current.kind || (named.length > 0 && named.join() !== current.models.join()))
      playground.choose(asked, named)
  }, [playground, models, query.kind, query.model])
  const { conversation, chosen } = playground
  const { turns, kind } = conversation.value
  return (
    <div class="playground">
      <header class="playground-head">
        <ModelChoice playground={playground} />
        {turns.length > 0 && (
          <p class="quiet" role="status">
            {words.runningTotal(moneyText(costOf(conversation.value)))}
          </p>
        )}
        <button type="button" onClick={() => playground.begin(kind, conversation.value.models)}>
          {words.newConversation}
        </button>
      </header>
      <section class="thread" aria-label={words.conversation}>
        <Turns playground={playground} />
        {chosen.length > 0 ? (
          <Composer playground={playground} models={chosen} />
        ) : (
          <p class="empty">{words.noModel}</p>
        )}
      </section>
      <Side playground={playground} models={chosen} />
    </div>
  )
}

function Turns({ playground }: { playground: PlaygroundState }) {
  const { turns, kind } = playground.conversation.value
  const end = useRef<HTMLDivElement>(null)
  const isRunning = isBusy(playground)
  // A new turn is scrolled into view; later content moves nothing that somebody reads.
  useEffect(() => {
    if (isRunning) end.current?.scrollIntoView({ block: 'end' })
  }, [turns.length, isRunning])
  return (
    <div class="turns">
      {turns.length === 0 && (
        <div class="playground-empty">
          <p>{words.emptyTitle[kind]}</p>
          <p class="quiet">{words.empty}</p>
        </div>
      )}
      {turns.map((turn, index) => (
        <TurnView
          playground={playground}
          turn={turn}
          number={index + 1}
          isLast={index === turns.length - 1}
          key={turn.id}
        />
      ))}
      <div class="turns-end" ref={end} />
    </div>
  )
}

function Side({ playground, models }: { playground: PlaygroundState; models: readonly PricedModel[] }) {
  const [sent] = playground.sent.value
  return (
    <aside class="playground-side">
      <details class="playground-part" open>
        <summary>{words.settings}</summary>
        <Settings playground={playground} models={models} />
      </details>
      <details class="playground-part">
        <summary>{words.history}</summary>
        <KeptList playground={playground} />
      </details>
      {sent && (
        <details class="playground-part">
          <summary>{words.code}</summary>
          <ProgramView request={sent.request} />
        </details>
      )}
    </aside>
  )
}
