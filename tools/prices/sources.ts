// The two published price lists that this tool reads, each pinned to a version and a hash: the packages `litellm` and
// `genai-prices` of PyPI, both under the MIT licence. Needs pip and Python. Only the output of entries.ts is kept.

import { existsSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Entry, entriesIn } from '../../cli/import/litellm-costs'

interface Pin {
  name: string
  version: string
  /** The day on which this version was the newest: the date of every price that is read from it. */
  asOf: string
  /** The file with the prices, and the SHA-256 of its bytes. */
  file: string
  sha256: string
}

export const FIRST: Pin = {
  name: 'litellm',
  version: '1.110.2',
  asOf: '2026-11-24',
  file: 'litellm/model_prices_and_context_window_backup.json',
  sha256: '8943af58bf9f979c6a4bef815687117ffa341e462a41faed9be17b5c33d3dcc2',
}
export const SECOND: Pin = {
  name: 'genai-prices',
  version: '0.2.3',
  asOf: '2026-11-24',
  file: 'genai_prices/data.py',
  sha256: '5f4d8e175a91cf23cac17da33a4daa60a6a6c49525109c97e93db220d5197206',
}

/** A model of the second list: dollars by its own names of units, for short prompts and for longer ones. */
export interface Opinion {
  contextTokens: number | null
  prices: Readonly<Record<string, { base: string; tiers: readonly { above: number; amount: string }[] }>>
}

/** The entries of the first list by their names. */
export async function readFirst(): Promise<ReadonlyMap<string, Entry>> {
  const folder = await installed(FIRST)
  return entriesIn(await Bun.file(join(folder, FIRST.file)).text())
}

/** Facts of the second list about models, by `provider/model`. */
export async function readSecond(
  asked: readonly { provider: string; model: string }[],
): Promise<ReadonlyMap<string, Opinion>> {
  const folder = await installed(SECOND)
  const script = join(import.meta.dir, 'second_opinion.py')
  const output = await run(['python3', script, folder, SECOND.asOf], JSON.stringify(asked))
  return new Map(Object.entries(JSON.parse(output) as Record<string, Opinion>))
}

/**
 * The folder into which a package was unpacked, with its dependencies. Throws if its prices are not the bytes that the pin
 * names.
 */
async function installed({ name, version, file, sha256 }: Pin): Promise<string> {
  const folder = join(tmpdir(), 'gateway-prices', `${name}-${version}`)
  const path = join(folder, file)
  if (!existsSync(path)) {
    // The first list is a file of its package; no code of the package runs.
    const alone = name === FIRST.name ? ['--no-deps'] : []
    const pip = ['python3', '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
    await run([...pip, ...alone, '--target', folder, `${name}==${version}`])
  }
  const found = new Bun.CryptoHasher('sha256').update(readFileSync(path)).digest('hex')
  if (found !== sha256)
    throw new Error(`${name} ${version}: the SHA-256 of ${file} is ${found}, not ${sha256}`)
  return folder
}

async function run(command: string[], input = ''): Promise<string> {
  const child = Bun.spawn(command, { stdin: Buffer.from(input), stdout: 'pipe', stderr: 'pipe' })
  const [output, complaint, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (code !== 0) throw new Error(`${command.join(' ')} failed:\n${complaint}`)
  return output
}
