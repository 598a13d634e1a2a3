// Finds known names similar to a mistyped one. It must never correct a name by itself.

const MAX_NAMES = 3
/** One wrong letter in this many is allowed, and one more: two swapped letters count as two. */
const LETTERS_PER_FAULT = 5

/** The most similar names first. Names that begin with the given one, or differ only by case, count as similar. */
export function nearNames(name: string, names: Iterable<string>): string[] {
  const wanted = name.toLowerCase()
  const most = 1 + Math.ceil((wanted.length - 3) / LETTERS_PER_FAULT)
  return [...names]
    .map((known) => ({ known, faults: faultsBetween(wanted, known.toLowerCase()) }))
    .filter(({ faults, known }) => faults <= most || known.toLowerCase().startsWith(wanted))
    .sort((one, other) => one.faults - other.faults)
    .slice(0, MAX_NAMES)
    .map(({ known }) => known)
}

/**
 * A sentence that names the most similar names, each with its prefix on the command line. Begins with a space; empty if none is
 * similar.
 */
export function didYouMean(name: string, names: Iterable<string>, prefix = ''): string {
  const near = nearNames(name, names).map((known) => `${prefix}${known}`)
  return near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`
}

/** The Levenshtein distance of two texts. */
function faultsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1]
    for (let place = 1; place <= other.length; place++) {
      const swapped = (row[place - 1] ?? 0) + (other[place - 1] === letter ? 0 : 1)
      next.push(Math.min(swapped, (row[place] ?? 0) + 1, (next[place - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
