// Chooses the kind of work and the models: up to four answer side by side. Both are kept in the address.

import { setQuery } from '../address'
import { keyTexts } from '../texts'
import { KINDS, type Kind, MAX_MODELS } from './conversation'
import type { PlaygroundState } from './state'

const words = keyTexts.playground

export function ModelChoice({ playground }: { playground: PlaygroundState }) {
  const { kind } = playground.conversation.value
  const chosen = playground.chosen.map(({ id }) => id)
  const usable = playground.modelsFor(kind).map(({ id }) => id)
  const others = usable.filter((id) => !chosen.includes(id))
  const choose = (next: Kind, models: readonly string[]) => {
    playground.choose(next, models)
    setQuery({ kind: next, model: models.join(',') || null })
  }
  return (
    <div class="model-choice">
      <label>
        <span class="hidden">{words.kind}</span>
        <select
          name="kind"
          value={kind}
          onChange={(event) => {
            const next = KINDS.find((each) => each === event.currentTarget.value)
            if (next) choose(next, [])
          }}
        >
          {KINDS.map((each) => (
            <option value={each} key={each}>
              {words.kinds[each]}
            </option>
          ))}
        </select>
      </label>
      {chosen.map((model, place) => (
        <ChosenModel
          key={model}
          model={model}
          place={place}
          options={[model, ...others].sort()}
          change={(id) =>
            choose(
              kind,
              chosen.map((each) => (each === model ? id : each)),
            )
          }
          remove={
            chosen.length > 1
              ? () =>
                  choose(
                    kind,
                    chosen.filter((each) => each !== model),
                  )
              : undefined
          }
        />
      ))}
      {chosen.length > 0 && chosen.length < MAX_MODELS && others[0] && (
        <button type="button" onClick={() => choose(kind, [...chosen, others[0] ?? ''])}>
          {words.compare}
        </button>
      )}
    </div>
  )
}

interface ChosenModelProps {
  model: string
  place: number
  options: readonly string[]
  change(id: string): void
  /** Absent if only one is chosen. */
  remove: (() => void) | undefined
}

function ChosenModel({ model, place, options, change, remove }: ChosenModelProps) {
  return (
    <span class="chosen-model">
      <label>
        <span class="hidden">{words.modelAt(place + 1)}</span>
        <select
          name={`model-${place}`}
          value={model}
          onChange={({ currentTarget: { value } }) => change(value)}
        >
          {options.map((id) => (
            <option value={id} key={id}>
              {id}
            </option>
          ))}
        </select>
      </label>
      {remove && (
        <button type="button" class="plain" aria-label={words.removeModel(model)} onClick={remove}>
          ×
        </button>
      )}
    </span>
  )
}
