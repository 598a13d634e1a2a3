// Completions in shells: each shell loads its script and returns the possible next words. Shells missing on this machine are left
// out, except bash.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../../package.json'
import { temporaryFolder } from '../support/databases/databases'
import { createCommandLine } from '../support/processes/command-line'

setDefaultTimeout(60_000)

const folder = temporaryFolder()
const { call, allFail } = createCommandLine(folder)

/** Words that a shell offers in place of the last one. */
type Offer = (words: readonly string[]) => Promise<string[]>

const asked: Record<string, (script: string, words: readonly string[]) => string[]> = {
  bash: (script, words) => [
    'bash',
    '--norc',
    '-c',
    `source ${script}; COMP_WORDS=(${listOf(words)}); COMP_CWORD=${words.length - 1}
     _gateway; printf '%s\\n' "\${COMPREPLY[@]}"`,
  ],
  // Without a terminal nothing is completed, so the functions that would show the completions print them.
  zsh: (script, words) => [
    'zsh',
    '-fc',
    `compdef() {}; _describe() { print -l -- "\${(@)\${(@P)2}%%:*}" }; compadd() { print -l -- "\${@:2}" }
     _files() { print FILES "$@" }; _message() {}
     source ${script}; words=(${listOf(words)}); CURRENT=${words.length}; _gateway`,
  ],
  fish: (script, words) => ['fish', '-N', '-c', `source ${script}; complete -C '${words.join(' ')}'`],
}

const listOf = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ')

for (const shell of ['bash', 'zsh', 'fish']) {
  describe.skipIf(shell !== 'bash' && !Bun.which(shell))(shell, () => {
    const script = join(folder, `completions.${shell}`)
    const offer: Offer = async (words) => {
      const command = asked[shell]?.(script, words) ?? []
      const child = Bun.spawn(command, {
        cwd: folder,
        env: { PATH: process.env.PATH, HOME: folder },
        stderr: 'inherit',
      })
      const lines = (await new Response(child.stdout).text()).trim().split('\n')
      const last = words.at(-1) ?? ''
      return lines.map((line) => line.split('\t')[0] ?? '').filter((word) => word.startsWith(last))
    }

    test('completes commands, flags and the words that a flag takes', async () => {
      const { code, stdout } = await call(['completions', shell])
      expect(code).toBe(0)
      writeFileSync(script, stdout)
      expect((await offer(['gateway', 'ba'])).sort()).toEqual(['backup', 'balance'])
      expect(await offer(['gateway', 'keys', ''])).toEqual(
        expect.arrayContaining(['create', 'roll-webhook', 'show']),
      )
      expect(await offer(['gateway', 'keys', 'create', 'bob', '--bal'])).toEqual(['--balance'])
      expect((await offer(['gateway', 'keys', 'create', '--per', ''])).sort()).toEqual([
        'day',
        'month',
        'week',
      ])
      expect((await offer(['gateway', 'env', 'open'])).sort()).toEqual(['open-webui', 'openai', 'opencode'])
    })

    test('completes files if a flag takes a file, and nothing if it takes any value', async () => {
      writeFileSync(join(folder, 'my settings.json'), '{}')
      const files = await offer(['gateway', 'config', 'check', '--config', shell === 'zsh' ? '' : 'my'])
      expect(files.join(' ')).toMatch(shell === 'zsh' ? /^FILES/ : /^'?my\\? settings\.json'?$/)
      expect((await offer(['gateway', 'keys', 'create', '--balance', ''])).filter(Boolean)).toEqual([])
    })
  })
}

test('there is no script for another shell', async () => {
  expect(await call(['completions', 'bsh'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Did you mean bash'),
  })
  expect(await call(['completions'])).toMatchObject({ code: 2, stdout: '' })
})

test('a mistyped command is reported without the help of all commands', async () => {
  const { stderr } = await call(['kesy', 'list'])
  expect(stderr.trimEnd().split('\n').slice(1)).toEqual([
    '',
    'Usage  gateway COMMAND',
    'For help: gateway --help',
  ])
  expect((await call([])).stderr).toContain('Commands')
})

test('a mistyped word suggests the nearest ones, at any level', () =>
  allFail(2, [
    ['kesy list', 'There is no command gateway kesy. Did you mean gateway keys'],
    ['keys craete bob', 'Did you mean gateway keys create'],
    ['keys create bob --balnce 5', 'Unknown flag --balnce. Did you mean --balance?'],
    ['usage --by modle', 'Did you mean model?'],
    ['--sandbox', 'Unknown flag --sandbox: name a command first.'],
  ]))

test('-v is the version', async () => {
  const { code, stdout, stderr } = await call(['-v'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toStartWith(`${version} (schema `)
})
