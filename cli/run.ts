// Runs a command with the exit codes that scripts rely on: 0 success, 1 failure, 2 wrong usage.

import { type ArgsDef, type CommandDef, renderUsage, runCommand } from 'citty'

/** The command could not do its work; the message says why. Exit 1. */
export class CommandFailed extends Error {}

/** The command was called in a wrong way; the message says how it is called. Exit 2. */
export class WrongUsage extends Error {}

// biome-ignore lint/suspicious/noExplicitAny: commands differ in their arguments, and citty's own type says any here
type AnyCommand = CommandDef<any>

interface Meta {
  name?: string
  version?: string
  examples?: readonly string[]
}

export async function runMain(main: AnyCommand, rawArgs: string[]): Promise<void> {
  const { command, path, rest } = await findCommand(main, rawArgs)
  if (rawArgs.includes('--help') || rawArgs.includes('-h')) {
    console.log(await helpOf(command, path))
    return
  }
  if (rawArgs.length === 1 && rawArgs[0] === '--version') {
    console.log((main.meta as Meta).version)
    return
  }
  try {
    if (command.subCommands)
      throw new WrongUsage(rest.length > 0 ? `Unknown command ${rest[0]}.` : 'Which command?')
    refuseUnknownFlags(command.args as ArgsDef, rest)
    await runCommand(command, { rawArgs: rest })
  } catch (error) {
    process.exitCode = await report(error, command, path)
  }
}

async function report(error: unknown, command: AnyCommand, path: string): Promise<number> {
  if (error instanceof WrongUsage || (error as Error).name === 'CLIError') {
    console.error(`${(error as Error).message}\n\n${await helpOf(command, path)}`)
    return 2
  }
  console.error(error instanceof CommandFailed ? error.message : error)
  return 1
}

/** Follows the names of sub-commands as far as they go. */
async function findCommand(main: AnyCommand, rawArgs: string[]) {
  let command = main
  const names = [(main.meta as Meta).name ?? '']
  let rest = rawArgs
  for (;;) {
    const subCommands = command.subCommands as
      | Record<string, AnyCommand | (() => Promise<AnyCommand>)>
      | undefined
    const name = rest[0]
    const next =
      name !== undefined && subCommands && Object.hasOwn(subCommands, name) ? subCommands[name] : undefined
    if (!next || name === undefined) return { command, path: names.join(' '), rest }
    command = typeof next === 'function' ? await next() : next
    names.push(name)
    rest = rest.slice(1)
  }
}

async function helpOf(command: AnyCommand, path: string): Promise<string> {
  const parent = path.split(' ').slice(0, -1).join(' ')
  const usage = await renderUsage(command, parent ? { meta: { name: parent } } : undefined)
  const examples = (command.meta as Meta).examples ?? []
  return examples.length > 0
    ? `${usage}\nEXAMPLES\n\n${examples.map((line) => `  ${line}`).join('\n')}\n`
    : usage
}

/** A mistyped flag must not be silently ignored: `--balnce 5` would make a key without money. */
function refuseUnknownFlags(args: ArgsDef | undefined, rest: string[]): void {
  for (const word of rest) {
    if (word === '--') return
    const name = /^--(?:no-)?([^=]+)/.exec(word)?.[1]
    if (name !== undefined && !(args && name in args))
      throw new WrongUsage(`Unknown flag ${word.split('=')[0]}.`)
  }
}
