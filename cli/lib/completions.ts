// Scripts with which shells complete the words of this program, made from the tree of commands. A script must never start the
// program: a shell that waits at every key is worse than one without completion.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of shells, not of this program

import { type AnyCommand, argsOf, metaOf, namesOfParts, partOf } from '../view/help'

export const completedShells = ['bash', 'zsh', 'fish'] as const
export type CompletedShell = (typeof completedShells)[number]

/** One position in the command line: a command, with the words that may follow it. */
interface Place {
  /** The words up to here: `gateway keys create`. */
  path: string
  commands: Word[]
  flags: Flag[]
  /** Words that the first argument can be; empty if it can be anything. */
  values: string[]
}

interface Word {
  name: string
  about: string
}

interface Flag extends Word {
  takes: 'nothing' | 'anything' | 'file' | 'folder' | readonly string[]
}

/** The script for a shell. Throws if the tree has a name that cannot be in a script. */
export async function completionScript(shell: CompletedShell, main: AnyCommand): Promise<string> {
  const program = metaOf(main).name ?? ''
  const places = await placesOf(main, program)
  for (const { path, commands, flags } of places) {
    for (const { name } of [...commands, ...flags]) {
      if (!/^[\w-]+$/.test(name))
        throw new Error(`${path} has a name that a shell would read otherwise: ${name}`)
    }
  }
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](program, places)
}

async function placesOf(command: AnyCommand, path: string): Promise<Place[]> {
  const parts = await Promise.all(
    namesOfParts(command).map(async (name) => ({ name, part: (await partOf(command, name)) as AnyCommand })),
  )
  const args = Object.entries(argsOf(command))
  const first = args.find(([, { type }]) => type === 'positional')?.[1]
  const own: Place = {
    path,
    commands: parts.map(({ name, part }) => ({ name, about: aboutOf(metaOf(part).description) })),
    flags: args.flatMap(([name, definition]): Flag[] => {
      if (definition.type === 'positional') return []
      return [{ name, about: aboutOf(definition.description), takes: takenBy(definition) }]
    }),
    values: wordsOf(first?.valueHint) ?? [],
  }
  const below = await Promise.all(parts.map(({ name, part }) => placesOf(part, `${path} ${name}`)))
  return [own, ...below.flat()]
}

/** The first sentence, without parts in brackets. */
function aboutOf(description = ''): string {
  return description.replace(/ \(.*?\)/g, '').replace(/(?<!\.)[.:;] .*$|\.$/s, '')
}

function takenBy({ type, valueHint }: { type?: string; valueHint?: string }): Flag['takes'] {
  if (type === 'boolean') return 'nothing'
  if (valueHint === 'FILE') return 'file'
  if (valueHint === 'DIR') return 'folder'
  return wordsOf(valueHint) ?? 'anything'
}

/** The words of a hint such as `day|month`; undefined for any other hint. */
function wordsOf(hint = ''): string[] | undefined {
  return /^[a-z0-9-]+(\|[a-z0-9-]+)+$/.test(hint) ? hint.split('|') : undefined
}

/** Lines of a `case`, one for each flag with a value, by its position. */
function valueCases(places: readonly Place[], answer: (takes: Flag['takes']) => string): string[] {
  const patterns = new Map<string, string[]>()
  for (const { path, flags } of places) {
    for (const { name, takes } of flags) {
      if (takes === 'nothing') continue
      const code = answer(takes)
      patterns.set(code, [...(patterns.get(code) ?? []), quote(`${path} --${name}`)])
    }
  }
  return [...patterns].map(([code, list]) => `    ${list.join('|')}) ${code}; return ;;`)
}

/** The lines that find the place: each word that is a command leads further. */
function walk(places: readonly Place[], words: string): string[] {
  const known = places.slice(1).map(({ path }) => quote(path))
  return [
    `  for word in ${words}; do`,
    '    case "$at $word" in',
    `      ${known.join('|')}) at="$at $word" ;;`,
    '    esac',
    '  done',
  ]
}

function bashScript(program: string, places: readonly Place[]): string {
  const answer = (takes: Flag['takes']) => {
    if (takes === 'file') return `IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$current"))`
    if (takes === 'folder') return `IFS=$'\\n'; COMPREPLY=($(compgen -d -- "$current"))`
    return typeof takes === 'string'
      ? 'COMPREPLY=()'
      : `COMPREPLY=($(compgen -W '${takes.join(' ')}' -- "$current"))`
  }
  return lines([
    `# Completions of ${program} for bash. Load them with: source <(${program} completions bash)`,
    `_${program}() {`,
    `  local at=${program} word words='' flags='' IFS=$' \\n'`,
    '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"',
    ...walk(places, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"'),
    `  case "$at $previous" in`,
    ...valueCases(places, answer),
    '  esac',
    '  case "$at" in',
    ...places.map(({ path, commands, flags, values }) => {
      const words = [...commands.map(({ name }) => name), ...values].join(' ')
      return `    ${quote(path)}) words=${quote(words)} flags=${quote(flags.map(({ name }) => `--${name}`).join(' '))} ;;`
    }),
    '  esac',
    '  [[ $current == -* ]] && words="$flags --help"',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '}',
    `complete -o bashdefault -o filenames -F _${program} ${program}`,
  ])
}

function zshScript(program: string, places: readonly Place[]): string {
  const answer = (takes: Flag['takes']) => {
    if (takes === 'file') return '_files'
    if (takes === 'folder') return '_files -/'
    return typeof takes === 'string' ? '_message value' : `compadd -- ${takes.join(' ')}`
  }
  const list = (words: readonly Word[], mark = '') =>
    words.map(({ name, about }) => quote(`${mark}${name}:${about}`)).join(' ')
  return lines([
    `#compdef ${program}`,
    `# Completions of ${program} for zsh. Load them with: source <(${program} completions zsh)`,
    `_${program}() {`,
    `  local at=${program} word`,
    '  local -a found flags',
    ...walk(places, '"${(@)words[2,CURRENT-1]}"'),
    '  case "$at ${words[CURRENT-1]}" in',
    ...valueCases(places, answer),
    '  esac',
    '  case "$at" in',
    ...places.map(({ path, commands, flags, values }) => {
      const found = [list(commands), ...values].filter(Boolean).join(' ')
      return `    ${quote(path)}) found=(${found}) flags=(${list(flags, '--')}) ;;`
    }),
    '  esac',
    '  [[ ${words[CURRENT]} == -* ]] && found=($flags --help)',
    `  _describe ${program} found`,
    '}',
    `if [ "$funcstack[1]" = "_${program}" ]; then _${program} "$@"; else compdef _${program} ${program}; fi`,
  ])
}

function fishScript(program: string, places: readonly Place[]): string {
  const known = places.slice(1).map(({ path }) => quote(path))
  return lines([
    `# Completions of ${program} for fish. Load them with: ${program} completions fish | source`,
    `function __${program}_at`,
    `  set -l at ${program}`,
    '  for word in (commandline -opc)[2..-1]',
    `    contains -- "$at $word" ${known.join(' ')}; and set at "$at $word"`,
    '  end',
    '  test "$at" = "$argv"',
    'end',
    `complete -c ${program} -f`,
    ...places.flatMap(({ path, commands, flags, values }) => {
      const here = `complete -c ${program} -n ${quote(`__${program}_at ${path}`)}`
      return [
        ...commands.map(({ name, about }) => `${here} -a ${name} -d ${quote(about)}`),
        ...(values.length > 0 ? [`${here} -a ${quote(values.join(' '))}`] : []),
        ...flags.map(({ name, about, takes }) => `${here} -l ${name}${fishTakes(takes)} -d ${quote(about)}`),
      ]
    }),
  ])
}

function fishTakes(takes: Flag['takes']): string {
  if (takes === 'nothing') return ''
  if (takes === 'file') return ' -r -F'
  if (takes === 'folder') return " -x -a '(__fish_complete_directories)'"
  return takes === 'anything' ? ' -x' : ` -x -a ${quote(takes.join(' '))}`
}

function lines(all: readonly string[]): string {
  return all.join('\n')
}

/** A text as one word of any of these shells. */
function quote(text: string): string {
  return `'${text.replaceAll(/['\\]/g, '’')}'`
}
