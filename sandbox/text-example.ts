// A plausible text for the rules of a JSON schema: its format, its pattern, its length. It must never run a pattern on anything but
// its own short texts, or try forever.

import { asNumber, asString, type JsonObject } from './json'

const formats: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  duration: 'P1D',
  email: 'somebody@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  'iri-reference': '/example',
  'json-pointer': '/example',
  regex: '^example$',
  time: '12:00:00Z',
  uri: 'https://example.com/',
  'uri-reference': '/example',
  url: 'https://example.com/',
  uuid: '3f2b1c4d-5e6f-4a7b-8c9d-0e1f2a3b4c5d',
}
const lengthMax = 10_000
/** Repetitions of a part of a pattern that may be repeated without end. */
const repetitionsMax = 200

/** A text for a schema. `name` is that of the member; `index` makes texts of a list differ. */
export function exampleText(schema: JsonObject, name: string, index: number): string {
  const least = Math.min(asNumber(schema.minLength) ?? 0, lengthMax)
  const most = asNumber(schema.maxLength) ?? lengthMax
  const pattern = patternOf(asString(schema.pattern))
  const formatted = formats[asString(schema.format) ?? '']
  const candidates = [formatted ?? fitted(name, index, least, most)]
  if (pattern) for (let more = 0; more < 4; more++) candidates.push(...matching(pattern.source, least + more))
  const fits = (text: string) =>
    text.length >= least && text.length <= most && (pattern === undefined || pattern.test(text))
  return candidates.find(fits) ?? candidates[0] ?? name
}

function fitted(name: string, index: number, least: number, most: number): string {
  const text = index === 0 ? name : `${name} ${index + 1}`
  const long = text.length >= least ? text : text.padEnd(least, ` ${name}`)
  if (long.length <= most) return long
  // The suffix distinguishes texts of a list.
  return index === 0 ? long.slice(0, most) : `${long}${index}`.slice(-most || long.length + 1)
}

function patternOf(text: string | undefined): RegExp | undefined {
  if (text === undefined || text.length > 1_000) return undefined
  try {
    return new RegExp(text, 'u')
  } catch {
    return undefined
  }
}

/** A text that a pattern may match, with repeated parts as long as needed; undefined for an unsupported pattern. */
function matching(source: string, least: number): string[] {
  try {
    const reader = new PatternReader(source, least)
    const text = reader.read()
    return [text]
  } catch {
    return []
  }
}

const classes: Readonly<Record<string, string>> = {
  d: '1',
  w: 'a',
  s: ' ',
  D: 'a',
  W: '-',
  S: 'a',
  b: '',
  B: '',
}

/** Writes the simplest text for the usual parts of patterns: the first branch of each choice, the fewest repetitions. */
class PatternReader {
  private at = 0
  private missing: number

  constructor(
    private readonly source: string,
    least: number,
  ) {
    this.missing = least
  }

  read(): string {
    const text = this.branches()
    if (this.at < this.source.length) throw new Error('not understood')
    return text
  }

  private branches(): string {
    let first: string | undefined
    do {
      const text = this.sequence()
      first ??= text
    } while (this.take('|'))
    return first ?? ''
  }

  private sequence(): string {
    let text = ''
    while (this.at < this.source.length && !'|)'.includes(this.source[this.at] ?? '')) text += this.repeated()
    return text
  }

  private repeated(): string {
    const one = this.atom()
    const [least, most] = this.quantifier()
    if (one === '') return ''
    const wished = most > least ? Math.min(most, least + Math.ceil(this.missing / one.length)) : least
    const text = one.repeat(Math.min(wished, Math.max(least, repetitionsMax)))
    this.missing = Math.max(0, this.missing - text.length)
    return text
  }

  private quantifier(): [least: number, most: number] {
    if (this.take('*')) return this.lazy([0, Number.POSITIVE_INFINITY])
    if (this.take('+')) return this.lazy([1, Number.POSITIVE_INFINITY])
    if (this.take('?')) return this.lazy([0, 1])
    const [whole, least, comma, most] = /^\{(\d{1,4})(,(\d{0,4}))?\}/.exec(this.source.slice(this.at)) ?? []
    if (whole === undefined) return [1, 1]
    this.at += whole.length
    const end = comma === undefined ? Number(least) : most ? Number(most) : Number.POSITIVE_INFINITY
    return this.lazy([Number(least), end])
  }

  private lazy(range: [number, number]): [number, number] {
    this.take('?')
    return range
  }

  private atom(): string {
    const letter = this.source[this.at++] ?? ''
    if (letter === '^' || letter === '$') return ''
    if (letter === '.') return 'a'
    if (letter === '\\') return this.escaped()
    if (letter === '[') return this.set()
    return letter === '(' ? this.group() : letter
  }

  private escaped(): string {
    const letter = this.source[this.at++] ?? ''
    if (/[1-9pPkux]/.test(letter)) throw new Error('not understood')
    return classes[letter] ?? ({ n: '\n', t: '\t', r: '\r' } as Record<string, string>)[letter] ?? letter
  }

  private group(): string {
    const [mark = ''] = /^\?(:|=|!|<=|<!|<[A-Za-z]\w*>)/.exec(this.source.slice(this.at)) ?? []
    this.at += mark.length
    const text = this.branches()
    if (!this.take(')')) throw new Error('not understood')
    // Lookarounds are only tested.
    return mark === '' || mark === '?:' || mark.endsWith('>') ? text : ''
  }

  private set(): string {
    const start = this.at
    while (this.at < this.source.length && this.source[this.at] !== ']')
      this.at += this.source[this.at] === '\\' ? 2 : 1
    const set = new RegExp(`[${this.source.slice(start, this.at)}]`, 'u')
    this.at++
    const found = [...'aA0-_. @/'].find((letter) => set.test(letter))
    if (found !== undefined) return found
    const code = Array.from({ length: 95 }, (_none, index) => String.fromCharCode(32 + index)).find(
      (letter) => set.test(letter),
    )
    if (code === undefined) throw new Error('not understood')
    return code
  }

  private take(letter: string): boolean {
    if (this.source[this.at] !== letter) return false
    this.at++
    return true
  }
}
