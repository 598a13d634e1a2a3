// A turn of a conversation: the question, and the replies side by side. Calls of tools have a field for each result, which a person
// fills in: nothing that a model calls is ever run.

import { Copy } from '../parts/form'
import { keyTexts } from '../texts'
import { isBusy, Price } from './composer'
import { openCalls, type Turn } from './conversation'
import { useQuotes } from './quotes'
import { ReplyView } from './reply-view'
import type { PlaygroundState } from './state'

const words = keyTexts.playground

interface TurnViewProps {
  playground: PlaygroundState
  turn: Turn
  /** Position in the conversation, counted from 1. */
  number: number
  isLast: boolean
}

export function TurnView({ playground, turn, number, isLast }: TurnViewProps) {
  const { text, files, results, replies } = turn
  const isOpen = isLast && !isBusy(playground)
  return (
    <section class="turn" aria-label={words.turn(number)}>
      <div class="asked">
        {results ? (
          Object.entries(results).map(([id, result]) => (
            <p class="said" key={id}>
              <span class="quiet">{words.toolSaid}</span> {result}
            </p>
          ))
        ) : (
          <>
            {files.length > 0 && (
              <p class="thumbnails">
                {files.map(({ type, url, name, isMask }, index) =>
                  type.startsWith('image/') ? (
                    <img src={url} alt={isMask ? words.mask : words.sentPicture(index + 1)} key={index} />
                  ) : (
                    <audio controls src={url} aria-label={name} key={index} />
                  ),
                )}
              </p>
            )}
            {text && <p class="said">{text}</p>}
            <p class="actions">
              {text && <Copy text={text} />}
              {!isBusy(playground) && (
                <button type="button" onClick={() => playground.edit(turn)}>
                  {words.edit}
                </button>
              )}
            </p>
          </>
        )}
      </div>
      <div class="replies" data-count={replies.length}>
        {replies.map((reply) => (
          <ReplyView playground={playground} turn={turn} reply={reply} isOpen={isOpen} key={reply.model} />
        ))}
      </div>
      {isOpen && openCalls(playground.conversation.value).length > 0 && (
        <ToolResults playground={playground} />
      )}
    </section>
  )
}

/** A field for each call of the last turn, and the request that sends the entered results. */
function ToolResults({ playground }: { playground: PlaygroundState }) {
  const calls = openCalls(playground.conversation.value)
  const entered = playground.results.value
  const isWhole = calls.every(({ id }) => entered[id]?.trim())
  const callers =
    playground.conversation.value.turns.at(-1)?.replies.filter((each) => each.calls.length > 0) ?? []
  const models = playground.models.value.filter(({ id }) => callers.some(({ model }) => model === id))
  const next = playground.nextTurn(entered)
  const quoted = useQuotes(next, isWhole ? models : [])
  return (
    <form
      class="form tool-results"
      onSubmit={(event) => {
        event.preventDefault()
        if (quoted.priced) playground.send(next, quoted.priced)
      }}
    >
      {calls.map(({ id, name }) => (
        <label class="field" key={id}>
          <span>{words.toolResult(name)}</span>
          <textarea
            rows={2}
            required
            placeholder={words.toolResultHint}
            value={entered[id] ?? ''}
            onInput={({ currentTarget: { value } }) => {
              playground.results.value = { ...playground.results.value, [id]: value }
            }}
          />
        </label>
      ))}
      <p class="actions">
        <button type="submit" class="primary" disabled={!quoted.priced}>
          {words.sendResults}
        </button>
        <span role="status">
          <Price quoted={quoted} toWrite={words.resultsFirst} />
        </span>
      </p>
    </form>
  )
}
