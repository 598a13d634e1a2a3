// Reads the flags of `models price`: stated quantities, a plain request, or a whole body. It must never guess: contradictory flags
// are wrong usage.

import type { PlainField, PlainRequest } from '../../src/contract/family'
import { pluralOf, type Quantities, type Unit, units } from '../../src/contract/units'
import { WrongUsage } from './errors'
import { parseCount } from './values'

/** Options of a request other than its text; reference images are only counted. */
export type Options = Pick<PlainRequest, 'n' | 'size' | 'quality' | 'resolution' | 'duration'> & {
  images?: number
}

export type Question =
  | {
      ask: 'quantities'
      quantities: Quantities
      options: Options
      tier: string | undefined
      serviceTier: string | undefined
    }
  | { ask: 'plain'; text: string | undefined; options: Options }
  | { ask: 'body'; body: string; images: number | undefined }

const optionFlags: Record<Exclude<PlainField, 'uploads'>, { flag: string; hint: string; text: string }> = {
  n: { flag: 'n', hint: 'N', text: 'Number of answers or images to make' },
  size: { flag: 'size', hint: 'WxH', text: 'Size of the images, or a word of the model such as auto or 2K' },
  quality: { flag: 'quality', hint: 'WORD', text: 'Quality of the images, such as high' },
  resolution: { flag: 'resolution', hint: 'WORD', text: 'Resolution of the result, such as 2k or 720p' },
  duration: { flag: 'duration', hint: 'SECONDS', text: 'Length of the video or the audio' },
  images: { flag: 'reference-images', hint: 'N', text: 'Number of images in the request' },
}
const optionNames = Object.keys(optionFlags) as (keyof Options)[]
/** Options that may decide the price tier. */
const TIER_OPTIONS: readonly (keyof Options)[] = ['size', 'quality', 'resolution']

export const questionArgs = {
  ...Object.fromEntries(
    units.map((unit) => [
      flagOfUnit(unit),
      { type: 'string', valueHint: 'N', description: `How many ${wordsOf(unit)}` } as const,
    ]),
  ),
  tier: {
    type: 'string',
    valueHint: 'NAME',
    description: 'With quantities: the tier of the price, as the price list names it',
  },
  'service-tier': {
    type: 'string',
    valueHint: 'NAME',
    description: 'With quantities: the service tier reported by the vendor, such as flex or priority',
  },
  text: {
    type: 'string',
    valueHint: 'TEXT',
    description: 'A message, a prompt, or the text to embed or speak',
  },
  ...Object.fromEntries(
    Object.values(optionFlags).map(({ flag, hint, text }) => [
      flag,
      { type: 'string', valueHint: hint, description: text } as const,
    ]),
  ),
  body: { type: 'string', valueHint: 'FILE|JSON', description: 'A whole request body' },
} as const

/** The plural of a unit in words. */
export function wordsOf(unit: Unit): string {
  return pluralOf(unit).replaceAll('_', ' ')
}

/** The flag that sets an option. */
export function flagOfOption(name: keyof Options): string {
  return `--${optionFlags[name].flag}`
}

export function readQuestion(flags: Record<string, unknown>): Question {
  const given = (flag: string) => (typeof flags[flag] === 'string' ? flags[flag] : undefined)
  const [text, body, tier, serviceTier] = ['text', 'body', 'tier', 'service-tier'].map(given)
  const quantities = readQuantities(given)
  const options = readOptions(given)
  const ways = [quantities, text, body].filter((way) => way !== undefined).length
  if (ways > 1)
    throw new WrongUsage('Give only one of quantities such as --input-tokens N, --text, and --body.')
  if (tier !== undefined && !quantities) throw new WrongUsage('--tier needs quantities such as --images N.')
  if (serviceTier !== undefined && !quantities)
    throw new WrongUsage('--service-tier needs quantities; a --body has the field service_tier.')
  if (body !== undefined) {
    refuseAllBut(['images'], options, 'works with --text, not with --body')
    return { ask: 'body', body, images: options.images }
  }
  if (quantities) {
    refuseAllBut(TIER_OPTIONS, options, 'does not go with quantities')
    if (tier !== undefined)
      refuseAllBut([], options, 'cannot be combined with --tier: one of them names the price')
    return { ask: 'quantities', quantities, options, tier, serviceTier }
  }
  if (text === undefined && Object.keys(options).length === 0) {
    throw new WrongUsage(
      'Nothing to price: give quantities such as --input-tokens N or --images N, or --text, or --body.',
    )
  }
  return { ask: 'plain', text, options }
}

type Given = (flag: string) => string | undefined

function readQuantities(given: Given): Quantities | undefined {
  const stated = units.flatMap((unit) => {
    const text = given(flagOfUnit(unit))
    return text === undefined ? [] : [[unit, parseCount(flagOfUnit(unit), text, 0)] as const]
  })
  return stated.length > 0 ? Object.fromEntries(stated) : undefined
}

function readOptions(given: Given): Options {
  const stated = optionNames.flatMap((name) => {
    const { flag, hint } = optionFlags[name]
    const text = given(flag)
    if (text === undefined) return []
    return [[name, hint === 'N' || hint === 'SECONDS' ? parseCount(flag, text) : text] as const]
  })
  return Object.fromEntries(stated)
}

function refuseAllBut(allowed: readonly (keyof Options)[], options: Options, why: string): void {
  const extra = optionNames.find((name) => options[name] !== undefined && !allowed.includes(name))
  if (extra !== undefined) throw new WrongUsage(`${flagOfOption(extra)} ${why}.`)
}

function flagOfUnit(unit: Unit): string {
  return pluralOf(unit).replaceAll('_', '-')
}
