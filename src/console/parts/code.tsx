// Frames whose content may be too large for them: blocks of code and settings, and tables in texts. They are not landmarks: a page
// may have many with the same name.

import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { useResize } from './resize'

interface ScrollerProps {
  label: string
  class: string
  /** One element, whose size is that of the content. */
  children: ComponentChildren
}

/** A frame that scrolls by itself. While it can, the keyboard reaches it too. */
export function Scroller({ label, class: name, children }: ScrollerProps) {
  const frame = useRef<HTMLElement>(null)
  const [canScroll, setCanScroll] = useState(false)
  useResize(frame, ({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
    setCanScroll(scrollWidth > clientWidth || scrollHeight > clientHeight),
  )
  return (
    <figure ref={frame} class={name} aria-label={label} tabIndex={canScroll ? 0 : undefined}>
      {children}
    </figure>
  )
}

export function Code({ label, text }: { label: string; text: string }) {
  return (
    <Scroller class="code" label={label}>
      <pre>{text}</pre>
    </Scroller>
  )
}
