// Notices that an element, or the content in it, has another size.

import { useLayoutEffect, useRef } from 'preact/hooks'

/** Calls `act` whenever the size of a frame or of its first element changes, and once when they appear. */
export function useResize(frame: { current: HTMLElement | null }, act: (box: HTMLElement) => void): void {
  const latest = useRef(act)
  latest.current = act
  useLayoutEffect(() => {
    const box = frame.current
    if (!box) return
    const observer = new ResizeObserver(() => latest.current(box))
    observer.observe(box)
    if (box.firstElementChild) observer.observe(box.firstElementChild)
    return () => observer.disconnect()
  }, [])
}
