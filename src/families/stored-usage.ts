// Reads a vendor's usage object as stored with a charge, without its answer, by the same readers that bill answers. It must never
// decide which reading is right: only the price that was charged shows that.

import { type Quantities, units } from '../contract/units'
import { chatFigures } from './chat/caller-side'
import { messageFigures } from './messages/caller-side'
import { responseFigures } from './responses/reading'

/** The readers of each dialect in which vendors report tokens. */
const READERS: readonly ((usage: unknown) => Quantities | 'invalid' | undefined)[] = [
  chatFigures,
  messageFigures,
  (usage) => responseFigures({ usage }),
]

/** The distinct figures that the dialects read from a usage object. */
export function readingsOf(usage: unknown): Quantities[] {
  const readings = new Map<string, Quantities>()
  for (const read of READERS) {
    const figures = read(usage)
    if (figures !== undefined && figures !== 'invalid')
      readings.set(JSON.stringify(units.map((unit) => figures[unit] ?? 0)), figures)
  }
  return [...readings.values()]
}
