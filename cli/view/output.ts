// Prints for commands: results on standard output, messages on standard error, colour only on a terminal. With JSON, standard
// output must never contain anything but the one document. Only our own escape sequences may ever be printed.

import { writeSync } from 'node:fs'
import { printable, printableValue } from '../../src/lib/printable'

/**
 * Prints a result. `console.log` rather than a stream, because it stays silent if the reader of a pipe exits, as `head` does.
 */
export function print(text: string): void {
  console.log(forTerminal(text))
}

/** Prints a message for people. Not with `console.error`, which colours everything red on a terminal. */
export function say(text: string): void {
  try {
    writeSync(process.stderr.fd, `${forTerminal(text)}\n`)
  } catch {
    // Nobody reads standard error any more; the work is done anyway.
  }
}

interface Status {
  show(text: string): void
  /** Clears the line for other output. */
  clear(): void
}

/** Messages that replace the previous one on a terminal: only the newest counts. */
export function createStatus(): Status {
  if (!process.stderr.isTTY || process.env.TERM === 'dumb') return { show: say, clear() {} }
  const write = (text: string) => process.stderr.write(`\r\u001b[2K${text}`)
  return {
    // A line that wraps could not be replaced.
    show: (text) => write(onOneLine(text).slice(0, (process.stderr.columns || 80) - 1)),
    clear: () => write(''),
  }
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2))
}

/** Prints a list page by page: the same output as `printJson` for the whole list, without holding it in memory. */
export async function printJsonList<Item>(
  pages: AsyncIterable<readonly Item[]> | Iterable<readonly Item[]>,
  show: (item: Item) => unknown,
): Promise<void> {
  let before: string | undefined
  for await (const page of pages) {
    if (page.length === 0) continue
    // A comma follows only where another page does.
    print(before === undefined ? '[' : `${before},`)
    before = page.map((item) => JSON.stringify(show(item), null, 2).replaceAll(/^/gm, '  ')).join(',\n')
  }
  print(before === undefined ? '[]' : `${before}\n]`)
}

/** Prints lines that arrive in pieces. */
export async function printStream(stream: ReadableStream<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const piece of stream) {
    rest += decoder.decode(piece, { stream: true })
    const end = rest.lastIndexOf('\n')
    if (end === -1) continue
    print(rest.slice(0, end).replaceAll('\r', ''))
    rest = rest.slice(end + 1)
  }
}

/**
 * Placeholder of our own escape sequences until they are printed. It is random in each process, so that no displayed text can
 * contain it.
 */
const SEAL = crypto.getRandomValues(new Uint32Array(2)).join('')
const SEALED = new RegExp(`\\u001b\\[${SEAL};(\\d+)m`)

/** The text for a terminal: with our own styles, and every other control character escaped. */
function forTerminal(text: string): string {
  return mapped(text, printable, (style) => `\u001b[${style}m`)
}

/** A value within a line, which may be styled: it can neither end the line nor be wider than it looks. */
export function onOneLine(text: string): string {
  return mapped(text, printableValue, sealed)
}

function mapped(text: string, safe: typeof printable, styleOf: (style: string) => string): string {
  // Every second piece is the number of a style.
  const pieces = text.split(SEALED)
  return pieces.map((piece, index) => (index % 2 === 0 ? safe(piece) : styleOf(piece))).join('')
}

function sealed(style: string): string {
  return `\u001b[${SEAL};${style}m`
}

const STYLES = {
  bold: ['1', '22'],
  dim: ['2', '22'],
  red: ['31', '39'],
  green: ['32', '39'],
  yellow: ['33', '39'],
  cyan: ['36', '39'],
} as const
export type Style = keyof typeof STYLES

/** The text in a style, for `print` and `say`; unchanged if colour is not wanted. */
export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  if (!stream.isTTY || process.env.NO_COLOR || process.env.TERM === 'dumb') return text
  const [on, off] = STYLES[style]
  return `${sealed(on)}${text}${sealed(off)}`
}

/** Columns of the terminal for results; undefined for a file or another program. */
export function terminalWidth(): number | undefined {
  return process.stdout.isTTY ? process.stdout.columns || 80 : undefined
}
