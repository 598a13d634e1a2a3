// Random choices that a seed repeats.

export interface Random {
  /** A whole number from 0 up to, but not including, `end`. */
  below(end: number): number
  chance(share: number): boolean
  pick<Item>(items: readonly Item[]): Item
}

/** Whether this run tries every generated case instead of a sample chosen by its seeds. */
export const isWholeRun = process.env.TEST_WHOLE !== undefined

/** Whether this run is the quick one, which tries a smaller sample. */
export const isQuickRun = process.env.TEST_QUICK !== undefined

/**
 * How many of the given number of random cases this run tries: all in a whole run, otherwise a fifth, or a twentieth. The seed says
 * which.
 */
export function casesOf(count: number): number {
  return isWholeRun ? count : Math.ceil(count / (isQuickRun ? 20 : 5))
}

/** The seed of this run: that of an environment variable, to repeat a failure, or a new one. */
export function seedOf(variable: string): number {
  return Number(process.env[variable] ?? crypto.getRandomValues(new Uint32Array(1))[0])
}

/** The step through all mixtures of lists: every fifth in a whole run, otherwise fewer. The seed chooses where it begins. */
export const MIXTURE_STEP = isWholeRun ? 5 : isQuickRun ? 160 : 40

/** All orders in which lists can be mixed when each keeps its own. */
export function interleavings<Item>(lists: readonly (readonly Item[])[]): Item[][] {
  const open = lists.filter((list) => list.length > 0)
  if (open.length === 0) return [[]]
  return open.flatMap((list) => {
    const rest = interleavings(open.map((other) => (other === list ? other.slice(1) : other)))
    return rest.map((items) => [list[0] as Item, ...items])
  })
}

/** The generator known as mulberry32: small, fast and good enough for tests. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (end: number) => Math.floor(next() * end)
  return {
    below,
    chance: (share) => next() < share,
    pick<Item>(items: readonly Item[]): Item {
      if (items.length === 0) throw new Error('there is nothing to pick from')
      return items[below(items.length)] as Item
    },
  }
}
