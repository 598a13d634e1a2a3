// Frames whose content may be too large for them: blocks of code and settings, and tables in texts. They are not landmarks: a page
// may have many with the same name.

import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

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
  useLayoutEffect(() => {
    const box = frame.current
    if (!box) return
    const observer = new ResizeObserver(() =>
      setCanScroll(box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight),
    )
    observer.observe(box)
    if (box.firstElementChild) observer.observe(box.firstElementChild)
    return () => observer.disconnect()
  }, [])
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
