// Builds the executable: for this machine (`--outfile` says where), or with `--all` for every platform that people run.
// The executable must never load a bunfig.toml or .env of the folder it is started in: they could run foreign code.

import { parseArgs } from 'node:util'
import { $ } from 'bun'

const platforms = [
  'linux-x64',
  'linux-arm64',
  'darwin-x64',
  'darwin-arm64',
  'windows-x64',
  'windows-arm64',
] as const

/**
 * Builds the executable in parts, of which a command loads those that it needs, and compiled beforehand, which makes
 * the start three times as fast. Precompiled only for this machine and for Linux: precompiled code for other platforms
 * has not been tried.
 */
async function build(outfile: string, platform?: (typeof platforms)[number]): Promise<void> {
  const target = platform ? [`--target=bun-${platform}`] : []
  const bytecode = platform && !platform.startsWith('linux') ? [] : ['--bytecode']
  const { exitCode, stderr } =
    await $`${process.execPath} build --compile --splitting --format=esm ${bytecode} --minify-syntax --minify-whitespace --sourcemap=none --no-compile-autoload-bunfig --no-compile-autoload-dotenv ${target} ./cli/main.ts ./src/media/token-worker.ts ./src/media/mp3-worker.ts ./src/media/audio-worker.ts ./src/backup/backup-worker.ts --outfile ${outfile}`
      .quiet()
      .nothrow()
  if (exitCode !== 0) {
    console.error(`${outfile} cannot be built:\n${stderr}`)
    process.exit(1)
  }
  const file = Bun.file(platform?.startsWith('windows') ? `${outfile}.exe` : outfile)
  console.log(`${outfile} ${(file.size / 1e6).toFixed(0)} MB`)
}

const { values } = parseArgs({
  options: {
    all: { type: 'boolean' },
    outfile: { type: 'string', default: 'dist/gateway' },
  },
})
if (values.all) {
  for (const platform of platforms) await build(`dist/gateway-${platform}`, platform)
} else {
  await build(values.outfile)
}
