// A figure that links to its rows.

import type { ComponentChildren } from 'preact'

interface FigureProps {
  title: string
  href: string
  children: ComponentChildren
  /** A line below the figure. */
  note?: string | undefined
}

export function Figure({ title, href, children, note }: FigureProps) {
  return (
    <a class="figure" href={href}>
      <span>{title}</span>
      <strong>{children}</strong>
      {note && <span>{note}</span>}
    </a>
  )
}
