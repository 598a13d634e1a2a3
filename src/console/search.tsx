// Search and jump: pages by their titles, and whatever has a name or an id by what the server finds.

import { useEffect, useState } from 'preact/hooks'
import { go, hrefOf } from './address'
import { call, session } from './api'
import { pages } from './pages'
import { texts } from './texts'

interface Hit {
  title: string
  kind: string
  href: string
}

/** How long somebody pauses before the server is asked, in milliseconds. */
const PAUSE_MS = 150

function pagesLike(text: string): Hit[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return []
  const own = pages.filter(({ kind }) => kind === session.value?.kind)
  return own
    .filter(({ title }) => title.toLowerCase().includes(wanted))
    .map(({ title, name }) => ({ title, kind: texts.page, href: hrefOf(name) }))
}

/** Things whose name begins like the text, or that have it as their id. */
function useFound(text: string): Hit[] {
  const [found, setFound] = useState<Hit[]>([])
  useEffect(() => {
    const q = text.trim()
    if (q === '' || session.value?.kind !== 'admin') return setFound([])
    const controller = new AbortController()
    const timer = setTimeout(async () => {
      // A search that fails finds nothing; whoever types sees the pages all the same.
      const { hits } = await call('search', { query: { q }, signal: controller.signal }).catch(() => ({
        hits: [],
      }))
      if (controller.signal.aborted) return
      setFound(
        hits.map(({ kind, name }) => ({
          title: name,
          kind: texts.hitKinds[kind],
          href: hrefOf(`${kind}s`, {}, name),
        })),
      )
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [text])
  return found
}

export function Search() {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const found = useFound(text)
  const hits = [...pagesLike(text), ...found]
  const open = (hit: Hit | undefined) => {
    if (!hit) return
    go(hit.href)
    setText('')
    document.getElementById('main')?.focus()
  }
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (event.key === 'Escape') setText('')
    else if (event.key === 'Enter') open(hits[chosen])
    else if (step !== 0)
      setChosen((before) => Math.min(Math.max(before + step, 0), Math.max(hits.length - 1, 0)))
    else return
    event.preventDefault()
  }
  return (
    <div class="search">
      <input
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
        onInput={(event) => {
          setText(event.currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={press}
      />
      <div id="hits" role="listbox" aria-label={texts.search} hidden={hits.length === 0}>
        {hits.map((hit, index) => (
          <div
            id={`hit-${index}`}
            key={hit.href}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onMouseDown={() => open(hit)}
          >
            {hit.title} <span class="quiet">{hit.kind}</span>
          </div>
        ))}
      </div>
    </div>
  )
}
