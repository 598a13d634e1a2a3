// Builds the executable: for this machine (`--outfile` says where), or with `--all` for every platform that people run.
// The executable must never load a bunfig.toml or .env of the folder it is started in: they could run foreign code.

import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { $ } from 'bun'
import { version } from './package.json'
import { billOfMaterials } from './sbom'

// The executables for x64 run on every processor with SSE4.2: since Bun 1.4 there is no other build for older ones.
const platforms = [
  'linux-x64',
  'linux-arm64',
  'linux-x64-musl',
  'linux-arm64-musl',
  'darwin-x64',
  'darwin-arm64',
  'windows-x64',
  'windows-arm64',
] as const

/** Where executables are written, with their checksums and what they are made of. */
const RELEASE = 'dist/release'
const COMMIT_DIGITS = 12

/**
 * Builds the executable in parts, of which a command loads those that it needs, and compiled beforehand, which makes
 * the start three times as fast. Precompiled only for this machine and for Linux: precompiled code for other platforms
 * has not been tried. `metafile` is where the list of bundled files is written.
 */
async function build(
  outfile: string,
  platform?: (typeof platforms)[number],
  metafile?: string,
): Promise<void> {
  const target = platform ? [`--target=bun-${platform}`] : []
  const define = `--define=GATEWAY_COMMIT=${JSON.stringify(await commitOf())}`
  const bytecode = platform && !platform.startsWith('linux') ? [] : ['--bytecode']
  const { exitCode, stderr } =
    await $`${process.execPath} build --compile --splitting --format=esm ${bytecode} ${define} --minify-syntax --minify-whitespace --sourcemap=none --no-compile-autoload-bunfig --no-compile-autoload-dotenv ${target} ${metafile ? [`--metafile=${metafile}`] : []} ./cli/main.ts ./src/media/token-worker.ts ./src/media/mp3-worker.ts ./src/media/audio-worker.ts ./src/backup/backup-worker.ts ./src/retention/retention-worker.ts --outfile ${outfile}`
      .quiet()
      .nothrow()
  if (exitCode !== 0) {
    console.error(`${outfile} cannot be built:\n${stderr}`)
    process.exit(1)
  }
  const file = Bun.file(platform?.startsWith('windows') ? `${outfile}.exe` : outfile)
  console.log(`${outfile} ${(file.size / 1e6).toFixed(0)} MB`)
}

/** Everything that a release offers: executables, checksums, the bill of materials and where they come from. */
async function release(): Promise<void> {
  await recordRelease()
  rmSync(RELEASE, { recursive: true, force: true })
  const bundle = `${RELEASE}/bundle.json`
  for (const platform of platforms) await build(`${RELEASE}/gateway-${platform}`, platform, bundle)
  const files = Object.keys((await Bun.file(bundle).json()).inputs)
  rmSync(bundle)
  const commit = (await $`git rev-parse HEAD`.quiet().nothrow().text()).trim()
  const isChanged = (await $`git status --porcelain --untracked-files=no`.quiet().nothrow().text()) !== ''
  const source = isChanged ? `${commit}, with changes that are not committed` : commit
  await Bun.write(
    `${RELEASE}/gateway.cdx.json`,
    `${JSON.stringify(billOfMaterials('.', source, files), null, 2)}\n`,
  )
  await Bun.write(
    `${RELEASE}/PROVENANCE.txt`,
    `gateway ${version}\nsource ${source}\nbun ${Bun.version} ${Bun.revision}\ncommand bun run build --all\n`,
  )
  const sums = readdirSync(RELEASE)
    .sort()
    .map((file) => `${sha256(`${RELEASE}/${file}`)}  ${file}\n`)
  await Bun.write(`${RELEASE}/SHA256SUMS`, sums.join(''))
  console.log(`${RELEASE} holds ${sums.length} files and SHA256SUMS`)
}

/** Records a database of this version, which every later one must open. Commit it. It is never replaced. */
async function recordRelease(): Promise<void> {
  const folder = `test/releases/${version}`
  if (existsSync(folder)) return
  const { exitCode, stderr } =
    await $`RECORD_RELEASE=1 ${process.execPath} test test/scenario/releases.test.ts`.quiet().nothrow()
  console.error(
    exitCode === 0
      ? `${folder} is recorded: commit it, and build again.`
      : `${folder} cannot be recorded:\n${stderr}`,
  )
  process.exit(1)
}

/** The commit in every answer about the version; `GATEWAY_COMMIT` names it where the repository is not there, as in an image. */
async function commitOf(): Promise<string> {
  const { GATEWAY_COMMIT: named } = process.env
  if (named) return named.slice(0, COMMIT_DIGITS)
  const commit = (await $`git rev-parse HEAD`.quiet().nothrow().text()).trim().slice(0, COMMIT_DIGITS)
  return commit || 'source'
}

function sha256(file: string): string {
  return new Bun.CryptoHasher('sha256').update(readFileSync(file)).digest('hex')
}

const { values } = parseArgs({
  options: {
    all: { type: 'boolean' },
    outfile: { type: 'string', default: 'dist/gateway' },
  },
})
if (values.all) {
  await release()
} else {
  await build(values.outfile)
}
