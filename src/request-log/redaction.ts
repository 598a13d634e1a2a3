// What may be kept of a body for people to read. It works on text: a body may be cut, wrong or not JSON, and is never parsed into
// an object. Keys, media, and fields that the operator names must never pass. Its running time is limited by the length of the
// text.

/** Names of members whose values are keys, in lower case. */
const SECRET_NAMES = [
  'authorization',
  'proxy-authorization',
  'api_key',
  'api-key',
  'apikey',
  'x-api-key',
  'access_token',
  'refresh_token',
  'id_token',
  'client_secret',
  'webhook_secret',
  'secret',
  'secret_key',
  'private_key',
  'password',
]
// Each pattern consumes everything it has inspected, so that the running time is linear.
const KEY =
  /\bBearer\s+[^\s"\\]+|\b(?:sk|rk|pk|gsk|x[a-z]{2}|r8|hf|gh[opsu]|github_pat|glpat|xox[abprs]|whsec)[-_][\w-]{16,}|\bAIza[\w-]{30,}|\bAKIA[A-Z0-9]{16}|(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}-----|$)/g
const DATA_URL = /\bdata:[\w.+-]{1,60}\/[\w.+-]{1,60}(?:;[\w=-]{1,40}){0,4},[\w+/=%-]+/g
/** Minimum length of a text that counts as media if it consists of base64 characters, and how much of it is inspected. */
const MEDIA_LENGTH = 512
const BASE64 = /^(?:[\w+/=-]|\\[/nr])*\\?$/
/** Characters after the last kept one that are inspected. */
const KEY_LENGTH = 256
/** An escape that was cut off. */
const CUT_ESCAPE = /\\(?:u[\da-fA-F]{0,3})?$/
const REDACTED = '[redacted]'

export interface RedactionRules {
  /** Names of members whose values are removed, in lower case. */
  names: ReadonlySet<string>
  /** Maximum length of a kept text. */
  maxLength: number
}

/** The rules of an operator: fields by name, in addition to those that are always removed. */
export function redactionRules(fields: readonly string[], maxLength: number): RedactionRules {
  return { names: new Set([...SECRET_NAMES, ...fields.map((field) => field.toLowerCase())]), maxLength }
}

/** A text as it may be kept. `bytes` is the size of the whole body; the text may be only its beginning. */
export function redacted(text: string, rules: RedactionRules, bytes: number = text.length): string {
  const kept = new KeptText(text, rules)
  const isWhole = kept.read()
  return isWhole && text.length >= bytes ? kept.text : `${kept.text}… [${bytes} bytes in all]`
}

/** Reads a text string by string: names before a colon, and values, anywhere. */
class KeptText {
  text = ''
  private at = 0

  constructor(
    private readonly from: string,
    private readonly rules: RedactionRules,
  ) {}

  /** False if part of the text was dropped. */
  read(): boolean {
    const { from } = this
    while (this.at < from.length) {
      if (this.text.length >= this.rules.maxLength) return this.cut()
      const open = from.indexOf('"', this.at)
      if (open !== this.at) this.addPlain(open < 0 ? from.length : open)
      else this.readString(open)
    }
    return this.text.length <= this.rules.maxLength || this.cut()
  }

  private cut(): false {
    this.text = this.text.slice(0, this.rules.maxLength)
    return false
  }

  private addPlain(end: number): void {
    this.text += withoutKeys(this.from.slice(this.at, Math.min(end, this.at + this.room())))
    this.at = end
  }

  private readString(open: number): void {
    const { from } = this
    const close = endOfString(from, open)
    const raw = from.slice(open + 1, close)
    const after = skipSpace(from, close + 1)
    if (from[after] !== ':') {
      // Ordinary text may contain a quote that is never closed.
      this.text += `"${this.valueOf(raw)}${close < from.length ? '"' : ''}`
      this.at = close + 1
      return
    }
    this.text += `"${withoutKeys(raw.slice(0, this.room()))}":`
    this.at = after + 1
    if (!this.rules.names.has(nameOf(raw))) return
    this.text += `"${REDACTED}"`
    this.at = endOfValue(from, this.at)
  }

  /** The value of a string, as written between its quotes. */
  private valueOf(raw: string): string {
    if (isMedia(raw)) return `[${raw.length} characters of media]`
    const part = raw.slice(0, this.room())
    if (!/^\s*[{[]/.test(part.slice(0, 64)) || !part.includes('\\"')) return withoutKeys(part)
    // Arguments of tools are JSON in a string, which may be cut within an escape.
    const inner = textOf(part) ?? textOf(part.replace(CUT_ESCAPE, ''))
    return inner === undefined ? REDACTED : JSON.stringify(redacted(inner, this.rules)).slice(1, -1)
  }

  /** Characters that may still be needed. Some additional ones, so that a key at the end is recognised. */
  private room(): number {
    return this.rules.maxLength - this.text.length + KEY_LENGTH
  }
}

function withoutKeys(text: string): string {
  return text.replace(DATA_URL, (url) => `[${url.length} characters of media]`).replace(KEY, REDACTED)
}

function isMedia(raw: string): boolean {
  if (raw.startsWith('data:')) return raw.includes(',')
  return raw.length >= MEDIA_LENGTH && BASE64.test(raw.slice(0, MEDIA_LENGTH))
}

/** The position of the quote that ends a string, or of the end of the text. */
function endOfString(text: string, open: number): number {
  for (let close = text.indexOf('"', open + 1); close >= 0; close = text.indexOf('"', close + 1)) {
    let backslashes = 0
    while (text[close - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return close
  }
  return text.length
}

function skipSpace(text: string, from: number): number {
  let at = from
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at++
  return at
}

/** The end of a value: a string, an object or a list with its content, or a number or word. */
function endOfValue(text: string, from: number): number {
  let depth = 0
  for (let at = skipSpace(text, from); at < text.length; at++) {
    const character = text[at] as string
    if (character === '"') at = endOfString(text, at)
    else if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') depth--
    else if (depth > 0 || !/[\s,]/.test(character)) continue
    if (depth < 0 || (depth === 0 && /[\s,]/.test(character))) return at
    if (depth === 0) return Math.min(at + 1, text.length)
  }
  return text.length
}

function nameOf(raw: string): string {
  return (raw.includes('\\') ? (textOf(raw) ?? raw) : raw).toLowerCase()
}

/** The text of a string from its JSON form; undefined if invalid. */
function textOf(raw: string): string | undefined {
  try {
    return JSON.parse(`"${raw}"`)
  } catch {
    return undefined
  }
}
