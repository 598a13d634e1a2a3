// How much of an amount is used, as a bar with text.

import { dollarsOf } from '../parts/money'

interface UsedProps {
  /** The name of the amount, for screen readers. */
  title: string
  used: string
  of: string
  text: string
}

export function Used({ title, used, of, text }: UsedProps) {
  return (
    <div class="used">
      <progress aria-label={title} max={dollarsOf(of)} value={Math.min(dollarsOf(used), dollarsOf(of))} />{' '}
      {text}
    </div>
  )
}
