// Checks the words after a command before they are parsed. A mistyped flag must never be ignored silently, because `--balnce 5`
// would create a key without money. Negative amounts are values, not flags.

import type { ArgsDef } from 'citty'
import { WrongUsage } from './errors'
import { didYouMean } from './near-names'

/** Flags of commands that work over the admin API, which are often given to other commands too. */
const REMOTE_FLAGS = ['server', 'token', 'context']

/** The words in the one unambiguous order: flags with their values, then `--` and the rest. */
export function orderArguments(args: ArgsDef, words: readonly string[]): string[] {
  const flags = new Map<string, string>()
  const positional: string[] = []
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as string
    if (word === '--') {
      positional.push(...words.slice(index + 1))
      break
    }
    if (!isFlag(word)) {
      positional.push(word)
      continue
    }
    const { name, value } = readFlag(args, word, words[index + 1])
    if (flags.has(name)) throw new WrongUsage(`--${name} is given twice.`)
    flags.set(name, value === undefined ? `--${name}` : `--${name}=${value}`)
    if (value !== undefined && !word.includes('=')) index++
  }
  const places = Object.values(args).filter(({ type }) => type === 'positional').length
  const extra = positional[places]
  if (extra !== undefined) throw new WrongUsage(`Unexpected argument "${extra}".`)
  return [...flags.values(), '--', ...positional]
}

function isFlag(word: string): boolean {
  return word.length > 1 && word.startsWith('-') && !/^-\.?\d/.test(word)
}

function readFlag(
  args: ArgsDef,
  word: string,
  next: string | undefined,
): { name: string; value: string | undefined } {
  const [, name = '', inline] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? []
  const definition = Object.hasOwn(args, name) ? args[name] : undefined
  if (!definition && REMOTE_FLAGS.includes(name))
    throw new WrongUsage(`This command works on this machine only: leave --${name} out.`)
  if (!definition || definition.type === 'positional') {
    const flags = Object.keys(args).filter((known) => args[known]?.type !== 'positional')
    const [given = ''] = word.split('=')
    const hint = didYouMean(given.replace(/^-+/, ''), flags, '--')
    throw new WrongUsage(`Unknown flag ${given}.${hint}`)
  }
  if (definition.type === 'boolean') {
    if (inline !== undefined) throw new WrongUsage(`--${name} takes no value.`)
    return { name, value: undefined }
  }
  const value = inline ?? next
  if (value === undefined || (inline === undefined && value.startsWith('--'))) {
    throw new WrongUsage(`--${name} needs a value.`)
  }
  return { name, value }
}
