// gateway completions: prints a script by which a shell completes commands and flags.

import { defineCommand } from 'citty'
import { type CompletedShell, completedShells, completionScript } from '../lib/completions'
import { WrongUsage } from '../lib/errors'
import { didYouMean } from '../lib/near-names'
import type { AnyCommand } from '../view/help'
import { print } from '../view/output'

export const completions = defineCommand({
  meta: {
    name: 'completions',
    description: 'Print a completion script for bash, zsh or fish.',
    examples: [
      'source <(gateway completions bash)',
      'gateway completions zsh > ~/.zfunc/_gateway',
      'gateway completions fish > ~/.config/fish/completions/gateway.fish',
    ],
  },
  args: {
    shell: {
      type: 'positional',
      required: true,
      valueHint: completedShells.join('|'),
      description: `The shell: ${completedShells.join(', ')}`,
    },
  },
  async run({ args, data }) {
    print(await completionScript(shellOf(args.shell), (data as { main: AnyCommand }).main))
  },
})

function shellOf(word: string): CompletedShell {
  const shell = completedShells.find((each) => each === word)
  if (shell) return shell
  throw new WrongUsage(
    `There are completions for ${completedShells.join(', ')}, not for "${word}".${didYouMean(word, completedShells)}`,
  )
}
