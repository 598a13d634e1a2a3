// `bun run check:commits`: reports commits after this check whose subject is longer than 72 characters. It only reads the history,
// and passes if there is none: in a shallow clone, and in files without a repository.

const MAX_CHARACTERS = 72
const ITSELF = 'tools/words/commit-subjects.ts'

function git(...words: string[]): string | undefined {
  const { exitCode, stdout } = Bun.spawnSync(['git', ...words], { stderr: 'ignore' })
  return exitCode === 0 ? stdout.toString().trim() : undefined
}

const shallow = git('rev-parse', '--is-shallow-repository')
if (shallow !== 'false') {
  console.log(
    `Commit subjects are not checked: ${shallow ? 'this clone is shallow' : 'there is no repository'}.`,
  )
  process.exit(0)
}
const [first] = git('log', '--diff-filter=A', '--format=%H', '--', ITSELF)?.split('\n').reverse() ?? []
const subjects = first ? (git('log', '--format=%h %s', `${first}..HEAD`)?.split('\n') ?? []) : []
const faults = subjects.filter((line) => line.slice(line.indexOf(' ') + 1).length > MAX_CHARACTERS)
for (const fault of faults) console.error(`Longer than ${MAX_CHARACTERS} characters: ${fault}`)
process.exit(faults.length === 0 ? 0 : 1)
