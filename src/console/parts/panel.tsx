// The panel that slides in beside a list and shows one row of it in full. The address says which row is open, so closing it
// is a change of the address. The focus goes into it and back to the row.

import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { go, hrefOfRow } from '../address'
import { texts } from '../texts'
import { Icon } from './icon'

export function Panel({ title, children }: { title: string; children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    const before = document.activeElement
    heading.current?.focus()
    return () => before instanceof HTMLElement && before.isConnected && before.focus()
  }, [title])
  return (
    <section class="panel" aria-label={title}>
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

/** Closes the panel that is open. False if there is none. */
export function closePanel(): boolean {
  if (!document.querySelector('.panel')) return false
  go(hrefOfRow(null))
  return true
}

/** Facts about a thing: a name and a value each. */
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
            <div key={fact[0]}>
              <dt>{fact[0]}</dt>
              <dd>{fact[1] ?? '–'}</dd>
            </div>
          ),
      )}
    </dl>
  )
}
