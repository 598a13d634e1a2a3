// Makes text safe to print: control characters become escapes that are read as text. Pure. A value of a vendor or a caller must
// never move the cursor, set a title, begin a line or reverse the order in which a terminal shows what follows.

/** C0, DEL, C1, line and paragraph separators, and characters that change the direction of text (Unicode Standard Annex 9). */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu

/** The text with its controls escaped as in JSON, so that a JSON document keeps its meaning. Line feeds and tabs stay. */
export function printable(text: string): string {
  return text.replace(CONTROLS, (control) =>
    control === '\n' || control === '\t' ? control : escapeOf(control),
  )
}

/** A value within a line: line feeds and tabs are escaped too. */
export function printableValue(text: string): string {
  return text.replace(CONTROLS, escapeOf)
}

function escapeOf(control: string): string {
  if (control === '\n') return '\\n'
  if (control === '\t') return '\\t'
  return `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`
}
