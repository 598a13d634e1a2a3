// How well typed text matches a title: `nk` finds "New key", `statm` finds "Statements". Letters must appear in order; those at the
// beginning of a word and adjacent ones count more.

/** A match with a lower score per letter is a coincidence. */
const MIN_PER_LETTER = 5

/** The higher the better; 0 if the letters are not all there. */
export function matchOf(typed: string, title: string): number {
  const wanted = typed.trim().toLowerCase()
  const text = title.toLowerCase()
  if (wanted === '') return 0
  const found = text.indexOf(wanted)
  if (found >= 0) return 1_000 - found - text.length / 100 + (isWordStart(text, found) ? 1_000 : 0)
  let score = 1
  let at = -1
  for (const letter of wanted.replaceAll(' ', '')) {
    const next = nextOf(text, letter, at + 1)
    if (next < 0) return 0
    score += next === at + 1 ? 8 : isWordStart(text, next) ? 10 : 1
    at = next
  }
  return score < wanted.length * MIN_PER_LETTER ? 0 : score - text.length / 100
}

/** The position of a letter: directly after the previous one, otherwise at the beginning of a word, otherwise anywhere. */
function nextOf(text: string, letter: string, from: number): number {
  if (text[from] === letter) return from
  for (let at = from; at < text.length; at++) if (text[at] === letter && isWordStart(text, at)) return at
  return text.indexOf(letter, from)
}

function isWordStart(text: string, at: number): boolean {
  return at === 0 || !/[a-z0-9]/.test(text[at - 1] ?? '')
}
