// How this program is called, so that command lines it prints work when they are pasted.

import { relative } from 'node:path'
import type { SettingsFlags } from './lib/settings'

/** True inside the executable, where the path of the main file does not exist outside. */
export function isCompiled(): boolean {
  return Bun.main.startsWith('/$bunfs/') || Bun.main.includes('~BUN')
}

/** A command line of this program, `gateway …` or from a checkout `bun cli/main.ts …`, that uses the same data as this one. */
export function commandLineOf(words: string, flags: SettingsFlags): string {
  const settings = [
    ...(flags.config ? [`--config ${quote(flags.config)}`] : []),
    ...(flags['data-dir'] ? [`--data-dir ${quote(flags['data-dir'])}`] : []),
    ...(flags.sandbox ? ['--sandbox'] : []),
  ]
  return [programWords(), words, ...settings].join(' ')
}

function programWords(): string {
  if (!isCompiled()) return `bun ${quote(nearest(Bun.main))}`
  return Bun.which('gateway') === process.execPath ? 'gateway' : quote(nearest(process.execPath))
}

/** As a shell takes it for one word. */
function quote(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** The shorter of the path from here and the whole path; never a bare name, which a shell would look up elsewhere. */
function nearest(path: string): string {
  const fromHere = relative(process.cwd(), path)
  if (fromHere.length >= path.length) return path
  return fromHere.includes('/') || fromHere.includes('\\') ? fromHere : `./${fromHere}`
}
