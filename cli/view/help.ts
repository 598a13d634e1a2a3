// The help text of a command: what it does, how to call it, its flags, and examples. Every example must work as
// printed.

import type { ArgDef, ArgsDef, CommandDef } from 'citty'
import { paint, type Style } from './output'
import { wrap } from './table'

declare module 'citty' {
  interface CommandMeta {
    /** Command lines that work as printed. */
    examples?: readonly string[]
  }
}

// biome-ignore lint/suspicious/noExplicitAny: commands differ in their arguments, and citty's own type says any here
export type AnyCommand = CommandDef<any>

/** Sub-commands, as values or as functions that load them. */
type Parts = Record<string, AnyCommand | (() => Promise<AnyCommand>)>

interface Meta {
  name?: string
  description?: string
  examples?: readonly string[]
}

const WIDTH_MAX = 100

export function metaOf(command: AnyCommand): Meta {
  return (command.meta ?? {}) as Meta
}

export function argsOf(command: AnyCommand): ArgsDef {
  return (command.args ?? {}) as ArgsDef
}

export function namesOfParts(command: AnyCommand): string[] {
  return Object.keys((command.subCommands ?? {}) as Parts)
}

/** The sub-command of that name. */
export async function partOf(command: AnyCommand, name: string): Promise<AnyCommand | undefined> {
  const parts = command.subCommands as Parts | undefined
  const part = parts && Object.hasOwn(parts, name) ? parts[name] : undefined
  return typeof part === 'function' ? await part() : part
}

/** The usage line of a command: `gateway keys create NAME [flags]`. */
export function usageLine(command: AnyCommand, path: string): string {
  if (command.subCommands) return `${path} COMMAND`
  const args = Object.entries(argsOf(command))
  const words = args.flatMap(([name, definition]) => {
    if (definition.type !== 'positional') return []
    return definition.required === false ? `[${name.toUpperCase()}]` : name.toUpperCase()
  })
  return [path, ...words, ...(words.length < args.length ? ['[flags]'] : [])].join(' ')
}

export async function helpOf(
  command: AnyCommand,
  path: string,
  stream: NodeJS.WriteStream = process.stdout,
): Promise<string> {
  const style = (name: Style, text: string) => paint(name, text, stream)
  const width = Math.min(WIDTH_MAX, (stream.isTTY && stream.columns) || WIDTH_MAX)
  const { description = '', examples = [] } = metaOf(command)
  const args = Object.entries(argsOf(command))
  const sections: [string, [string, string][]][] = [
    ['Commands', await partLines(command)],
    ['Arguments', args.flatMap(argumentLine)],
    ['Flags', args.flatMap(flagLine)],
  ]
  const usage = `${style('bold', 'Usage')}  ${usageLine(command, path)}`
  const lines = [...wrap(description, width), '', usage]
  for (const [title, entries] of sections) {
    if (entries.length === 0) continue
    lines.push('', style('bold', title))
    const nameWidth = Math.max(...entries.map(([name]) => name.length))
    for (const [name, text] of entries) {
      const [first = '', ...more] = wrap(text, width - nameWidth - 4)
      lines.push(`  ${style('cyan', name.padEnd(nameWidth))}  ${first}`)
      lines.push(...more.map((line) => `${' '.repeat(nameWidth + 4)}${line}`))
    }
  }
  if (command.subCommands) lines.push('', `For help on a command: ${path} COMMAND --help`)
  if (examples.length > 0)
    lines.push('', style('bold', 'Examples'), ...examples.flatMap((line) => continued(line, width)))
  return lines.join('\n')
}

/** A command line to paste, indented and broken into several lines if it is longer than the width. */
function continued(command: string, width: number): string[] {
  const lines: string[] = []
  let line = ' '
  for (const word of command.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? []) {
    if (line.length + 1 + word.length > width - ' \\'.length && line.trim() !== '') {
      lines.push(`${line} \\`)
      line = '   '
    }
    line += ` ${word}`
  }
  return [...lines, line]
}

async function partLines(command: AnyCommand): Promise<[string, string][]> {
  return Promise.all(
    namesOfParts(command).map(async (name) => {
      const part = await partOf(command, name)
      return [name, part ? (metaOf(part).description ?? '') : ''] satisfies [string, string]
    }),
  )
}

function argumentLine([name, definition]: [string, ArgDef]): [string, string][] {
  return definition.type === 'positional' ? [[name.toUpperCase(), definition.description ?? '']] : []
}

function flagLine([name, definition]: [string, ArgDef]): [string, string][] {
  if (definition.type === 'positional') return []
  const hint = definition.type === 'boolean' ? '' : ` ${definition.valueHint ?? 'VALUE'}`
  return [[`--${name}${hint}`, definition.description ?? '']]
}
