// The language of the console: the one that was chosen in this browser, otherwise the first of the browser's languages for which
// there are texts. Numbers and times are formatted in that language. English is part of the program; other languages are loaded
// when they are chosen. To add one, add its name here and its texts next to texts/german.ts.

/** Languages with texts, by code, each named as its readers name it. */
export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const
export type Language = keyof typeof LANGUAGES

const KEPT_AS = 'gateway-console-language'

export const language: Language = kept() ?? ownLanguage()

/** The language for a code such as `de-AT`; undefined if there are no texts for it. */
function languageOf(code: string): Language | undefined {
  const [name = ''] = code.toLowerCase().split('-')
  return Object.hasOwn(LANGUAGES, name) ? (name as Language) : undefined
}

function kept(): Language | undefined {
  try {
    return languageOf(localStorage.getItem(KEPT_AS) ?? '')
  } catch {
    return undefined
  }
}

function ownLanguage(): Language {
  const own = globalThis.navigator?.languages ?? []
  return own.flatMap((code) => languageOf(code) ?? [])[0] ?? 'en'
}

/** Stores a language in this browser, for the next time that the page is loaded. */
export function keepLanguage(chosen: Language): void {
  try {
    localStorage.setItem(KEPT_AS, chosen)
  } catch {
    // A browser that stores nothing uses its own language the next time.
  }
}

const whole = new Intl.NumberFormat(language)
const short = new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 })
/** A number in full: `1,234,567`. */
export const numberText = (number: number): string => whole.format(number)
/** A number in short: `812`, `41.2K`, `3.1M`. */
export const shortNumberText = (number: number): string => short.format(number)
/** A number with a fixed number of decimals: `1.80`. */
export function decimalText(number: number, decimals: number): string {
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals }
  return number.toLocaleString(language, digits)
}

const decimalSign = decimalText(0.5, 1).charAt(1)
const groupSign = numberText(1_000_000).charAt(1)

/** The number at the beginning of a text, written with the separators of the language: `1,234 ms`. NaN if there is no number. */
export function numberOfText(text: string): number {
  const plain = text.replaceAll(groupSign, '').replace(decimalSign, '.').replace('−', '-')
  return Number.parseFloat(plain)
}

/**
 * An amount that was typed with the separators of the language, `1.234,5` in German, as programs write it. Groups have three digits
 * each; any other text stays unchanged, for the server to judge.
 */
export function plainAmount(text: string): string {
  const [integer = '', ...decimals] = text.split(decimalSign)
  const [first = '', ...groups] = integer.split(groupSign)
  const isGrouped = /^[-+]?\d{1,3}$/.test(first) && groups.every((group) => /^\d{3}$/.test(group))
  if (decimals.length > 1 || (groups.length > 0 && !isGrouped)) return text
  return [first, ...groups].join('') + decimals.map((each) => `.${each}`).join('')
}

/** An amount as programs write it, `1234.5`, as it would be typed: `1234,5` in German. */
export function typedAmount(number: string): string {
  return number.replace('.', decimalSign)
}

/** The signs before and after an amount of dollars. */
export const [beforeDollars = '', afterDollars = ''] = new Intl.NumberFormat(language, {
  style: 'currency',
  currency: 'USD',
})
  .format(1)
  .split(decimalText(1, 2))

/** A decimal number as programs write it, `1234.5`, with the separators of the language: digit for digit, of any length. */
export function exactDecimalText(number: string): string {
  const [integer = '', decimals] = number.split('.')
  const grouped = integer.replace(/\B(?=(\d{3})+$)/g, groupSign)
  return decimals === undefined ? grouped : `${grouped}${decimalSign}${decimals}`
}

const twoDigits = new Intl.NumberFormat(language, {
  minimumSignificantDigits: 2,
  maximumSignificantDigits: 2,
})

/** A share of a total, as `0.40 %` or `12 %`; empty if the total is zero. */
export function shareText(part: number | undefined, all: number | undefined): string {
  if (!all || part === undefined) return ''
  const percent = (part / all) * 100
  const isRounded = percent === 0 || Math.abs(percent) >= 10
  return `${isRounded ? numberText(Math.round(percent)) : twoDigits.format(percent)} %`.replace('-', '−')
}

/** Words for names that programs use. A name without a word is shown as it is. */
export type Named<Name extends string> = Readonly<Record<Name, string>> & Readonly<Record<string, string>>

export function named<Name extends string>(words: Readonly<Record<Name, string>>): Named<Name> {
  return words as Named<Name>
}

/**
 * The type of texts in another language: all of the same names, with functions of the same parameters. A value with its word, as in
 * a choice, keeps the value.
 */
export type Translated<Text> = Text extends string
  ? string
  : Text extends readonly [infer Value, string]
    ? readonly [Value, string]
    : Text extends (...figures: infer Figures) => infer Sentence
      ? (...figures: Figures) => Translated<Sentence>
      : { readonly [Name in keyof Text]: Translated<Text[Name]> }
