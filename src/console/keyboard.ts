// Keyboard shortcuts: Ctrl+K or `/` opens the palette, `?` lists the shortcuts, `j` and `k` move through the rows, `g` and a letter
// opens a page, Escape closes what is open. They are ignored while somebody types.

import { useEffect, useRef } from 'preact/hooks'
import { go, hrefOf } from './address'
import type { ConsolePage } from './pages'
import { closeOpen } from './parts/panel'

/** How long after `g` a letter opens a page, in milliseconds. */
const LETTER_MS = 1_500

export function useKeyboard(own: readonly ConsolePage[], showHelp: () => void): void {
  // A redraw between `g` and its letter must not forget the `g`.
  const latest = useRef({ own, showHelp })
  latest.current = { own, showHelp }
  useEffect(() => {
    let goAt = Number.NEGATIVE_INFINITY
    const press = (event: KeyboardEvent) => {
      const { own, showHelp } = latest.current
      if ((event.ctrlKey || event.metaKey) && event.key === 'k' && !document.querySelector('dialog[open]')) {
        document.getElementById('search')?.focus()
        event.preventDefault()
      }
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return
      const { key, target } = event
      const isTyping = target instanceof HTMLElement && target.closest('input, select, textarea') !== null
      if (key === 'Escape' && isTyping) {
        // The first Escape leaves the field with its text, the second closes the panel.
        target.blur()
        event.preventDefault()
      } else if (key === 'Escape') closeOpen()
      if (isTyping) return
      const page = event.timeStamp - goAt < LETTER_MS ? own.find(({ letter }) => letter === key) : undefined
      goAt = key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY
      if (page) go(hrefOf(page.name))
      else if (key === '?') showHelp()
      else if (key === '/') document.getElementById('search')?.focus()
      else if (key === 'j') moveRow(1)
      else if (key === 'k') moveRow(-1)
      else return
      event.preventDefault()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

/** Focuses the next or previous row. */
function moveRow(step: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('.row-link')]
  const focused = document.activeElement instanceof HTMLElement ? rows.indexOf(document.activeElement) : -1
  const from =
    focused >= 0 ? focused : rows.findIndex((row) => row.closest('tr')?.getAttribute('aria-current'))
  const next =
    from < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(Math.max(from + step, 0), rows.length - 1)
  rows[next]?.focus()
}
