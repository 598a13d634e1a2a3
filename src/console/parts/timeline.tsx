// The time of one request as a bar of its phases, each with its length in words, because the bar of a short phase has no room for
// them.

import { durationText } from './time'

export interface Span {
  title: string
  /** Milliseconds from the beginning. */
  from: number
  to: number
  tone: 'own' | 'wait' | 'answer' | 'failed'
}

export function Timeline({ spans, totalMs }: { spans: readonly Span[]; totalMs: number }) {
  const share = (milliseconds: number) => `${(milliseconds / Math.max(1, totalMs)) * 100}%`
  return (
    <div class="timeline">
      <div class="timeline-bar" aria-hidden="true">
        {spans.map(({ title, from, to, tone }) => (
          <i
            key={`${title} ${from}`}
            class={`span-${tone}`}
            style={{ left: share(from), width: share(to - from) }}
          />
        ))}
      </div>
      <ol>
        {spans.map(({ title, from, to, tone }) => (
          <li key={`${title} ${from}`}>
            <i class={`swatch span-${tone}`} /> {title} <span class="number">{durationText(to - from)}</span>
          </li>
        ))}
      </ol>
    </div>
  )
}
