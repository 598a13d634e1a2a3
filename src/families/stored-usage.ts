// Reads a vendor's usage object as a charge stores it, without its answer, by the same readers that bill answers. It must never decide
// which reading is right: only the price that was charged shows that.

import type { Quantities } from '../contract/units'
import { chatFigures } from './chat/caller-side'
import { messageFigures } from './messages/caller-side'
import { responseFigures } from './responses/reading'

/** The readers of each dialect in which vendors report tokens. */
const READERS: readonly ((usage: unknown) => Quantities | 'invalid' | undefined)[] = [
  chatFigures,
  messageFigures,
  (usage) => responseFigures({ usage }),
]

/** The figures of a usage object in each dialect that can read it. */
export function readingsOf(usage: unknown): Quantities[] {
  return READERS.flatMap((read) => {
    const figures = read(usage)
    return figures === undefined || figures === 'invalid' ? [] : [figures]
  })
}
