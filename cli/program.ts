// The command lines that this program prints. Each must work when it is pasted.

import { relative } from 'node:path'
import type { GatewayFlags } from './lib/remote'

/** Whether this is the executable, where the path of the main file does not exist outside. */
export function isCompiled(): boolean {
  return Bun.main.startsWith('/$bunfs/') || Bun.main.includes('~BUN')
}

/** A command line of this program that works on the same data: `gateway …`, or `bun cli/main.ts …` from a checkout. */
export function commandLineOf(words: string, flags: GatewayFlags): string {
  const settings = [
    ...(flags.config ? [`--config ${quote(flags.config)}`] : []),
    ...(flags['data-dir'] ? [`--data-dir ${quote(flags['data-dir'])}`] : []),
    ...(flags.sandbox ? ['--sandbox'] : []),
    ...(flags.server ? [`--server ${quote(flags.server)}`] : []),
    ...(flags.context ? [`--context ${quote(flags.context)}`] : []),
  ]
  return [programWords(), words, ...settings].join(' ')
}

function programWords(): string {
  if (!isCompiled()) return `bun ${quote(nearest(Bun.main))}`
  return Bun.which('gateway') === process.execPath ? 'gateway' : quote(nearest(process.execPath))
}

/** A value as one word of a shell. */
function quote(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/**
 * The relative or the absolute path, whichever is shorter. Never a bare name, which a shell would look up elsewhere.
 */
function nearest(path: string): string {
  const fromHere = relative(process.cwd(), path)
  if (fromHere.length >= path.length) return path
  return fromHere.includes('/') || fromHere.includes('\\') ? fromHere : `./${fromHere}`
}
