// The panel that slides in next to a list and shows one row of it in full. The address says which row is open, so closing it is a
// change of the address. The focus moves into it and back to the row, and never to anything that the panel covers.

import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { hrefOfRow } from '../address'
import { texts } from '../texts'
import { Icon } from './icon'

export function Panel({ title, children }: { title: string; children: ComponentChildren }) {
  const panel = useRef<HTMLElement>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => (panel.current ? keepCoveredInert(panel.current) : undefined), [])
  useEffect(() => {
    const before = document.activeElement
    heading.current?.focus()
    return () => before instanceof HTMLElement && before.isConnected && before.focus()
  }, [title])
  return (
    <section ref={panel} class="panel" aria-label={title}>
      <header>
        <h2 ref={heading} tabIndex={-1}>
          {title}
        </h2>
        <a class="button plain" href={hrefOfRow(null)} aria-label={texts.close} data-closes>
          <Icon name="close" />
        </a>
      </header>
      <div class="panel-body">{children}</div>
    </section>
  )
}

const FOCUSABLE = 'a[href], button, input, select, textarea, summary, [tabindex]'

/** Makes everything inert that could have the focus while the panel covers it, until the returned function is called. */
function keepCoveredInert(panel: HTMLElement): () => void {
  const frame = panel.closest('.frame') ?? document.body
  const inert = new Set<HTMLElement>()
  const update = () => {
    const { left, top } = panel.getBoundingClientRect()
    for (const found of frame.querySelectorAll<HTMLElement>(FOCUSABLE)) {
      if (found.id === 'main' || panel.contains(found)) continue
      const box = found.getBoundingClientRect()
      // A heading whose only text is inert would be empty to a screen reader.
      const each = found.closest<HTMLElement>('th') ?? found
      // Content of the page scrolls below the panel; the header and the side bar stay in place.
      const isCovered = box.left >= left && (found.closest('main') !== null || box.top >= top)
      if (isCovered === inert.has(each)) continue
      each.inert = isCovered
      if (isCovered) inert.add(each)
      else inert.delete(each)
    }
  }
  let waiting = 0
  const later = () => {
    cancelAnimationFrame(waiting)
    waiting = requestAnimationFrame(update)
  }
  const sizes = new ResizeObserver(later)
  const rows = new MutationObserver(later)
  sizes.observe(document.body)
  sizes.observe(panel)
  rows.observe(frame, { childList: true, subtree: true })
  return () => {
    cancelAnimationFrame(waiting)
    sizes.disconnect()
    rows.disconnect()
    for (const each of inert) each.inert = false
  }
}

/** Closes what is open: the panel, or the page of one item that links back to its list. */
export function closeOpen(): void {
  document.querySelector<HTMLElement>('a[data-closes]')?.click()
}

/** Whether a value is a sentence, which needs the whole width. */
const isLong = (value: ComponentChildren) => typeof value === 'string' && value.length > 60

/** Facts about an item: a name and a value each. */
export function Facts({
  facts,
}: {
  facts: readonly (readonly [name: string, value: ComponentChildren] | false | null)[]
}) {
  return (
    <dl class="facts">
      {facts.map(
        (fact) =>
          fact && (
            <div key={fact[0]} class={isLong(fact[1]) ? 'long-fact' : undefined}>
              <dt>{fact[0]}</dt>
              <dd>{fact[1] ?? '–'}</dd>
            </div>
          ),
      )}
    </dl>
  )
}
