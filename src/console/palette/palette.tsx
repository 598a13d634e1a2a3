// The palette: finds pages, tabs and actions by typed text, anything with a name or an id through the server, and recently opened
// items. Ctrl+K or `/` opens it from anywhere.

import { useEffect, useRef, useState } from 'preact/hooks'
import { hrefOf } from '../address'
import { ApiError, call, session } from '../api'
import { askPrices } from '../key-api'
import { texts } from '../texts'
import { type Command, carryOut, commandOf, commandsFor, verbOf } from './commands'
import { matchOf } from './match'
import { recent, remember } from './recent'

/** Pause in typing before the server is asked, in milliseconds. */
const PAUSE_MS = 150
const MAX_COMMANDS = 6

function commandsLike(typed: string): Command[] {
  if (!session.value) return []
  return commandsFor(session.value)
    .map((command) => ({ command, score: matchOf(typed, command.title) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .slice(0, MAX_COMMANDS)
    .map(({ command }) => command)
}

/** Commands that contain the text, then results of the server, then commands that contain its letters. */
function merged(typed: string, commands: readonly Command[], found: readonly Command[]): Command[] {
  const text = typed.trim().toLowerCase()
  const { true: exact = [], false: loose = [] } = Object.groupBy(commands, ({ title }) =>
    String(title.toLowerCase().includes(text)),
  )
  return [...exact, ...found, ...loose]
}

async function foundFor(typed: string, signal: AbortSignal): Promise<Command[]> {
  if (session.value?.kind === 'key') {
    const { data } = await askPrices(signal)
    return data
      .filter(({ id }) => matchOf(typed, id) > 0)
      .slice(0, MAX_COMMANDS)
      .map(({ id }) => ({ title: id, kind: texts.hitKinds.model, href: hrefOf('models', {}, id) }))
  }
  const action = verbOf(typed)
  const q = action?.name ?? typed
  if (q === '') return []
  const { hits } = await call('search', { query: { q }, signal })
  return action
    ? hits.filter(({ kind }) => kind === action.verb.of).map(({ name }) => commandOf(action.verb, name))
    : hits.map(({ kind, name }) => ({
        title: name,
        kind: texts.hitKinds[kind],
        href: hrefOf(`${kind}s`, {}, name),
      }))
}

/** Names that the server finds for a text. A failed search finds nothing; the commands are still there. */
function useFound(text: string): Command[] {
  const [found, setFound] = useState<Command[]>([])
  useEffect(() => {
    const typed = text.trim()
    if (typed === '') return setFound([])
    const controller = new AbortController()
    const timer = setTimeout(async () => {
      const commands = await foundFor(typed, controller.signal).catch(() => [])
      if (!controller.signal.aborted) setFound(commands)
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [text])
  return found
}

export function Palette() {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const [isFocused, setFocused] = useState(false)
  const [error, setError] = useState<ApiError>()
  const input = useRef<HTMLInputElement>(null)
  const found = useFound(text)
  const hits = text.trim() === '' ? (isFocused ? recent() : []) : merged(text, commandsLike(text), found)
  const type = (typed: string) => {
    setText(typed)
    setChosen(0)
    setError(undefined)
  }
  const open = (hit: Command | undefined) => {
    if (!hit) return
    type('')
    remember(hit)
    input.current?.blur()
    carryOut(hit).then(
      () => document.getElementById('main')?.focus(),
      (fault) => setError(ApiError.from(fault)),
    )
  }
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (event.key === 'Escape' && text !== '') type('')
    else if (event.key === 'Enter') open(hits[chosen])
    else if (step !== 0)
      setChosen((before) => Math.min(Math.max(before + step, 0), Math.max(hits.length - 1, 0)))
    else return
    event.preventDefault()
  }
  return (
    <div class="search">
      <input
        ref={input}
        id="search"
        type="text"
        role="combobox"
        list={undefined}
        aria-label={texts.search}
        aria-expanded={hits.length > 0}
        aria-controls="hits"
        aria-activedescendant={hits.length > 0 ? `hit-${chosen}` : undefined}
        placeholder={texts.search}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onFocus={() => setFocused(true)}
        onBlur={() => setFocused(false)}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={press}
      />
      <span class="shortcut">{texts.palette.keys}</span>
      <Hits hits={hits} chosen={chosen} open={open} />
      {error && (
        <p class="failed" role="alert">
          {error.message}
        </p>
      )}
    </div>
  )
}

function Hits({
  hits,
  chosen,
  open,
}: {
  hits: readonly Command[]
  chosen: number
  open(hit: Command): void
}) {
  return (
    <div id="hits" role="listbox" aria-label={texts.search} hidden={hits.length === 0}>
      {hits.map((hit, index) => (
        <div
          id={`hit-${index}`}
          key={`${hit.kind} ${hit.title}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === chosen}
          onMouseDown={(event) => {
            // The field keeps the focus until the command is executed.
            event.preventDefault()
            open(hit)
          }}
        >
          {hit.title} <span class="quiet">{hit.kind}</span>
        </div>
      ))}
    </div>
  )
}
