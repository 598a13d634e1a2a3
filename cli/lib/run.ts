// Runs a command with the exit codes that scripts rely on: 0 success, 1 failure, 2 wrong usage. These must never
// change.

import { runCommand } from 'citty'
import { type AnyCommand, argsOf, helpOf, metaOf, namesOfParts, partOf, usageLine } from '../view/help'
import { paint, print, say } from '../view/output'
import { orderArguments } from './argv'
import { describeFailure, StartFailed, WrongUsage } from './errors'
import { didYouMean } from './near-names'

const VERSION_WORDS = ['--version', '-v', '-V', 'version']

/** Runs the command that the words name. Its `data` contains the whole tree of commands as `main`. */
export async function runMain(main: AnyCommand, rawArgs: string[]): Promise<void> {
  const wantsHelp = rawArgs[0] === 'help'
  const { command, path, rest } = await findCommand(main, wantsHelp ? rawArgs.slice(1) : rawArgs)
  try {
    if (VERSION_WORDS.includes(rawArgs[0] ?? '')) {
      // Loaded with the schema, which no other word needs.
      print((await import('../../src/db/schema/program')).programText())
    } else if ((wantsHelp && rest.length === 0) || asksForHelp(command, rest)) {
      print(await helpOf(command, path))
    } else if (command.subCommands) {
      throw new WrongUsage(rest[0] === undefined ? 'Name a command.' : unknownCommand(command, path, rest[0]))
    } else {
      await runCommand(command, { rawArgs: orderArguments(argsOf(command), rest), data: { main } })
    }
  } catch (error) {
    process.exitCode = await report(error, command, path, rest.length === 0)
    if (error instanceof StartFailed) process.exit()
  }
}

function unknownCommand(command: AnyCommand, path: string, word: string): string {
  if (word.startsWith('-')) return `Unknown flag ${word}: name a command first.`
  const hint = didYouMean(word, namesOfParts(command), `${path} `)
  return `There is no command ${path} ${word}.${hint}`
}

/** Says what is wrong, and how to call the command. The whole help is printed only if no command was named: it would push the error away. */
async function report(
  error: unknown,
  command: AnyCommand,
  path: string,
  isUnnamed: boolean,
): Promise<number> {
  const isWrongUsage = error instanceof WrongUsage || (error instanceof Error && error.name === 'CLIError')
  const text = isWrongUsage ? error.message : describeFailure(error)
  say(paint('red', text, process.stderr))
  if (!isWrongUsage) return 1
  const help =
    isUnnamed && command.subCommands
      ? await helpOf(command, path, process.stderr)
      : `Usage  ${usageLine(command, path)}\nFor help: ${path} --help`
  say(`\n${help}`)
  return 2
}

/** The deepest sub-command that the words name. */
async function findCommand(main: AnyCommand, words: string[]) {
  let command = main
  let rest = words
  const names = [metaOf(main).name ?? '']
  for (;;) {
    const name = rest[0]
    const part = name === undefined ? undefined : await partOf(command, name)
    if (!part || name === undefined) return { command, path: names.join(' '), rest }
    command = part
    names.push(name)
    rest = rest.slice(1)
  }
}

function asksForHelp(command: AnyCommand, words: readonly string[]): boolean {
  // Without a flag, the first word is an unknown command.
  if (command.subCommands && !words[0]?.startsWith('-')) return false
  const end = words.indexOf('--')
  return words.slice(0, end === -1 ? words.length : end).some((word) => word === '--help' || word === '-h')
}
