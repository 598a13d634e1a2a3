// Calls of tools in a chat of the playground: a field for the result of each, which somebody enters by hand, and what was
// called and answered before. Nothing that a model calls is ever run.

import type { ComponentChildren } from 'preact'
import type { ToolCall, ToolTurn } from '../playground-request'
import { keyTexts } from '../texts'
import { Code } from './code'

const words = keyTexts.playground

export function ToolTurns({ turns }: { turns: readonly ToolTurn[] }) {
  return turns.map(({ text, calls, results }, index) => (
    <section class="turn" aria-label={words.turn(index + 1)} key={index}>
      {text && <p class="said">{text}</p>}
      {calls.map((call, place) => (
        <figure class="snippet" key={call.id}>
          <figcaption>{words.toolCall(call.name)}</figcaption>
          <Code label={words.toolCall(call.name)} text={call.arguments} />
          <Code label={words.toolResult(call.name)} text={`→ ${results[place]}`} />
        </figure>
      ))}
    </section>
  ))
}

interface ToolResultsProps {
  calls: readonly ToolCall[]
  results: readonly string[]
  change(results: readonly string[]): void
  /** Whether the request with the results is complete and its price is known. */
  isReady: boolean
  send(): void
  /** The price, beside the button. */
  children: ComponentChildren
}

export function ToolResults({ calls, results, change, isReady, send, children }: ToolResultsProps) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (isReady) send()
  }
  return (
    <form class="form" onSubmit={submit}>
      {calls.map(({ id, name }, index) => (
        <label class="field" key={id}>
          <span>{words.toolResult(name)}</span>
          <textarea
            rows={2}
            required
            placeholder={words.toolResultHint}
            value={results[index] ?? ''}
            onInput={({ currentTarget: { value } }) =>
              change(calls.map((_, each) => (each === index ? value : (results[each] ?? ''))))
            }
          />
        </label>
      ))}
      <p class="actions">
        <button type="submit" class="primary" disabled={!isReady}>
          {words.sendResults}
        </button>
        <span role="status">{children}</span>
      </p>
    </form>
  )
}
