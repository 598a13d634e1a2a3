// A turn of a conversation: the question, and the replies side by side. Calls of tools have a field for each result, which
// somebody enters by hand: nothing that a model calls is ever run.

import { Copy } from '../parts/form'
import { keyTexts } from '../texts'
import type { Bench } from './bench'
import { isBusy, Price } from './composer'
import { openCalls, type Turn } from './conversation'
import { useQuotes } from './quotes'
import { ReplyView } from './reply-view'

const words = keyTexts.playground

interface TurnViewProps {
  bench: Bench
  turn: Turn
  /** Place in the conversation, from 1. */
  number: number
  isLast: boolean
}

export function TurnView({ bench, turn, number, isLast }: TurnViewProps) {
  const { text, files, results, replies } = turn
  const isOpen = isLast && !isBusy(bench)
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
              {!isBusy(bench) && (
                <button type="button" onClick={() => bench.edit(turn)}>
                  {words.edit}
                </button>
              )}
            </p>
          </>
        )}
      </div>
      <div class="replies" data-count={replies.length}>
        {replies.map((reply) => (
          <ReplyView bench={bench} turn={turn} reply={reply} isOpen={isOpen} key={reply.model} />
        ))}
      </div>
      {isOpen && openCalls(bench.conversation.value).length > 0 && <ToolResults bench={bench} />}
    </section>
  )
}

/** A field for each call of the last turn, and the request that sends what is entered. */
function ToolResults({ bench }: { bench: Bench }) {
  const calls = openCalls(bench.conversation.value)
  const entered = bench.results.value
  const isWhole = calls.every(({ id }) => entered[id]?.trim())
  const callers = bench.conversation.value.turns.at(-1)?.replies.filter((each) => each.calls.length > 0) ?? []
  const models = bench.models.value.filter(({ id }) => callers.some(({ model }) => model === id))
  const asked = bench.asked(entered)
  const quoted = useQuotes(asked, isWhole ? models : [])
  return (
    <form
      class="form tool-results"
      onSubmit={(event) => {
        event.preventDefault()
        if (quoted.priced) bench.send(asked, quoted.priced)
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
              bench.results.value = { ...bench.results.value, [id]: value }
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
