// The text that a starting gateway prints for people: first what they can do at once, then its addresses and what it serves. Lines
// must not be wider than a terminal of 80 columns, except long addresses, paths and command lines.

import type { UpstreamModels } from '../configuration/catalogue'
import type { Demonstration } from '../lib/demonstration'
import { counted } from './counted'
import { paint } from './output'
import { type Entry, renderBlock, wrap } from './table'

interface Introduction {
  url: string
  /** Addresses of pages by kind; empty on a unix socket, which no browser reaches. */
  pages: Readonly<Record<string, string>> | undefined
  configuration: string
  data: string
  upstreams: readonly UpstreamModels[]
  /** Undefined unless vendors are simulated. */
  demonstration: Demonstration | undefined
  /** Ids of models that no simulator knows; another model answers for them. */
  notSimulated: readonly string[]
  /** Models that their vendors have retired or retire soon, as an entry; empty without one. */
  ending: readonly Entry[]
  /** Command lines of this program that use the same data. */
  commands: { usage: string; makeKey: string; sandbox: string }
}

/** Maximum number of models without a simulator that are listed. */
const MAX_NAMED = 6

/** The text. `width` is the terminal's columns; undefined for a program, which gets every command on one line. */
export function introduction(about: Introduction, width: number | undefined): string {
  const { url, demonstration, commands } = about
  const remark = demonstration ? paint('yellow', ' (sandbox: vendors are simulated)') : ''
  const served = [
    `Gateway listening on ${paint('bold', url)}${remark}`,
    '',
    renderBlock(entriesOf(about), width),
  ]
  if (demonstration) return [...tryIt(demonstration, commands.usage, width), '', ...served].join('\n')
  const makeKey = ['', 'Make a key:', '', paint('cyan', commands.makeKey)]
  const warning = isUsable(about) ? [] : [...noModel(about, width), '']
  return [...warning, ...served, ...makeKey].join('\n')
}

function tryIt({ name, secret, request }: Demonstration, usage: string, width: number | undefined): string[] {
  if (!request) {
    return wrap(`The configuration has no model to try the key ${name} with, which is ${secret}.`, width)
  }
  const line = width === undefined ? request.line : request.folded
  const words = `Paste this into another terminal to try the key ${name}, then see what it cost:`
  return [paint('cyan', line), '', ...wrap(words, width), '', paint('cyan', usage)]
}

function noModel({ upstreams, commands }: Introduction, width: number | undefined): string[] {
  const missing = upstreams.filter(({ variable }) => variable !== null)
  if (missing.length === 0) return wrap('No model can be used: the configuration has none.', width)
  const words =
    'No model can be used: no vendor has an API key. Set at least one of these variables and start again:'
  return [
    ...wrap(words, width).map((line) => paint('yellow', line)),
    '',
    renderBlock(
      missing.map(({ variable, count }) => [variable ?? '', counted(count, 'model')]),
      width,
    ),
    '',
    'Or try everything without a key, from simulated vendors:',
    '',
    paint('cyan', commands.sandbox),
  ]
}

function entriesOf(about: Introduction): Entry[] {
  const { upstreams, pages, configuration, data, notSimulated, ending } = about
  const entries: Entry[] = []
  if (isUsable(about)) {
    const usable = upstreams.filter(({ variable }) => variable === null)
    const missing = upstreams.filter(({ variable }) => variable !== null)
    entries.push(['models', usable.map(({ name, count }) => `${name} ${count}`).join(', ')])
    for (const [index, { name, count, variable }] of missing.entries())
      entries.push([index === 0 ? 'not available' : '', `${name} ${count}: set ${variable}`])
  }
  if (notSimulated.length > 0) {
    const more = notSimulated.length - MAX_NAMED
    const names = [...notSimulated.slice(0, MAX_NAMED), ...(more > 0 ? [`${more} more`] : [])].join(', ')
    entries.push(['not simulated', `${names}: another model answers for each`])
  }
  entries.push(...ending, ...Object.entries(pages ?? {}))
  return [...entries, ['configuration', configuration], ['data', data]]
}

function isUsable({ upstreams }: Introduction): boolean {
  return upstreams.some(({ variable }) => variable === null)
}
